#include "scenarios/parallel/layout.h"

#include <fmt/format.h>

#include "scenarios/settings.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

constexpr std::int64_t kMostRanks = 16'384;

const char* kRecomputes[] = {"none", "selective", "full"};

}  // namespace

SettingTable LayoutSettings() {
  return TableOf(
      "tensor=1,pipeline=1,data=1,micro_batches=1,schedule=1f1b,sequence=no,zero=0,recompute=none,bucket=25,"
      "prefetch=1,batch=shared",
      {Sized("tensor", "ranks that share each product", 1, kMostRanks),
       Sized("pipeline", "stages", 1, kMostRanks),
       Sized("data", "ranks that share the batch", 1, kMostRanks),
       {"sequence", "norms and dropouts are cut along the sequence by the tensor ranks", YesNo(), ""},
       {"zero", "what data ranks share: 1 optimizer state, 3 weights too, as FSDP", OneOf({"0", "1", "3"}),
        ""},
       {"recompute", "activations of layers, or of attention alone",
        OneOf({kRecomputes[0], kRecomputes[1], kRecomputes[2]}), ""},
       Sized("bucket", "MiB of gradients that data ranks exchange at once", 1, 1 << 20),
       Sized("prefetch", "layers whose weights zero=3 gathers ahead", 0, 1000),
       {"batch", "the graph's batch is that of the whole step, shared, or each micro-batch has as much",
        OneOf({"shared", "each"}), ""}});
}

std::string LaidOutName(const std::string& of, const std::string& settings) {
  const bool is_path = of.find('(') == std::string::npos && of.find('"') == std::string::npos;
  const char* quote = is_path ? "\"" : "";
  return fmt::format("layout(of={}{}{},{})", quote, of, quote, settings);
}

Layout ReadLayout(const Settings& read) {
  Layout layout;
  layout.tensor = read.Int("tensor");
  layout.pipeline = read.Int("pipeline");
  layout.data = read.Int("data");
  layout.micro_batches = read.Int("micro_batches");
  layout.schedule = read.Text("schedule");
  layout.sequence = read.Bool("sequence");
  layout.zero = std::stoi(read.Text("zero"));
  layout.recompute = read.Choice<Recompute>("recompute");
  layout.bucket = read.Int("bucket");
  layout.prefetch = read.Int("prefetch");
  layout.of_micro_batch = read.Is("batch", "each");
  if (layout.tensor * layout.pipeline > kMostRanks || layout.ranks() > kMostRanks)
    throw InputError(
        fmt::format("layout: tensor={} x pipeline={} x data={} is more than {} ranks; choose fewer",
                    layout.tensor, layout.pipeline, layout.data, kMostRanks));
  return layout;
}

std::string Layout::Text() const {
  std::string text = fmt::format("tensor={},pipeline={},data={}", tensor, pipeline, data);
  if (micro_batches > 1) text += fmt::format(",micro_batches={}", micro_batches);
  if (micro_batches > 1 && schedule != "1f1b") text += ",schedule=" + schedule;
  if (sequence) text += ",sequence=yes";
  if (zero != 0) text += fmt::format(",zero={}", zero);
  if (recompute != Recompute::kNone)
    text += fmt::format(",recompute={}", kRecomputes[static_cast<int>(recompute)]);
  const Layout usual;
  if (bucket != usual.bucket) text += fmt::format(",bucket={}", bucket);
  if (prefetch != usual.prefetch) text += fmt::format(",prefetch={}", prefetch);
  if (of_micro_batch) text += ",batch=each";
  return text;
}

}  // namespace stowplan::scenarios
