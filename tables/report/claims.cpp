#include "tables/report/claims.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tables/report/bootstrap.h"
#include "tables/report/common.h"
#include "tables/report/learned.h"
#include "tables/settings_before.h"

namespace stowplan::tables {
namespace {

// A claim is not judged for a learner that did not learn; it is not lost where settings have changed since, nor won against
// an opponent whose settings have. The first subject is the claim's, the others its opponents. No block: settings of
// all blocks, learners of the first.
void ExcuseLearners(const TableResults& results, const std::string& block,
                    const std::vector<std::string>& rows, ClaimVerdict& verdict) {
  if (verdict.word == ClaimWord::kCannotBeTested) return;
  for (const std::string& subject : verdict.subjects) {
    const std::string& in = block.empty() ? results.table().blocks.front().key : block;
    const std::optional<std::string> why = WhyNotLearned(results, in, rows, subject);
    if (!why) continue;
    verdict.word = ClaimWord::kDidNotLearn;
    verdict.ours = *why + "; " + verdict.ours;
    verdict.unlearned = ColumnOf(BlockOf(results.table(), in), subject).title;
    if (verdict.family.empty() && subject == verdict.subjects.front()) {
      verdict.figure.reset();  // of another claim than those that stand in its line
      verdict.family = verdict.unlearned + ": all that is claimed of it alone";
      verdict.member = verdict.claim;
      verdict.entry = -1;
    }
    return;
  }
  std::span<const std::string> asked;
  if (verdict.word == ClaimWord::kDoesNotHold) asked = verdict.subjects;
  if (verdict.word == ClaimWord::kHolds && verdict.subjects.size() > 1)
    asked = std::span(verdict.subjects).subspan(1);
  if (std::ranges::any_of(
          asked, [&](const std::string& subject) { return AnyBefore(results, block, rows, subject); })) {
    verdict.word = ClaimWord::kUndecided;
    verdict.ours += "; some rows are of settings before today's";
  }
}

// What holds of the same network without learning too is no merit of learning (docs/protocol.md#claims). `verdicts`: all of
// the claim.
void AskUntrained(const TableResults& results, const Claim& claim, const ClaimKind& kind,
                  std::vector<ClaimVerdict>& verdicts) {
  for (const std::string& learner : claim.columns) {
    const TableColumn* twin = UntrainedTwin(BlockOf(results.table(), claim.block), learner);
    if (twin == nullptr || std::ranges::find(claim.than, twin->key) != claim.than.end()) continue;
    std::vector<ClaimVerdict*> about;
    for (ClaimVerdict& verdict : verdicts) {
      if (!verdict.subjects.empty() && verdict.subjects.front() == learner) about.push_back(&verdict);
    }
    if (std::ranges::none_of(about, [](const auto* verdict) { return verdict->word == ClaimWord::kHolds; }))
      continue;
    Claim same = claim;
    same.columns = {twin->key};
    const std::vector<ClaimVerdict> of_twin = kind.judge(results, same);
    if (of_twin.size() != about.size()) continue;
    for (std::size_t i = 0; i < about.size(); ++i) {
      ClaimVerdict& verdict = *about[i];
      if (verdict.word != ClaimWord::kHolds || of_twin[i].word == ClaimWord::kCannotBeTested) continue;
      verdict.untrained = of_twin[i].word == ClaimWord::kHolds;
      if (!*verdict.untrained) continue;
      const std::optional<double> figure = of_twin[i].figure;
      verdict.ours.insert(std::min(verdict.ours.find(';'), verdict.ours.size()),
                          ", untrained too" + (figure ? fmt::format(" ({})", RatioText(*figure)) : ""));
    }
  }
}

}  // namespace

std::vector<ClaimVerdict> JudgeClaims(const TableResults& results) {
  const TableDefinition& table = results.table();
  std::vector<ClaimVerdict> verdicts;
  if (table.analysis != nullptr && table.analysis->claims != nullptr) {
    verdicts = table.analysis->claims(results);
    for (ClaimVerdict& verdict : verdicts) ExcuseLearners(results, {}, {}, verdict);
  }
  for (const Claim& claim : table.claims) {
    const auto kind =
        std::ranges::find_if(ClaimKinds(), [&](const ClaimKind& k) { return claim.kind == k.name; });
    std::vector<ClaimVerdict> of_claim = kind->judge(results, claim);
    for (ClaimVerdict& verdict : of_claim) ExcuseLearners(results, claim.block, claim.rows, verdict);
    AskUntrained(results, claim, *kind, of_claim);
    std::ranges::move(of_claim, std::back_inserter(verdicts));
  }
  return verdicts;
}

}  // namespace stowplan::tables
