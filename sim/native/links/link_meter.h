// How long each link is in use and what it carries (docs/model.md section 4, "Link use"). Internal to
// sim/native/.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/native/transfers.h"
#include "sim/outcome.h"

namespace stowplan::sim {

class LinkMeter {
 public:
  explicit LinkMeter(const Compiled& compiled)
      : c_(compiled), route_bytes_(compiled.routes.size()), use_(2 * compiled.cluster->links.size()) {
    used_.reserve(std::min(compiled.routes.size(), compiled.most_transfers));
  }

  void Reset() {
    for (const Compiled::Id route : used_) route_bytes_[route] = 0;
    used_.clear();
    std::fill(use_.begin(), use_.end(), Use{});
  }
  void Start(const Transfer& transfer, Picos now) {
    if (route_bytes_[transfer.route] == 0) used_.push_back(transfer.route);
    route_bytes_[transfer.route] += transfer.bytes;  // some
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
    for (const Compiled::Id r : used_) {
      for (auto i = c_.routes[r].first; i < c_.routes[r].last; ++i)
        links[static_cast<std::size_t>(c_.route_links[static_cast<std::size_t>(i)])].bytes += route_bytes_[r];
    }
    for (std::size_t l = 0; l < links.size(); ++l)
      links[l].busy = use_.data()[2 * l].busy + use_.data()[2 * l + 1].busy;
  }

 private:
  struct Use {
    Picos since = 0;
    Picos busy = 0;
    std::int32_t active = 0;
  };
  template <typename Change>
  void ForEachUse(Compiled::Id route, const Change& change) {
    for (auto i = c_.routes[route].first; i < c_.routes[route].last; ++i)
      change(use_[c_.route_directions[static_cast<std::size_t>(i)]]);
  }

  const Compiled& c_;
  ById<Bytes> route_bytes_;
  std::vector<Compiled::Id> used_;  // routes that have carried something
  ById<Use> use_;                   // by link direction
};

}  // namespace stowplan::sim
