// The table of agents. Learners are listed here without opening the plug-in that makes them.
#include "agents/agents.h"
#include "agents/learner_plugin.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"

namespace stowplan::agents {

// Literals, so that a row can join them with its own parameters.
// Of all learners that draw whole placements, last in their lists; defaults are those of preset=tuned.
#define ONE_SHOT(learner, batch, lr, entropy, target)                                            \
  "learner=" learner ", batch=" batch                                                            \
  ", reward=shaped|root, baseline=others|average|failing|mean, standardise=yes, loss=mean|sum, " \
  "valid_part=1, valid_update=0, lr=" lr ", lr_end=lr/10, entropy=" entropy                      \
  ", entropy_end=0, target=" target ", target_end=0, clip=1, epochs=4, minibatches=1, range=0.2, greedy=50"
// Of those with a sequence placer.
#define SEQUENCE(published)                                                                            \
  "width=64 (" published ": 128; full: 512), attention=dot|additive (" published                       \
  ": additive), aligned=yes (" published ": no), stay=0.9 (" published ": 0), centred=yes (" published \
  ": no), temperature=1, tanh=0, noise=0, noise_updates=0, offers=yes (" published ": no), "
// Of those with a graph encoder and a placer in segments.
#define GRAPH_PLACER                                                                                   \
  "preset=tuned|paper, size=small|full, heads=4 (full: 8), width=64 (full: 128), layers=2 (full: 3), " \
  "segment=128 (full: 256), passes=1, centred=yes (paper: no), stay=0.9 (paper: 0), "                  \
  "offers=yes (paper: no), "

const std::vector<AgentRow>& Agents() {
  static const std::vector<AgentRow> rows = {
      {"cpu_only", "everything on the first CPU", "", "", AgentKind::kBaseline, MakeCpuOnly},
      {"single_gpu", "everything on the first GPU", "", "", AgentKind::kBaseline, MakeSingleGpu},
      {"round_robin", "units onto the devices by turns", "", "", AgentKind::kBaseline, MakeRoundRobin},
      {"expert",
       "the scenario's placement, else stages onto GPUs by a rule (layers, modulo, branches, halves, one, "
       "fill)",
       "the papers' expert columns", "rule=auto", AgentKind::kBaseline, MakeExpert},
      {"random",
       "uniform random placements of units (op), groups of a grouper (group) or contiguous blocks (block)",
       "", "unit=op,grouper=neighbour(groups=128)", AgentKind::kBaseline, MakeRandom},
      {"scotch", "Scotch's static mapping onto GPUs and CPUs, shares by speed or equal",
       "Pellegrini, Roman, 1996; Scotch 7", "cpu=yes,weights=speed", AgentKind::kConstructive, MakeScotch},
      {"mincut", "the same mapping onto the GPUs alone", "Pellegrini, Roman, 1996; Scotch 7", "weights=speed",
       AgentKind::kConstructive, MakeMinCut},
      {"metis",
       "METIS' recursive bisection onto the GPUs, 3 % imbalance, memory as second constraint if asked",
       "Karypis, Kumar, 1998; METIS 5", "memory=no", AgentKind::kConstructive, MakeMetis},
      {"heft", "list scheduling by upward rank with insertion, within memory limits",
       "Topcuoglu, Hariri, Wu, 2002", "memory=yes", AgentKind::kConstructive, MakeHeft},
      {"m_topo", "fills the GPUs one after the other in topological order, up to equal shares of the memory",
       "Jeon et al. (Baechi), SoCC 2020", "", AgentKind::kConstructive, MakeTopo},
      {"m_etf", "earliest task first: of all ready units and GPUs with room, the pair that can start first",
       "Hwang et al., 1989; Jeon et al. (Baechi), SoCC 2020", "memory=yes", AgentKind::kConstructive,
       MakeEtf},
      {"m_sct", "m_etf where GPUs wait for the favourite child of their last op, chosen by a linear program",
       "Hanen, Munier, 1995; Jeon et al. (Baechi), SoCC 2020", "memory=yes,threshold=0.1,window=5000",
       AgentKind::kConstructive, MakeSct},
      {"critical_path", "list scheduling of whole units: longest path to the end first, where it ends first",
       "Kwok, Ahmad, ACM Computing Surveys 1999; Yao et al. (DOPPLER), ICLR 2026", "",
       AgentKind::kConstructive, MakeCriticalPath},
      {"local_search", "moves of runs, borders and connected units, first improvement, kicks from the best",
       "Lourenço, Martin, Stützle, 2003", "start=random,kick=3,patience=500", AgentKind::kSearch,
       MakeLocalSearch},
      {"annealing", "simulated annealing over the same moves, geometric cooling",
       "Kirkpatrick, Gelatt, Vecchi, 1983", "start=random,hot=0.02,cold=1e-04", AgentKind::kSearch,
       MakeAnnealing},
      {"genetic", "elites crossed in runs of units, then one of the same moves",
       "Gonçalves, Resende, 2011; Paliwal et al. (REGAL), ICLR 2020",
       "start=random,population=12,elite=0.2,mutants=0.1", AgentKind::kSearch, MakeGenetic},
      {"cross_entropy", "a distribution for each unit that follows the best placements drawn from it",
       "Rubinstein, 1999; Gao, Chen, Li (Post), NeurIPS 2018",
       "start=random,batch=20,elite=0.1,rate=0.3,explore=0.01", AgentKind::kSearch, MakeCrossEntropy},
      {"brute_force", "every assignment: exact, tiny problems only", "", "limit=1000000", AgentKind::kSearch,
       MakeBruteForce},
      {"pilot", "plans on screens, samples where the plan ends, climbs with screened moves", "",
       "screen=32,plan=80000,chains=16,hot=0.02,kick=3,patience=200,levels=yes", AgentKind::kSearch,
       MakePilot},
      {"portfolio", "every rule, list scheduler and partitioner once, then pilot from the best of them", "",
       "plan=80000", AgentKind::kSearch, MakePortfolio},
      {"factored",
       "one softmax a unit, REINFORCE, no network: the control of the learners; action=copy: where its "
       "neighbour is, action=walk,moves=2.5: from the best on",
       "Williams, 1992", "action=device,stay=0.9,weights=mean,top=0.1,batch=20,lr=0.03", AgentKind::kSearch,
       MakeFactored},
      {"external", "a program of yours: lines of JSON on its standard input and output", "",
       "command=PROGRAM,timeout=60", AgentKind::kSearch, MakeExternal},
      {"rnn", "one LSTM reads the units, another names their devices in turn, with attention; REINFORCE",
       "Mirhoseini et al., ICML 2017",
       "preset=tuned|paper|code, size=small|full, network=icml17|planner (code: planner), " SEQUENCE(
           "paper, code")
           ONE_SHOT("ppo|reinforce (paper, code: reinforce)", "20", "2e-3", "0.1", "0.8 (paper, code: 0)"),
       AgentKind::kLearner, MakeLearner},
      {"hierarchical", "a network groups the units, a sequence model places the groups; REINFORCE",
       "Mirhoseini, Goldie et al., ICLR 2018",
       "preset=tuned|paper|code, size=small|full, groups=64 (full: 256; code: 0 = 20 a device), "
       "placements=4 (of each grouping; code: 1), clusters=12 (paper, code: 0), freeze=0 (code: 500), "
       "as_shipped=no, " SEQUENCE("paper, code")
           ONE_SHOT("ppo|reinforce (paper, code: reinforce)", "20", "2e-3", "0.1", "0.8 (paper, code: 0)"),
       AgentKind::kLearner, MakeLearner},
      {"placeto",
       "message passing, three pooled summaries, a few units at a time, REINFORCE; preset=transfer is for "
       "unseen graphs",
       "Addanki et al., NeurIPS 2019",
       "preset=tuned|transfer|walk|paper|code, rounds=2 (transfer: 4; others: 8), episodes=4, passes=1, "
       "every=16 (walk, paper, code: 1), repeats=no (walk, paper, code: yes), "
       "moves=2.5 (others: 0 = not steered), moves_end=1 (of other moves: moves), "
       "reach=1 (others: 0 = unbounded), offers=yes (tuned, transfer alone; transfer with lr=0: greedy), "
       "lr=3e-3 (walk: 1e-2; paper, code: 1e-3), lr_end=lr/10, entropy=0 (transfer, walk: 0.01; paper, code: "
       "1), "
       "entropy_end=0 (walk: 0.001, code: 1), entropy_floor=0 (paper, code: 0.001), clip=1.25, "
       "reward=decrease|best_later|final (tuned, code: best_later), baseline=moves|step (others: step), "
       "window=10, greedy=0 (walk: 25; paper, code: 999), start=best|own|random-each|single (others: own), "
       "scale=range|max (paper, code: max), mean=yes (paper, code: no), graph=yes, starts=yes, "
       "memory=no, penalty=2, limit_gb=0 (code: 8; 0 = the device's), cap_s=0 (code: 10; 0 = 10 reference "
       "runtimes), relative=yes (paper, code: no)",
       AgentKind::kLearner, MakeLearner},
      {"sgdp",
       "a graph network reads the units, attention in segments places all at once, gates between graphs; PPO",
       "Zhou et al.: GDP, 2019; SGDP, IEEE Micro 2020; GO, NeurIPS 2020",
       GRAPH_PLACER
       "superposition=yes, graph=yes, " ONE_SHOT("ppo|reinforce", "16", "1e-3", "0.1", "0.8 (paper: 0)"),
       AgentKind::kLearner, MakeLearner},
      {"grouper_placer", "grouper and placer of hierarchical, PPO: the first design that Mars compares with",
       "Lan et al. (Mars), ICPP 2021",
       "preset=tuned|paper, size=small|full, groups=64 (full: 256), placements=2 (of each "
       "grouping), clusters=12 (paper: 0), " SEQUENCE("paper")
           ONE_SHOT("ppo|reinforce", "20 (paper: 10)", "2e-3", "0.1", "0.8 (paper: 0)"),
       AgentKind::kLearner, MakeLearner},
      {"encoder_placer", "the network of sgdp without gates, PPO: the second design that Mars compares with",
       "Lan et al. (Mars), ICPP 2021; Zhou et al. (GDP), 2019",
       GRAPH_PLACER
       "graph=yes, " ONE_SHOT("ppo|reinforce", "16 (paper: 10)", "1e-3", "0.1", "0.8 (paper: 0)"),
       AgentKind::kLearner, MakeLearner},
      {"mars",
       "a graph network, pre-trained to tell the graph from a shuffled one; a sequence placer in segments; "
       "PPO",
       "Lan et al. (Mars), ICPP 2021",
       "preset=tuned|paper, size=small|full, encoder_width=128 (full: 256), layers=3, graph=yes (no: stay=0, "
       "offers=no), pretrain=yes, iterations=300 (full: 1000), patience=20, freeze=no, "
       "segment=128, " SEQUENCE("paper")
           ONE_SHOT("ppo|reinforce", "20 (paper: 10)", "2e-3", "0.1", "0.8 (paper: 0)"),
       AgentKind::kLearner, MakeLearner},
      {"doppler",
       "one network selects the next ready unit, another places it by a list schedule; imitates "
       "critical_path, "
       "then PPO",
       "Yao et al., ICLR 2026",
       "preset=tuned|paper, width=64 (paper: 128), hidden=32 (paper: 64), rounds=3 (paper: 6), window=64, "
       "offers=lengths|deviations (paper: deviations), neighbour=yes (paper: no), explore=policy|greedy "
       "(paper: "
       "greedy), epsilon=0.2, imitate=yes, iterations=100 (paper: 2000), walks=8 (paper: 1), "
       "imitation_lr=1e-3, "
       "smoothing=0.2 (paper: 0), " ONE_SHOT("ppo|reinforce (paper: reinforce)", "20 (paper: 1)", "1e-3",
                                             "0.01 (paper: 0)",
                                             "0.8 (paper: 0)") ", entropy_most=0.1 (paper: 1)",
       AgentKind::kLearner, MakeLearner},
  };
  return rows;
}

const AgentRow* FindAgent(const std::string& name) {
  for (const AgentRow& row : Agents()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

bool Samples(const AgentRow& row) {
  return row.kind == AgentKind::kSearch || row.kind == AgentKind::kLearner || row.make == MakeRandom;
}

std::unique_ptr<Agent> MakeAgent(const std::string& text) {
  const Spec spec = Spec::Parse(text);
  if (const AgentRow* row = FindAgent(spec.name)) return row->make(spec);
  std::vector<std::string> known;
  for (const AgentRow& row : Agents()) known.emplace_back(row.name);
  throw InputError("agent '" + spec.name + "' is not known" + DidYouMean(spec.name, known) +
                   "; it must be one of " + JoinNames(known));
}

}  // namespace stowplan::agents
