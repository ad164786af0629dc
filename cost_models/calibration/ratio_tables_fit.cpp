#include "cost_models/calibration/ratio_tables_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::cost_models {
namespace {

constexpr std::size_t kBins = 48;
constexpr double kRate = 0.2;
constexpr double kPull = 5;  // rows with nothing to add

// As files hold it, so that a file prices as the fit did.
double Rounded(double value) {
  return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
}

struct Feature {
  std::vector<double> cuts;       // ascending
  std::vector<std::uint8_t> bin;  // of each row: cuts that it is above
};

std::vector<double> CutsOf(std::vector<double> values) {
  std::ranges::sort(values);
  std::vector<double> distinct = values;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<double> cuts;
  if (distinct.size() <= kBins) {
    for (std::size_t i = 1; i < distinct.size(); ++i) cuts.push_back((distinct[i - 1] + distinct[i]) / 2);
  } else {
    for (std::size_t i = 1; i < kBins; ++i) cuts.push_back(values[i * values.size() / kBins]);
  }
  for (double& cut : cuts) cut = Rounded(cut);
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

Feature MakeFeature(std::span<const RatioRow> rows, std::size_t at) {
  std::vector<double> values;
  for (const RatioRow& row : rows) values.push_back(row.features[at]);
  Feature feature{CutsOf(values), {}};
  for (const double value : values) {
    const auto above = std::ranges::lower_bound(feature.cuts, value) - feature.cuts.begin();
    feature.bin.push_back(static_cast<std::uint8_t>(above));
  }
  return feature;
}

struct Sum {
  double residual = 0;
  double rows = 0;
  double Gain() const { return residual * residual / (rows + kPull); }
};

class Booster {
 public:
  explicit Booster(std::span<const RatioRow> rows) : leaf_(rows.size()) {
    for (std::size_t i = 0; i < rows.front().features.size(); ++i) features_.push_back(MakeFeature(rows, i));
    std::vector<double> ratios;
    for (const RatioRow& row : rows) ratios.push_back(row.log_ratio);
    std::ranges::nth_element(ratios, ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2));
    tables_.log_ratio = Rounded(ratios[ratios.size() / 2]);
    for (const RatioRow& row : rows) residual_.push_back(row.log_ratio - tables_.log_ratio);
  }

  RatioTables Run() {
    for (int i = 0; i < kRatioSteps; ++i) tables_.steps.push_back(Step());
    return std::move(tables_);
  }

 private:
  RatioStep Step() {
    RatioStep step;
    std::ranges::fill(leaf_, std::uint8_t{0});
    for (int level = 0; level < kQuestions; ++level) {
      auto& question = step.questions[static_cast<std::size_t>(level)];
      const std::size_t cut = BestCut(std::size_t{1} << level, &question);
      const Feature& feature = features_[static_cast<std::size_t>(question.feature)];
      for (std::size_t i = 0; i < leaf_.size(); ++i) {
        leaf_[i] = static_cast<std::uint8_t>(leaf_[i] * 2 + (feature.bin[i] > cut ? 1 : 0));
      }
    }
    Add(&step);
    return step;
  }

  // Its index among the feature's cuts. A feature without cuts, asked of all, tells nothing apart.
  std::size_t BestCut(std::size_t leaves, RatioStep::Question* question) const {
    double best = -1;
    std::size_t at = 0;
    for (std::size_t f = 0; f < features_.size(); ++f) {
      const std::vector<double> gains = Gains(features_[f], leaves);
      for (std::size_t cut = 0; cut < gains.size(); ++cut) {
        if (gains[cut] <= best) continue;
        best = gains[cut];
        at = cut;
        *question = {static_cast<int>(f), features_[f].cuts[cut]};
      }
    }
    return best < 0 ? kBins : at;
  }

  // Of each cut of a feature, over all leaves.
  std::vector<double> Gains(const Feature& feature, std::size_t leaves) const {
    const std::size_t bins = feature.cuts.size() + 1;
    std::vector<Sum> sums(leaves * bins);
    for (std::size_t i = 0; i < leaf_.size(); ++i) {
      Sum& sum = sums[leaf_[i] * bins + feature.bin[i]];
      sum.residual += residual_[i];
      sum.rows += 1;
    }
    std::vector<double> gains(feature.cuts.size(), 0);
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      Sum all, below;
      for (std::size_t b = 0; b < bins; ++b) {
        all.residual += sums[leaf * bins + b].residual;
        all.rows += sums[leaf * bins + b].rows;
      }
      for (std::size_t cut = 0; cut < gains.size(); ++cut) {
        below.residual += sums[leaf * bins + cut].residual;
        below.rows += sums[leaf * bins + cut].rows;
        gains[cut] += below.Gain() + Sum{all.residual - below.residual, all.rows - below.rows}.Gain();
      }
    }
    return gains;
  }

  void Add(RatioStep* step) {
    std::array<Sum, 1 << kQuestions> sums{};
    for (std::size_t i = 0; i < leaf_.size(); ++i) {
      sums[leaf_[i]].residual += residual_[i];
      sums[leaf_[i]].rows += 1;
    }
    for (std::size_t leaf = 0; leaf < sums.size(); ++leaf) {
      const double add = kRate * sums[leaf].residual / (sums[leaf].rows + kPull);
      step->add[leaf] = static_cast<std::int32_t>(std::lround(add / kRatioUnit));
    }
    for (std::size_t i = 0; i < leaf_.size(); ++i) residual_[i] -= step->add[leaf_[i]] * kRatioUnit;
  }

  std::vector<Feature> features_;
  std::vector<double> residual_;    // by row
  std::vector<std::uint8_t> leaf_;  // by row, of the step under way
  RatioTables tables_;
};

}  // namespace

RatioTables FitRatioTables(std::span<const RatioRow> rows) {
  STOWPLAN_CHECK(!rows.empty());
  return Booster(rows).Run();
}

}  // namespace stowplan::cost_models
