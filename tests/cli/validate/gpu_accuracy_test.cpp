#include "cli/validate/gpu_accuracy.h"

#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

constexpr char kModels[] =
    "gpu,in_fit,model,simulated,structural,operators,neusight,habitat,micro,roofline\n"
    "T4,yes,bert-inf-8,1.100,0.900,1.000,1.200,,1,0.5\n"
    "T4,yes,bert-inf-16,1.210,0.900,1.000,1.200,,1,0.5\n"
    "H100,no,bert-inf-8,0.950,1.1,,1.1,9,1,0.5\n"
    "H100,no,gpt-train-4-pp4_1,1.500,1.1,,1.1,,,\n";
constexpr char kOps[] =
    "kind,family,format,rows,hidden,floor_us,event_us,held_out,error,median,error_with_hidden,largest,gpu_"
    "left_out,"
    "structural,"
    "roofline\n"
    "t4,gemm,f32,100,5,20,10,19,0.0900,0.05,0.1,0.1,0.2,0.3,0.5\n"
    "p4,gemm,f32,100,5,20,10,19,0.0500,0.05,0.1,0.1,0.4,0.2,0.4\n";

class GpuAccuracyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("models.csv", kModels);
    Write("ops.csv", kOps);
    Write("order.csv",
          "what,pairs,simulated,structural,operators,neusight,habitat,micro,roofline\nall "
          "cases,6,0.93,0.5,,1,1,1,-1\n");
    Write("links.csv",
          "link,measured_on,in_fit,sizes,curve_median,curve_worst,line_median,line_worst\n"
          "nvlink,\"A100, DGX\",no,9,0.0125,0.2,0.09,0.3\n");
  }
  void Write(const std::string& name, const std::string& text) const {
    formats::WriteFile(folder_ / name, text);
  }
  GpuAccuracy Read() const { return ReadGpuAccuracy(folder_.path()); }
  std::string Error() const {
    return tests::ErrorOf([&] { Read(); });
  }

  tests::TempFolder folder_;
};

TEST_F(GpuAccuracyTest, MeansAreByGpuAndByWhetherItsRowsAreInTheFit) {
  const output::ReportSection models = Read().verdict.at(0);
  EXPECT_THAT(models.rows.at(0),
              ElementsAre("T4", "yes", "2", "15.5 %", "10.0 %", "0.0 %", "20.0 %", "–", "0.0 %", "50.0 %"));
  EXPECT_THAT(models.rows.at(1)[3], "5.0 %");
  EXPECT_THAT(models.rows.at(2)[0], "pipelines on four GPUs");
  EXPECT_THAT(models.rows.at(2)[3], "50.0 %");
  EXPECT_THAT(models.rows.at(4)[2], "1");  // of other GPUs: the pipeline is apart
  EXPECT_THAT(Read().lead, HasSubstr("in the fit 15.5 % (NeuSight 20.0 %, structural price 10.0 %)"));
}

TEST_F(GpuAccuracyTest, GrowthIsOfOneModelOnOneGpu) {
  const output::ReportSection growth = Read().every_row.at(1);
  EXPECT_EQ(growth.rows.at(0).at(1), "10.0 %");  // 1.21 / 1.1
  EXPECT_EQ(growth.rows.at(0).at(2), "0.0 %");
}

TEST_F(GpuAccuracyTest, ClassesAreMeansOverGpusWithTheWorst) {
  const output::ReportSection ops = Read().verdict.at(2);
  EXPECT_THAT(ops.rows.at(0), ElementsAre("gemm", "6.0 %", "2", "7.0 % (9.0 %)", "10.0 % (10.0 %)",
                                          "30.0 % (40.0 %)", "25.0 % (30.0 %)"));
  EXPECT_EQ(ops.rows.size(), 1u);
  // What no row gives is no error of 0.
  std::string some = kOps;
  some.replace(some.find("0.1,0.2,0.3"), 11, "0.1,,0.3");
  Write("ops.csv", some);
  EXPECT_EQ(Read().verdict.at(2).rows.at(0).at(5), "40.0 % (40.0 %)");
  some.replace(some.find("0.1,0.4,0.2"), 11, "0.1,,0.2");
  Write("ops.csv", some);
  EXPECT_EQ(Read().verdict.at(2).rows.at(0).at(5), "–");
}

TEST_F(GpuAccuracyTest, SaysWhereAFileIsWrong) {
  Write("links.csv", "link,measured_on,in_fit,sizes\nnvlink,x\n");
  EXPECT_THAT(Error(), HasSubstr("links.csv:2: has 2 fields, but the header names 4 columns"));
  Write("links.csv", "link,measured_on,in_fit,sizes\nnvlink,x,no,9\n");
  EXPECT_THAT(Error(), HasSubstr("links.csv:1: lacks the column 'curve_median'"));
  std::string models = kModels;
  models.replace(models.find("1.100"), 5, "fast!");
  Write("models.csv", models);
  EXPECT_THAT(Error(), HasSubstr("models.csv:2: simulated is 'fast!', but must be a number or nothing"));
}

TEST_F(GpuAccuracyTest, NoFolderIsNothing) {
  const GpuAccuracy nothing = ReadGpuAccuracy(folder_ / "none");
  EXPECT_TRUE(nothing.lead.empty());
  EXPECT_TRUE(nothing.verdict.empty());
}

}  // namespace
}  // namespace stowplan::cli
