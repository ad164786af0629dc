// The table of agents. Learners are listed here without opening the plug-in that makes them.
#include "agents/agents.h"
#include "agents/learner_plugin.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/rows.h"

namespace stowplan::agents {
namespace {

SettingTable Takes(std::vector<Setting> settings) {
  return {std::move(settings)};
}

Setting Memory(const char* fallback) {
  return {"memory", "keep within the devices' memory", YesNo(), fallback};
}

Setting Start() {
  return {"start", "a random placement, or the trivial ones", OneOf({"random", "trivial"}), "random"};
}

Setting Weights() {
  return {"weights", "a device's share: by speed, or equal", OneOf({"speed", "equal"}), "speed"};
}

}  // namespace

const std::vector<AgentRow>& Agents() {
  static const std::vector<AgentRow> rows = {
      {"cpu_only", "everything on the first CPU", "", {}, AgentKind::kBaseline, MakeCpuOnly},
      {"single_gpu", "everything on the first GPU", "", {}, AgentKind::kBaseline, MakeSingleGpu},
      {"round_robin", "units onto the devices by turns", "", {}, AgentKind::kBaseline, MakeRoundRobin},
      {"expert",
       "the scenario's placement, else stages onto GPUs by a rule (layers, modulo, branches, halves, ranks, "
       "one, "
       "fill)",
       "the papers' expert columns",
       Takes({{"rule", "where the scenario gives no placement; auto: by the kind of model",
               OneOf({"auto", "layers", "modulo", "branches", "halves", "ranks", "one", "fill"}), "auto"}}),
       AgentKind::kBaseline, MakeExpert},
      {"random",
       "uniform random placements of units (op), groups of a grouper (group) or contiguous blocks (block)",
       "",
       Takes({{"unit", "what gets a device of its own", OneOf({"op", "group", "block"}), "op"},
              {"grouper", "of unit=group", Text(), "neighbour(groups=128)"}}),
       AgentKind::kBaseline, MakeRandom},
      {"scotch", "Scotch's static mapping onto GPUs and CPUs, shares by speed or equal",
       "Pellegrini, Roman, 1996; Scotch 7",
       Takes({{"cpu", "the CPUs may be used", YesNo(), "yes"}, Weights()}), AgentKind::kConstructive,
       MakeScotch},
      {"mincut", "the same mapping onto the GPUs alone", "Pellegrini, Roman, 1996; Scotch 7",
       Takes({Weights()}), AgentKind::kConstructive, MakeMinCut},
      {"metis",
       "METIS' recursive bisection onto the GPUs, 3 % imbalance, memory as second constraint if asked",
       "Karypis, Kumar, 1998; METIS 5", Takes({Memory("no")}), AgentKind::kConstructive, MakeMetis},
      {"heft",
       "list scheduling by upward rank with insertion, within memory limits; plans an order of its own",
       "Topcuoglu, Hariri, Wu, 2002", Takes({Memory("yes")}), AgentKind::kConstructive, MakeHeft},
      {"m_topo", "fills the GPUs one after the other in topological order, up to equal shares of the memory",
       "Jeon et al. (Baechi), SoCC 2020", Takes({}), AgentKind::kConstructive, MakeTopo},
      {"m_etf",
       "earliest task first: of all ready units and GPUs with room, the pair that can start first; plans an "
       "order of its own",
       "Hwang et al., 1989; Jeon et al. (Baechi), SoCC 2020", Takes({Memory("yes")}),
       AgentKind::kConstructive, MakeEtf},
      {"m_sct", "m_etf where GPUs wait for the favourite child of their last op, chosen by a linear program",
       "Hanen, Munier, 1995; Jeon et al. (Baechi), SoCC 2020",
       Takes({Memory("yes"),
              {"threshold", "largest answer of the linear program that makes a favourite child",
               Number(0, 0.49), "0.1"},
              {"window", "ops that one linear program sees; 0: all", Whole(0), "5000"}}),
       AgentKind::kConstructive, MakeSct, AgentOpens::kLibrary},
      {"critical_path",
       "list scheduling of whole units: longest path to the end first, where it ends first; plans an order "
       "of its own",
       "Kwok, Ahmad, ACM Computing Surveys 1999; Yao et al. (DOPPLER), ICLR 2026", Takes({}),
       AgentKind::kConstructive, MakeCriticalPath},
      {"local_search", "moves of runs, borders and connected units, first improvement, kicks from the best",
       "Lourenço, Martin, Stützle, 2003",
       Takes({Start(),
              {"kick", "moves that leave a local optimum", Whole(1, 1e6), "3"},
              {"patience", "neighbours without a gain that end a climb", Whole(1, 1e9), "500"}}),
       AgentKind::kSearch, MakeLocalSearch},
      {"annealing", "simulated annealing over the same moves, geometric cooling",
       "Kirkpatrick, Gelatt, Vecchi, 1983",
       Takes({Start(),
              {"hot", "relative increase of runtime taken with probability 1/e at first", Number(1e-9, 1e9),
               "0.02"},
              {"cold", "and at last", Number(1e-9, 1e9), "1e-4"}}),
       AgentKind::kSearch, MakeAnnealing},
      {"genetic", "elites crossed in runs of units, then one of the same moves",
       "Gonçalves, Resende, 2011; Paliwal et al. (REGAL), ICLR 2020",
       Takes({Start(),
              {"population", "placements of a generation", Whole(2, 1e6), "12"},
              {"elite", "part that lives on", Number(0, 1), "0.2"},
              {"mutants", "part of the children drawn at random", Number(0, 1), "0.1"}}),
       AgentKind::kSearch, MakeGenetic},
      {"cross_entropy", "a distribution for each unit that follows the best placements drawn from it",
       "Rubinstein, 1999; Gao, Chen, Li (Post), NeurIPS 2018",
       Takes({Start(),
              {"batch", "placements an update", Whole(1, 1e6), "20"},
              {"elite", "part of them that is followed", Number(0, 1), "0.1"},
              {"rate", "part of the way to them", Number(0, 1), "0.3"},
              {"explore", "part of draws that is even", Number(0, 0.999), "0.01"}}),
       AgentKind::kSearch, MakeCrossEntropy},
      {"brute_force", "every assignment: exact, tiny problems only", "",
       Takes({{"limit", "assignments that it takes at most", Whole(1, std::int64_t{1} << 40), "1000000"}}),
       AgentKind::kSearch, MakeBruteForce},
      {"pilot",
       "plans by approximate evaluations, samples where the plan ends, climbs with moves chosen likewise", "",
       Takes({{"screen", "neighbours evaluated approximately for one sample", Whole(1, 1e6), "32"},
              {"plan", "approximate evaluations before the first sample", Whole(0, 1e9), "80000"},
              {"chains", "of annealing in the plan", Whole(1, 1e5), "16"},
              {"hot", "relative increase of runtime that they take with probability 1/e at first",
               Number(0, 1), "0.02"},
              {"kick", "random moves before it plans again", Whole(1, 1e6), "3"},
              {"patience", "samples without anything better before that", Whole(1, 1e9), "200"},
              {"levels", "half of the chains move large clusters before small ones", YesNo(), "yes"}}),
       AgentKind::kSearch, MakePilot},
      {"stages",
       "pipeline stages: the best contiguous splits by an exact estimate, simulated, then borders moved by a "
       "piece",
       "after Narayanan et al. (PipeDream), SOSP 2019; Fan et al. (DAPPLE), PPoPP 2021",
       Takes({{"best", "splits that are simulated, and as many again beside the best", Whole(1, 1e5), "100"},
              {"fewest", "stages at least, as far as there are devices", Whole(1, 1e4), "1"}}),
       AgentKind::kSearch, MakeStages},
      {"portfolio",
       "every rule, list scheduler and partitioner once, then searches that share what they find; a bandit "
       "says whose turn it is",
       "Auer, Cesa-Bianchi, Fischer, 2002; Shaw, 1998",
       Takes({{"plan",
               "approximate evaluations before those searches at most; 80 for each sample where that is less",
               Whole(0, 1e9), "320000"}}),
       AgentKind::kSearch, MakePortfolio, AgentOpens::kLibrary},
      {"factored", "one softmax a unit, REINFORCE, no network: the control of the learners", "Williams, 1992",
       Takes({{"action", "a device, whether to copy a neighbour's (copy), or moves from the best on (walk)",
               OneOf({"device", "copy", "walk"}), "device"},
              {"moves", "of a placement", Number(0.1, 1e6), "2.5", {}, "action=walk"},
              {"stay", "a fresh policy's probability to copy", Number(0.01, 0.999), "0.9"},
              {"weights", "of a draw: its reward above the batch's mean, or one for the top of the batch",
               OneOf({"mean", "top"}), "mean"},
              {"top", "part of a batch that is its top", Number(0, 1), "0.1"},
              {"batch", "placements an update", Whole(2, 1e6), "20"},
              {"lr", "learning rate", Number(0, 10), "0.03"}}),
       AgentKind::kSearch, MakeFactored},
      {"external", "a program of yours: lines of JSON on its standard input and output", "",
       Takes({{"command", "the program and its arguments", Text(), ""},
              {"timeout", "seconds to wait for a line", Number(1e-3, 1e6), "60"}}),
       AgentKind::kSearch, MakeExternal, AgentOpens::kProgram},
      {"rnn", "one LSTM reads the units, another names their devices in turn, with attention; PPO",
       "Mirhoseini et al., ICML 2017, by REINFORCE", RnnSettings(), AgentKind::kLearner, MakeLearner,
       AgentOpens::kLibrary},
      {"hierarchical", "a network groups the units, a sequence model places the groups; PPO",
       "Mirhoseini, Goldie et al., ICLR 2018, by REINFORCE", HierarchicalSettings(), AgentKind::kLearner,
       MakeLearner, AgentOpens::kLibrary},
      {"placeto", "message passing, three pooled summaries, a few units at a time; REINFORCE",
       "Addanki et al., NeurIPS 2019", PlacetoSettings(), AgentKind::kLearner, MakeLearner,
       AgentOpens::kLibrary},
      {"sgdp", "a graph network reads the units, attention in segments places them in turn; PPO",
       "Zhou et al.: GDP, 2019; SGDP, IEEE Micro 2020; GO, NeurIPS 2020", SgdpSettings(), AgentKind::kLearner,
       MakeLearner, AgentOpens::kLibrary},
      {"grouper_placer", "the networks of hierarchical, 2 placements a grouping: the first rival of Mars",
       "Lan et al. (Mars), ICPP 2021", GrouperPlacerSettings(), AgentKind::kLearner, MakeLearner,
       AgentOpens::kLibrary},
      {"encoder_placer", "the network of sgdp without gates, PPO: the second rival of Mars",
       "Lan et al. (Mars), ICPP 2021; Zhou et al. (GDP), 2019", EncoderPlacerSettings(), AgentKind::kLearner,
       MakeLearner, AgentOpens::kLibrary},
      {"mars", "a graph network, pre-trained on the graph, and a sequence placer in segments; PPO",
       "Lan et al. (Mars), ICPP 2021", MarsSettings(), AgentKind::kLearner, MakeLearner,
       AgentOpens::kLibrary},
      {"doppler",
       "selects a ready unit, then its device, by a list schedule; imitates critical_path, then PPO",
       "Yao et al., ICLR 2026", DopplerSettings(), AgentKind::kLearner, MakeLearner, AgentOpens::kLibrary},
  };
  return rows;
}

const AgentRow* FindAgent(const std::string& name) {
  return FindRow(Agents(), name);
}

bool Samples(const AgentRow& row) {
  return row.kind == AgentKind::kSearch || row.kind == AgentKind::kLearner || row.make == MakeRandom;
}

Settings AgentSettings(const std::string& text) {
  const Spec spec = Spec::Parse(text);
  if (const AgentRow* row = FindAgent(spec.name)) return {spec, row->settings};
  const std::vector<std::string> known = NamesOf(Agents());
  throw InputError("agent '" + spec.name + "' is not known" + DidYouMean(spec.name, known) +
                   "; it must be one of " + JoinNames(known));
}

std::unique_ptr<Agent> MakeAgent(const std::string& text) {
  const Settings settings = AgentSettings(text);
  return FindAgent(settings.name())->make(settings);
}

}  // namespace stowplan::agents
