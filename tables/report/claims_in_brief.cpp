// Claims as a page shows them: a line for each, and one for all that differ in one thing alone.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "output/console.h"
#include "tables/report/bootstrap.h"
#include "tables/report/rendered_table.h"

namespace stowplan::tables {
namespace {

constexpr ClaimWord kWords[] = {ClaimWord::kHolds, ClaimWord::kDoesNotHold, ClaimWord::kUndecided,
                                ClaimWord::kDidNotLearn, ClaimWord::kCannotBeTested};

// First what the verdict is about; behind a semicolon what else there is to know.
std::string Brief(const ClaimVerdict& verdict) {
  return verdict.ours.substr(0, verdict.ours.find(';'));
}

// "NMT, 2 layers: neither fits"
std::string Told(const ClaimVerdict& member) {
  const std::string brief = Brief(member);
  return brief.starts_with(member.member) ? brief : member.member + ": " + brief;
}

using Members = std::vector<const ClaimVerdict*>;

// Of what was judged; who did not learn is always told.
ClaimWord MostFrequent(const std::map<ClaimWord, Members>& by_word) {
  return std::ranges::max_element(
             by_word, {},
             [](const auto& word) { return word.first == ClaimWord::kDidNotLearn ? 0 : word.second.size(); })
      ->first;
}

// "; undecided: NMT, 2 layers (1.04); GNMT (1.06)", of each word but the most frequent one; who did not learn stands there.
std::string Exceptions(const std::map<ClaimWord, Members>& by_word) {
  std::string text;
  for (const ClaimWord word : kWords) {
    const auto found = by_word.find(word);
    if (found == by_word.end() || word == MostFrequent(by_word)) continue;
    std::vector<std::string> names;
    for (const ClaimVerdict* member : found->second) {
      std::vector<std::string> facts;
      if (member->figure) facts.push_back(RatioText(*member->figure));
      if (!member->unlearned.empty()) facts.push_back(member->unlearned);
      names.push_back(member->member + (facts.empty() ? "" : fmt::format(" ({})", fmt::join(facts, ", "))));
    }
    text += fmt::format("; {}: {}", ToString(word), fmt::join(names, "; "));
  }
  return text;
}

// Whether its number is one of those that are judged.
bool HasRange(const ClaimVerdict& verdict) {
  return verdict.figure && verdict.word != ClaimWord::kDidNotLearn;
}

// "; untrained too: 2 of 3 that hold"; of 3 that hold where only 2 have a column of the same network at rate 0: "2 of 2 asked".
std::string UntrainedText(const Members& members) {
  std::size_t hold = 0, asked = 0, too = 0;
  for (const ClaimVerdict* member : members) {
    hold += member->word == ClaimWord::kHolds;
    asked += member->untrained.has_value();
    too += member->untrained.value_or(false);
  }
  if (too == 0) return {};
  return fmt::format("; untrained too: {} of {} {}", too, asked, asked == hold ? "that hold" : "asked");
}

// Of members that are told by a number: its range, who has none, and who differs.
std::string RangeOf(const Members& members, const std::map<ClaimWord, Members>& by_word) {
  std::vector<double> figures;
  std::string without;
  for (const ClaimVerdict* member : members) {
    if (HasRange(*member)) figures.push_back(*member->figure);
    // An exception is told as one.
    if (!member->figure && member->word == MostFrequent(by_word)) without += "; " + Told(*member);
  }
  const auto [low, high] = std::ranges::minmax(figures);
  const std::string from = RatioText(low), to = RatioText(high);
  return fmt::format("{} times{}{}{}", from == to ? from : from + " to " + to, without, Exceptions(by_word),
                     UntrainedText(members));
}

std::string OursOf(const Members& members, const std::map<ClaimWord, Members>& by_word) {
  std::set<std::string> briefs;
  bool any_figure = false;
  std::vector<std::string> texts;
  for (const ClaimVerdict* member : members) {
    briefs.insert(Brief(*member));
    any_figure = any_figure || HasRange(*member);
    texts.push_back(Told(*member) +
                    (by_word.size() == 1 ? "" : fmt::format(" ({})", ToString(member->word))));
  }
  if (briefs.size() == 1 && by_word.size() == 1) return *briefs.begin();
  return any_figure ? RangeOf(members, by_word) : fmt::format("{}", fmt::join(texts, "; "));
}

RenderedClaim OneOfFamily(const Members& members) {
  std::map<ClaimWord, Members> by_word;
  for (const ClaimVerdict* member : members) by_word[member->word].push_back(member);
  std::vector<std::string> counts;
  for (const ClaimWord word : kWords) {
    if (const auto found = by_word.find(word); found != by_word.end())
      counts.push_back(fmt::format("{} {}", ToString(word), found->second.size()));
  }
  const bool agreed = by_word.size() == 1;
  return {members.front()->family,
          (!agreed               ? ""
           : members.size() == 2 ? "both: "
                                 : fmt::format("all {}: ", members.size())) +
              OursOf(members, by_word),
          agreed ? ToString(by_word.begin()->first) : fmt::format("{}", fmt::join(counts, ", "))};
}

}  // namespace

output::ReportSection EachClaim(const RenderedTable& table) {
  // A user's table need not tell them apart.
  const bool whose =
      std::ranges::any_of(table.claims, [](const auto& claim) { return !claim.whose.empty(); });
  output::ReportSection section{
      "Claims", {table.claims_note}, {"claim", "ours", "verdict", "experiment"}, {}};
  for (const RenderedClaim& claim : table.claims)
    section.rows.push_back(
        {claim.claim, claim.ours, claim.verdict, claim.experiment.empty() ? "–" : claim.experiment});
  if (!whose) return section;
  section.header.insert(section.header.begin() + 1, "whose");
  for (std::size_t i = 0; i < section.rows.size(); ++i)
    section.rows[i].insert(section.rows[i].begin() + 1, table.claims[i].whose);
  return section;
}

std::vector<RenderedClaim> ClaimsInBrief(const std::vector<ClaimVerdict>& verdicts) {
  std::map<std::pair<int, std::string>, Members> families;
  for (const ClaimVerdict& verdict : verdicts) {
    if (!verdict.family.empty()) families[{verdict.entry, verdict.family}].push_back(&verdict);
  }
  std::vector<RenderedClaim> brief;
  for (const ClaimVerdict& verdict : verdicts) {
    const auto family = families.find({verdict.entry, verdict.family});
    if (family == families.end() || family->second.size() == 1) {
      brief.push_back({verdict.claim, Brief(verdict), ToString(verdict.word)});
    } else if (family->second.front() == &verdict) {
      brief.push_back(OneOfFamily(family->second));
    }
  }
  return brief;
}

}  // namespace stowplan::tables
