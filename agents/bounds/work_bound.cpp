// Proof. Let T be the runtime of an assignment of items to devices. Each device and each host thread r is
// busy for its load L_r <= T, and the persistent bytes on each device d are at most its capacity C_d. For any
// prices l_r >= 0 of resources and m_d >= 0 of memory
//
//   T * sum_r l_r >= sum_r l_r * L_r + sum_d m_d * (bytes on d - C_d)
//                  = sum_items (price of the item where it is) - sum_d m_d * C_d
//                 >= sum_items min_d (price of the item on d)  - sum_d m_d * C_d.
//
// So every choice of prices proves a bound: this is the Lagrangian dual of spreading divisible work, and the
// best prices give the bound of that linear programme. Good prices are looked for in floating point; the
// bound is then computed from prices rounded to integers in exact arithmetic, so that no rounding can spoil
// the proof. Devices of one class get one price: the dual is concave and symmetric in them, so nothing is
// lost.
//
// The dual is concave in a handful of prices: the ellipsoid method (Yudin and Nemirovski, 1976; Shor, 1977)
// finds its maximum to a relative 10^-6 in some hundred steps, each a pass over the items.
#include "agents/bounds/work_bound.h"

#include <algorithm>
#include <cmath>

namespace stowplan::agents {
namespace {

__extension__ using Wide = __int128;

using Vector = std::vector<double>;

// What one unit of price is paid for: a class's device or host thread for a picosecond, or the whole memory
// of a device.
struct Prices {
  Vector compute;  // by class, as all
  Vector host;     // of one host thread for all, entry 0 alone counts
  Vector memory;
};

class Dual {
 public:
  explicit Dual(const WorkProblem& problem) : problem_(problem), classes_(problem.devices.size()) {
    ChooseVariables();
  }

  sim::Picos Maximise() const;

 private:
  enum class Resource { kCompute, kHost, kMemory };
  struct Variable {
    Resource resource;
    std::size_t c;
    double weight;  // in the sum of prices, which is held at 1 or less
    double start;
    double width;  // larger values are not looked at
  };

  double Devices(std::size_t c) const { return static_cast<double>(problem_.devices[c]); }
  std::size_t HostOf(std::size_t c) const { return problem_.one_host ? 0 : c; }
  double Capacity(std::size_t c) const { return static_cast<double>(problem_.capacity[c]); }

  void ChooseVariables();
  static Vector& Of(Prices& prices, Resource resource) {
    return resource == Resource::kCompute ? prices.compute
           : resource == Resource::kHost  ? prices.host
                                          : prices.memory;
  }
  Prices PricesAt(const Vector& x) const;
  double Sum(const Vector& x) const;
  double Value(const Prices& prices, Prices& slope) const;
  Wide Exact(const Vector& x) const;
  bool Cut(const Vector& x, Vector& direction) const;

  const WorkProblem& problem_;
  std::size_t classes_;
  std::vector<Variable> variables_;
};

// Starts where all classes are equally dear on the whole: the optimum where speeds do not depend on the item.
// Memory is priced only where not everything fits, host threads only where they have anything to do.
void Dual::ChooseVariables() {
  double all_weights = 0;
  double all_compute = 0;
  std::vector<Variable> memory;
  for (std::size_t c = 0; c < classes_; ++c) {
    double compute = 0;
    double host = 0;
    double bytes = 0;
    for (std::size_t item = 0; item < problem_.items; ++item) {
      compute += static_cast<double>(problem_.load(item, c).compute);
      host += static_cast<double>(problem_.load(item, c).host);
      bytes += static_cast<double>(problem_.load(item, c).persistent);
    }
    all_compute += compute + host;
    variables_.push_back({Resource::kCompute, c, Devices(c), 1 / std::max(1.0, compute), 1 / Devices(c)});
    all_weights += Devices(c) * variables_.back().start;
    const double threads = problem_.one_host ? 1 : Devices(c);
    if (host > 0 && HostOf(c) == c) variables_.push_back({Resource::kHost, c, threads, 0, 1 / threads});
    if (!problem_.capacity.empty() && problem_.capacity[c] > 0 && bytes > Capacity(c)) {
      memory.push_back({Resource::kMemory, c, 0, 0, 0});
    }
  }
  for (Variable& variable : variables_) variable.start /= 2 * all_weights;  // inside, with room for the hosts
  for (Variable& variable : memory) {
    variable.width = all_compute;
    variables_.push_back(variable);
  }
}

Prices Dual::PricesAt(const Vector& x) const {
  Prices prices{Vector(classes_, 0), Vector(classes_, 0), Vector(classes_, 0)};
  for (std::size_t i = 0; i < x.size(); ++i) Of(prices, variables_[i].resource)[variables_[i].c] = x[i];
  return prices;
}

double Dual::Sum(const Vector& x) const {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += variables_[i].weight * x[i];
  return sum;
}

// The dual at these prices, not divided by their sum, and how it grows with each of them.
double Dual::Value(const Prices& prices, Prices& slope) const {
  slope = {Vector(classes_, 0), Vector(classes_, 0), Vector(classes_, 0)};
  Vector byte_price(classes_, 0);
  double value = 0;
  for (std::size_t c = 0; c < classes_; ++c) {
    if (prices.memory[c] > 0) byte_price[c] = prices.memory[c] / Capacity(c);
    value -= prices.memory[c] * Devices(c);
    slope.memory[c] -= Devices(c);
  }
  for (std::size_t item = 0; item < problem_.items; ++item) {
    std::size_t cheapest = classes_;
    double least = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      const WorkProblem::Load& load = problem_.load(item, c);
      if (!load.allowed) continue;
      const double price = prices.compute[c] * static_cast<double>(load.compute) +
                           prices.host[HostOf(c)] * static_cast<double>(load.host) +
                           byte_price[c] * static_cast<double>(load.persistent);
      if (cheapest == classes_ || price < least) {
        cheapest = c;
        least = price;
      }
    }
    const WorkProblem::Load& load = problem_.load(item, cheapest);
    value += least;
    slope.compute[cheapest] += static_cast<double>(load.compute);
    slope.host[HostOf(cheapest)] += static_cast<double>(load.host);
    if (!problem_.capacity.empty() && problem_.capacity[cheapest] > 0) {
      slope.memory[cheapest] += static_cast<double>(load.persistent) / Capacity(cheapest);
    }
  }
  return value;
}

// The bound that these prices prove, with integer prices.
Wide Dual::Exact(const Vector& x) const {
  const Prices prices = PricesAt(x);
  const double scale = static_cast<double>(1 << 30) / Sum(x);
  const auto round = [scale](double price) {
    return static_cast<Wide>(std::llround(std::min(scale * price, 9e17)));
  };
  std::vector<Wide> compute;
  std::vector<Wide> host;
  std::vector<Wide> memory;  // for a byte
  for (std::size_t c = 0; c < classes_; ++c) {
    compute.push_back(round(prices.compute[c]));
    host.push_back(round(prices.host[HostOf(c)]));
    memory.push_back(prices.memory[c] > 0 ? round(prices.memory[c] / Capacity(c)) : 0);
  }
  Wide sum = 0;
  Wide value = 0;
  for (std::size_t c = 0; c < classes_; ++c) {
    sum += problem_.devices[c] * compute[c];
    if (HostOf(c) == c) sum += (problem_.one_host ? 1 : problem_.devices[c]) * host[c];
    if (memory[c] > 0) value -= memory[c] * problem_.devices[c] * problem_.capacity[c];
  }
  for (std::size_t item = 0; item < problem_.items; ++item) {
    Wide least = -1;
    for (std::size_t c = 0; c < classes_; ++c) {
      const WorkProblem::Load& load = problem_.load(item, c);
      const Wide price = compute[c] * load.compute + host[c] * load.host + memory[c] * load.persistent;
      if (load.allowed && (least < 0 || price < least)) least = price;
    }
    value += least;
  }
  return sum == 0 || value <= 0 ? 0 : (value + sum - 1) / sum;  // T is a whole number
}

// Where prices are not allowed: the direction back.
bool Dual::Cut(const Vector& x, Vector& direction) const {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] >= 0) continue;
    direction.assign(x.size(), 0);
    direction[i] = 1;
    return true;
  }
  if (Sum(x) <= 1) return false;
  for (std::size_t i = 0; i < x.size(); ++i) direction[i] = -variables_[i].weight;
  return true;
}

// An ellipsoid {y : (y - x)' P^-1 (y - x) <= 1} that holds the maximum.
class Ellipsoid {
 public:
  Ellipsoid(Vector centre, const Vector& radii) : x_(std::move(centre)), p_(x_.size(), Vector(x_.size(), 0)) {
    for (std::size_t i = 0; i < x_.size(); ++i) p_[i][i] = radii[i] * radii[i];
  }

  const Vector& centre() const { return x_; }

  // Keeps the half on which `direction` points; returns how far a linear function of that slope can still
  // grow.
  double Halve(const Vector& direction) {
    const std::size_t n = x_.size();
    Vector step(n, 0);
    double square = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) step[i] += p_[i][j] * direction[j];
      square += step[i] * direction[i];
    }
    const double growth = std::sqrt(std::max(0.0, square));
    if (growth == 0) return 0;
    const double d = static_cast<double>(n);
    const double swell = n == 1 ? 0.25 : d * d / (d * d - 1);
    const double squeeze = n == 1 ? 0 : 2 / (d + 1);
    for (double& s : step) s /= growth;
    for (std::size_t i = 0; i < n; ++i) {
      x_[i] += step[i] / (d + 1);
      for (std::size_t j = 0; j < n; ++j) p_[i][j] = swell * (p_[i][j] - squeeze * step[i] * step[j]);
    }
    return growth;
  }

 private:
  Vector x_;
  std::vector<Vector> p_;
};

sim::Picos Dual::Maximise() const {
  constexpr double kPrecision = 1e-7;
  constexpr double kMostLoads = 1e9;  // looked at: seconds
  const double per_step = static_cast<double>(problem_.items * classes_);
  const auto most_steps = static_cast<int>(std::clamp(kMostLoads / per_step, 50.0, 20'000.0));
  const double n = static_cast<double>(variables_.size());
  Vector start;
  Vector radii;
  for (const Variable& variable : variables_) {
    start.push_back(variable.start);
    radii.push_back(std::sqrt(n) * variable.width);
  }
  Ellipsoid ellipsoid(start, radii);
  Wide best = Exact(start);
  double best_value = 0;
  Vector direction(start.size(), 0);
  for (int step = 0; step < most_steps; ++step) {
    const Vector x = ellipsoid.centre();
    if (Cut(x, direction)) {
      ellipsoid.Halve(direction);
      continue;
    }
    Prices slope;
    const double value = Value(PricesAt(x), slope);
    if (Sum(x) > 0 && value / Sum(x) > best_value) {
      best_value = value / Sum(x);
      best = std::max(best, Exact(x));
    }
    for (std::size_t i = 0; i < x.size(); ++i)
      direction[i] = Of(slope, variables_[i].resource)[variables_[i].c];
    if (ellipsoid.Halve(direction) <= kPrecision * best_value) break;
  }
  return static_cast<sim::Picos>(std::min<Wide>(best, std::numeric_limits<sim::Picos>::max()));
}

}  // namespace

sim::Picos WorkBound(const WorkProblem& problem) {
  return problem.items == 0 ? 0 : Dual(problem).Maximise();
}

}  // namespace stowplan::agents
