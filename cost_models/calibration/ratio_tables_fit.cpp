#include "cost_models/calibration/ratio_tables_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::cost_models {
namespace {

constexpr std::size_t kBins = 100;
constexpr double kRate = 0.2;
constexpr double kMostResidual = 0.3;  // what a row says at most: some hold a spike of the machine
constexpr std::size_t kMostOfPart = 16'384;

// As files hold it, so that a file prices as the fit did.
double Rounded(double value) {
  return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
}

struct Feature {
  int index = 0;
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
  Feature feature{static_cast<int>(at), CutsOf(values), {}};
  for (const double value : values) {
    const auto above = std::ranges::lower_bound(feature.cuts, value) - feature.cuts.begin();
    feature.bin.push_back(static_cast<std::uint8_t>(above));
  }
  return feature;
}

struct Sum {
  double residual = 0;
  double rows = 0;
  double Gain(double pull) const { return residual * residual / (rows + pull); }
};

class Booster {
 public:
  Booster(std::span<const RatioRow> rows, const RatioFitOptions& options)
      : options_(options), residual_(rows.size()), answers_(rows.size()) {
    for (std::size_t i = 0; i < rows.front().features.size(); ++i) {
      Feature feature = MakeFeature(rows, i);
      const bool tells =
          !feature.cuts.empty() && std::ranges::none_of(features_, [&](const Feature& earlier) {
            return earlier.cuts.size() == feature.cuts.size() && earlier.bin == feature.bin;
          });
      if (tells) features_.push_back(std::move(feature));
    }
    std::vector<double> ratios;
    for (const RatioRow& row : rows) ratios.push_back(row.log_ratio);
    std::ranges::nth_element(ratios, ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2));
    tables_.log_ratio = Rounded(ratios[ratios.size() / 2]);
    for (std::size_t i = 0; i < rows.size(); ++i) residual_[i] = rows[i].log_ratio - tables_.log_ratio;
    MakeParts();
  }

  RatioTables Run() {
    for (int i = 0; i < options_.steps && !features_.empty(); ++i)
      tables_.steps.push_back(Step(parts_[static_cast<std::size_t>(i) % parts_.size()]));
    return std::move(tables_);
  }

 private:
  // Rows by which a step chooses its questions, in turn: all of them would say little more.
  struct Part {
    std::vector<std::uint32_t> rows;
    std::vector<std::vector<std::uint8_t>> bins;  // by feature and row of the part
  };

  void MakeParts() {
    parts_.resize((residual_.size() + kMostOfPart - 1) / kMostOfPart);
    for (std::size_t i = 0; i < residual_.size(); ++i)
      parts_[(static_cast<std::uint32_t>(i) * 2654435761U >> 8) % parts_.size()].rows.push_back(
          static_cast<std::uint32_t>(i));
    std::erase_if(parts_, [](const Part& part) { return part.rows.empty(); });
    for (Part& part : parts_) {
      for (const Feature& feature : features_) {
        part.bins.emplace_back();
        for (const std::uint32_t row : part.rows) part.bins.back().push_back(feature.bin[row]);
      }
    }
  }

  double Clipped(std::size_t row) const { return std::clamp(residual_[row], -kMostResidual, kMostResidual); }

  RatioStep Step(const Part& part) {
    RatioStep step;
    seen_.clear();
    for (const std::uint32_t row : part.rows) seen_.push_back(Clipped(row));
    leaf_.assign(part.rows.size(), 0);
    std::ranges::fill(answers_, std::uint8_t{0});
    for (int level = 0; level < kQuestions; ++level) {
      const Cut cut = BestCut(part, std::size_t{1} << level);
      const Feature& feature = features_[cut.feature];
      step.questions[static_cast<std::size_t>(level)] = {feature.index, feature.cuts[cut.at]};
      const auto answer = [&](std::uint8_t* answers, std::uint8_t bin) {
        *answers = static_cast<std::uint8_t>(*answers * 2 + (bin > cut.at ? 1 : 0));
      };
      for (std::size_t i = 0; i < answers_.size(); ++i) answer(&answers_[i], feature.bin[i]);
      for (std::size_t i = 0; i < leaf_.size(); ++i) answer(&leaf_[i], part.bins[cut.feature][i]);
    }
    Add(&step);
    return step;
  }

  struct Cut {
    std::size_t feature = 0;  // of features_
    std::size_t at = 0;       // of its cuts
  };
  Cut BestCut(const Part& part, std::size_t leaves) {
    double best = -1;
    Cut cut;
    for (std::size_t f = 0; f < features_.size(); ++f) {
      const std::vector<double>& gains = Gains(part, f, leaves);
      for (std::size_t at = 0; at < gains.size(); ++at) {
        if (gains[at] <= best) continue;
        best = gains[at];
        cut = {f, at};
      }
    }
    return cut;
  }

  // Of each cut of a feature, over all leaves.
  const std::vector<double>& Gains(const Part& part, std::size_t feature, std::size_t leaves) {
    gains_.assign(features_[feature].cuts.size(), 0);
    const std::size_t bins = gains_.size() + 1;
    sums_.assign(leaves * bins, {});
    const std::vector<std::uint8_t>& bin = part.bins[feature];
    for (std::size_t i = 0; i < leaf_.size(); ++i) {
      Sum& sum = sums_[leaf_[i] * bins + bin[i]];
      sum.residual += seen_[i];
      sum.rows += 1;
    }
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      const std::span of(&sums_[leaf * bins], bins);
      Sum all, below;
      for (const Sum& sum : of) all.residual += sum.residual, all.rows += sum.rows;
      if (all.rows == 0) continue;
      for (std::size_t cut = 0; cut < gains_.size(); ++cut) {
        below.residual += of[cut].residual;
        below.rows += of[cut].rows;
        gains_[cut] += below.Gain(options_.pull) +
                       Sum{all.residual - below.residual, all.rows - below.rows}.Gain(options_.pull);
      }
    }
    return gains_;
  }

  void Add(RatioStep* step) {
    std::array<Sum, 1 << kQuestions> sums{};
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      sums[answers_[i]].residual += Clipped(i);
      sums[answers_[i]].rows += 1;
    }
    for (std::size_t leaf = 0; leaf < sums.size(); ++leaf) {
      const double add = kRate * sums[leaf].residual / (sums[leaf].rows + options_.pull);
      step->add[leaf] = static_cast<std::int32_t>(std::lround(add / kRatioUnit));
    }
    for (std::size_t i = 0; i < answers_.size(); ++i) residual_[i] -= step->add[answers_[i]] * kRatioUnit;
  }

  const RatioFitOptions options_;
  std::vector<Feature> features_;
  std::vector<double> residual_;  // by row
  std::vector<Part> parts_;
  std::vector<std::uint8_t> answers_;  // by row, of the step under way
  std::vector<double> seen_;           // by row of its part: the residual
  std::vector<std::uint8_t> leaf_;     // and the answers
  std::vector<Sum> sums_;
  std::vector<double> gains_;
  RatioTables tables_;
};

}  // namespace

RatioTables FitRatioTables(std::span<const RatioRow> rows, const RatioFitOptions& options) {
  STOWPLAN_CHECK(!rows.empty());
  return Booster(rows, options).Run();
}

}  // namespace stowplan::cost_models
