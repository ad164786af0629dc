#include "agents/rl/placeto/placeto_options.h"

#include "sim/base/error.h"

namespace stowplan::agents::rl {

PlacetoOptions ReadPlacetoOptions(const Settings& read) {
  const bool published = read.Is("preset", "paper") || read.Is("preset", "code");
  PlacetoOptions options;
  options.rounds = static_cast<int>(read.Int("rounds"));
  options.episodes = static_cast<int>(read.Int("episodes"));
  options.passes = static_cast<int>(read.Int("passes"));
  options.every = static_cast<int>(read.Int("every"));
  options.repeats = read.Bool("repeats");
  options.moves = {read.Double("moves"), read.Double("moves_end"), 1};
  options.reach = read.Double("reach");
  options.offers = read.Has("offers") && !read.Is("offers", "no");
  options.greedy_offers = options.offers && read.Is("offers", "greedy");
  options.learning_rate = {read.Double("lr"), read.Double("lr_end"), 1};
  // `tuned` bounds what offers count by its reach.
  if (options.greedy_offers &&
      (options.learning_rate.first > 0 || options.learning_rate.last > 0 || !read.Is("preset", "transfer")))
    throw InputError(
        "placeto: offers=greedy is a control that learns nothing; expected preset=transfer and lr=0 with it");
  options.entropy = {read.Double("entropy"), read.Double("entropy_end"), read.Is("preset", "walk") ? 0.7 : 1};
  options.entropy_floor = read.Double("entropy_floor");
  options.clip = read.Double("clip");
  options.reward = read.Choice<PlacetoOptions::Reward>("reward");
  options.baseline = read.Choice<PlacetoOptions::Baseline>("baseline");
  options.window = static_cast<int>(read.Int("window"));
  options.greedy = static_cast<int>(read.Int("greedy"));
  options.greedy_first = published;
  options.start = read.Choice<PlacetoOptions::Start>("start");
  options.scale = read.Choice<PlacetoOptions::Scale>("scale");
  options.mean = read.Bool("mean");
  options.graph = read.Bool("graph");
  options.starts = read.Bool("starts");
  options.memory = read.Bool("memory");
  options.penalty = read.Double("penalty");
  options.limit_gb = read.Double("limit_gb");
  options.cap_s = read.Double("cap_s");
  options.relative = read.Bool("relative");
  options.name = read.Canonical();
  return options;
}

}  // namespace stowplan::agents::rl
