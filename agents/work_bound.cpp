// Proof. Let T be the runtime of an assignment of items to devices. Each device and each host thread r is
// busy for its load L_r <= T, and the persistent bytes on each device d are at most its capacity C_d. For any
// prices l_r >= 0 of resources and m_d >= 0 of memory
//
//   T * sum_r l_r >= sum_r l_r * L_r + sum_d m_d * (bytes on d - C_d)
//                  = sum_items (price of the item where it is) - sum_d m_d * C_d
//                 >= sum_items min_d (price of the item on d)  - sum_d m_d * C_d.
//
// So every choice of prices proves a bound (it is the Lagrangian dual of spreading divisible work, and the
// best prices give the bound of that linear programme). Good prices are looked for in floating point; the
// bound is then computed from prices rounded to integers in exact arithmetic, so that no rounding can spoil
// the proof. Devices of one class get one price: the dual is concave and symmetric in them, so nothing is
// lost.
#include "agents/work_bound.h"

#include <algorithm>
#include <cmath>

namespace berth::agents {
namespace {

__extension__ using Wide = __int128;

// By class; of one host thread for all, host[0] alone counts.
struct Prices {
  std::vector<double> compute;
  std::vector<double> host;
  std::vector<double> memory;  // for the whole capacity of a device [ps per unit of the others' sum]
};

// What an assignment that follows the prices does to the resources, per device of a class.
struct Use {
  std::vector<double> compute;
  std::vector<double> host;
  std::vector<double> memory;  // in capacities
  double value = 0;            // of the dual
};

class Dual {
 public:
  explicit Dual(const WorkProblem& problem) : problem_(problem), classes_(problem.devices.size()) {}

  sim::Picos Maximise() const {
    Prices prices = Start();
    Wide best = Exact(prices);
    double best_value = -1;
    for (int step = 1; step <= kSteps; ++step) {
      const Use use = Follow(prices);
      if (use.value > best_value) {
        best_value = use.value;
        best = std::max(best, Exact(prices));
      }
      Adjust(prices, use, 1 / std::sqrt(static_cast<double>(step)));
    }
    return static_cast<sim::Picos>(std::clamp<Wide>(best, 0, std::numeric_limits<sim::Picos>::max()));
  }

 private:
  static constexpr int kSteps = 300;

  double Devices(std::size_t c) const { return static_cast<double>(problem_.devices[c]); }
  bool HasMemory(std::size_t c) const { return !problem_.capacity.empty() && problem_.capacity[c] > 0; }
  double& Host(std::vector<double>& host, std::size_t c) const { return host[problem_.one_host ? 0 : c]; }
  double Host(const std::vector<double>& host, std::size_t c) const {
    return host[problem_.one_host ? 0 : c];
  }

  // Prices that make all classes equally dear on the whole: the optimum where speeds do not depend on the
  // item.
  Prices Start() const {
    Prices prices{std::vector<double>(classes_, 0), std::vector<double>(classes_, 0),
                  std::vector<double>(classes_, 0)};
    double host_total = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      double total = 0;
      for (std::size_t item = 0; item < problem_.items; ++item) {
        total += static_cast<double>(problem_.load(item, c).compute);
        host_total += static_cast<double>(problem_.load(item, c).host);
      }
      prices.compute[c] = 1 / std::max(1.0, total);
    }
    constexpr double kLittle = 1e-3;
    for (std::size_t c = 0; host_total > 0 && c < classes_; ++c) prices.host[c] = kLittle * prices.compute[c];
    Normalise(prices);
    return prices;
  }

  void Normalise(Prices& prices) const {
    double sum = problem_.one_host ? prices.host[0] : 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      sum += Devices(c) * (prices.compute[c] + (problem_.one_host ? 0 : prices.host[c]));
    }
    for (double& price : prices.compute) price /= sum;
    for (double& price : prices.host) price /= sum;
  }

  double Price(const Prices& prices, std::size_t item, std::size_t c) const {
    const WorkProblem::Load& load = problem_.load(item, c);
    double price = prices.compute[c] * static_cast<double>(load.compute) +
                   Host(prices.host, c) * static_cast<double>(load.host);
    if (HasMemory(c)) {
      price +=
          prices.memory[c] * static_cast<double>(load.persistent) / static_cast<double>(problem_.capacity[c]);
    }
    return price;
  }

  Use Follow(const Prices& prices) const {
    Use use{std::vector<double>(classes_, 0), std::vector<double>(classes_, 0),
            std::vector<double>(classes_, 0), 0};
    for (std::size_t item = 0; item < problem_.items; ++item) {
      std::size_t cheapest = classes_;
      double least = 0;
      for (std::size_t c = 0; c < classes_; ++c) {
        if (!problem_.load(item, c).allowed) continue;
        const double price = Price(prices, item, c);
        if (cheapest == classes_ || price < least) {
          cheapest = c;
          least = price;
        }
      }
      const WorkProblem::Load& load = problem_.load(item, cheapest);
      use.value += least;
      use.compute[cheapest] += static_cast<double>(load.compute) / Devices(cheapest);
      Host(use.host, cheapest) +=
          static_cast<double>(load.host) / (problem_.one_host ? 1 : Devices(cheapest));
      if (HasMemory(cheapest)) {
        use.memory[cheapest] += static_cast<double>(load.persistent) / Devices(cheapest) /
                                static_cast<double>(problem_.capacity[cheapest]);
      }
    }
    for (std::size_t c = 0; c < classes_; ++c) use.value -= prices.memory[c] * Devices(c);
    return use;
  }

  // What is used more than the others becomes dearer: multiplicative weights for the time, a projected
  // subgradient step for the memory, which may be free.
  void Adjust(Prices& prices, const Use& use, double step) const {
    const double busiest = std::max({1.0, *std::max_element(use.compute.begin(), use.compute.end()),
                                     *std::max_element(use.host.begin(), use.host.end())});
    for (std::size_t c = 0; c < classes_; ++c) {
      prices.compute[c] *= std::exp(step * use.compute[c] / busiest);
      prices.host[c] *= std::exp(step * use.host[c] / busiest);
      if (HasMemory(c)) {
        prices.memory[c] =
            std::max(0.0, prices.memory[c] + step * std::max(1.0, use.value) * (use.memory[c] - 1));
      }
    }
    Normalise(prices);
  }

  // The bound that these prices prove, with integer prices.
  Wide Exact(const Prices& prices) const {
    constexpr double kScale = 1 << 24;
    const auto round = [](double price) { return static_cast<Wide>(std::llround(std::min(price, 1e17))); };
    std::vector<Wide> compute;
    std::vector<Wide> host;
    std::vector<Wide> memory;  // for a byte
    Wide sum = problem_.one_host ? round(kScale * prices.host[0]) : 0;
    Wide paid_back = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      compute.push_back(round(kScale * prices.compute[c]));
      host.push_back(round(kScale * Host(prices.host, c)));
      const double capacity = HasMemory(c) ? static_cast<double>(problem_.capacity[c]) : 1;
      memory.push_back(HasMemory(c) ? round(kScale * prices.memory[c] / capacity) : 0);
      sum += problem_.devices[c] * (compute[c] + (problem_.one_host ? 0 : host[c]));
      if (HasMemory(c)) paid_back += memory[c] * problem_.devices[c] * problem_.capacity[c];
    }
    if (sum == 0) return 0;
    Wide value = -paid_back;
    for (std::size_t item = 0; item < problem_.items; ++item) {
      Wide least = -1;
      for (std::size_t c = 0; c < classes_; ++c) {
        const WorkProblem::Load& load = problem_.load(item, c);
        const Wide price = compute[c] * load.compute + host[c] * load.host + memory[c] * load.persistent;
        if (load.allowed && (least < 0 || price < least)) least = price;
      }
      value += least;
    }
    return value <= 0 ? 0 : (value + sum - 1) / sum;  // T is a whole number
  }

  const WorkProblem& problem_;
  std::size_t classes_;
};

}  // namespace

sim::Picos WorkBound(const WorkProblem& problem) {
  return problem.items == 0 ? 0 : Dual(problem).Maximise();
}

}  // namespace berth::agents
