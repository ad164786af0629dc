// stowplan_speed_report: writes README.md, rows.csv and scaling.html from what stowplan_benchmarks and stowplan_compare measured.
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/report.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"

int main(int argc, char** argv) {
  using namespace stowplan;
  std::vector<std::string> benchmarks;
  std::string comparison, folder;
  CLI::App app("the report of results/speed", "stowplan_speed_report");
  app.add_option("--benchmarks", benchmarks, "files of stowplan_benchmarks --benchmark_out=FILE")->required();
  app.add_option("--compare", comparison, "a file of stowplan_compare --json FILE");
  app.add_option("--out", folder, "the folder that is written to")->required()->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
    bench::SpeedResults results;
    for (const std::string& file : benchmarks) bench::AddBenchmarks(results, formats::ReadFile(file), file);
    if (!comparison.empty()) bench::AddComparison(results, formats::ReadFile(comparison), comparison);
    formats::WriteFile(folder + "/rows.csv", bench::PrintSpeedCsv(results));
    formats::WriteFile(folder + "/README.md", bench::PrintSpeedMarkdown(results));
    formats::WriteFile(folder + "/scaling.html", bench::PrintScalingHtml(results));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const InputError& error) {
    std::fprintf(stderr, "stowplan_speed_report: %s\n", error.what());
    return 2;
  }
  return 0;
}
