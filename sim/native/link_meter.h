// How long each link is in use and what it carries (docs/model.md section 4, "Link use"). Internal to sim/.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/native/plan.h"

namespace berth::sim {

// Where transfers may share a link, each of its directions counts those that use it. Where they may not, at
// most one at a time uses a route, and the time of a route is time of each of its links.
template <bool kExclusive>
class LinkMeter {
 public:
  explicit LinkMeter(const Problem::Compiled& compiled)
      : c_(compiled),
        route_bytes_(compiled.routes.size()),
        use_(kExclusive ? compiled.routes.size() : 2 * compiled.cluster->links.size()) {}

  void Reset() {
    std::fill(route_bytes_.begin(), route_bytes_.end(), 0);
    std::fill(use_.begin(), use_.end(), Use{});
  }
  void Start(const Transfer& transfer, Picos now) {
    route_bytes_[transfer.route] += transfer.bytes;
    ForEachUse(transfer.route, [&](Use& use) {
      if (use.active++ == 0) use.since = now;
    });
  }
  void End(const Transfer& transfer, Picos now) {
    ForEachUse(transfer.route, [&](Use& use) {
      if (--use.active == 0) use.busy += now - use.since;
    });
  }
  void Report(std::vector<LinkUse>& links) const {
    links.assign(c_.cluster->links.size(), {});
    for (Problem::Compiled::Id r = 0; r < static_cast<Problem::Compiled::Id>(c_.routes.size()); ++r) {
      for (auto i = c_.routes[r].first; i < c_.routes[r].last; ++i) {
        LinkUse& link = links[static_cast<std::size_t>(c_.route_links[static_cast<std::size_t>(i)])];
        link.bytes += route_bytes_[r];
        if (kExclusive) link.busy += use_[r].busy;
      }
    }
    if (kExclusive) return;
    for (std::size_t l = 0; l < links.size(); ++l)
      links[l].busy = use_.data()[2 * l].busy + use_.data()[2 * l + 1].busy;
  }

  struct Use {
    Picos since = 0;
    Picos busy = 0;
    std::int32_t active = 0;
  };
  struct Live {
    ById<Bytes> route_bytes;
    ById<Use> use;
  };
  void Save(Live& live) const {
    live.route_bytes = route_bytes_;
    live.use = use_;
  }
  // From what equals `from` to what equals `to`, `shift` later: what has been counted so far is kept.
  void Advance(const Live& from, const Live& to, Picos shift) {
    for (Problem::Compiled::Id r = 0; r < static_cast<Problem::Compiled::Id>(route_bytes_.size()); ++r)
      route_bytes_[r] += to.route_bytes[r] - from.route_bytes[r];
    for (Problem::Compiled::Id u = 0; u < static_cast<Problem::Compiled::Id>(use_.size()); ++u)
      use_[u] = {to.use[u].since + shift, use_[u].busy + to.use[u].busy - from.use[u].busy, to.use[u].active};
  }
  bool Equals(const Live& live, Picos shift) const {
    return std::equal(
        use_.begin(), use_.end(), live.use.begin(), [shift](const Use& mine, const Use& theirs) {
          return mine.active == theirs.active && (mine.active == 0 || mine.since == theirs.since + shift);
        });
  }

 private:
  template <typename Change>
  void ForEachUse(Problem::Compiled::Id route, const Change& change) {
    if constexpr (kExclusive) return change(use_[route]);
    for (auto i = c_.routes[route].first; i < c_.routes[route].last; ++i)
      change(use_[c_.route_directions[static_cast<std::size_t>(i)]]);
  }

  const Problem::Compiled& c_;
  ById<Bytes> route_bytes_;
  ById<Use> use_;  // by route or by link direction
};

}  // namespace berth::sim
