// The fields of every record as files call them: one list that the reader, the printer and the schema's test
// go through, so that they cannot differ. For profiler/*.cpp and tests.
//
// A visitor is called as visit(key, member) and, for enumerations, visit(key, member, names).
#pragma once

#include "profiler/traces/records.h"

namespace stowplan::profiler {

template <typename Visit>
void VisitFields(DeviceWork& work, Visit&& visit) {
  visit("start_ns", work.start);
  visit("end_ns", work.end);
  visit("device", work.device);
  visit("context", work.context);
  visit("stream", work.stream);
  visit("correlation", work.correlation);
  visit("graph", work.graph);
  visit("graph_node", work.graph_node);
}

template <typename Visit>
void VisitFields(KernelRecord& kernel, Visit&& visit) {
  visit("name", kernel.name);
  VisitFields(static_cast<DeviceWork&>(kernel), visit);
  visit("grid", kernel.grid);
  visit("block", kernel.block);
  visit("registers", kernel.registers);
  visit("static_shared_bytes", kernel.static_shared_bytes);
  visit("dynamic_shared_bytes", kernel.dynamic_shared_bytes);
}

template <typename Visit>
void VisitFields(Copy& copy, Visit&& visit) {
  VisitFields(static_cast<DeviceWork&>(copy), visit);
  visit("bytes", copy.bytes);
  visit("from", copy.from, kMemoryKindNames);
  visit("to", copy.to, kMemoryKindNames);
  visit("from_device", copy.from_device);
  visit("to_device", copy.to_device);
}

template <typename Visit>
void VisitFields(Memset& memset, Visit&& visit) {
  VisitFields(static_cast<DeviceWork&>(memset), visit);
  visit("bytes", memset.bytes);
  visit("kind", memset.kind, kMemoryKindNames);
}

template <typename Visit>
void VisitFields(ApiCall& call, Visit&& visit) {
  visit("name", call.name);
  visit("start_ns", call.start);
  visit("end_ns", call.end);
  visit("level", call.level, kApiLevelNames);
  visit("process", call.process);
  visit("thread", call.thread);
  visit("correlation", call.correlation);
}

template <typename Visit>
void VisitFields(MemoryEvent& event, Visit&& visit) {
  visit("time_ns", event.time);
  visit("what", event.what, kMemoryEventNames);
  visit("kind", event.kind, kMemoryKindNames);
  visit("device", event.device);
  visit("bytes", event.bytes);
  visit("address", event.address);
  visit("correlation", event.correlation);
}

template <typename Visit>
void VisitFields(Synchronisation& wait, Visit&& visit) {
  visit("start_ns", wait.start);
  visit("end_ns", wait.end);
  visit("what", wait.what, kSynchronisationNames);
  visit("context", wait.context);
  visit("stream", wait.stream);
  visit("event", wait.event);
  visit("correlation", wait.correlation);
}

template <typename Visit>
void VisitFields(Overhead& overhead, Visit&& visit) {
  visit("name", overhead.name);
  visit("start_ns", overhead.start);
  visit("end_ns", overhead.end);
  visit("process", overhead.process);
  visit("thread", overhead.thread);
}

template <typename Visit>
void VisitFields(ExternalCorrelation& link, Visit&& visit) {
  visit("external", link.external);
  visit("correlation", link.correlation);
}

template <typename Visit>
void VisitFields(Marker& marker, Visit&& visit) {
  visit("name", marker.name);
  visit("start_ns", marker.start);
  visit("end_ns", marker.end);
  visit("what", marker.what, kMarkerNames);
  visit("process", marker.process);
  visit("thread", marker.thread);
  visit("external", marker.external);
  visit("attributes", marker.attributes);
}

// visit(key, list) for every list of a trace.
template <typename Trace, typename Visit>
void VisitLists(Trace& trace, Visit&& visit) {
  visit("kernels", trace.kernels);
  visit("copies", trace.copies);
  visit("memsets", trace.memsets);
  visit("calls", trace.calls);
  visit("memory", trace.memory);
  visit("synchronisations", trace.synchronisations);
  visit("overheads", trace.overheads);
  visit("external", trace.external);
  visit("markers", trace.markers);
}

}  // namespace stowplan::profiler
