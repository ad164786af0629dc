#include "cost_models/collectives/laws.h"

#include <algorithm>
#include <cmath>

#include "cost_models/collectives/collectives.h"
#include "cost_models/embedded_data.h"
#include "cost_models/ops/portable_math.h"
#include "sim/formats/document/yaml_reader.h"

namespace stowplan::cost_models {
namespace {

using formats::Fields;
using formats::Value;
using sim::CollectiveType;

constexpr double kMost = 1e9;
constexpr double kMeasuredRanks = 8;  // beyond which nothing says that ranks crowd one another more

double Positive(const Fields& fields, std::string_view key) {
  return fields.Require(key).Number(0, kMost);
}

std::vector<double> Numbers(Value list) {
  std::vector<double> numbers;
  for (const Value item : list.items()) numbers.push_back(item.Number(0, kMost));
  return numbers;
}

ByProtocol OfProtocols(Value list) {
  const std::vector<double> numbers = Numbers(list);
  if (numbers.size() != kProtocols) list.Fail("must have a number for each of LL, LL128 and Simple");
  return {numbers[0], numbers[1], numbers[2]};
}

double SourcedValue(Value entry) {
  static constexpr std::string_view kKeys[] = {"value", "source"};
  const Fields fields(entry, kKeys);
  fields.Require("source").Name();
  return fields.Require("value").Number(0, kMost);
}

NetworkConstants::Hops ReadHops(const Fields& fields) {
  return {.start = OfProtocols(fields.Require("start")),
          .nvlink = OfProtocols(fields.Require("nvlink")),
          .pcie = OfProtocols(fields.Require("pcie")),
          .network = OfProtocols(fields.Require("network"))};
}

void ReadTrees(const Fields& top, NetworkConstants& network) {
  static constexpr std::string_view kTree[] = {"start", "nvlink", "pcie", "network", "share"};
  static constexpr std::string_view kSwitch[] = {"network", "share"};
  const Fields tree(top.Require("tree"), kTree);
  network.tree = ReadHops(tree);
  network.tree_share = OfProtocols(tree.Require("share"));
  const Fields in_switch(top.Require("in_switch_tree"), kSwitch);
  network.switch_network = Positive(in_switch, "network");
  network.switch_share = Positive(in_switch, "share");
  const Value correction = top.Require("tree_correction");
  if (correction.size() != kProtocols) correction.Fail("must have a list for each protocol");
  auto list = correction.items().begin();
  for (auto& of_protocol : network.tree_correction) {
    of_protocol = Numbers(*list);
    ++list;
  }
}

NetworkConstants ReadNetwork(Value entry) {
  static constexpr std::string_view kTop[] = {
      "source", "efficiency", "post", "ring", "tree", "in_switch_tree", "ll", "ll128", "tree_correction"};
  static constexpr std::string_view kRing[] = {"start", "nvlink", "pcie", "network", "plateau"};
  static constexpr std::string_view kLl[] = {"share", "two_hosts", "more_hosts"};
  static constexpr std::string_view kLl128[] = {"share", "one_rank_a_host"};
  constexpr double kGigabyte = 1e3;  // bytes a us of 1 GB/s
  const Fields top(entry, kTop);
  top.Require("source").Name();
  NetworkConstants network;
  network.efficiency = SourcedValue(top.Require("efficiency"));
  network.post = SourcedValue(top.Require("post"));
  const Fields ring(top.Require("ring"), kRing);
  network.ring = ReadHops(ring);
  network.ring_plateau = Positive(ring, "plateau");
  ReadTrees(top, network);
  const Fields ll(top.Require("ll"), kLl);
  network.ll_share = Positive(ll, "share");
  network.ll_two_hosts = Positive(ll, "two_hosts") * kGigabyte;
  network.ll_more_hosts = Positive(ll, "more_hosts") * kGigabyte;
  const Fields ll128(top.Require("ll128"), kLl128);
  network.ll128_share = Positive(ll128, "share");
  network.ll128_one_rank = Positive(ll128, "one_rank_a_host");
  return network;
}

HostLaw::Knot ReadKnot(Value entry, const std::vector<HostLaw::Knot>& before) {
  if (!entry.IsList() || entry.size() != 3)
    entry.Fail("must be [bytes, start, step], such as [512B, 8, 0.1]");
  auto part = entry.items().begin();
  HostLaw::Knot knot{};
  knot.bytes = static_cast<double>((*part).ByteCount());
  knot.start = (*++part).Number(0, kMost);
  knot.step = (*++part).Number(0, kMost);
  if (!before.empty() && knot.bytes <= before.back().bytes)
    entry.Fail("must have more bytes than the knot before it");
  return knot;
}

HostLaw ReadLaw(Value entry) {
  static constexpr std::string_view kKeys[] = {"gpu",      "type",  "link",      "hop",
                                               "crowding", "knots", "in_switch", "source"};
  static constexpr std::string_view kSwitch[] = {"start", "us_per_mib"};
  const Fields fields(entry, kKeys);
  HostLaw law;
  law.gpu = fields.Require("gpu").Name();
  law.link = fields.Require("link").Name();
  law.source = fields.Require("source").Name();
  const auto type = CollectiveTypeNamed(fields.Require("type").Name());
  if (!type) fields.Require("type").Fail("is no type of a collective");
  law.type = *type;
  law.hop = Positive(fields, "hop");
  law.crowding = fields.Require("crowding").Number(0, 4);
  for (const Value knot : fields.Require("knots").items()) law.knots.push_back(ReadKnot(knot, law.knots));
  const std::size_t knots = law.knots.size();
  if (knots < 2 || law.knots[knots - 1].step <= law.knots[knots - 2].step)
    fields.Require("knots").Fail("must be two or more, and the last step longer than the one before it");
  if (const auto in_switch = fields.Find("in_switch")) {
    const Fields sums(*in_switch, kSwitch);
    law.in_switch = {Positive(sums, "start"), Positive(sums, "us_per_mib") / (1 << 20)};
  }
  return law;
}

// At a chunk: straight between knots, flat before the first, the last slope beyond.
HostLaw::Knot At(const std::vector<HostLaw::Knot>& knots, double bytes) {
  if (bytes <= knots.front().bytes) return knots.front();
  auto right = std::ranges::lower_bound(knots, bytes, {}, &HostLaw::Knot::bytes);
  if (right == knots.end()) --right;
  const auto left = right - 1;
  const double share = (bytes - left->bytes) / (right->bytes - left->bytes);
  return {bytes, left->start + share * (right->start - left->start),
          left->step + share * (right->step - left->step)};
}

}  // namespace

double StepsOf(CollectiveType type, double ranks) {
  switch (type) {
    case CollectiveType::kAllReduce:
      return 2 * (ranks - 1);
    case CollectiveType::kBroadcast:
    case CollectiveType::kReduce:
      return ranks;  // all chunks pass each rank
    default:
      return ranks - 1;
  }
}

double HopsOf(CollectiveType type, double ranks) {
  switch (type) {
    case CollectiveType::kAllReduce:
      return 2 * (ranks - 1);
    case CollectiveType::kAllToAll:
      return PortableLog(ranks) / PortableLog(2);  // sends begin together
    default:
      return ranks - 1;
  }
}

double HostLaw::Crowd(double ranks) const {
  if (crowding == 0) return 1;
  return PortableExp(crowding * PortableLog(std::min(ranks, kMeasuredRanks) / 2));
}

double HostLaw::Ring(double ranks, double bytes, double slowness) const {
  const double crowd = Crowd(ranks);
  const auto time = [&](const Knot& at) {
    // What a start is longer for long chunks, they take on the links.
    const double first = std::min(at.start, knots.front().start);
    return first + (at.start - first) * slowness + HopsOf(type, ranks) * hop +
           StepsOf(type, ranks) * crowd * at.step * slowness;
  };
  double longest = time(At(knots, bytes / ranks));
  for (const Knot& knot : knots)  // fewer bytes take no longer
    if (knot.bytes < bytes / ranks) longest = std::max(longest, time(knot));
  return longest;
}

double HostLaw::InSwitchTime(double ranks, double bytes, double slowness) const {
  return in_switch->start + (1 + 1 / ranks) * bytes * in_switch->us_per_byte * slowness;
}

double HostLaw::Rate(double ranks, double slowness) const {
  const Knot& last = knots.back();
  const Knot& before = knots[knots.size() - 2];
  return (last.bytes - before.bytes) / ((last.step - before.step) * Crowd(ranks) * slowness);
}

CollectiveData ParseCollectiveData(std::string_view yaml, const std::string& source) {
  const formats::Document document = formats::ParseYaml(yaml, source);
  formats::CheckFormat(document, "stowplan.collectives", 1);
  static constexpr std::string_view kTop[] = {"format", "version", "network", "laws"};
  const Fields top(document.root(), kTop);
  CollectiveData data{ReadNetwork(top.Require("network")), {}};
  for (const Value entry : top.Require("laws").items()) {
    HostLaw law = ReadLaw(entry);
    if (std::ranges::any_of(
            data.laws, [&](const HostLaw& other) { return other.gpu == law.gpu && other.type == law.type; }))
      entry.Fail("is a second law of its GPU and type");
    data.laws.push_back(std::move(law));
  }
  return data;
}

const CollectiveData& BuiltinCollectiveData() {
  static const CollectiveData data =
      ParseCollectiveData(EmbeddedCollectives(), "cost_models/data/collectives.yaml");
  return data;
}

}  // namespace stowplan::cost_models
