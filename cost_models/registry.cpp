// The table of cost models: what `stowplan list`, the help, the docs and the conformance tests read.

#include "cost_models/collectives/collectives.h"
#include "cost_models/cost_models.h"
#include "cost_models/models/models.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/rows.h"

namespace stowplan::cost_models {
namespace {

constexpr int kDeepestNesting = 8;

bool IsFile(const std::string& text) {
  const bool named = text.ends_with(".json") || text.ends_with(".zst") || text.find('/') != std::string::npos;
  return named && text.find('(') == std::string::npos;
}

void CheckNesting(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' && ++depth > kDeepestNesting) throw InputError("a cost model nested more than 8 deep");
    if (c == ')') --depth;
  }
}

}  // namespace

const std::vector<CostModelRow>& CostModels() {
  static const std::vector<CostModelRow> rows = {
      {"constant", "every op takes the same time: a control, no model", ConstantSettings(), MakeConstant},
      {"analytic",
       "roofline by op class with waves of tiles; right to about a factor of 2 until efficiencies are "
       "fitted, or given "
       "(CLASS=0.5, KIND.CLASS=0.5)",
       AnalyticSettings(), MakeAnalytic},
      {"table", "measured ops by signature; exact where it answers", FileSettings(), MakeTable},
      {"fitted",
       "roofline corrected by measurements of the same class, with an interval; good inside their range",
       FileSettings(), MakeFitted},
      {"chain",
       "the first of its models that answers; chain(table,fitted,analytic) is the default",
       {},
       MakeChain},
  };
  return rows;
}

std::unique_ptr<sim::CostModel> MakeCostModel(const std::string& text, const Catalogue& catalogue) {
  if (text.empty()) return MakeCostModel("chain", catalogue);
  if (IsFile(text)) {
    if (text.find_first_of("),") != std::string::npos) {
      throw InputError("the parameter file '" + text + "' has a comma or parenthesis in its path; rename it");
    }
    const std::string file = "(file=" + text + ")";
    return MakeCostModel("chain(table" + file + ",fitted" + file + ",analytic" + file + ")", catalogue);
  }
  CheckNesting(text);
  const Spec spec = Spec::Parse(text);
  const CostModelRow* row = FindRow(CostModels(), spec.name);
  if (row == nullptr) {
    const std::vector<std::string> names = NamesOf(CostModels());
    throw InputError("there is no cost model '" + spec.name + "'" + DidYouMean(spec.name, names) +
                     "; known are " + JoinNames(names) +
                     ", and a file is named by a path that ends in .json or .json.zst");
  }
  return row->make(spec, catalogue);
}

const std::vector<CollectiveModelRow>& CollectiveModels() {
  static const std::vector<CollectiveModelRow> rows = {
      {"nccl",
       "as NCCL does them: laws fitted to measured times inside a host, NCCL's own reckoning over all NICs "
       "between hosts",
       {},
       MakeNcclCollectives},
  };
  return rows;
}

std::unique_ptr<CollectiveModel> MakeCollectiveModel(const std::string& text, const sim::Cluster& cluster,
                                                     const Catalogue& catalogue) {
  const Spec spec = Spec::Parse(text.empty() ? CollectiveModels().front().name : text);
  const CollectiveModelRow* const row = FindRow(CollectiveModels(), spec.name);
  if (row == nullptr) {
    const std::vector<std::string> names = NamesOf(CollectiveModels());
    throw InputError("there is no model of collectives '" + spec.name + "'" + DidYouMean(spec.name, names) +
                     "; known are " + JoinNames(names));
  }
  return row->make(Settings(spec, row->settings), cluster, catalogue);
}

}  // namespace stowplan::cost_models
