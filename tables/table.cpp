#include "tables/table.h"

#include <algorithm>

namespace stowplan::tables {

const std::string& TableLine::AgentOf(const TableColumn& column) const {
  const auto own = agents.find(column.key);
  return own == agents.end() ? column.agent : own->second;
}

const std::string& TableLine::GrouperOf(const TableColumn& column) const {
  return column.grouper.empty() ? grouper : column.grouper;
}

bool TableLine::IsFitted(const TableColumn& column) const {
  return std::find(fitted.begin(), fitted.end(), column.key) != fitted.end();
}

std::string TableParameter::name() const {
  return kind + "." + (classes.empty() ? std::string("dispatch_us") : classes.front());
}

const TableBudget& TableDefinition::BudgetOf(BudgetSize size) const {
  return size == BudgetSize::kQuick ? quick : (size == BudgetSize::kPaper ? paper : standard);
}

bool TableDefinition::HasCell(const std::string& block, const std::string& line,
                              const std::string& column) const {
  const auto has = [](const auto& list, const std::string& key) {
    return std::any_of(list.begin(), list.end(), [&](const auto& entry) { return entry.key == key; });
  };
  return std::any_of(blocks.begin(), blocks.end(), [&](const TableBlock& candidate) {
    return candidate.key == block && has(candidate.lines, line) && has(candidate.columns, column);
  });
}

const std::vector<BudgetSize>& BudgetSizes() {
  static const std::vector<BudgetSize> sizes = {BudgetSize::kQuick, BudgetSize::kStandard,
                                                BudgetSize::kPaper};
  return sizes;
}

const char* ToString(BudgetSize size) {
  switch (size) {
    case BudgetSize::kQuick:
      return "quick";
    case BudgetSize::kStandard:
      return "standard";
    case BudgetSize::kPaper:
      return "paper";
  }
  return "";
}

const char* ToString(CellKind kind) {
  switch (kind) {
    case CellKind::kFitted:
      return "fitted";
    case CellKind::kPredicted:
      return "predicted";
    case CellKind::kSearched:
      return "searched";
  }
  return "";
}

}  // namespace stowplan::tables
