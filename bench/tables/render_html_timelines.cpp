#include <fmt/format.h>

#include "bench/console.h"
#include "bench/tables/html.h"

namespace berth::bench {
namespace {

constexpr double kWidth = 360, kLeft = 44, kRight = 8, kLane = 20, kWorks = 11, kSends = 4, kBottom = 18;

// Slices that are equally busy are one rectangle; idle ones are none.
std::string Strip(const std::array<double, kTimelineParts>& parts, double y, double height,
                  const char* style) {
  const double slice = (kWidth - kLeft - kRight) / static_cast<double>(kTimelineParts);
  std::string svg;
  for (std::size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
    while (end < parts.size() && parts[end] == parts[begin]) ++end;
    if (parts[begin] == 0) continue;
    svg += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" opacity=\"{:.2f}\"/>",
        style, kLeft + slice * static_cast<double>(begin), y, slice * static_cast<double>(end - begin),
        height, 0.25 + 0.75 * parts[begin]);
  }
  return svg + "\n";
}

std::string Drawing(const RenderedTimeline& timeline) {
  std::string svg;
  double y = 2;
  for (const TimelineLane& lane : timeline.lanes) {
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 4,
                       y + kWorks - 1, EscapeHtml(lane.device));
    svg += fmt::format("<rect class=\"lane\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>\n", kLeft, y,
                       kWidth - kLeft - kRight, kWorks + kSends);
    svg += Strip(lane.works, y, kWorks, "works") + Strip(lane.sends, y + kWorks, kSends, "sends");
    y += kLane;
  }
  for (const double part : {0.0, 0.5, 1.0}) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{} s</text>\n",
                       kLeft + part * (kWidth - kLeft - kRight), y + kBottom - 8,
                       part == 0 ? "start" : (part == 1 ? "end" : "middle"),
                       part == 0 ? "0" : SecondsDigits(part * timeline.seconds));
  }
  return svg;
}

}  // namespace

std::string HtmlTimelines(const std::vector<RenderedTimeline>& timelines) {
  std::string text =
      "<p class=\"key\"><span><i class=\"fill o\"></i>works (the paler, the less of the "
      "slice)</span><span><i "
      "class=\"fill t\"></i>sends (the thin strip below)</span></p>\n<div class=\"bars\">\n";
  for (const RenderedTimeline& timeline : timelines) {
    text += fmt::format(
        "<figure><figcaption>{}</figcaption>\n<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" "
        "aria-label=\"{}\">\n{}</svg></figure>\n",
        EscapeHtml(timeline.title), kWidth, 2 + kLane * static_cast<double>(timeline.lanes.size()) + kBottom,
        EscapeHtml("Timeline. " + timeline.spoken), Drawing(timeline));
  }
  return text + "</div>\n";
}

}  // namespace berth::bench
