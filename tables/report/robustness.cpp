// Does the simulator flatter the agent (docs/protocol.md#robustness)? Every final placement of the other
// tables under sharing, queues and costs that its agent never saw. A variant makes all placements of a row
// faster or slower; what counts is how much more a placement then trails the row's best than it did: its
// robust gap.
#include "tables/report/robustness.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "output/console.h"
#include "tables/report/bootstrap.h"
#include "tables/report/common.h"

namespace stowplan::tables {
namespace {

constexpr double kDoesNotFit = INFINITY;
constexpr char kNativeRules[] = "native";  // of blocks, and the key of its variant

// All runtimes of one placement: its own, then one for each variant and draw; empty where the variant is its
// own rule.
using Runtimes = std::vector<std::optional<double>>;

Runtimes RuntimesOf(const RobustRecord& record) {
  Runtimes runtimes = {record.runtime_us};
  for (const std::string& text : record.variant_us) {
    if (text == "same") {
      runtimes.emplace_back();
    } else {
      runtimes.emplace_back(text == "oom" ? kDoesNotFit : std::stod(text));
    }
  }
  for (const auto& runtime : record.costs_us) runtimes.emplace_back(runtime.value_or(kDoesNotFit));
  return runtimes;
}

// The placements of one row of a table.
struct Field {
  const TableResults* results;
  const TableBlock* block;
  const TableLine* line;
  std::vector<const RobustRecord*> records;
  std::vector<Runtimes> runtimes;
  Runtimes best;  // smallest of all placements

  // How much more a placement trails the best than under its own rules.
  std::optional<double> Gap(std::size_t record, std::size_t variant) const {
    const auto& own = runtimes[record][variant];
    if (!own || !best[variant]) return std::nullopt;
    if (!std::isfinite(*own)) return kDoesNotFit;
    return (*own / *best[variant]) / (*runtimes[record][0] / *best[0]);
  }
};

// Points into both.
std::vector<Field> FieldsOf(const std::vector<TableResults>& tables,
                            const std::vector<RobustRecord>& records) {
  std::vector<Field> fields;
  for (const TableResults& results : tables) {
    for (const TableBlock& block : results.table().blocks) {
      for (const TableLine& line : block.lines) {
        Field field{&results, &block, &line, {}, {}, {}};
        for (const RobustRecord& record : records) {
          if (record.table != results.table().name || record.block != block.key || record.row != line.key)
            continue;
          field.records.push_back(&record);
          field.runtimes.push_back(RuntimesOf(record));
        }
        if (field.records.empty()) continue;
        field.best = field.runtimes.front();
        for (const Runtimes& runtimes : field.runtimes) {
          for (std::size_t v = 0; v < runtimes.size(); ++v) {
            if (runtimes[v] && field.best[v]) field.best[v] = std::min(*field.best[v], *runtimes[v]);
          }
        }
        fields.push_back(std::move(field));
      }
    }
  }
  return fields;
}

std::size_t FirstDraw() {
  return 1 + RobustVariants().size();
}

// Median over the seeds of a column; empty where no seed has the number.
std::optional<double> MedianOverSeeds(
    const Field& field, const std::string& column,
    const std::function<std::optional<double>(std::size_t record)>& number_of) {
  std::vector<double> numbers;
  for (std::size_t r = 0; r < field.records.size(); ++r) {
    if (field.records[r]->column != column) continue;
    if (const auto number = number_of(r)) numbers.push_back(*number);
  }
  if (numbers.empty()) return std::nullopt;
  return MedianByRank(std::move(numbers));
}

std::optional<double> CostGap(const Field& field, std::size_t record, bool worst) {
  std::vector<double> gaps;
  for (std::size_t v = FirstDraw(); v < field.best.size(); ++v) {
    if (const auto gap = field.Gap(record, v)) gaps.push_back(*gap);
  }
  if (gaps.empty()) return std::nullopt;
  return worst ? *std::max_element(gaps.begin(), gaps.end()) : MedianByRank(std::move(gaps));
}

// The largest of all rules and of the median draw of costs.
std::optional<double> WorstGap(const Field& field, std::size_t record) {
  std::optional<double> worst = CostGap(field, record, false);
  for (std::size_t v = 1; v < FirstDraw(); ++v) {
    const auto gap = field.Gap(record, v);
    if (gap && (!worst || *gap > *worst)) worst = gap;
  }
  return worst;
}

std::string GapText(const std::optional<double>& gap) {
  if (!gap) return "–";
  return std::isfinite(*gap) ? fmt::format("{:.2f}", *gap) : "OOM";
}

std::vector<RenderedBlock> Blocks(const std::vector<Field>& fields) {
  std::vector<RenderedBlock> blocks;
  const TableBlock* current = nullptr;
  for (const Field& field : fields) {
    if (field.block != current) {
      current = field.block;
      RenderedBlock& block = blocks.emplace_back();
      block.key = field.results->table().name + "-" + current->key;
      block.title = field.results->table().name + ": " + current->title;
      block.note = current->note;
      block.shows = "Largest robust gap of the cell's placement";
      block.dots = false;
      for (const TableColumn& column : current->columns)
        block.columns.push_back(DescribeColumn(*current, column));
    }
    RenderedLine line = DescribeLine(*field.results, *field.block, *field.line);
    line.bound.clear();
    line.bound_seconds.reset();
    for (const TableColumn& column : current->columns) {
      RenderedCell& cell = line.cells.emplace_back();
      cell.ours =
          GapText(MedianOverSeeds(field, column.key, [&](std::size_t r) { return WorstGap(field, r); }));
    }
    blocks.back().lines.push_back(std::move(line));
  }
  return blocks;
}

struct Variant {
  std::string title;
  std::function<std::optional<double>(const Field& field, std::size_t record)> gap;
};

// Whether the rules differ from some row's own.
bool IsUsed(const std::vector<Field>& fields, std::size_t variant) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field& field) { return field.best[variant + 1].has_value(); });
}

std::vector<Variant> Variants(const std::vector<Field>& fields) {
  std::vector<Variant> variants;
  for (std::size_t v = 0; v < RobustVariants().size(); ++v) {
    if (!IsUsed(fields, v)) continue;
    variants.push_back({RobustVariants()[v].key,
                        [v](const Field& field, std::size_t record) { return field.Gap(record, v + 1); }});
  }
  variants.push_back({"costs, median",
                      [](const Field& field, std::size_t record) { return CostGap(field, record, false); }});
  variants.push_back(
      {"costs, worst", [](const Field& field, std::size_t record) { return CostGap(field, record, true); }});
  return variants;
}

output::ReportSection ByAgent(const std::vector<Field>& fields) {
  output::ReportSection section;
  section.title = "Every agent over all rows";
  section.sentences = {
      "Geometric mean over rows of the robust gap, with its 90 % bootstrap interval over rows; medians over "
      "seeds first; "
      "+n: in so many rows the placement no longer fits, and these are not in the mean. Above 1.00 the "
      "agent's placements "
      "lose more than those of the others do; below, they gain. Rows that two tables share count once."};
  for (std::size_t v = 0; v < RobustVariants().size(); ++v) {
    if (IsUsed(fields, v))
      section.sentences.push_back(fmt::format("{}: {}.", RobustVariants()[v].key, RobustVariants()[v].what));
  }
  section.sentences.push_back(fmt::format(
      "costs: {} draws, a factor between {:.1f} and {:.1f} for each pair of op type and device kind.",
      kCostDraws, 1 - kCostSpread, 1 + kCostSpread));
  section.header = {"agent"};
  const std::vector<Variant> variants = Variants(fields);
  for (const Variant& variant : variants) section.header.push_back(variant.title);
  std::vector<std::string> titles;
  for (const Field& field : fields) {
    for (const TableColumn& column : field.block->columns) {
      if (std::find(titles.begin(), titles.end(), column.title) == titles.end())
        titles.push_back(column.title);
    }
  }
  for (const std::string& title : titles) {
    std::vector<std::string> row = {title};
    bool any = false;
    for (const Variant& variant : variants) {
      std::vector<double> gaps;
      int lost = 0;
      std::set<std::string> counted;
      for (const Field& field : fields) {
        for (const TableColumn& column : field.block->columns) {
          if (column.title != title || !counted.insert(SharedKey(*field.block, *field.line, column)).second)
            continue;
          const auto gap =
              MedianOverSeeds(field, column.key, [&](std::size_t r) { return variant.gap(field, r); });
          if (!gap) continue;
          std::isfinite(*gap) ? gaps.push_back(*gap) : void(++lost);
        }
      }
      std::string text = gaps.empty() ? "–" : [&] {
        const Estimate mean = EstimateMean(gaps);
        return fmt::format("{:.2f} [{:.2f}, {:.2f}]", mean.value, mean.low, mean.high);
      }();
      if (lost > 0) text += fmt::format(" +{}", lost);
      any = any || text != "–";
      row.push_back(std::move(text));
    }
    if (any) section.rows.push_back(std::move(row));
  }
  return section;
}

// The fastest placement of a row under its own rules.
std::size_t WinnerOf(const Field& field) {
  std::size_t winner = 0;
  for (std::size_t r = 0; r < field.records.size(); ++r) {
    if (*field.runtimes[r][0] < *field.runtimes[winner][0]) winner = r;
  }
  return winner;
}

// What the winners of all rows lose under each of the other rules; rows that a block repeats with the paper's samples count
// once.
struct Losses {
  std::vector<double> ratios;  // to the fastest placement there, of those that fit
  std::size_t first = 0, out_of_memory = 0;

  std::size_t rows() const { return ratios.size() + out_of_memory; }
};

Losses LossesOf(const std::vector<Field>& fields, std::size_t variant) {
  Losses losses;
  for (const Field& field : fields) {
    if (field.block->paper_budget) continue;
    const auto& own = field.runtimes[WinnerOf(field)][variant];
    if (!own) continue;
    if (!std::isfinite(*own)) {
      ++losses.out_of_memory;
      continue;
    }
    losses.ratios.push_back(*own / *field.best[variant]);
    losses.first += *own <= *field.best[variant] ? 1 : 0;
  }
  return losses;
}

RenderedBlock Summary(const std::vector<Field>& fields) {
  RenderedBlock out;
  out.key = "summary";
  out.title = "What the fastest placements lose";
  out.shows =
      "The fastest placement of each row under other rules: its runtime / that of the fastest one there";
  out.row_title = "rules";
  out.dots = false;
  for (const char* column : {"rows", "stays first", "mean", "largest", "no longer fits"})
    out.columns.push_back({column, ColumnGroup::kSearch, true});
  for (std::size_t v = 0; v < RobustVariants().size(); ++v) {
    const Losses losses = LossesOf(fields, v + 1);
    if (losses.rows() == 0) continue;
    RenderedLine line;
    line.title = RobustVariants()[v].key;
    line.what = RobustVariants()[v].what;
    const auto add = [&](std::string text) { line.cells.emplace_back().ours = std::move(text); };
    add(std::to_string(losses.rows()));
    add(std::to_string(losses.first));
    add(losses.ratios.empty() ? "–" : fmt::format("{:.2f}", GeometricMean(losses.ratios)));
    add(losses.ratios.empty()
            ? "–"
            : fmt::format("{:.2f}", *std::max_element(losses.ratios.begin(), losses.ratios.end())));
    add(std::to_string(losses.out_of_memory));
    out.lines.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> Outcome(const std::vector<Field>& fields) {
  std::size_t rows = 0, first = 0, out_of_memory = 0;
  std::vector<double> ratios;
  for (std::size_t v = 1; v < FirstDraw(); ++v) {
    const Losses losses = LossesOf(fields, v);
    rows += losses.rows();
    first += losses.first;
    out_of_memory += losses.out_of_memory;
    ratios.insert(ratios.end(), losses.ratios.begin(), losses.ratios.end());
  }
  if (ratios.empty()) return {};
  return {
      fmt::format(
          "Under rules that its agent never saw the fastest placement of a row stays the fastest in {} of {} "
          "cases.",
          first, rows),
      fmt::format("On average it is then {:.2f} times as long as the fastest there, at worst {:.2f} times.",
                  GeometricMean(ratios), *std::max_element(ratios.begin(), ratios.end())),
      fmt::format("In {} cases it no longer fits.", out_of_memory)};
}

// What the best placement of each row is worth elsewhere: how far it then is from the best, and its rank.
output::ReportSection Winners(const std::vector<Field>& fields) {
  output::ReportSection section;
  section.title = "Does the winner stay the winner?";
  section.header = {"row", "winner", "placements"};
  for (std::size_t v = 0; v < RobustVariants().size(); ++v) {
    if (IsUsed(fields, v)) section.header.emplace_back(RobustVariants()[v].key);
  }
  section.header.emplace_back("costs, first in");
  for (const Field& field : fields) {
    const std::size_t winner = WinnerOf(field);
    const auto rank = [&](std::size_t v) {
      return 1 + std::count_if(field.runtimes.begin(), field.runtimes.end(), [&](const Runtimes& other) {
               return other[v] && *other[v] < *field.runtimes[winner][v];
             });
    };
    const auto column =
        std::find_if(field.block->columns.begin(), field.block->columns.end(),
                     [&](const TableColumn& c) { return c.key == field.records[winner]->column; });
    std::vector<std::string> row = {
        fmt::format("{}, {}, {} GPUs", field.results->table().name, field.line->title, field.line->gpus) +
            (field.block == &field.results->table().blocks.front() ? "" : ", " + field.block->title),
        column->title, std::to_string(field.records.size())};
    for (std::size_t v = 1; v < FirstDraw(); ++v) {
      const auto& own = field.runtimes[winner][v];
      if (!IsUsed(fields, v - 1)) continue;
      if (!own) {
        row.emplace_back("–");
      } else if (!std::isfinite(*own)) {
        row.emplace_back("OOM");
      } else {
        row.push_back(fmt::format("{:.2f}, rank {}", *own / *field.best[v], rank(v)));
      }
    }
    int first = 0;
    for (std::size_t v = FirstDraw(); v < field.best.size(); ++v) first += rank(v) == 1;
    row.push_back(fmt::format("{} of {}", first, field.best.size() - FirstDraw()));
    section.rows.push_back(std::move(row));
  }
  section.sentences = {
      "The placement that is fastest under the cell's own rules, its runtime over that of the fastest "
      "placement of the row under the other rules, and its rank there; equal placements share a rank."};
  return section;
}

// The same row in the block of the same table that has stowplan's own rules.
const Field* NativeOf(const std::vector<Field>& fields, const Field& field) {
  for (const Field& other : fields) {
    if (other.results == field.results && other.line->key == field.line->key &&
        other.block->rules == kNativeRules)
      return &other;
  }
  return nullptr;
}

// Learners that were rewarded by the published simulator, judged by ours.
output::ReportSection WrongSimulator(const std::vector<Field>& fields) {
  const auto& variants = RobustVariants();
  const auto native = std::find_if(variants.begin(), variants.end(),
                                   [](const RobustVariant& v) { return v.key == std::string(kNativeRules); });
  const auto variant = static_cast<std::size_t>(1 + (native - variants.begin()));
  output::ReportSection section;
  section.title = "What a wrong simulator costs";
  section.sentences = {
      "What learners found by the rules of the published simulator, judged by these rules and by stowplan's "
      "own, "
      "beside what the same learner found by stowplan's own. Medians over seeds; the loss is that of each "
      "seed's "
      "two placements by stowplan's rules, its median. OOM = it does not fit by stowplan's rules; the "
      "published "
      "ones "
      "know no limit."};
  section.header = {"row and learner", "found by its rules [s]", "judged by ours [s]", "found by ours [s]",
                    "loss"};
  for (const Field& field : fields) {
    if (field.block->rules == kNativeRules) continue;
    const Field* ours = NativeOf(fields, field);
    if (ours == nullptr) continue;
    const auto seconds = [](const std::optional<double>& micros) {
      return std::isfinite(*micros) ? output::SecondsDigits(*micros / 1e6) : "OOM";
    };
    for (const TableColumn& column : field.block->columns) {
      if (!column.learner) continue;
      const auto of = [&](const Field& f, std::size_t v) {
        return MedianOverSeeds(f, column.key, [&](std::size_t r) { return f.runtimes[r][v]; });
      };
      const auto own = of(field, 0);
      const auto judged = of(field, variant);
      const auto native_own = of(*ours, 0);
      const auto loss = MedianOverSeeds(field, column.key, [&](std::size_t r) -> std::optional<double> {
        const auto same_seed =
            std::find_if(ours->records.begin(), ours->records.end(), [&](const RobustRecord* record) {
              return record->column == column.key && record->seed == field.records[r]->seed;
            });
        const auto& judged_seed = field.runtimes[r][variant];
        if (same_seed == ours->records.end() || !judged_seed) return std::nullopt;
        return *judged_seed / (*same_seed)->runtime_us;
      });
      if (!own || !judged || !native_own || !loss) continue;
      section.rows.push_back(
          {fmt::format("{}, {} GPUs, {}", field.line->title, field.line->gpus, column.title), seconds(own),
           seconds(judged), seconds(native_own), GapText(loss)});
    }
  }
  return section;
}

}  // namespace

RenderedTable RenderRobustness(const std::vector<TableResults>& tables, const std::string& rows) {
  const std::vector<RobustRecord> records = ParseRobustRows(rows);
  const std::vector<Field> fields = FieldsOf(tables, records);
  RenderedTable table;
  table.name = "robustness";
  table.title = "What final placements lose under rules that their agents never saw";
  table.legend =
      "The robust gap of a placement under other rules: how far it is from the fastest placement of its row "
      "there, divided by how far it is under its own rules. 1.00 = it keeps its place; 1.20 = it loses a "
      "fifth to the others. Each cell has the largest gap over all rules and the median draw of costs, "
      "median over seeds. OOM = it no longer fits. – = nothing feasible, or the row keeps no placement. Not "
      "among the rules: unfused graphs, whose ops have no place in a placement of fused ones.";
  table.short_legend = "1.00: still the fastest.";
  table.outcome = Outcome(fields);
  table.summary = Summary(fields);
  table.blocks = Blocks(fields);
  table.discussion = {ByAgent(fields), Winners(fields)};
  if (output::ReportSection wrong = WrongSimulator(fields); !wrong.rows.empty())
    table.discussion.push_back(std::move(wrong));
  table.provenance = DerivedProvenance(table.name, tables);
  return table;
}

}  // namespace stowplan::tables
