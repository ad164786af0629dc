// What every cost model owes, over the table: a new row is tested before its author has written a test.
//
// Each row is tried by its bare name and, where it reads a parameter file, with one.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cost_models/ops/op_types.h"
#include "sim/formats/formats.h"
#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

using testing::DeviceOf;
using testing::GraphOf;
using testing::InputErrorOf;
using testing::LastOp;
using testing::OpCase;
using testing::PriceOf;
using testing::TensorCase;

const OpCase& MeasuredOp() {
  static const OpCase op = {"MatMul", 2e9, {{{1000, 1000}}, {{1000, 1000}}}, {{{1000, 1000}}}, {}};
  return op;
}

const std::string& ParameterFile() {
  static const tests::TempFolder folder;
  static const std::string path = [] {
    std::string name = folder / "parameters.json";
    WriteParameters(name, testing::ExampleParameters(MeasuredOp()));
    return name;
  }();
  return path;
}

std::vector<std::string> AllSpecs() {
  std::vector<std::string> specs;
  for (const CostModelRow& row : CostModels()) {
    specs.emplace_back(row.name);
    if (row.settings.Find("file") != nullptr) {
      specs.push_back(std::string(row.name) + "(file=" + ParameterFile() + ")");
    }
  }
  specs.push_back(ParameterFile());
  return specs;
}

OpCase RandomOp() {
  std::vector<std::string> types = {"SomeUnknownType"};
  for (const OpType& row : OpTypes()) types.emplace_back(row.type);
  const auto tensor = [] {
    TensorCase made;
    made.shape = *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange(0, 5),
                                                                rc::gen::inRange<std::int64_t>(0, 300));
    made.dtype = *rc::gen::element<std::string>("f32", "f16", "f64", "i64", "");
    if (made.dtype.empty()) made.shape.clear();
    made.bytes = *rc::gen::inRange<sim::Bytes>(0, 1 << 28);
    made.producer = *rc::gen::element<std::string>("Variable", "Relu");
    return made;
  };
  OpCase op;
  op.type = *rc::gen::elementOf(types);
  op.flops = *rc::gen::element(0.0, 1.0, 1e5, 3.7e9, 1e13);
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) op.inputs.push_back(tensor());
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) op.outputs.push_back(tensor());
  if (*rc::gen::arbitrary<bool>()) op.attributes = {{"recurrent", {true}}};
  return op;
}

std::string RandomKind() {
  return *rc::gen::elementOf(BuiltinCatalogue().DeviceNames());
}

void AssertLegal(const sim::Price& price) {
  RC_ASSERT(std::isfinite(price.us) && std::isfinite(price.high_us));
  RC_ASSERT(price.low_us >= 0);
  RC_ASSERT(price.low_us <= price.us);
  RC_ASSERT(price.us <= price.high_us);
}

class Conformance : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<sim::CostModel> Make() const { return MakeCostModel(GetParam()); }
};

TEST_P(Conformance, NameRoundTrips) {
  const auto model = Make();
  EXPECT_EQ(MakeCostModel(model->name())->name(), model->name());
}

TEST_P(Conformance, PricesAreLegalAndPure) {
  const auto model = Make();
  const auto again = MakeCostModel(model->name());
  EXPECT_TRUE(rc::check("legal and pure", [&] {
    const sim::OpGraph graph = GraphOf(RandomOp());
    const sim::Device device = DeviceOf(RandomKind());
    const auto first = model->Predict(graph, LastOp(graph), device);
    if (first) AssertLegal(*first);
    for (const auto* other : {model.get(), again.get()}) {
      const auto second = other->Predict(graph, LastOp(graph), device);
      RC_ASSERT(first.has_value() == second.has_value());
      if (!first) continue;
      RC_ASSERT(first->us == second->us && first->low_us == second->low_us &&
                first->high_us == second->high_us);
      RC_ASSERT(first->tier == second->tier);
    }
  }));
}

TEST_P(Conformance, MonotoneInFlopsAndBytes) {
  const auto model = Make();
  EXPECT_TRUE(rc::check("monotone where structural", [&] {
    OpCase op = RandomOp();
    const std::string kind = RandomKind();
    const auto before = PriceOf(*model, op, kind);
    if (!before || before->tier == sim::Tier::kMeasured) return;
    const auto grow = [](std::vector<TensorCase>* tensors) {
      if (tensors->empty()) return;
      (*tensors)[*rc::gen::inRange<std::size_t>(0, tensors->size())].bytes += *rc::gen::inRange(0, 1 << 28);
    };
    op.flops += *rc::gen::element(0.0, 1.0, 1e6, 1e12);
    grow(&op.inputs);
    grow(&op.outputs);
    const auto after = PriceOf(*model, op, kind);
    RC_ASSERT(after.has_value());
    RC_ASSERT(after->us >= before->us * (1 - 1e-12));
  }));
}

TEST_P(Conformance, SourcesAreFree) {
  const auto model = Make();
  for (const char* type : {"Variable", "Constant", "Const", "Placeholder"}) {
    const auto price = PriceOf(*model, {type, 0, {}, {{{1000}}}, {}}, "k40");
    EXPECT_EQ(price.value_or(sim::Price{}).us, 0) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(AllModels, Conformance, ::testing::ValuesIn(AllSpecs()), [](const auto& test) {
  std::string name = test.param.substr(0, test.param.find('('));
  if (name == ParameterFile()) name = "path";
  return name + (name == test.param ? "" : "_file");
});

TEST(Registry, RowsAreCompleteAndNamedOnce) {
  std::set<std::string> names;
  for (const CostModelRow& row : CostModels()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_GT(std::string(row.what).size(), 20u) << row.name;
    EXPECT_NE(row.make, nullptr) << row.name;
  }
}

TEST(Registry, UnknownParametersAreRefused) {
  for (const CostModelRow& row : CostModels()) {
    const std::string spec = std::string(row.name) + "(no_such_parameter=1)";
    EXPECT_THAT(InputErrorOf([&] { MakeCostModel(spec); }), HasSubstr("no_such_parameter")) << row.name;
  }
}

TEST(Registry, UnknownModelsAreRefusedWithTheKnownOnes) {
  const std::string error = InputErrorOf([] { MakeCostModel("oracle"); });
  for (const CostModelRow& row : CostModels()) EXPECT_THAT(error, HasSubstr(row.name));
}

TEST(Registry, TheDefaultIsTheChain) {
  EXPECT_EQ(MakeCostModel("")->name(), "chain(table,fitted,analytic)");
  EXPECT_EQ(MakeCostModel("chain")->name(), "chain(table,fitted,analytic)");
}

TEST(Registry, APathStandsForTheChainOverTheFile) {
  const std::string file = "(file=" + ParameterFile() + ")";
  EXPECT_EQ(MakeCostModel(ParameterFile())->name(),
            "chain(table" + file + ",fitted" + file + ",analytic" + file + ")");
}

TEST(Registry, BadPathsAndNestingAreRefused) {
  EXPECT_THAT(InputErrorOf([] { MakeCostModel("no/such/file.json"); }), HasSubstr("no/such/file.json"));
  EXPECT_THAT(InputErrorOf([] { MakeCostModel("a,b/file.json"); }), HasSubstr("rename"));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "chain(";
  EXPECT_THAT(InputErrorOf([&] { MakeCostModel(deep); }), HasSubstr("nested"));
}

}  // namespace
}  // namespace stowplan::cost_models
