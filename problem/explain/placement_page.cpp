#include "problem/explain/placement_page.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ExplainData.h"
#include "output/console.h"
#include "output/html.h"
#include "problem/explain/memory_parts.h"
#include "problem/explain/page_data.h"
#include "problem/explain/report.h"
#include "problem/explain/rules_text.h"

namespace stowplan::problem {
namespace {

constexpr std::size_t kColours = 10;  // --d0 to --d9 of placement.css
constexpr std::size_t kTopTypes = 12;
constexpr std::size_t kTopOps = 25;

using Rows = std::vector<std::vector<std::string>>;

// A card of the first screen: what it is about, the answer, the rest of the sentence.
std::string Card(const std::string& what, const std::string& answer, const std::string& more,
                 bool bad = false) {
  return fmt::format("<div{}><dt>{}</dt><dd><b>{}</b>{}</dd></div>\n", bad ? " class=\"bad\"" : "",
                     output::EscapeHtml(what), output::EscapeHtml(answer), output::EscapeHtml(more));
}

class PagePrinter {
 public:
  PagePrinter(const Study& study, const Search& search,
              const std::vector<std::pair<std::string, std::string>>& facts)
      : study_(study),
        cluster_(study.problem.cluster()),
        outcome_(study.outcome),
        search_(search),
        facts_(facts) {}

  std::string Print() const {
    const std::string title = fmt::format("{} on {}", study_.problem.graph().name, cluster_.name);
    return output::PrintPage(title,
                             Heading(title) + Verdict() + Timeline() + Bounds() + Graph() + Devices() +
                                 LongestOpsHtml() + SearchHtml() + Provenance(),
                             {.style = std::string(ExplainData("placement.css")),
                              .data = PageData(study_),
                              .script = std::string(ExplainData("placement.js"))});
  }

 private:
  // Long names may be broken behind their commas.
  static std::string Heading(const std::string& title) {
    std::string text = output::EscapeHtml(title);
    for (std::size_t at = 0; (at = text.find(',', at)) != std::string::npos; at += 6)
      text.insert(at + 1, "<wbr>");
    return "<h1>" + text + "</h1>\n";
  }

  // ---- the first screen ---------------------------------------------------------------------------

  std::string Verdict() const {
    std::string cards = StepCard() + BoundCard() + BottleneckCard() + HelpCard() + MemoryCard();
    std::string text = "<dl class=\"cards\">\n" + cards + "</dl>\n";
    if (!search_.sentence.empty()) text += fmt::format("<p>{}.</p>\n", output::EscapeHtml(search_.sentence));
    if (!outcome_.feasible())
      text += fmt::format("<p>{}. The rest of this page is the run without the limit.</p>\n",
                          output::EscapeHtml("It runs " + VerdictText(outcome_, study_.problem)));
    return text;
  }

  std::string StepCard() const {
    const bool fits = outcome_.feasible();
    return Card("one step", fits ? output::TimeText(outcome_.runtime) : "does not fit",
                fits ? "fits into memory" : "would take " + output::TimeText(outcome_.runtime), !fits);
  }

  std::string BoundCard() const {
    const std::string what = "times the lower bound";
    if (study_.bound.nothing_fits) return Card(what, "no placement fits", "this is proven", true);
    const auto gap = study_.gap();
    if (!gap) return Card(what, "not known", "no lower bound is proven");
    return Card(
        what, fmt::format("{:.2f}", *gap),
        fmt::format("proven: no placement takes less than {}", output::TimeText(study_.bound.best())));
  }

  std::string BottleneckCard() const {
    const Bottleneck most = FindBottleneck(study_.path);
    return Card("bound by", BottleneckText(most, cluster_),
                ShareText(most.time, study_) + " of the critical path");
  }

  std::string HelpCard() const {
    if (study_.what_ifs.empty() || study_.Gain(study_.what_ifs.front()) <= 0)
      return Card("would help most", "another placement", "nothing faster shortens this one");
    const sim::WhatIf& best = study_.what_ifs.front();
    return Card("would help most", WhatIfText(best, study_),
                fmt::format("saves {:.1f} %", 100 * study_.Gain(best)));
  }

  std::string MemoryCard() const {
    std::size_t fullest = 0;
    const auto part = [&](std::size_t d) {
      return static_cast<double>(outcome_.devices[d].peak) /
             static_cast<double>(std::max<sim::Bytes>(cluster_.devices[d].capacity(), 1));
    };
    for (std::size_t d = 1; d < outcome_.devices.size(); ++d) {
      if (part(d) > part(fullest)) fullest = d;
    }
    const sim::Device& device = cluster_.devices[fullest];
    return Card("fullest memory", fmt::format("{:.0f} % of {}", 100 * part(fullest), device.name),
                output::NeedText(outcome_.devices[fullest].peak, device.capacity()), part(fullest) > 1);
  }

  // ---- drawings -----------------------------------------------------------------------------------

  static std::string Swatch(std::size_t device) {
    return fmt::format("<span class=\"swatch\" style=\"background:var(--d{})\"></span>", device % kColours);
  }

  std::string Key(bool timeline) const {
    std::string key = "<p class=\"key\">";
    std::string unused;
    for (std::size_t d = 0; d < cluster_.devices.size(); ++d) {
      if (outcome_.devices[d].busy == 0 && outcome_.devices[d].peak == 0) {
        unused += (unused.empty() ? "" : ", ") + cluster_.devices[d].name;
        continue;
      }
      key += fmt::format("<span>{}{}</span>", Swatch(d), output::EscapeHtml(cluster_.devices[d].name));
    }
    if (timeline)
      key +=
          "<span><span class=\"swatch\" style=\"background:var(--ink)\"></span>transfer on the critical "
          "path</span><span><span "
          "class=\"swatch\" style=\"background:var(--soft)\"></span>dispatch</span><span>pale: not on the "
          "critical "
          "path</span><span>dashed line: capacity of the memory</span>";
    if (!unused.empty()) key += fmt::format("<span>without ops: {}</span>", output::EscapeHtml(unused));
    return key + "</p>\n";
  }

  std::string Timeline() const {
    std::string text = "<section>\n<h2>Timeline</h2>\n" + Key(true);
    if (IsBinned(study_)) {
      text += fmt::format(
          "<p>{} ops and {} transfers are more than can be told apart: each row shows how busy it is in {} "
          "slices of "
          "time.</p>\n",
          output::CountText(static_cast<std::int64_t>(outcome_.ops.size())),
          output::CountText(static_cast<std::int64_t>(outcome_.transfers.size())),
          output::CountText(static_cast<std::int64_t>(kTimeBins)));
    }
    std::string spoken = "Timeline of the devices, links and memory. ";
    for (std::size_t d = 0; d < cluster_.devices.size(); ++d)
      spoken += fmt::format("{} is busy {} of the step. ", cluster_.devices[d].name,
                            ShareText(outcome_.devices[d].busy, study_));
    spoken +=
        "Left and right move it, plus and minus zoom, up and down choose a row, with shift left and right go "
        "through what it did.";
    return text +
           fmt::format(
               "<div data-view=\"timeline\" hidden>\n<div class=\"bar\"><button type=\"button\" "
               "data-act=\"zoom-in\" "
               "aria-label=\"zoom in\">+</button><button type=\"button\" data-act=\"zoom-out\" "
               "aria-label=\"zoom "
               "out\">−</button><button type=\"button\" data-act=\"earlier\" "
               "aria-label=\"earlier\">◀</button><button "
               "type=\"button\" data-act=\"later\" aria-label=\"later\">▶</button><button type=\"button\" "
               "data-act=\"whole\">whole step</button><output></output></div>\n<canvas role=\"img\" "
               "tabindex=\"0\" "
               "aria-label=\"{}\"></canvas>\n<p class=\"soft\" aria-live=\"polite\">Drag to move; double "
               "click, or the "
               "wheel with Ctrl, to zoom; keys: arrows, + and −.</p>\n</div>\n</section>\n",
               output::EscapeHtml(spoken));
  }

  std::string Graph() const {
    const sim::OpGraph& graph = study_.problem.graph();
    return fmt::format(
        "<section>\n<h2>Graph</h2>\n<p>{} ops, grouped by the scopes of their names. Below each name: the "
        "device of most of "
        "its ops, and their time. What reads stands below what it reads.</p>\n{}<div data-view=\"graph\" "
        "hidden>\n<form "
        "class=\"bar\"><nav class=\"crumbs\" aria-label=\"scopes\"></nav><label>find an op <input "
        "type=\"search\" "
        "size=\"14\"></label><button>find</button></form>\n<p class=\"told soft\" aria-live=\"polite\">Click "
        "or "
        "Enter opens a box with a bold name.</p>\n<div class=\"graph\" tabindex=\"0\" role=\"region\" "
        "aria-label=\"the graph "
        "as boxes\"><div class=\"layers\"></div></div>\n</div>\n</section>\n",
        output::CountText(graph.size()), Key(false));
  }

  // ---- tables -------------------------------------------------------------------------------------

  // Rows of a name, a time, and its share of the step as a bar.
  std::string Shares(const std::string& title, const std::string& what,
                     const std::vector<std::pair<std::string, sim::Picos>>& parts) const {
    Rows rows;
    for (const auto& [name, time] : parts)
      rows.push_back({name, output::TimeText(time), ShareText(time, study_)});
    return output::TableHtml(title, "numbers", {what, "time", "of the step"}, rows);
  }

  std::string Bounds() const {
    std::vector<std::pair<std::string, sim::Picos>> types = study_.path.types;
    if (types.size() > kTopTypes) {
      const auto rest = std::accumulate(types.begin() + kTopTypes, types.end(), sim::Picos{0},
                                        [](sim::Picos sum, const auto& type) { return sum + type.second; });
      types.resize(kTopTypes);
      types.emplace_back("other types", rest);
    }
    return "<section>\n<h2>What bounds it</h2>\n<p>The critical path is the chain of ops, transfers and "
           "waits that the step "
           "ends with: what is not on it costs no time.</p>\n" +
           Stack() + "<div class=\"halves\">\n" + Shares("The critical path", "what", PathParts(study_)) +
           WhatIfs() + Shares("Its ops by type", "type", types) + "</div>\n</section>\n";
  }

  // The critical path as one bar; the table below it has the numbers.
  std::string Stack() const {
    std::string parts;
    const auto add = [&](const std::string& what, const std::string& colour, sim::Picos time) {
      if (time > 0)
        parts += fmt::format("<i style=\"flex:{} 0 0;background:var(--{})\" title=\"{}: {}\"></i>", time,
                             colour, output::EscapeHtml(what), ShareText(time, study_));
    };
    for (std::size_t d = 0; d < study_.path.devices.size(); ++d)
      add("ops on " + cluster_.devices[d].name, fmt::format("d{}", d % kColours), study_.path.devices[d]);
    add("transfers", "ink", study_.path.transfers);
    add("collectives", "ink", study_.path.collectives);
    add("dispatch", "soft", study_.path.dispatch);
    add("waiting", "band", study_.path.waiting);
    return "<div class=\"stack\" aria-hidden=\"true\">" + parts + "</div>\n";
  }

  std::string WhatIfs() const {
    Rows rows;
    bool slower = false;
    for (const sim::WhatIf& what_if : study_.what_ifs) {
      if (!HasEffect(what_if, study_)) continue;
      const double gain = study_.Gain(what_if);
      slower = slower || gain < 0;
      rows.push_back({WhatIfText(what_if, study_), output::TimeText(what_if.runtime),
                      fmt::format("{:.1f} %{}", 100 * gain, gain < 0 ? " *" : ""),
                      what_if.feasible ? "yes" : "no"});
    }
    std::string text = "<div>\n";
    if (!rows.empty())
      text += output::TableHtml("What would help: each is a run of its own", "numbers",
                                {"what if", "one step", "saves", "fits"}, rows);
    if (slower) text += fmt::format("<p class=\"soft\">{}</p>\n", kSlower);
    return text +
           fmt::format("<p class=\"soft\">{}</p>\n</div>\n", output::EscapeHtml(WithoutEffect(study_)));
  }

  std::string Devices() const {
    const std::vector<MemoryParts> peaks = MemoryAtPeak(study_.problem.graph(), study_.why);
    const auto time = [](sim::Picos picos) {
      return picos == 0 ? std::string("–") : output::TimeText(picos);
    };
    const auto bytes = [](sim::Bytes count) {
      return count == 0 ? std::string("–") : output::BytesText(static_cast<double>(count));
    };
    Rows busy, memory, links;
    for (std::size_t d = 0; d < cluster_.devices.size(); ++d) {
      const sim::DeviceUse& use = outcome_.devices[d];
      const sim::IdleTime& idle = study_.why.idle[d];
      const sim::Device& device = cluster_.devices[d];
      const auto ops = std::count(study_.placement.device.begin(), study_.placement.device.end(),
                                  static_cast<sim::DeviceIndex>(d));
      busy.push_back({device.name, output::CountText(ops), time(use.busy), ShareText(use.busy, study_),
                      time(idle.upstream), time(idle.queued), time(idle.transfer), time(idle.dispatch),
                      time(idle.finished), time(idle.collective)});
      memory.push_back(
          {device.name, bytes(use.peak), bytes(device.capacity()),
           fmt::format("{:.1f} %", 100.0 * static_cast<double>(use.peak) /
                                       static_cast<double>(std::max<sim::Bytes>(device.capacity(), 1))),
           bytes(peaks[d].persistent()), bytes(peaks[d].outputs()), bytes(peaks[d].copies),
           time(study_.why.peak_time[d])});
    }
    for (std::size_t l = 0; l < outcome_.links.size(); ++l) {
      const sim::LinkUse& use = outcome_.links[l];
      if (use.bytes == 0) continue;
      links.push_back({cluster_.links[l].name, bytes(use.bytes), time(use.busy), ShareText(use.busy, study_),
                       time(study_.path.links[l])});
    }
    std::string text =
        "<section>\n<h2>Devices and links</h2>\n" +
        output::TableHtml("What the devices did, and what they waited for", "numbers",
                          {"device", "ops", "busy", "of the step", "ops elsewhere run", "link is taken",
                           "tensor under way", "dispatch", "nothing left", "collective runs"},
                          busy) +
        output::TableHtml("Peak memory, and what fills it", "numbers",
                          {"device", "peak", "there is", "used", "persistent", "outputs", "copies", "at"},
                          memory);
    if (!links.empty())
      text += output::TableHtml("Links, both directions added", "numbers",
                                {"link", "carried", "busy", "of the step", "on the critical path"}, links);
    return text + "</section>\n";
  }

  std::string LongestOpsHtml() const {
    Rows rows;
    for (const sim::OpIndex index : LongestOps(outcome_, kTopOps)) {
      const auto at = static_cast<std::size_t>(index);
      const sim::Op& op = study_.problem.graph().ops[at];
      const sim::OpTimes& times = outcome_.ops[at];
      rows.push_back({op.name, op.type,
                      cluster_.devices[static_cast<std::size_t>(study_.placement.device[at])].name,
                      output::TimeText(times.start), output::TimeText(times.end - times.start)});
    }
    return output::FoldHtml(fmt::format("The {} longest ops", rows.size()),
                            output::TableHtml("The longest ops", "numbers",
                                              {"op", "type", "device", "starts at", "takes"}, rows, 3));
  }

  std::string SearchHtml() const {
    if (search_.curve.empty()) return {};
    std::vector<std::pair<double, double>> points;
    for (const agents::CurvePoint& point : search_.curve)
      points.emplace_back(static_cast<double>(point.sample), sim::ToMicros(point.best) / 1e6);
    points.emplace_back(static_cast<double>(search_.samples), points.back().second);
    const std::string spoken =
        fmt::format("Best so far: from {} at sample {} to {} at sample {}.",
                    output::TimeText(search_.curve.front().best), search_.curve.front().sample,
                    output::TimeText(search_.curve.back().best), search_.curve.back().sample);
    return "<section>\n<h2>The search</h2>\n" +
           CurveHtml("Best so far, seconds per step, against samples", spoken, points) + "</section>\n";
  }

  static std::string CurveHtml(const std::string& title, const std::string& spoken,
                               const std::vector<std::pair<double, double>>& points) {
    const std::string json = fmt::format(
        "{{\"log_x\":true,\"x_label\":\"samples\",\"series\":[{{\"name\":\"best so "
        "far\",\"style\":0,\"points\":{}}}]}}",
        output::JsonPoints(points));
    Rows rows;
    for (const auto& [sample, seconds] : points)
      rows.push_back({output::CountText(static_cast<std::int64_t>(sample)), output::TimeText(1e6 * seconds)});
    return output::FigureHtml(
        "curves", title, spoken, json,
        output::FoldHtml("the numbers",
                         output::TableHtml(title, "numbers", {"sample", "best so far"}, rows)));
  }

  std::string Provenance() const {
    std::string text = "<section>\n<h2>Where it comes from</h2>\n<dl>\n";
    const auto add = [&](const std::string& what, const std::string& value) {
      text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", output::EscapeHtml(what), output::EscapeHtml(value));
    };
    add("simulated by",
        fmt::format("the {}; prices: {}", RulesText(cluster_), study_.problem.costs().cost_model));
    for (const auto& [what, value] : facts_) add(what, value);
    return text + "</dl>\n</section>\n";
  }

  const Study& study_;
  const sim::Cluster& cluster_;
  const sim::Outcome& outcome_;
  const Search& search_;
  const std::vector<std::pair<std::string, std::string>>& facts_;
};

}  // namespace

std::string PlacementPage(const Study& study, const Search& search,
                          const std::vector<std::pair<std::string, std::string>>& facts) {
  return PagePrinter(study, search, facts).Print();
}

}  // namespace stowplan::problem
