// Texts of files and calls are text wherever they go: no formula in a CSV, no command in LaTeX, no element in HTML and Markdown,
// nothing but text on a terminal. Every verb that there is is called with such texts, and everything that it wrote is looked
// through.
#include <nlohmann/json.hpp>

#include "agents/agent.h"
#include "cli/command.h"
#include "sim/formats/formats.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

namespace fs = std::filesystem;
using testing::RunStowplan;
using tests::TempFolder;

const std::string kFormula = "=cmd|' /C calc'!A0";
const std::string kElement = "<script>alert(1)</script>";
const std::string kLatex = "\\input{/etc/passwd} ^^5cinput ~ # % & _ $";
const std::string kEscape = "\x1b[31m\x1b]0;title\x07\r\xC2\x9B";  // also the CSI that is one character

// Titles are longer than names may be in some tables.
const std::string kHostile = kFormula + kElement + kLatex;

std::string Json(const std::string& text) {
  return nlohmann::json(text).dump();
}

std::string GraphText() {
  std::string ops;
  for (const char* number : {"1", "2", "3"}) {
    ops += (ops.empty() ? "" : ",\n");
    ops += "{\"name\": " + Json(kHostile + number) + ", \"type\": " + Json(kHostile) +
           ", \"cost_us\": 10, \"outputs\": [{\"bytes\": 8}]";
    if (*number > '1')
      ops += ", \"inputs\": [" + Json(kHostile + std::string(1, static_cast<char>(*number - 1))) + "]";
    ops += ", \"attributes\": {\"module\": " + Json(kHostile) + "}}";
  }
  return R"({"format": "stowplan.graph", "version": 1, "name": )" + Json(kHostile) + ", \"ops\": [" + ops +
         "]}";
}

std::string ClusterText() {
  return R"({"format": "stowplan.cluster", "version": 1, "name": )" + Json(kHostile) +
         R"(, "devices": [{"name": )" + Json(kHostile + "a") + R"(, "kind": "k80"}, {"name": )" +
         Json(kHostile + "b") + R"(, "kind": "k80"}], "links": [{"name": )" + Json(kHostile) +
         R"(, "ends": [)" + Json(kHostile + "a") + ", " + Json(kHostile + "b") +
         R"(], "bandwidth": "1GB/s", "latency": "5us"}]})";
}

std::string TableText(const std::string& folder) {
  return "format: stowplan.experiment\nversion: 1\nname: hostile\ntitle: " + Json(kHostile) +
         "\nsamples: 3\nseeds: 1\ncluster: " + Json(folder + "/c.json") + "\ncolumns:\n" +
         "  - {key: a, title: " + Json(kHostile) + ", agent: round_robin}\n" +
         "  - {key: b, title: " + Json("[" + kHostile) + ", agent: random}\n" +
         "rows:\n  - {key: r1, title: " + Json(kHostile) + ", workload: " + Json(folder + "/g.json") + "}\n" +
         "  - {key: r2, title: " + Json("*" + kHostile) + ", workload: " + Json(folder + "/g.json") + "}\n";
}

// ---- what may not be in what was written

void ExpectPlain(const std::string& text, const std::string& what) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool upper = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    ASSERT_FALSE((c < 0x20 && c != '\n') || c == 0x7F || upper) << what << ": byte " << i << " of " << text;
  }
}

// As a spreadsheet splits it, with no knowledge of how it was written.
std::vector<std::string> CellsOf(const std::string& csv) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : csv) {
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == ',' || c == '\n')) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

void ExpectNoFormula(const std::string& csv, const std::string& what) {
  for (const std::string& cell : CellsOf(csv)) {
    if (cell.empty() || std::string("=+-@\t\r").find(cell[0]) == std::string::npos) continue;
    char* end = nullptr;
    (void)std::strtod(cell.c_str(), &end);
    EXPECT_EQ(*end, '\0') << what << ": " << cell;
  }
}

void ExpectTamed(const fs::path& file) {
  const std::string text = formats::ReadFile(file.string());
  const std::string kind = file.extension().string();
  if (kind == ".csv") ExpectNoFormula(text, file.string());
  if (kind == ".tex") {
    for (const char* command :
         {"\\input", "^^", "/etc/passwd} ~", " # ", " % ", "\\\\\n  [", "\\midrule\n  ["})
      EXPECT_EQ(text.find(command), std::string::npos) << file << ": " << command;
    EXPECT_NE(text.find("\\textbackslash{}input\\{/etc/passwd\\} \\textasciicircum{}"), std::string::npos)
        << file;
  }
  if (kind == ".html") {
    EXPECT_EQ(text.find("<script>alert"), std::string::npos) << file;
  }
  if (kind == ".md") {
    for (std::size_t at = 0; (at = text.find("<script>", at)) != std::string::npos; ++at)
      EXPECT_TRUE(text[at - 1] == '\\' || text.rfind('`', at) > text.rfind('\n', at)) << file << " at " << at;
  }
}

using Words = std::vector<std::string>;

// Those that end well, in an order in which each finds what it needs. In FOLDER are g.json, c.json and t.yaml.
std::vector<Words> Calls() {
  return {{"list", "workloads"},
          {"graph", "info", "g.json"},
          {"graph", "convert", "g.json", "--out", "g2.json"},
          {"simulate", "--graph", "g.json", "--cluster", "c.json", "--placement", "round_robin", "--html",
           "s.html", "--trace", "t.json", "--timeline", "timeline.txt"},
          {"explain", "--graph", "g.json", "--cluster", "c.json", "--placement", "round_robin", "--html",
           "e.html"},
          {"place", "g.json", "--cluster", "c.json", "--samples", "20", "--out", "run", "--log-samples"},
          {"layouts", "--graph", "g.json", "--cluster", "c.json"},
          {"collectives", "c.json"},
          {"export", "run", "--to", "dot", "--out", "g.dot"},
          {"export", "run", "--to", "graphml", "--out", "g.graphml"},
          {"compare", "--agents", "round_robin", "random", "--graph", "g.json", "--cluster", "c.json",
           "--samples", "5", "--seeds", "1", "--out", "compared"},
          {"table", "run", "./t.yaml", "--out", "table"},
          {"table", "show", "./t.yaml", "--out", "table"},
          {"table", "verify", "./t.yaml", "--out", "table", "--rows", "2"},
          {"speed", "--graph", "g.json", "--cluster", "c.json", "--placements", "5"}};
}

// These print what is ours, measure for minutes, or need a learner: they are called with a wrong name alone, as all others are.
const std::set<std::string> kOnlyRefused = {"graph import", "train",         "calibrate",
                                            "validate",     "completion",    "man",
                                            "help",         "table salvage", "table derive"};

std::vector<std::string> VerbsOf(const std::vector<CommandRow>& rows, const std::string& within) {
  std::vector<std::string> verbs;
  for (const CommandRow& row : rows) {
    if (row.within == nullptr) {
      verbs.push_back(within + row.name);
      continue;
    }
    for (std::string& verb : VerbsOf(row.within(), within + row.name + " ")) verbs.push_back(std::move(verb));
  }
  return verbs;
}

bool IsOf(const std::string& verb, const Words& call) {
  return verb == call[0] || (call.size() > 1 && verb == call[0] + " " + call[1]);
}

TEST(HostileText, IsTextInEverythingThatAnyVerbWrites) {
  const TempFolder folder;
  formats::WriteFile(folder / "g.json", GraphText());
  formats::WriteFile(folder / "c.json", ClusterText());
  formats::WriteFile(folder / "t.yaml", TableText(folder.path()));
  for (const std::string& verb : VerbsOf(Commands(), "")) {
    EXPECT_TRUE(kOnlyRefused.contains(verb) ||
                std::ranges::any_of(Calls(), [&](const Words& call) { return IsOf(verb, call); }))
        << verb << " is not called here";
  }
  for (const Words& call : Calls()) {
    const testing::ProgramResult done = RunStowplan(call, folder.path());
    EXPECT_EQ(done.status, 0) << call[0] << " " << call[1] << ": " << done.err;
    ExpectPlain(done.out, call[0] + " " + call[1]);
    ExpectPlain(done.err, call[0] + " " + call[1]);
  }
  std::map<std::string, int> kinds;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    ++kinds[entry.path().extension().string()];
    ExpectTamed(entry.path());
  }
  for (const char* kind : {".csv", ".html"}) EXPECT_GT(kinds[kind], 0) << kind;
}

// What is wrong is told with what was given: to a terminal, too.
TEST(HostileText, IsTextInWhatAnyVerbRefuses) {
  const TempFolder folder;
  for (const std::string& verb : VerbsOf(Commands(), "")) {
    Words words;
    const std::size_t blank = verb.find(' ');
    words.push_back(verb.substr(0, blank));
    if (blank != std::string::npos) words.push_back(verb.substr(blank + 1));
    for (const std::string& last :
         {kEscape, "--" + kEscape, "--out=" + kEscape + "/x", "--graph=" + kEscape}) {
      Words call = words;
      call.push_back(last);
      const testing::ProgramResult done = RunStowplan(call, folder.path());
      ExpectPlain(done.out, verb);
      ExpectPlain(done.err, verb);
    }
  }
  ExpectPlain(RunStowplan({kEscape}, folder.path()).err, "no verb");
}

// Folders and rows of somebody else are data, too.
TEST(HostileText, IsTextInWhatIsSaidOfFilesOfOthers) {
  const TempFolder folder;
  const Words place = {"place", "chain(ops=5)", "--cluster", "k80(gpus=2)", "--samples", "5", "--out", "run"};
  ASSERT_EQ(RunStowplan(place, folder.path()).status, 0);
  auto run = nlohmann::json::parse(formats::ReadFile(folder / "run/run.json"));
  for (const char* key : {"command", "agent", "graph", "scenario", "machine", "date", "revision", "found_by"})
    run[key] = kEscape + kHostile;
  formats::WriteFile(folder / "run/run.json", run.dump());
  const testing::ProgramResult placed = RunStowplan(place, folder.path());
  EXPECT_EQ(placed.status, 2);
  ExpectPlain(placed.err, "place into another's folder");

  const Words table = {"table", "run",  "hierarchical", "--quick", "--cells", "rnnlm/single_gpu",
                       "--out", "table"};
  ASSERT_EQ(RunStowplan(table, folder.path()).status, 0);
  const std::string rows = formats::ReadFile(folder / "table/rows.csv");
  const std::size_t head = rows.find('\n') + 1;
  const std::string line = rows.substr(head, rows.find('\n', head) - head);
  // Each field in turn is another's.
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  for (std::size_t f = 0; f < fields.size(); ++f) {
    std::string changed = rows.substr(0, head);
    for (std::size_t i = 0; i < fields.size(); ++i)
      changed += (i == 0 ? "" : ",") + (i == f ? "\"" + kEscape + "\"" : fields[i]);
    formats::WriteFile(folder / "other.csv", changed + "\n");
    Words adopt = table;
    adopt.insert(adopt.end(), {"--adopt", "other.csv", "--store", "store.db"});
    fs::remove(folder / "store.db");
    const testing::ProgramResult adopted = RunStowplan(adopt, folder.path());
    ExpectPlain(adopted.out, "field " + std::to_string(f));
    ExpectPlain(adopted.err, "field " + std::to_string(f));
  }
}

// ---- files that ask for programs

TEST(Commands, AreNotRunBecauseAFileNamesThem) {
  const TempFolder folder;
  const auto table = [&](const std::string& agent) {
    formats::WriteFile(
        folder / "t.yaml",
        "format: stowplan.experiment\nversion: 1\nname: shared\nsamples: 5\nseeds: 1\ncluster: "
        "k40(gpus=2)\ncolumns: [single_gpu, {key: x, agent: '" +
            agent + "'}]\nrows: [{key: r, workload: chain(ops=4)}]\n");
  };
  for (const agents::AgentRow& row : agents::Agents()) {
    if (row.opens != agents::AgentOpens::kProgram) continue;
    table(std::string(row.name) + "(command=\"touch was_here; false\")");
    for (const Words& call : {Words{"table", "run", "./t.yaml"}, Words{"table", "show", "./t.yaml"}})
      EXPECT_EQ(RunStowplan(call, folder.path()).status, 2) << row.name;
    EXPECT_FALSE(fs::exists(folder / "was_here")) << row.name;
    EXPECT_EQ(RunStowplan({"table", "run", "./t.yaml", "--cells", "r/single_gpu"}, folder.path()).status, 0)
        << "the other cells can be run";
    RunStowplan({"table", "run", "./t.yaml", "--allow-commands"}, folder.path());
    EXPECT_TRUE(fs::exists(folder / "was_here")) << row.name;
    fs::remove(folder / "was_here");
    formats::WriteFile(
        folder / "s.yaml",
        "format: stowplan.scenario\nversion: 1\nworkload: chain(ops=4)\ncluster: k40(gpus=2)\nexpert: " +
            std::string(row.name) + "(command=\"touch was_here\")\n");
    EXPECT_EQ(RunStowplan({"place", "--scenario", "s.yaml", "--samples", "5"}, folder.path()).status, 2);
    EXPECT_FALSE(fs::exists(folder / "was_here")) << row.name;
  }
}

}  // namespace
}  // namespace stowplan::cli
