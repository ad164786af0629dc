// The simplest learner there is, the control of all learners with a network: one softmax for each unit, REINFORCE
// (Williams, Machine Learning 1992) with the closed gradient of the softmax, Adam (Kingma, Ba, ICLR 2015). It sees
// no feature of any unit. A network that finds less at equal samples has a problem of its own, not of the task.
//
//   action=device  the softmax of a unit is over the devices
//   action=copy    over "where my heaviest earlier neighbour is" and the other devices in turn after it; at first it
//                  stays there with probability `stay`, so that draws are coherent from the first sample on
//   action=walk    over the devices, each draw from the best placement so far on: a logit for where a unit is there,
//                  steered, has a draw move `moves` units. Preferences stay within 3: unbounded they soon propose the same
//                  moves for ever. The walk of tuned `placeto` without network, schedule or evaluations on the way:
//                  one draw moves them all
//   weights=mean   a draw counts by its reward above the mean of its batch, in standard deviations
//   weights=top    the best `top` of a batch count alike, the others not
//
// The reward is ShapedReward(); the order for weights=top is that of Objective. The shared random start is the first
// sample, but of action=copy. Spends the whole budget.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "agents/agents.h"
#include "agents/placements.h"
#include "agents/search/neighbours.h"
#include "agents/search/objective.h"

namespace stowplan::agents {
namespace {

// In the precision of long double, then rounded: the C library's exp(double) differs in the last bit between CPU models,
// and one bit can change a draw.
double Exp(double x) {
  return static_cast<double>(std::exp(static_cast<long double>(x)));
}

using Actions = std::vector<std::size_t>;  // by unit, an index into the unit's softmax

// One softmax over `choices` for each unit. Logits and Adam's moments: [unit * choices + choice].
class Softmaxes {
 public:
  Softmaxes(std::size_t units, std::size_t choices, double learning_rate)
      : choices_(choices),
        learning_rate_(learning_rate),
        logits_(units * choices, 0.0),
        chance_(logits_.size()),
        mean_(logits_.size(), 0.0),
        square_(logits_.size(), 0.0) {}

  void SetLogit(std::size_t unit, std::size_t choice, double logit) {
    logits_[unit * choices_ + choice] = logit;
  }

  // Probabilities of the logits in force, for Draw() and Ascend(); `stay` is added for the choices `now`, if any.
  void Normalise(const Actions& now = {}, double stay = 0) {
    chance_ = logits_;
    for (std::size_t unit = 0; unit < now.size(); ++unit) chance_[unit * choices_ + now[unit]] += stay;
    for (auto first = chance_.begin(); first != chance_.end();) {
      const auto end = first + static_cast<std::ptrdiff_t>(choices_);
      const double most = *std::max_element(first, end);
      double sum = 0;
      for (auto chance = first; chance != end; ++chance) {
        *chance = Exp(*chance - most);
        sum += *chance;
      }
      for (; first != end; ++first) *first /= sum;
    }
  }

  // Units that a draw is expected to move from `now`.
  double ExpectedMoves(const Actions& now) const {
    double moves = 0;
    for (std::size_t unit = 0; unit < now.size(); ++unit) moves += 1 - chance_[unit * choices_ + now[unit]];
    return moves;
  }

  void KeepWithin(double most) {
    for (double& logit : logits_) logit = std::clamp(logit, -most, most);
  }

  Actions Draw(Rng& rng) const {
    Actions actions(logits_.size() / choices_);
    for (std::size_t unit = 0; unit < actions.size(); ++unit) {
      double left = rng.Uniform();
      std::size_t choice = 0;
      while (choice + 1 < choices_ && left >= chance_[unit * choices_ + choice]) {
        left -= chance_[unit * choices_ + choice++];
      }
      actions[unit] = choice;
    }
    return actions;
  }

  // One step of Adam along sum_i weight_i * grad log p(actions_i).
  void Ascend(const std::vector<Actions>& drawn, const std::vector<double>& weights) {
    std::vector<double> gradient(logits_.size(), 0.0);
    double all = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      all += weights[i];
      for (std::size_t unit = 0; unit < drawn[i].size(); ++unit) {
        gradient[unit * choices_ + drawn[i][unit]] += weights[i];
      }
    }
    power1_ *= kBeta1;
    power2_ *= kBeta2;
    for (std::size_t i = 0; i < logits_.size(); ++i) {
      const double slope = gradient[i] - all * chance_[i];
      mean_[i] = kBeta1 * mean_[i] + (1 - kBeta1) * slope;
      square_[i] = kBeta2 * square_[i] + (1 - kBeta2) * slope * slope;
      logits_[i] +=
          learning_rate_ * (mean_[i] / (1 - power1_)) / (std::sqrt(square_[i] / (1 - power2_)) + kEpsilon);
    }
  }

 private:
  static constexpr double kBeta1 = 0.9;
  static constexpr double kBeta2 = 0.999;
  static constexpr double kEpsilon = 1e-8;

  std::size_t choices_;
  double learning_rate_;
  double power1_ = 1;  // the betas to the power of the steps made
  double power2_ = 1;
  std::vector<double> logits_;
  std::vector<double> chance_;
  std::vector<double> mean_;
  std::vector<double> square_;
};

class Factored final : public Agent {
 public:
  explicit Factored(const Settings& read) : Agent(read.Canonical()) {
    const std::string action = read.Text("action");
    copy_ = action == "copy";
    walk_ = action == "walk";
    if (walk_) moves_ = read.Double("moves");
    stay_ = read.Double("stay");
    top_weights_ = read.Is("weights", "top");
    top_ = read.Double("top");
    batch_ = read.Int("batch");
    learning_rate_ = read.Double("lr");
  }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    const std::size_t devices = task.devices.size();
    const std::size_t units = task.units.ops.size();
    Rng rng(options.seed, "factored");
    std::vector<UnitIndex> neighbour(units, -1);
    if (copy_) {
      std::vector<UnitIndex> order(units);
      std::iota(order.begin(), order.end(), 0);
      neighbour = HeaviestEarlierNeighbours(task, order);
    }
    Softmaxes policy(units, devices, learning_rate_);
    // The others share what staying leaves: a logit of zero each.
    const auto stay = static_cast<double>(
        std::log(static_cast<long double>(stay_ / (1 - stay_)) * static_cast<long double>(devices - 1)));
    for (std::size_t unit = 0; unit < units; ++unit) {
      if (neighbour[unit] < 0 || devices == 1) continue;
      policy.SetLogit(unit, 0, stay);
    }
    bool first = !copy_;
    Actions now;
    double hold =
        std::log(std::max(1.0, (static_cast<double>(units) / moves_ - 1) * static_cast<double>(devices - 1)));
    while (evaluator.remaining() > 0 && !evaluator.stop_requested()) {
      if (walk_ && evaluator.has_best()) now = ActionsOf(task, evaluator.best());
      policy.Normalise(now, hold);
      std::vector<Actions> drawn;
      std::vector<UnitPlacement> placements;
      for (std::int64_t i = std::min(batch_, evaluator.remaining()); i > 0; --i) {
        drawn.push_back(std::exchange(first, false) ? ActionsOf(task, StartPlacement(task, options.seed))
                                                    : policy.Draw(rng));
        placements.push_back(PlacementOf(task, drawn.back(), neighbour));
        evaluator.CountProposal();
      }
      const std::vector<Evaluation> evaluations = evaluator.EvaluateBatch(placements);
      if (options.learn) policy.Ascend(drawn, Weights(task, evaluations));
      if (!walk_) continue;
      policy.KeepWithin(kReach);
      // Learning says which units move, this how many.
      if (now.empty()) continue;
      hold += 0.5 * std::log(std::clamp(policy.ExpectedMoves(now) / moves_, 0.1, 10.0));
      hold = std::clamp(hold, -40.0, 40.0);
    }
  }

 private:
  static UnitPlacement PlacementOf(const Task& task, const Actions& actions,
                                   const std::vector<UnitIndex>& neighbour) {
    Actions position(actions.size());  // in task.devices
    UnitPlacement placement(actions.size());
    for (std::size_t unit = 0; unit < actions.size(); ++unit) {
      const std::size_t from = neighbour[unit] < 0 ? 0 : position[static_cast<std::size_t>(neighbour[unit])];
      position[unit] = (from + actions[unit]) % task.devices.size();
      placement[unit] = task.devices[position[unit]];
    }
    return placement;
  }

  static Actions ActionsOf(const Task& task, const UnitPlacement& placement) {
    Actions actions;
    for (const sim::DeviceIndex device : placement) {
      const auto at = std::lower_bound(task.devices.begin(), task.devices.end(), device);
      actions.push_back(static_cast<std::size_t>(at - task.devices.begin()));
    }
    return actions;
  }

  // By draw; they add up to zero.
  std::vector<double> Weights(const Task& task, const std::vector<Evaluation>& evaluations) const {
    const auto n = static_cast<double>(evaluations.size());
    std::vector<double> weights;
    if (!top_weights_) {
      for (const Evaluation& evaluation : evaluations) weights.push_back(ShapedReward(task, evaluation));
      const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / n;
      double variance = 0;
      for (double& weight : weights) {
        weight -= mean;
        variance += weight * weight / n;
      }
      if (variance == 0) return std::vector<double>(weights.size(), 0.0);
      for (double& weight : weights) weight /= std::sqrt(variance) * n;
      return weights;
    }
    std::vector<Objective> objectives;
    for (const Evaluation& evaluation : evaluations) objectives.push_back(ObjectiveOf(task, evaluation));
    std::vector<std::size_t> order(objectives.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return objectives[a] < objectives[b]; });
    const auto count = std::max<std::size_t>(1, static_cast<std::size_t>(top_ * n));
    weights.assign(objectives.size(), -1 / n);
    for (std::size_t i = 0; i < count; ++i) weights[order[i]] += 1 / static_cast<double>(count);
    return weights;
  }

  static constexpr double kReach = 3;

  bool copy_ = false;
  bool walk_ = false;
  double moves_ = 1;
  double stay_ = 0;
  bool top_weights_ = false;
  double top_ = 0;
  std::int64_t batch_ = 0;
  double learning_rate_ = 0;
};

}  // namespace

std::unique_ptr<Agent> MakeFactored(const Settings& read) {
  return std::make_unique<Factored>(read);
}

}  // namespace stowplan::agents
