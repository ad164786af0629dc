// The verbs, in the order in which help lists them.
#include "cli/command.h"
#include "cli/commands/commands.h"

namespace stowplan::cli {

const std::vector<CommandRow>& Commands() {
  static const std::vector<CommandRow> rows = {
      {"list", "what there is: workloads, clusters, agents, cost models, tables and more", MakeListCommand},
      {"graph", "look at a graph, import it from another format, convert it", nullptr, false, GraphVerbs},
      {"simulate", "one placement of a graph on a cluster: runtime, memory, what it waited for",
       MakeSimulateCommand},
      {"explain", "what bounds a placement, and what would help: a faster device or link, no dispatch, …",
       MakeExplainCommand},
      {"place", "search a placement with an agent", MakePlaceCommand, true},
      {"layouts", "which tensor, pipeline and data parallel layout of a model is fastest on a cluster",
       MakeLayoutsCommand},
      {"export", "a placement as accelerate, PyTorch, ONNX Runtime, llama.cpp and others take it",
       MakeExportCommand},
      {"train", "train a learner's policy on several graphs, to place others with it", MakeTrainCommand,
       true},
      {"compare", "search one scenario with several agents and show what each found", MakeCompareCommand},
      {"table", "tables of results, published cells beside ours", nullptr, false, TableVerbs},
      {"calibrate", "fit cost models to recorded probes, or a table's testbed to its fitted cells",
       MakeCalibrateCommand},
      {"validate", "simulated against measured step times over many placements; measures with --record",
       MakeValidateCommand},
      {"collectives", "how long all-reduces and other collectives take on a cluster, and by which algorithm",
       MakeCollectivesCommand},
      {"speed", "how many ops a second the simulator does", MakeSpeedCommand},
      {"completion", "lets bash, zsh or fish complete verbs, options and names", MakeCompletionCommand},
      {"man", "the manual pages", MakeManCommand},
      {"help", "this reference as Markdown", MakeHelpCommand},
  };
  return rows;
}

}  // namespace stowplan::cli
