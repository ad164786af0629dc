// `doppler`: schedules are constructed step by step, one policy selects the ready unit that is next, another places it;
// both imitate a heuristic, then learn from the simulator.
//
// Source: Yao et al., DOPPLER: Dual-Policy Learning for Device Assignment in Asynchronous Dataflow Graphs, ICLR 2026
// (docs/protocol_rules.md#doppler). What is called read here is read in the authors' program; the paper itself was not seen.
// The policies are doppler_policy.h, the learner is one_shot_learner.h.
//
// Read: both policies with message passing of their own, 6 rounds, widths 128 and 64, rectifiers of slope 0.1; a unit's
// five numbers (cost, longest path from and to it, transfers in and out); a unit's score from them, its embedding and the
// sums of the embeddings along its two longest paths; a device's five numbers for the unit in turn (work so far, work of
// the inputs there, their first start and last end, the unit's earliest start), compared over the devices by deviation; a
// device's score from them, the unit, and the sum of the embeddings of what is on it. Imitation of the critical-path
// heuristic: 2,000 episodes that explore evenly at first and not at the end, Adam 1e-3, ties all count. Then REINFORCE: an
// episode an update, 2,000 of them, the likeliest action but with a probability from 0.2 to 0 an even one, Adam 1e-4, no
// entropy bonus, the mean of all runtimes so far as baseline, log-probabilities summed.
//
// Not as in the program (ours):
//   - messages are one layer of the sender and the edge, averaged by direction; there a matrix for each edge, and a GRU;
//   - numbers are standardised over the graph, there over the candidates; 64 candidates at most are seen;
//   - an offer has the earliest end in place of the earliest start: the same order on the equal devices there;
//   - a unit starts when its inputs are there: the program takes the work so far for the start, evidently a slip;
//   - rates fall as its documentation says; in the program the fall does not reach Adam;
//   - the reward is -sqrt(runtime / reference), there linear in ms, and is not discounted over the steps, there by 0.99;
//   - the stage on the real system is left out; imitation has no entropy bonus (there 1e-3).
// `tuned`: PPO and the learner of docs/protocol_rules.md#tuned, smaller networks, offers that keep their size and two more
// numbers of an offer, actions drawn from the policies, a smoothed heuristic.
//
// Where it fails: two devices that offer the same get the same probability, whatever the unit; what sets the units apart
// is their five numbers alone. The list schedule knows no contention and no memory. Paths are kept as lists of units, so
// that graphs of many thousand units want groups. Entropy is held to 0.8 of what imitation leaves
// (docs/protocol_rules.md#tuned), with a weight from 0.01 to 0.1: beginning at 0.1 and rising to 1, as in the other learners, it
// undid what was imitated (results/agents/doppler.md).
#include "agents/rl/doppler_policy.h"
#include "agents/rl/learners.h"
#include "agents/rl/one_shot_learner.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {

std::unique_ptr<Agent> MakeDoppler(const Settings& read) {
  DopplerOptions policy;
  policy.width = read.Int("width");
  policy.hidden = read.Int("hidden");
  policy.rounds = static_cast<int>(read.Int("rounds"));
  policy.window = static_cast<int>(read.Int("window"));
  policy.deviations = read.Is("offers", "deviations");
  policy.neighbour = read.Bool("neighbour");
  policy.greedy = read.Is("explore", "greedy");
  policy.epsilon = read.Double("epsilon");
  policy.imitate = read.Bool("imitate");
  policy.iterations = static_cast<int>(read.Int("iterations"));
  policy.walks = static_cast<int>(read.Int("walks"));
  policy.imitation_rate = read.Double("imitation_lr");
  policy.smoothing = read.Double("smoothing");
  if (policy.greedy && read.Is("learner", "ppo")) {
    throw InputError(
        read.name() +
        ": explore=greedy draws actions otherwise than by the policies' probabilities, which learner=ppo "
        "compares; expected explore=policy or learner=reinforce");
  }
  return MakeOneShotAgent(read.Canonical(), ReadOneShotOptions(read), [policy](const auto& tasks, Rng& init) {
    return std::make_unique<DopplerPolicy>(policy, tasks, init);
  });
}

}  // namespace stowplan::agents::rl
