// How transfers share the machine (docs/model.md section 4). The table is in native/links/registry.cpp.
//
// An interconnect is a class of links that the native run (native/run.h) is instantiated with, so that it calls them
// without indirection, or another Sharing of one that is there. It sees heavy transfers only (light ones take their latency
// and nothing else), by their queue numbers. There are two kinds: links that know a transfer's start and end when it
// queues (native/links/booked_links.h), and links that are asked pass by pass (native/links/queued_links.h); whose public
// functions are their contracts. Nothing is allocated after the first run.
//
// Guaranteed by every instance and tested over the table: bytes are conserved; a transfer is never faster
// than alone (L + M); alone it takes exactly L + M; same input, same times.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace stowplan::sim {

class Cluster;
class Problem;
class Simulator;

struct InterconnectRow {
  const char* name;
  const char* what;  // one line: what is shared, and how realistic it is
  std::unique_ptr<Simulator> (*make)(const Problem& problem);
};
const std::vector<InterconnectRow>& Interconnects();

// The one that a native run on the cluster takes: without links nothing can be shared, and every transfer takes
// no time (Cluster::route is empty).
const InterconnectRow& InterconnectOf(const Cluster& cluster);

// Throws InputError that lists the known names.
void CheckInterconnect(const std::string& name);

}  // namespace stowplan::sim
