#include "cli/validate/gpu_accuracy.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/validate/score.h"
#include "output/csv.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"
#include "sim/formats/formats.h"

namespace stowplan::cli {
namespace {

// Goals of the mean error of held-out rows, by family.
constexpr std::pair<std::string_view, double> kGoals[] = {{"gemm", 0.06},
                                                          {"batched_gemm", 0.06},
                                                          {"attention", 0.04},
                                                          {"decode", 0.04},
                                                          {"experts", 0.07},
                                                          {"elementwise", 0.08},
                                                          {"softmax", 0.08},
                                                          {"layer_norm", 0.08},
                                                          {"convolution", 0.10},
                                                          {"recurrent", 0.15},
                                                          {"convolution_filter", 0.10},
                                                          {"convolution_image", 0.10}};

// Whose times are compared, as models.csv and order.csv call them, and for people.
constexpr std::pair<std::string_view, std::string_view> kPredictors[] = {
    {"simulated", "stowplan"}, {"structural", "structural"}, {"operators", "sum of measured operators"},
    {"neusight", "NeuSight"},  {"habitat", "Habitat"},       {"micro", "micro-benchmarks"},
    {"roofline", "roofline"}};

// A table with named columns.
class Table {
 public:
  explicit Table(const std::string& path)
      : path_(path), lines_(output::ParseCsv(formats::ReadFile(path), path)) {
    if (lines_.empty()) throw InputError(path + ": has no header, a line that names its columns");
    for (std::size_t line = 1; line < lines_.size(); ++line) {
      if (lines_[line].size() != lines_[0].size())
        throw InputError(fmt::format("{}:{}: has {} fields, but the header names {} columns", path, line + 1,
                                     lines_[line].size(), lines_[0].size()));
    }
  }

  std::size_t size() const { return lines_.size() - 1; }
  const std::string& Text(std::size_t row, std::string_view column) const {
    const auto found = std::ranges::find(lines_[0], column);
    if (found == lines_[0].end()) throw InputError(fmt::format("{}:1: lacks the column '{}'", path_, column));
    return lines_[row + 1][static_cast<std::size_t>(found - lines_[0].begin())];
  }
  // Nothing where the field is empty.
  std::optional<double> Number(std::size_t row, std::string_view column) const {
    const std::string& text = Text(row, column);
    if (text.empty()) return std::nullopt;
    double value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc() || end != text.data() + text.size())
      throw InputError(
          fmt::format("{}:{}: {} is '{}', but must be a number or nothing", path_, row + 2, column, text));
    return value;
  }

 private:
  std::string path_;
  std::vector<output::CsvLine> lines_;
};

// Nothing of nothing.
std::optional<double> Mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

bool IsOfSeveralGpus(const std::string& model) {
  return model.ends_with("-pp4_1") || model.ends_with("-dp4") || model.ends_with("-tp4");
}

// ---- whole models ------------------------------------------------------------------------------------------

// Errors by predictor, only where all of the rows have it.
std::vector<std::string> MeanErrors(const Table& models, const std::vector<std::size_t>& rows) {
  std::vector<std::string> cells;
  for (const auto& [column, name] : kPredictors) {
    std::vector<double> errors;
    for (const std::size_t row : rows)
      if (const auto ratio = models.Number(row, column)) errors.push_back(std::abs(*ratio - 1));
    cells.push_back(errors.size() == rows.size() ? PercentText(Mean(errors)) : PercentText(std::nullopt));
  }
  return cells;
}

std::vector<std::string> Header(std::vector<std::string> first) {
  for (const auto& [column, name] : kPredictors) first.emplace_back(name);
  return first;
}

// Of figures that say little of predictors that are far off.
constexpr std::string_view kOrdered[] = {"simulated", "structural", "operators", "neusight", "roofline"};
std::vector<std::string> OrderedHeader(std::vector<std::string> first) {
  for (const auto& [column, name] : kPredictors)
    if (std::ranges::find(kOrdered, column) != std::end(kOrdered)) first.emplace_back(name);
  return first;
}

output::ReportSection ModelsSection(const Table& models) {
  output::ReportSection section{.title = "GPUs: whole models, mean of |predicted / measured - 1|",
                                .header = Header({"GPU", "rows in the fit", "cases"}),
                                .left_columns = 2};
  std::map<std::string, std::vector<std::size_t>> groups;  // by GPU
  std::vector<std::string> order;
  std::vector<std::size_t> fitted, others, pipelines, data, tensor;
  for (std::size_t row = 0; row < models.size(); ++row) {
    const std::string& gpu = models.Text(row, "gpu");
    const std::string& model = models.Text(row, "model");
    if (IsOfSeveralGpus(model)) {
      (model.ends_with("-pp4_1") ? pipelines : model.ends_with("-dp4") ? data : tensor).push_back(row);
      continue;
    }
    if (!groups.contains(gpu)) order.push_back(gpu);
    groups[gpu].push_back(row);
    (models.Text(row, "in_fit") == "yes" ? fitted : others).push_back(row);
  }
  const auto add = [&](const std::string& name, const std::string& in_fit,
                       const std::vector<std::size_t>& rows) {
    if (rows.empty()) return;
    std::vector<std::string> cells = {name, in_fit, std::to_string(rows.size())};
    for (std::string& cell : MeanErrors(models, rows)) cells.push_back(std::move(cell));
    section.rows.push_back(std::move(cells));
  };
  for (const std::string& gpu : order) add(gpu, models.Text(groups[gpu].front(), "in_fit"), groups[gpu]);
  add("pipelines on four GPUs", "no", pipelines);
  add("data-parallel on four", "no", data);
  add("tensor-parallel on four", "no", tensor);
  add("all of GPUs in the fit", "yes", fitted);
  add("all of other GPUs", "no", others);
  section.sentences = {
      "goals: 4 % in the fit, 5 % for pipelines; what is no better than the sum of the measured operators "
      "shows "
      "nothing of replay",
      "BERT-large and GPT-2-large in f32; peers as NeuSight's authors published them"};
  return section;
}

output::ReportSection CasesSection(const Table& models) {
  output::ReportSection section{.title = "GPUs: every case, predicted / measured",
                                .header = Header({"GPU", "model"}),
                                .left_columns = 2,
                                .folded = true};
  for (std::size_t row = 0; row < models.size(); ++row) {
    std::vector<std::string> cells = {models.Text(row, "gpu"), models.Text(row, "model")};
    for (const auto& [column, name] : kPredictors) {
      const auto ratio = models.Number(row, column);
      cells.push_back(ratio ? fmt::format("{:.3f}", *ratio) : NumberText(std::nullopt));
    }
    section.rows.push_back(std::move(cells));
  }
  return section;
}

// "gpt2_large-inf-1024-8" -> "gpt2_large-inf-1024-", 8; nothing where the name does not end in a number.
std::optional<std::pair<std::string, int>> ModelAndBatch(const std::string& name) {
  const auto end = name.find_last_not_of("0123456789");
  if (end == std::string::npos || end + 1 == name.size() || IsOfSeveralGpus(name)) return std::nullopt;
  int batch = 0;
  std::from_chars(name.data() + end + 1, name.data() + name.size(), batch);
  return std::pair(name.substr(0, end + 1), batch);
}

// How much longer the larger batch takes, predicted over measured: the cases' ratios tell.
output::ReportSection GrowthSection(const Table& models) {
  std::map<std::pair<std::string, std::string>, std::map<int, std::size_t>> batches;
  for (std::size_t row = 0; row < models.size(); ++row) {
    if (const auto model = ModelAndBatch(models.Text(row, "model")))
      batches[{models.Text(row, "gpu"), model->first}].emplace(model->second, row);
  }
  output::ReportSection section{.title = "GPUs: growth of a step from its smaller batch to its larger",
                                .header = Header({"of |predicted / measured - 1|"})};
  for (const auto& [name, share] : {std::pair("median", 0.5), std::pair("worst", 1.0)}) {
    std::vector<std::string> cells = {name};
    for (const auto& [column, title] : kPredictors) {
      std::vector<double> errors;
      for (const auto& [key, rows] : batches) {
        const auto small = models.Number(rows.begin()->second, column),
                   large = models.Number(rows.rbegin()->second, column);
        if (rows.size() > 1 && small && large) errors.push_back(std::abs(*large / *small - 1));
      }
      cells.push_back(errors.empty() ? PercentText(std::nullopt) : PercentText(Quantile(errors, share)));
    }
    section.rows.push_back(std::move(cells));
  }
  return section;
}

output::ReportSection OrderSection(const Table& order) {
  output::ReportSection section{.title = "GPUs: Kendall's tau over what was measured",
                                .header = OrderedHeader({"what is ordered", "pairs"})};
  for (std::size_t row = 0; row < order.size(); ++row) {
    std::vector<std::string> cells = {order.Text(row, "what"), order.Text(row, "pairs")};
    for (const std::string_view column : kOrdered) {
      const auto tau = order.Number(row, column);
      cells.push_back(tau ? fmt::format("{:.2f}", *tau) : NumberText(std::nullopt));
    }
    section.rows.push_back(std::move(cells));
  }
  return section;
}

// ---- ops ----------------------------------------------------------------------------------------------------

// Means over GPUs; the worst GPU in parentheses.
output::ReportSection FamiliesSection(const Table& ops) {
  output::ReportSection section{
      .title = "GPUs: ops, mean error over the GPUs (of the worst one)",
      .header = {"class", "goal", "GPUs and formats", "stowplan, held-out shapes", "… and behind the host",
                 "stowplan, a GPU left out", "structural"}};
  for (const auto& [family, goal] : kGoals) {
    std::vector<std::string> cells = {std::string(family), PercentText(goal)};
    std::size_t gpus = 0;
    for (const char* column : {"error", "error_with_hidden", "gpu_left_out", "structural"}) {
      std::vector<double> errors;
      std::size_t of_family = 0;
      for (std::size_t row = 0; row < ops.size(); ++row) {
        if (ops.Text(row, "family") != family) continue;
        ++of_family;
        if (const auto error = ops.Number(row, column)) errors.push_back(*error);
      }
      if (of_family == 0) break;
      if (gpus == 0) cells.push_back(std::to_string(gpus = of_family));
      cells.push_back(errors.empty() ? NumberText(std::nullopt)
                                     : fmt::format("{} ({})", PercentText(Mean(errors)),
                                                   PercentText(Quantile(errors, 1))));
    }
    if (gpus > 0) section.rows.push_back(std::move(cells));
  }
  section.sentences = {
      "held-out shapes: without those whose time the host hides, which the next column has too; structural: "
      "a roofline "
      "with efficiencies and waves"};
  return section;
}

output::ReportSection EveryOpSection(const Table& ops) {
  output::ReportSection section{
      .title = "GPUs: every class on every GPU in the fit",
      .header = {"GPU", "class", "format", "rows", "behind the host", "held out", "mean", "median",
                 "with those behind the host", "the fifth with most work", "GPU left out", "structural",
                 "roofline"},
      .left_columns = 3};
  for (std::size_t row = 0; row < ops.size(); ++row) {
    std::vector<std::string> cells;
    for (const char* column : {"kind", "family", "format", "rows", "hidden", "held_out"})
      cells.push_back(ops.Text(row, column));
    for (const char* column :
         {"error", "median", "error_with_hidden", "largest", "gpu_left_out", "structural", "roofline"})
      cells.push_back(PercentText(ops.Number(row, column)));
    section.rows.push_back(std::move(cells));
  }
  return section;
}

output::ReportSection LinksSection(const Table& links) {
  output::ReportSection section{
      .title =
          "Links between GPUs: send and receive of a tensor, or a step of a ring, |predicted / measured - 1|",
      .header = {"link", "measured on", "in the fit", "sizes", "curve: median", "worst",
                 "latency and bandwidth: median", "worst"},
      .left_columns = 3};
  for (std::size_t row = 0; row < links.size(); ++row) {
    std::vector<std::string> cells;
    for (const char* column : {"link", "measured_on", "in_fit", "sizes"})
      cells.push_back(links.Text(row, column));
    for (const char* column : {"curve_median", "curve_worst", "line_median", "line_worst"})
      cells.push_back(PercentText(links.Number(row, column)));
    section.rows.push_back(std::move(cells));
  }
  section.sentences = {"which of the two the catalogue has: cost_models/data/links.yaml"};
  return section;
}

// Cases of `in_fit` on one GPU.
std::optional<double> ErrorOf(const Table& models, std::string_view predictor, std::string_view in_fit) {
  std::vector<double> errors;
  for (std::size_t row = 0; row < models.size(); ++row) {
    if (models.Text(row, "in_fit") != in_fit || IsOfSeveralGpus(models.Text(row, "model"))) continue;
    if (const auto ratio = models.Number(row, predictor)) errors.push_back(std::abs(*ratio - 1));
  }
  return Mean(errors);
}

}  // namespace

GpuAccuracy ReadGpuAccuracy(const std::string& folder) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(folder)) return {};
  const auto read = [&](const char* name) { return Table((fs::path(folder) / name).string()); };
  const Table models = read("models.csv"), ops = read("ops.csv"), order = read("order.csv"),
              links = read("links.csv");
  GpuAccuracy made;
  const auto errors = [&](const char* in_fit) {
    return fmt::format(
        "{} (NeuSight {}, structural price {})", PercentText(ErrorOf(models, "simulated", in_fit)),
        PercentText(ErrorOf(models, "neusight", in_fit)), PercentText(ErrorOf(models, "structural", in_fit)));
  };
  made.lead = fmt::format("GPUs, measured by others, mean errors of whole models: in the fit {}, others {}.",
                          errors("yes"), errors("no"));
  made.verdict = {ModelsSection(models), OrderSection(order), FamiliesSection(ops)};
  made.every_row = {CasesSection(models), GrowthSection(models), EveryOpSection(ops), LinksSection(links)};
  return made;
}

}  // namespace stowplan::cli
