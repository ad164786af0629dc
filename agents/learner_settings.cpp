// The settings of the learners. They stand here and not in agents/rl, since `stowplan list` does not open that plug-in.
#include <algorithm>

#include "agents/agents.h"

namespace stowplan::agents {
namespace {

using Rows = std::vector<Setting>;

constexpr double kMost = 1'000'000;

DefaultRelation NoMoreThan(const std::string& setting) {
  return {setting, "no more than " + setting,
          [](double fallback, double of, double) { return std::min(fallback, of); }};
}
// The same for a learning rate, to the bit as names were recorded.
DefaultRelation NoMoreThanRate(const std::string& setting) {
  return {setting, "no more than " + setting, [](double fallback, double of, double) {
            return std::min(fallback, of * std::min(fallback / std::max(of, 1e-300), 1.0));
          }};
}
DefaultRelation TenthOf(const std::string& setting) {
  return {setting, "a tenth of " + setting, [](double, double of, double) { return of / 10; }};
}
// A number of one's own holds to the end.
DefaultRelation ItsOwnOrGiven(const std::string& setting) {
  return {setting, setting + ", where another is given",
          [](double fallback, double of, double default_of) { return of == default_of ? fallback : of; }};
}

Rows operator+(Rows first, const Rows& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The first of the presets is the default.
Rows Preset(std::vector<std::string> presets) {
  const std::string first = presets.front();
  const bool has_program = std::ranges::find(presets, "code") != presets.end();
  return {{"preset",
           std::string("whose defaults: ours (tuned), the paper's") +
               (has_program ? ", the published program's (code)" : ""),
           OneOf(std::move(presets)), first}};
}

Rows Size() {
  return {{"size", "of the networks: ours, or the paper's", OneOf({"small", "full"}), "small"}};
}

// ---- what draws whole placements --------------------------------------------------------------------------

Rows Returns() {
  return {
      {"learner", "the policy gradient", OneOf({"reinforce", "ppo"}), "ppo"},
      {"batch", "placements an update", Whole(1, kMost), "20"},
      {"reward", "-sqrt(s), -10 if it fails (root), or in reference runtimes (shaped)",
       OneOf({"root", "shaped"}), "shaped"},
      {"baseline", "of the reward: average from its first or from failing, mean, or others of the batch",
       OneOf({"average", "failing", "mean", "others"}), "others"},
      {"standardise", "divide advantages by their deviation in the batch", YesNo(), "yes"},
      {"loss", "over the decisions of a placement", OneOf({"sum", "mean"}), "mean"},
      {"valid_part", "from this part of the budget on learn from what fits alone", Number(0, 1), "1"},
      {"valid_update", "and from this update on; 0: never", Whole(0, kMost), "0"},
      {"lr", "Adam's learning rate at first", Number(0, 10), "2e-3"},
      {"lr_end", "and when the budget is spent", Number(0, 10), "2e-4", NoMoreThanRate("lr")},
      {"entropy", "weight of the entropy at first", Number(0, 1000), "0.1"},
      {"entropy_end", "and at last", Number(0, 1000), "0", NoMoreThan("entropy")},
      {"target", "hold this part of a fresh policy's entropy at first; 0: hold none", Number(0, 1), "0.8"},
      {"target_end", "and at last", Number(0, 1), "0", NoMoreThan("target")}};
}

Rows Updates() {
  return {{"clip", "the gradient's norm", Number(1e-9, 1e9), "1"},
          {"epochs", "PPO: passes over a batch", Whole(1, kMost), "4"},
          {"minibatches", "PPO: parts of a batch, an update each", Whole(1, kMost), "1"},
          {"range", "PPO: ratios count up to so far from 1", Number(0, 1), "0.2"},
          {"greedy", "updates between two greedy placements; 0: none", Whole(0, kMost), "50"}};
}

Rows OneShot() {
  return Returns() + Updates();
}

// What ICML'17 and ICLR'18 have in common.
constexpr const char* kReinforce =
    "learner=reinforce,reward=root,baseline=average,standardise=no,loss=sum,entropy=0,target=0";
// What Mars is recalled to have learned with (low confidence; docs/protocol_rules.md#mars).
constexpr const char* kPpo =
    "batch=10,reward=root,baseline=average,standardise=no,lr=3e-4,lr_end=3e-4,entropy=1e-3,entropy_end=1e-3,"
    "target=0";
// The constants of TensorFlow's open planner.
constexpr const char* kPlanner =
    "tanh=1,noise=0.5,noise_updates=750,batch=1,baseline=failing,valid_update=1000,lr=0.1,lr_end=0.1";

// ---- networks ---------------------------------------------------------------------------------------------

Rows Sequence() {
  return {{"width", "of encoder and decoder", Whole(2, 8192), "64"},
          {"attention", "additive, or by products", OneOf({"additive", "dot"}), "dot"},
          {"aligned", "the decoder also reads what it is placing", YesNo(), "yes"},
          {"centred", "the output reads differences to the mean", YesNo(), "yes"},
          {"stay", "a fresh policy's probability to follow a neighbour; 0: without", Number(0, 0.999), "0.9"},
          {"temperature", "logits are divided by it", Number(1e-6, 1e6), "1"},
          {"tanh", "logits are kept within it; 0: without", Number(0, 1e6), "0"},
          {"noise", "on the logits, in parts of their root mean square", Number(0, 100), "0"},
          {"noise_updates", "during so many updates", Whole(0, kMost), "0"},
          {"offers", "say where a schedule would end it first", YesNo(), "yes"}};
}

// Networks of `paper` and `code`; width 512 is the recalled size.
constexpr const char* kPlainSequence = "width=128,attention=additive,aligned=no,centred=no,stay=0,offers=no";

Rows GrouperRows(const std::string& placements) {
  return {
      {"groups", "that the grouper may use; 0: 20 a device", Whole(0, 4096), "64"},
      {"placements", "drawn from each grouping", Whole(1, 4096), placements},
      {"clusters", "added to a unit's logit of its own cluster; 0: groups at random", Number(0, 100), "12"}};
}

constexpr const char* kBlind = "stay=0,offers=no";  // both read edges

SettingTable GraphPlacer(const Rows& gates, const std::string& paper) {
  return {Preset({"tuned", "paper"}) + Size() +
              Rows{{"heads", "of attention; they divide the width", Whole(1, 1024), "4"},
                   {"width", "of encoder and placer", Whole(1, 8192), "64"},
                   {"layers", "of attention", Whole(0, 100), "2"},
                   {"segment", "units that attend to one another", Whole(1, 1 << 20), "128"},
                   {"passes", "of the placer; later ones see the probabilities before", Whole(1, 100), "1"}} +
              gates +
              Rows{{"centred", "the output reads differences to the mean", YesNo(), "yes"},
                   {"graph", "the encoder sees the edges", YesNo(), "yes"},
                   {"stay", "a fresh policy's probability to follow a neighbour", Number(0, 0.999), "0.9"},
                   {"offers", "say where a schedule would end it first", YesNo(), "yes"}} +
              OneShot(),
          {{"", "batch=16,lr=1e-3,lr_end=1e-4"},
           {"preset=paper", kPpo},
           {"preset=paper", "centred=no,stay=0,offers=no" + paper},
           {"size=full", "heads=8,width=128,layers=3,segment=256"},
           {"graph=no", kBlind}}};
}

}  // namespace

SettingTable RnnSettings() {
  return {Preset({"tuned", "paper", "code"}) + Size() +
              Rows{{"network", "the paper's or that of TensorFlow's open planner",
                    OneOf({"icml17", "planner"}), "icml17"}} +
              Sequence() + OneShot(),
          {{"preset=paper|code", kPlainSequence},
           {"preset=paper|code", kReinforce},
           {"preset=paper", "batch=10,valid_part=0.25,lr=1e-3,lr_end=1e-3"},
           {"preset=code", "network=planner"},
           {"preset=code", kPlanner},
           {"size=full", "width=512"}}};
}

SettingTable HierarchicalSettings() {
  return {Preset({"tuned", "paper", "code"}) + Size() + GrouperRows("4") + Sequence() +
              Rows{{"freeze", "from this update on draw groupings alone; 0: never", Whole(0, kMost), "0"},
                   {"as_shipped", "with the program's defect: the loss takes other draws", YesNo(), "no"}} +
              OneShot(),
          {{"preset=paper|code", kPlainSequence},
           {"preset=paper|code", kReinforce},
           {"preset=paper|code", "clusters=0"},
           {"preset=paper", "temperature=10,tanh=5,noise=0.5,noise_updates=500"},
           {"preset=paper", "batch=4,valid_update=500,lr=0.1,lr_end=0.1"},
           {"preset=code", kPlanner},
           {"size=full", "groups=256,width=512"},
           {"preset=code", "groups=0,placements=1,freeze=500"}}};
}

SettingTable GrouperPlacerSettings() {
  return {Preset({"tuned", "paper"}) + Size() + GrouperRows("2") + Sequence() + OneShot(),
          {{"preset=paper", kPlainSequence},
           {"preset=paper", kPpo},
           {"preset=paper", "clusters=0"},
           {"size=full", "groups=256,width=512"}}};
}

SettingTable SgdpSettings() {
  return GraphPlacer({{"superposition", "gates tell graphs apart", YesNo(), "yes"}},
                     ",batch=16,baseline=mean,entropy=0.01");
}

SettingTable EncoderPlacerSettings() {
  return GraphPlacer({}, "");
}

SettingTable MarsSettings() {
  return {
      Preset({"tuned", "paper"}) + Size() +
          Rows{{"encoder_width", "of the graph convolutions", Whole(1, 8192), "128"},
               {"layers", "of graph convolutions", Whole(1, 100), "3"},
               {"graph", "the encoder sees the edges", YesNo(), "yes"},
               {"pretrain", "the encoder first learns to tell the graph from a shuffled one", YesNo(), "yes"},
               {"iterations", "of that", Whole(1, kMost), "300"},
               {"patience", "iterations without a smaller loss that end it", Whole(1, kMost), "20"},
               {"freeze", "the encoder then learns no more", YesNo(), "no"},
               {"segment", "units that the placer reads at once", Whole(1, 1 << 20), "128"}} +
          Sequence() + OneShot(),
      {{"preset=paper", kPlainSequence},
       {"preset=paper", kPpo},
       {"size=full", "encoder_width=256,iterations=1000,width=512"},
       {"graph=no", kBlind}}};
}

SettingTable DopplerSettings() {
  return {
      Preset({"tuned", "paper"}) +
          Rows{{"width", "of embeddings", Whole(1, 8192), "64"},
               {"hidden", "width of the last layer before a score", Whole(1, 8192), "32"},
               {"rounds", "of messages", Whole(0, 100), "3"},
               {"window", "ready units that are seen at most", Whole(1, kMost), "64"},
               {"offers", "measured in lengths of units or in deviations over the devices",
                OneOf({"lengths", "deviations"}), "lengths"},
               {"neighbour", "offers also say where the inputs are", YesNo(), "yes"},
               {"explore", "actions are drawn from the policy, or the likeliest but for epsilon",
                OneOf({"policy", "greedy"}), "policy"},
               {"epsilon", "part of even draws at first, with explore=greedy", Number(0, 1), "0.2"},
               {"imitate", "the policies first learn what critical_path does", YesNo(), "yes"},
               {"iterations", "of that", Whole(1, kMost), "100"},
               {"walks", "of each task in an iteration", Whole(1, 10'000), "8"},
               {"imitation_lr", "learning rate of that, falls to 0", Number(0, 10), "1e-3"},
               {"smoothing", "part of what is imitated that goes evenly to all", Number(0, 1), "0.2"}} +
          Returns() +
          Rows{{"entropy_most", "the weight of a held entropy grows no further", Number(1e-3, 1000), "0.1"}} +
          Updates(),
      {{"", "lr=1e-3,lr_end=1e-4,entropy=0.01"},
       {"preset=paper",
        "width=128,hidden=64,rounds=6,offers=deviations,neighbour=no,explore=greedy,iterations=2000,walks=1,"
        "smoothing=0"},
       {"preset=paper",
        "learner=reinforce,batch=1,baseline=mean,standardise=no,loss=sum,lr=1e-4,lr_end=0,entropy=0,target=0,"
        "entropy_most=1"}}};
}

SettingTable PlacetoSettings() {
  return {
      {
          {"preset",
           "whose defaults: ours for one graph, for unseen ones, for a walk, or the paper's, its code's",
           OneOf({"tuned", "transfer", "walk", "paper", "code"}), "tuned"},
          {"rounds", "of messages", Whole(0, 1000), "2"},
          {"episodes", "at once, an update", Whole(1, 4096), "4"},
          {"passes", "over the units, an episode", Whole(1, 1000), "1"},
          {"every", "units between two evaluations", Whole(1, kMost), "16"},
          {"repeats", "evaluate again what is known", YesNo(), "no"},
          {"moves", "units that a pass is held to move at first; 0: not held", Number(0, 1e6), "2.5"},
          {"moves_end", "and at last", Number(0, 1e6), "1", ItsOwnOrGiven("moves")},
          {"reach", "bound of the network's logits; 0: none", Number(0, 1000), "1"},
          {"offers",
           "see what a list schedule offers; greedy: take the best (preset=transfer, lr=0)",
           OneOf({"yes", "no", "greedy"}),
           "yes",
           {},
           "preset=tuned|transfer"},
          {"lr", "Adam's learning rate at first", Number(0, 10), "3e-3"},
          {"lr_end", "and when the budget is spent", Number(0, 10), "0", TenthOf("lr")},
          {"entropy", "weight of the entropy at first", Number(0, 1000), "0"},
          {"entropy_end", "and at last", Number(0, 1000), "0", NoMoreThan("entropy")},
          {"entropy_floor", "added to probabilities in the entropy's logarithm", Number(0, 1), "0"},
          {"clip", "the gradient's norm", Number(1e-9, 1e9), "1.25"},
          {"reward", "what a step is paid for: its decrease, the best later cost or the final one",
           OneOf({"decrease", "best_later", "final"}), "best_later"},
          {"baseline", "the mean return of that step, or of the steps that moved a unit",
           OneOf({"step", "moves"}), "moves"},
          {"window", "updates in the mean of a step", Whole(1, kMost), "10"},
          {"greedy", "episodes between two greedy passes; 0: none", Whole(0, kMost), "0"},
          {"start", "of an episode: a random one of its own or each time, one device, or the best so far",
           OneOf({"own", "random-each", "single", "best"}), "best"},
          {"scale", "start times are divided by their range or largest", OneOf({"range", "max"}), "range"},
          {"mean", "over neighbours and pools; no: sums", YesNo(), "yes"},
          {"graph", "the network sees the edges", YesNo(), "yes"},
          {"starts", "and the start times", YesNo(), "yes"},
          {"memory", "and the bytes of a unit", YesNo(), "no"},
          {"penalty", "seconds for each GB above a device's limit", Number(0, 1e6), "2"},
          {"limit_gb", "that limit; 0: its memory", Number(0, 1e6), "0"},
          {"cap_s", "largest cost in seconds; 0: 10 reference runtimes", Number(0, 1e6), "0"},
          {"relative", "costs are in reference runtimes", YesNo(), "yes"},
      },
      {{"preset=transfer", "rounds=4,entropy=0.01"},
       {"preset=walk|paper|code", "rounds=8,every=1,repeats=yes"},
       {"preset=transfer|walk|paper|code",
        "moves=0,moves_end=0,reach=0,reward=decrease,baseline=step,start=own"},
       {"preset=walk", "lr=1e-2,entropy=0.01,entropy_end=0.001,greedy=25"},
       {"preset=paper|code",
        "lr=1e-3,entropy=1,entropy_floor=0.001,greedy=999,scale=max,mean=no,relative=no"},
       {"preset=code", "entropy_end=1,reward=best_later,limit_gb=8,cap_s=10"}}};
}

}  // namespace stowplan::agents
