// What data/collectives.yaml says: laws of collectives inside one host, fitted to measured rows (rows/collectives.py has the formula
// and the fit), and the constants of the model between hosts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collective_prices.h"

namespace stowplan::cost_models {

// Steps of a collective on k ranks in which a chunk of the k-th part moves, and those whose starts add up.
double StepsOf(sim::CollectiveType type, double ranks);
double HopsOf(sim::CollectiveType type, double ranks);

struct HostLaw {
  struct Knot {
    double bytes;  // of a chunk
    double start;  // [us]
    double step;   // [us]
  };
  // Sums made in switches: start + (1 + 1/k) bytes / rate.
  struct InSwitch {
    double start = 0;        // [us]
    double us_per_byte = 0;  // of what a rank sends: its tensor, and the sum of its share
  };

  std::string gpu;   // kind of the catalogue that was measured
  std::string link;  // kind of its links
  sim::CollectiveType type = sim::CollectiveType::kAllReduce;
  double hop = 0;       // [us]
  double crowding = 0;  // exponent of k / 2 by which a step is slower where ranks share their links
  std::vector<Knot> knots;
  std::optional<InSwitch> in_switch;
  std::string source;

  // [us]; `slowness`: how many times slower the links are than those that were measured.
  double Ring(double ranks, double bytes, double slowness) const;
  double InSwitchTime(double ranks, double bytes, double slowness) const;  // where in_switch
  // Bytes that each rank's links carry in 1 us of a long ring.
  double Rate(double ranks, double slowness) const;

 private:
  double Crowd(double ranks) const;
};

enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
inline constexpr int kProtocols = 3;
using ByProtocol = std::array<double, kProtocols>;

// Times in us, bandwidths in bytes a us.
struct NetworkConstants {
  struct Hops {
    ByProtocol start, nvlink, pcie, network;
  };
  double efficiency = 0;  // share of a line that is used
  double post = 0;        // what it takes to post one send
  Hops ring, tree;
  double ring_plateau = 0;    // how much longer the hops of long rings between hosts are
  ByProtocol tree_share{};    // of the bandwidth
  double switch_network = 0;  // hop of trees between switches that add up
  double switch_share = 0;
  double ll_share = 0, ll_two_hosts = 0, ll_more_hosts = 0;
  double ll128_share = 0, ll128_one_rank = 0;
  std::array<std::vector<double>, kProtocols> tree_correction;
};

struct CollectiveData {
  NetworkConstants network;
  std::vector<HostLaw> laws;
};

// Throws InputError for what is not well-formed. `source` is what messages call the file.
CollectiveData ParseCollectiveData(std::string_view yaml, const std::string& source);
// What ships with stowplan. Loaded once, thread-safe.
const CollectiveData& BuiltinCollectiveData();

}  // namespace stowplan::cost_models
