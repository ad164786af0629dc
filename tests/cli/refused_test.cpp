// Calls that are wrong: status 2, nothing on standard output, one line that names what is wrong and, where one is near, what was meant.
#include "sim/formats/formats.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

std::vector<std::string> BlankSeparated(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t blank = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, blank - at));
    at = blank + 1;
  }
  return words;
}

// "place": with what stands in the second column; the others are whole calls. The last column is in the message.
constexpr const char* kPlace = "place --graph chain --cluster k80(gpus=2) --samples 4";
constexpr const char* kOnChain = "simulate --graph chain --cluster k80(gpus=2)";
constexpr const char* kSpeed = "speed --graph chain --cluster k80(gpus=2)";
constexpr const char* kTable = "table run hierarchical";
constexpr const char* kCompare =
    "compare --graph random_dag(ops=60) --cluster k80(gpus=2) --samples 40 --agents";
constexpr const char* kExplain = "explain --graph inception_v3 --cluster k80(gpus=2) --placement expert";
constexpr const char* kTrain =
    "train --agent placeto(preset=walk) --graph diamond chain --cluster k80(gpus=2) --out /proc/none/p";

struct Wrong {
  const char* call;
  const char* more;
  const char* says;
};

constexpr Wrong kWrong[] = {
    // What is not known or not there.
    {"fly", "", "fly"},
    {"simulate --graph x", "", "--cluster is required"},
    {"simulate net.json --cluster k40", "", "--graph net.json"},
    {"list agents --wrong", "", "--wrong"},
    {"list agents", "tables", "\"tables\""},
    {"list agents rnn", "tables", "\"tables\""},
    {"list planets", "", "planets"},
    {"table run no_such_table", "", "hierarchical"},
    {kTable, "--cells rnnlm", "ROW/COLUMN"},
    {kTable, "--cells rnnlm/no_such_column", "cpu_only"},
    {"graph info no_such_workload", "", "no_such_workload"},
    {"simulate --graph chain --placement single_gpu", "--cluster no_such_cluster", "no_such_cluster"},
    {kOnChain, "--placement no_such_agent", "single_gpu"},
    {kOnChain, "--placement local_search", "stowplan place"},
    {kOnChain, "--placement single_gpu --memory tpu=1GiB", "gpu0"},
    {kOnChain, "--placement single_gpu --memory gpu=1", "gpu"},
    {kOnChain, "--placement single_gpu --rules fast", "native"},
    {"place --agent random --samples 5", "", "--scenario"},
    {kPlace, "--agent random(wings=2)", "wings"},
    {kPlace, "--devices tpu", "tpu"},
    {kPlace, "--resume", "--out"},
    {kPlace, "--log-samples", "--out"},
    {kCompare, "random psychic", "agent 'psychic'"},
    {kExplain, "--devices gpu7", "\"gpu7\""},
    {kExplain, "--links pcie-gpu0,wire", "\"wire\""},
    {"compare --agents random heft", "", "stowplan compare"},
    {"graph convert chain", "--out /proc/no/such/folder/g.json", "/proc/no/such/folder/g.json"},
    {kExplain, "--html /proc/no/such/folder/page.html", "/proc/no/such/folder"},
    // Numbers, with their range.
    {kTable, "--seeds 0", "--seeds: \"0\" is not a whole number from 1 to 10,000."},
    {kTable, "--samples -3", "--samples: \"-3\" is not a whole number from 1 to 1,000,000,000,000."},
    {kTable, "--samples x", "--samples: \"x\""},
    {kSpeed, "--placements many", "--placements"},
    {kSpeed, "--placements 0", "--placements: \"0\" is not a whole number from 1 to 10,000,000."},
    {kCompare, "random heft --seeds 0", "--seeds: \"0\""},
    {kExplain, "--faster 1", "--faster 1"},
    {kExplain, "--faster 1e9", "1 to 1000"},
    {kTrain, "--samples 1", "the 2 graphs"},
    {kTrain, "--samples 10 --threads -1", "--threads: \"-1\" is not a whole number from 0 to 1,024."},
    {"validate --record --out x --placements 1", "", "--placements: \"1\" is not a whole number from 2"},
    {"validate --record --out x --again-seconds -1", "", "--again-seconds: \"-1\""},
    {"validate --record --out x --memory-share -1", "", "--memory-share: \"-1\""},
    {"place --agent brute_force --graph chain(ops=2000) --cluster k80", "", "limit"},
    // What does not go together.
    {kPlace, "--agent random --init nosuch.ckpt", "--init: random"},
    {kPlace, "--init nosuch.ckpt", "--init: portfolio"},
    {kPlace, "--learn no", "--learn no: portfolio"},
    {kPlace, "--agent expert --within 2", "--within: expert"},
    {kPlace, "--seconds 2 --samples 3", "--samples"},
    {kPlace, "--seconds 0", "--seconds: \"0\""},
    {kPlace, "--seconds 2 --out x --resume", "--samples"},
    {kTrain, "--agent heft --samples 9", "--agent"},
    {kTrain, "--samples 10 --family ptb", "FAMILY:train"},
    {kCompare, "random", "--agents"},
    {kCompare, "random,local_search", "--agents random local_search."},
    {kCompare, "random,factored(lr=0,action=copy)", "--agents random 'factored(lr=0,action=copy)'."},
    {kCompare, "random random(unit=op)", "twice"},
    {kCompare, "random heft --resume", "--out"},
    {kOnChain, "--placement single_gpu --json - --timeline -", "--json - and --timeline -"},
    {kPlace, "--json - --html -", "--json - and --html -"},
    {kExplain, "--json - --html -", "--json - and --html -"},
    {"validate", "", "--record --out DIR"},
    {"validate --choose --out x", "", "--workloads"},
    {"validate --record", "", "--out DIR"},
    {"validate --recordings /no/such/folder", "", "no folder of recordings"},
    {"validate --record --out x --cluster y", "", "--cluster"},
    {"validate --recordings x --workloads y", "", "--workloads"},
    {"validate --record --out x --again y", "", "--again"},
    // The nearest name: of verbs, options and everything that has names.
    {"simulate --grpah x", "", "--grpah (did you mean --graph?)"},
    {"place --agnet=random", "", "--agnet (did you mean --agent?)"},
    {"simulat", "", "(did you mean simulate?)"},
    {"graph inof chain", "", "(did you mean info?)"},
    {"list agent", "", "(did you mean agents?)"},
    {"list agents rn", "", "(did you mean rnn?)"},
    {"table run hierachical", "", "(did you mean hierarchical?)"},
    {kTable, "--budget qiuck", "(did you mean quick?)"},
    {kTable, "--cells nmt_2/singel_gpu", "(did you mean nmt_2/single_gpu?)"},
    {"graph info resnet152", "", "(did you mean resnet_152?)"},
    {"graph info chain(opps=3)", "", "(did you mean ops?)"},
    {"graph info inception_v3(mode=trainig)", "", "(did you mean training?)"},
    {kPlace, "--agent anealing", "(did you mean annealing?)"},
    {kPlace, "--agent annealing(hott=1)", "(did you mean hot?)"},
    {"place --graph chain --cluster k8O", "", "(did you mean k80?)"},
    {kPlace, "--devices gpu2", "(did you mean gpu0?)"},
    {kPlace, "--grouper neigbour", "(did you mean neighbour?)"},
    {kPlace, "--cost-model analitic", "(did you mean analytic?)"},
    {kPlace, "--interconnect fiar", "(did you mean fair?)"},
    {kPlace, "--rules publish", "(did you mean published?)"},
    {kOnChain, "--placement singlegpu", "(did you mean single_gpu?)"},
    {"completion bsh", "", "(did you mean bash?)"},
};

TEST(Refused, SaysWhatIsWrong) {
  for (const Wrong& wrong : kWrong) {
    SCOPED_TRACE(std::string(wrong.call) + " " + wrong.more);
    testing::ExpectRefused(BlankSeparated(std::string(wrong.call) + (*wrong.more ? " " : "") + wrong.more),
                           wrong.says);
  }
  testing::ExpectRefused({}, "subcommand");
  testing::ExpectRefused({"graph", "convert", "chain", "--out", ""}, "--out");
}

TEST(Refused, ImportsThatAreNone) {
  const tests::TempFolder folder;
  const std::string path = folder / "model.onnx", cut = folder / "cut.onnx";
  formats::WriteFile(path, "no protobuf");
  const std::string import = "graph import " + path + " --out -";
  for (const auto& [more, says] : {std::pair{"", "in no format"},
                                   {" --from onnx", "ONNX"},
                                   {" --dim batch", "--dim batch=8"},
                                   {" --from msr --strict", "ONNX"}})
    testing::ExpectRefused(BlankSeparated(import + more), says);
  // A model that is cut off in its graph: a build without the ONNX library says so instead, not that it is no JSON.
  formats::WriteFile(cut, std::string("\x08\x08\x3a\x7f\x0a", 5));
  testing::ExpectRefused({"graph", "info", cut}, "ONNX");
}

}  // namespace
}  // namespace stowplan::cli
