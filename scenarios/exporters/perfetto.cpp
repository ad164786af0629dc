// The simulated timeline as a Chrome trace, which ui.perfetto.dev opens: `trace.json` of `stowplan place --out`.
#include "scenarios/exporters/exporters.h"
#include "sim/formats/formats.h"

namespace stowplan::scenarios {

Exported ExportPerfetto(const ExportInput& input) {
  const auto simulator = sim::MakeSimulator(input.problem);
  const sim::Outcome& outcome =
      simulator->Run(input.placement, {.record = sim::RunOptions::Record::kTimeline, .cutoff = {}});
  return {.text = formats::PrintChromeTrace(outcome, input.problem, input.placement), .notes = {}};
}

}  // namespace stowplan::scenarios
