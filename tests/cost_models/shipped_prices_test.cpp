// The prices of real GPUs that ship with stowplan: which kinds have them, and that they answer sensibly.
#include <algorithm>
#include <array>

#include "cost_models/embedded_data.h"
#include "cost_models/parameters/parameters.h"
#include "sim/base/dtypes.h"
#include "sim/formats/document/compression.h"
#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

using testing::OpCase;
using testing::PriceOf;

OpCase Product(std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  return {"MatMul",
          2.0 * static_cast<double>(rows) * static_cast<double>(depth) * static_cast<double>(columns),
          {{{rows, depth}}, {{depth, columns}}},
          {{{rows, columns}}},
          {}};
}

// In another number format, bytes and all.
OpCase Of(OpCase op, const std::string& dtype) {
  const auto* format = std::ranges::find(sim::kDtypes, dtype, &sim::Dtype::name);
  for (auto* tensors : {&op.inputs, &op.outputs}) {
    for (testing::TensorCase& tensor : *tensors) {
      tensor.dtype = dtype;
      tensor.bytes = format->bits / 8;
      for (const std::int64_t size : tensor.shape) tensor.bytes *= size;
    }
  }
  return op;
}

OpCase Attention(std::int64_t queries, std::int64_t keys, const std::string& dtype = "bf16",
                 bool causal = true) {
  const std::vector<std::int64_t> query = {4, 32, queries, 128}, key = {4, 8, keys, 128};
  OpCase op = {"Attention",
               4.0 * 4 * 32 * 128 * static_cast<double>(queries) * static_cast<double>(keys),
               {{query}, {key}, {key}},
               {{query}},
               {{"causal", sim::Attribute{causal}}}};
  return Of(op, dtype);
}

double Us(const OpCase& op, const std::string& kind) {
  return PriceOf(*MakeCostModel(""), op, kind)->us;
}

std::string Origin(const OpCase& op, const std::string& kind) {
  const sim::OpGraph graph = testing::GraphOf(op);
  return PriceOrigin(*MakeCostModel(""), graph, testing::LastOp(graph), testing::DeviceOf(kind));
}

TEST(ShippedPrices, SayWhereTheyComeFrom) {
  EXPECT_THAT(ShippedKinds(),
              ::testing::UnorderedElementsAre("p4", "p100-pcie-16gb", "p100-sxm2", "t4", "v100", "a100",
                                              "a100-pcie-40gb", "h100", "h200", "b200", "l40s"));
  for (const std::string& kind : ShippedKinds()) {
    for (const Parameters* shipped : ShippedPrices(kind)) {
      EXPECT_FALSE(shipped->provenance.source.empty());
      EXPECT_FALSE(shipped->provenance.licence.empty());
      const KindParameters* found = shipped->Find(kind);
      ASSERT_NE(found, nullptr) << kind;
      EXPECT_EQ(found->sheet, SheetFingerprint(*BuiltinCatalogue().FindSheet(kind))) << kind;
      for (const RatioTables& tables : found->tables) {
        EXPECT_GE(tables.evidence.samples, 50) << kind << ' ' << tables.family;
        EXPECT_GT(tables.held_out_error, 0) << kind << ' ' << tables.family;
        EXPECT_LT(tables.held_out_error, 0.4) << kind << ' ' << tables.family;
      }
    }
  }
}

// They are read in parts, a kind at a time: no more and no less than all of the file.
TEST(ShippedPrices, AreThoseOfTheWholeFile) {
  std::size_t tables = 0, read = 0;
  for (const EmbeddedFile& file : EmbeddedPrices()) {
    const Parameters whole = ParseParameters(formats::Decompressed(std::string(file.bytes), file.name),
                                             file.name, BuiltinCatalogue());
    for (const KindParameters& kind : whole.kinds) tables += kind.tables.size();
    tables += whole.any_gpu.size();
  }
  for (const std::string& kind : ShippedKinds())
    for (const Parameters* part : ShippedPrices(kind)) read += part->Find(kind)->tables.size();
  for (const Parameters* part : ShippedPrices("")) read += part->any_gpu.size();
  EXPECT_EQ(read, tables);
}

TEST(ShippedPrices, AreTheDefaultOfTheirKindAndOfGpusNobodyMeasured) {
  const OpCase op = Product(4096, 1280, 5120);
  const auto model = MakeCostModel("");
  EXPECT_EQ(PriceOf(*model, op, "t4")->tier, sim::Tier::kInterpolated);
  EXPECT_EQ(PriceOf(*model, op, "l4")->tier, sim::Tier::kStructural);
  EXPECT_NE(Us(op, "l4"), PriceOf(*MakeCostModel("analytic"), op, "l4")->us);
  EXPECT_THAT(Origin(op, "t4"), HasSubstr("measured by others on t4 (sitar-lab/NeuSight"));
  EXPECT_THAT(Origin(op, "l4"), HasSubstr("measured by others on other GPUs: "));
  EXPECT_THAT(Origin(Of(op, "bf16"), "h100"),
              HasSubstr("measured by others on h100 (ai-dynamo/aiconfigurator"));
}

// Rows of a measured GPU that the fit saw (AIConfigurator and DeepBench, us): a wrong unit, peak or format shows.
TEST(ShippedPrices, MeetRowsThatWereMeasured) {
  struct Row {
    const char* kind;
    OpCase op;
    double us;
  };
  const Row rows[] = {
      {"h100", Of(Product(4096, 8192, 8192), "bf16"), 697.7},
      {"a100", Of(Product(4096, 8192, 8192), "bf16"), 1978.1},
      {"v100", Of(Product(7000, 2048, 2048), "f16"), 599},
      {"v100", Product(7000, 2048, 2048), 4495},
  };
  for (const Row& row : rows)
    EXPECT_NEAR(Us(row.op, row.kind) / row.us, 1, 0.15) << row.kind << ' ' << Us(row.op, row.kind);
}

TEST(ShippedPrices, SkipWhatACausalMaskHides) {
  for (const char* kind : {"a100", "h100", "b200", "l40s", "rtx3090"}) {
    const double whole = Us(Attention(8192, 8192, "bf16", false), kind);
    EXPECT_LT(Us(Attention(8192, 8192), kind), 0.75 * whole) << kind;
    EXPECT_GT(Us(Attention(8192, 8192), kind), 0.4 * whole) << kind;
  }
}

OpCase OfExperts(std::int64_t rows, std::int64_t experts, std::int64_t depth, std::int64_t columns,
                 std::int64_t choices) {
  return Of({"GroupedMatMul",
             2.0 * static_cast<double>(rows * depth) * static_cast<double>(columns),
             {{{rows, depth}}, {{experts, depth, columns}}},
             {{{rows, columns}}},
             {{"choices", sim::Attribute{choices}}}},
            "bf16");
}

// Layers of AIConfigurator's on an H100: tokens, experts, choices, width, units, us.
TEST(ShippedPrices, ProductsOfExpertsAddUpToTheirLayer) {
  const std::array<double, 6> layers[] = {{64, 8, 2, 4096, 7168, 497.4},
                                          {8192, 8, 2, 4096, 14336, 11202.9},
                                          {80, 256, 8, 6144, 1024, 3331.9},
                                          {1024, 8, 2, 6144, 4096, 589.9}};
  for (const auto& layer : layers) {
    const auto at = [&](std::size_t i) { return static_cast<std::int64_t>(layer[i]); };
    const std::int64_t rows = at(0) * at(2);
    const double up = Us(OfExperts(rows, at(1), at(3), at(4), at(2)), "h100");
    const double down = Us(OfExperts(rows, at(1), at(4), at(3), at(2)), "h100");
    EXPECT_NEAR((2 * up + down) / layer[5], 1, 0.25) << layer[0] << ' ' << layer[4];
  }
}

// As published of FlashAttention 2 to 4 (shape_prices.h).
TEST(ShippedPrices, GradientsOfAttentionTakeTwoAndAHalfToThreeAndAHalfTimes) {
  for (const char* kind : {"a100", "h100", "b200", "l40s"}) {
    for (const std::int64_t length : {512, 2048, 8192}) {
      const std::vector<std::int64_t> query = {4, 32, length, 128}, key = {4, 8, length, 128};
      const OpCase forward = Attention(length, length);
      const OpCase backward = Of({"AttentionGrad",
                                  2.5 * forward.flops,
                                  {{query}, {query}, {key}, {key}},
                                  {{query}, {key}, {key}},
                                  {{"causal", sim::Attribute{true}}}},
                                 "bf16");
      EXPECT_NEAR(Us(backward, kind) / Us(forward, kind), 3, 0.6) << kind << ' ' << length;
      EXPECT_EQ(PriceOf(*MakeCostModel(""), backward, kind)->tier, sim::Tier::kStructural);
    }
  }
}

// FlashAttention-2 uses no unit that is new in an H100; decoding is bound by memory with any kernel (attention.h).
TEST(ShippedPrices, EarlierKernelsOfAttentionTakeLongerOverAPrompt) {
  for (const char* kind : {"a100", "h100", "b200", "l40s"}) {
    const auto us = [&](std::int64_t queries, const char* kernel) {
      OpCase op = Attention(queries, 8192);
      op.attributes.emplace_back("kernel", sim::Attribute{std::string(kernel)});
      return Us(op, kind);
    };
    const bool is_later = std::string_view(kind) == "h100" || std::string_view(kind) == "b200";
    EXPECT_EQ(us(8192, "current"), Us(Attention(8192, 8192), kind)) << kind;
    EXPECT_NEAR(us(8192, "flash_2") / us(8192, "current"), is_later ? 1.75 : 1, is_later ? 0.25 : 0) << kind;
    EXPECT_NEAR(us(8192, "flash_1_triton") / us(8192, "flash_2"), 1.9, 0.6) << kind;
    EXPECT_EQ(us(1, "flash_1_triton"), us(1, "current")) << kind;
    EXPECT_THROW(us(1, "flash_3"), InputError) << kind;
  }
}

// From decoding to a prompt, one query more never makes a jump.
TEST(ShippedPrices, GrowSmoothlyFromDecodingToAPrompt) {
  for (const char* kind : {"a100", "h100", "h200", "b200", "l40s"}) {
    double before = Us(Attention(1, 8192), kind);
    for (std::int64_t queries = 2; queries <= 8192; queries *= 2) {
      const double us = Us(Attention(queries, 8192), kind);
      EXPECT_GT(us, 0.8 * before) << kind << ' ' << queries;
      EXPECT_LT(us, 3 * before) << kind << ' ' << queries;
      before = us;
    }
  }
}

// A step reads each weight once: a product that is bound by them takes no less than 0.8 of the bandwidth allows.
TEST(ShippedPrices, ReadWeightsFromMemory) {
  for (const std::string kind : {"a100", "h100", "l40s", "t4", "rtx4090", "v100"}) {
    const DeviceSheet& sheet = *BuiltinCatalogue().FindSheet(kind);
    for (const std::int64_t rows : {1, 4, 16}) {
      EXPECT_GE(Us(Of(Product(rows, 4096, 4096), "f16"), kind),
                2.0 * 4096 * 4096 / sheet.memory_bandwidth * 1e6 / 0.8)
          << kind;
    }
  }
}

// Cards before compute capability 8.0 have no units for bf16.
TEST(ShippedPrices, OldCardsAreSlowInBf16) {
  for (const char* kind : {"v100", "p100-sxm2"}) {
    const OpCase op = Product(4096, 4096, 4096);
    EXPECT_GT(Us(Of(op, "bf16"), kind), 0.7 * Us(op, kind)) << kind;
  }
  EXPECT_LT(Us(Of(Product(4096, 4096, 4096), "f16"), "v100"), 0.4 * Us(Product(4096, 4096, 4096), "v100"));
}

// Testbeds fit them apart, measurements do not.
TEST(ShippedPrices, ProductsOfUnrolledCellsArePricedAsAnyProduct) {
  OpCase cell = Product(64, 2048, 4096);
  cell.attributes = {{"recurrent", sim::Attribute{true}}};
  EXPECT_FALSE(Origin(Product(64, 2048, 4096), "p100-sxm2").empty());
  for (const char* kind : {"p100-sxm2", "a100", "h100", "rtx4090"}) {
    for (const char* dtype : {"f32", "f16"}) {
      const OpCase product = Of(Product(64, 2048, 4096), dtype);
      if (Origin(product, kind).empty()) continue;  // by the sheet
      EXPECT_EQ(Us(Of(cell, dtype), kind), Us(product, kind)) << kind << dtype;
      EXPECT_EQ(Origin(Of(cell, dtype), kind), Origin(product, kind)) << kind << dtype;
    }
  }
}

// An A100 of 80 GB has the multiprocessors of the one that was measured, and faster memory.
TEST(ShippedPrices, OfOneChipStandForAnother) {
  const auto model = MakeCostModel("");
  const OpCase product = Product(4096, 1280, 5120);
  const sim::OpGraph graph = testing::GraphOf(product);
  const std::string origin =
      PriceOrigin(*model, graph, testing::LastOp(graph), testing::DeviceOf("a100-pcie-80gb"));
  EXPECT_THAT(origin, HasSubstr("measured by others on a100-pcie-40gb, the same chip (sitar-lab/NeuSight"));
  EXPECT_THAT(origin, ::testing::EndsWith(" % there"));
  const auto own = PriceOf(*model, product, "a100-pcie-40gb"),
             other = PriceOf(*model, product, "a100-pcie-80gb");
  EXPECT_NEAR(other->us / own->us, 1, 0.1);
  EXPECT_EQ(own->tier, sim::Tier::kInterpolated);
  EXPECT_EQ(other->tier, sim::Tier::kStructural);
  const std::vector<std::int64_t> large = {1 << 16, 1 << 10};
  const OpCase relu = {"Relu", 0, {{large}}, {{large}}, {}};
  EXPECT_LT(PriceOf(*model, relu, "a100-pcie-80gb")->us, 0.9 * PriceOf(*model, relu, "a100-pcie-40gb")->us);
}

TEST(ShippedPrices, TablesOfAnotherSheetAreRefused) {
  const tests::TempFolder folder;
  Parameters parameters = *ShippedPrices("a100-pcie-40gb").front();
  WriteParameters(folder / "same.json", parameters);
  EXPECT_TRUE(PriceOf(*MakeCostModel(folder / "same.json"), Product(64, 64, 64), "a100-pcie-40gb"));
  parameters.kinds.front().sheet = "0123456789abcdef";
  WriteParameters(folder / "other.json", parameters);
  EXPECT_THAT(testing::InputErrorOf([&] { MakeCostModel(folder / "other.json"); }),
              HasSubstr("were fitted with the rates 0123456789abcdef of its data sheet"));
}

OpCase Image(const std::string& type, double flops = 0) {
  const std::vector<std::int64_t> image = {8, 28, 28, 64};
  return {type, flops, {{image}, {{3, 3, 64, 64}}}, {{image}}, {}};
}

TEST(ShippedPrices, SayWhatIsBorrowed) {
  const auto model = MakeCostModel("");
  const auto origin = [&](const OpCase& op) {
    const sim::OpGraph graph = testing::GraphOf(op);
    return PriceOrigin(*model, graph, testing::LastOp(graph), testing::DeviceOf("t4"));
  };
  for (const char* type : {"FusedBatchNorm", "LayerNormGrad", "SoftmaxGrad", "ReluGrad", "ReduceSum", "Cast",
                           "Fill", "Dropout", "Erf", "NobodyKnowsThis"}) {
    EXPECT_THAT(origin(Image(type)), ::testing::EndsWith(", borrowed from ops like it, error not known"))
        << type;
    EXPECT_THAT(origin(Image(type)), ::testing::StartsWith("measured by others on t4")) << type;
    EXPECT_EQ(PriceOf(*model, Image(type), "t4")->tier, sim::Tier::kStructural) << type;
  }
  EXPECT_THAT(origin(Image("Conv2DBackpropInput", 4.6e8)), HasSubstr("convolution_image of f32, error"));
  for (const char* type : {"LayerNorm", "Softmax", "Relu", "Gelu", "Mul"}) {
    EXPECT_THAT(origin(Image(type)), ::testing::StartsWith("measured by others on t4")) << type;
    EXPECT_THAT(origin(Image(type)), HasSubstr(" %")) << type;
  }
}

// Published tables rest on these.
TEST(ShippedPrices, LeaveTheKindsOfPublishedTablesAlone) {
  const auto model = MakeCostModel("");
  const auto analytic = MakeCostModel("analytic");
  for (const char* kind : {"k40", "k80", "p100", "p100-12gb"}) {
    for (const OpCase& op : {Product(4096, 1280, 5120), Product(7, 30, 9)})
      EXPECT_EQ(PriceOf(*model, op, kind)->us, PriceOf(*analytic, op, kind)->us) << kind;
  }
}

TEST(ShippedPrices, GrowWithTheWorkFarBeyondWhatWasMeasured) {
  const auto model = MakeCostModel("");
  double before = 0;
  for (const std::int64_t size : {1 << 10, 1 << 12, 1 << 14, 1 << 16}) {
    const double us = PriceOf(*model, Product(size, 8192, 8192), "a100-pcie-40gb")->us;
    EXPECT_GT(us, 2 * before);
    before = us;
  }
}

bool IsPricedByRows(const std::string& kind) {
  const DeviceSheet& sheet = *BuiltinCatalogue().FindSheet(kind);
  return sheet.kind.device_class == sim::DeviceClass::kGpu && sheet.multiprocessors > 0 && !sheet.structural;
}

OpCase BatchedProduct(std::int64_t count, std::int64_t rows, std::int64_t depth, std::int64_t columns) {
  return {"BatchMatMul",
          2.0 * static_cast<double>(count * rows) * static_cast<double>(depth * columns),
          {{{count, rows, depth}}, {{count, depth, columns}}},
          {{{count, rows, columns}}},
          {}};
}

// On all GPUs: neither odd columns nor an odd depth make a product cheaper than the next whole vector does.
TEST(ShippedPrices, OddProductsAreNeverCheaperThanTheNextAligned) {
  const auto model = MakeCostModel("fitted");
  for (const std::string& kind : BuiltinCatalogue().DeviceNames()) {
    if (!IsPricedByRows(kind)) continue;
    for (const char* dtype : {"f16", "bf16"}) {
      const auto us = [&](const OpCase& op) { return PriceOf(*model, Of(op, dtype), kind); };
      for (const std::int64_t odd : {1, 3, 7, 49, 50, 197, 577, 1001, 3137, 5185}) {
        const std::int64_t next = (odd + 7) / 8 * 8;
        const std::pair<OpCase, OpCase> pairs[] = {
            {Product(512, 64, odd), Product(512, 64, next)},
            {Product(513, odd, 768), Product(513, next, 768)},
            {BatchedProduct(96, 197, 64, odd), BatchedProduct(96, 197, 64, next)},
            {BatchedProduct(16, 512, odd, 64), BatchedProduct(16, 512, next, 64)}};
        for (const auto& [given, aligned] : pairs) {
          const auto of_given = us(given), of_aligned = us(aligned);
          ASSERT_EQ(of_given.has_value(), of_aligned.has_value()) << kind;
          if (of_given) EXPECT_GE(of_given->us, of_aligned->us * (1 - 1e-9)) << kind << ' ' << odd;
        }
      }
    }
  }
}

// What kernels for odd rows reach does not grow with the peak. Even rows, and a gradient of weights whose tokens are odd (its
// operand is a transposed view), run in the usual ones.
TEST(ShippedPrices, OddRowsAreForKernelsOfTuring) {
  for (const char* kind : {"a100", "h100", "h200", "b200", "l40s", "rtx3090"}) {
    const auto us = [&](const OpCase& op) { return Us(Of(op, "bf16"), kind); };
    EXPECT_GT(us(Product(4096, 4096, 4097)), 1.2 * us(Product(4096, 4096, 4098))) << kind;
    EXPECT_GE(us(BatchedProduct(96, 3137, 3137, 64)), us(BatchedProduct(96, 3137, 3138, 64))) << kind;
    EXPECT_LT(us(Product(4096, 5185, 4096)), 1.1 * us(Product(4096, 5192, 4096))) << kind;
    const auto price = PriceOf(*MakeCostModel(""), Of(Product(4096, 4096, 4097), "bf16"), kind);
    EXPECT_EQ(price->tier, sim::Tier::kStructural) << kind;
  }
  EXPECT_THAT(Origin(Of(Product(4096, 4096, 4097), "bf16"), "h100"), HasSubstr("error not known"));
}

// Pixels of three channels fill no vector, so their convolutions go by the multiprocessors and not by the peak. Two shapes of the
// traces below, changes of layout included.
TEST(ShippedPrices, StemsDoNotGainByThePeak) {
  const auto stem = [](std::int64_t images, std::int64_t side, std::int64_t patch, std::int64_t channels) {
    const std::int64_t out = side / patch;
    const double flops = 2.0 * static_cast<double>(images * out * out * channels * 3 * patch * patch);
    const OpCase op = {"Conv2D",
                       flops,
                       {{{images, 3, side, side}}, {{channels, 3, patch, patch}}},
                       {{{images, channels, out, out}}},
                       {{"data_format", sim::Attribute{std::string("NCHW")}},
                        {"kernel", sim::Attribute{sim::Attribute::List{{patch}, {patch}}}}}};
    return Of(op, "bf16");
  };
  EXPECT_NEAR(Us(stem(128, 224, 16, 768), "h100") / 1233, 1, 0.3);
  EXPECT_NEAR(Us(stem(1, 1008, 14, 1024), "h100") / 270.4, 1, 0.3);
  for (const char* kind : {"a100", "h100", "h200", "b200", "l40s"})
    EXPECT_NEAR(Us(stem(128, 224, 16, 768), kind) / Us(stem(128, 224, 16, 768), "rtx3090"),
                82.0 / BuiltinCatalogue().FindSheet(kind)->multiprocessors, 0.05)
        << kind;
}

// On all GPUs with such units: a longer row is not cheaper, over the change of softmax's kernels at 1,024, too.
TEST(ShippedPrices, LongerRowsOf16BitsAreNotCheaper) {
  const auto model = MakeCostModel("fitted");
  for (const std::string& kind : BuiltinCatalogue().DeviceNames()) {
    const DeviceSheet& sheet = *BuiltinCatalogue().FindSheet(kind);
    if (!IsPricedByRows(kind) || sheet.peak_tf32 <= 0) continue;
    for (const char* type : {"Softmax", "SoftmaxGrad", "LayerNorm", "RMSNorm", "Add", "Gelu", "Assign",
                             "Transpose", "GatherV2", "ReduceSum"}) {
      double before = 0;
      for (const std::int64_t row : {63, 64, 197, 768, 1023, 1024, 1025, 3137, 3144, 5185}) {
        const std::vector<std::int64_t> shape = {4096, row};
        const OpCase op = Of({type, 0, {{shape}}, {{shape}}, {}}, "bf16");
        const auto price = PriceOf(*model, op, kind);
        if (!price) continue;
        EXPECT_GE(price->us, before * (1 - 1e-9)) << kind << ' ' << type << ' ' << row;
        EXPECT_GE(price->us, op.outputs[0].bytes / sheet.memory_bandwidth * 1e6) << kind << ' ' << type;
        before = price->us;
      }
    }
  }
}

// Facts of AMD-AGI/TraceLens@171dd74 (MIT): the largest ops of two models in bf16 on an H100, 88 and 97 % of their time.
TEST(ShippedPrices, AddUpToTracesWithAnOddNumberOfTokens) {
  struct Row {
    OpCase op;
    double count, us;
  };
  const auto like = [](const char* type, const std::vector<std::int64_t>& shape, int inputs = 1) {
    return OpCase{
        type, 0, std::vector<testing::TensorCase>(static_cast<std::size_t>(inputs), {shape}), {{shape}}, {}};
  };
  const std::vector<Row> timesformer = {{like("Softmax", {8, 12, 3137, 3137}), 12, 5706.6},
                                        {BatchedProduct(96, 3137, 64, 3137), 12, 1897.1},
                                        {BatchedProduct(96, 3137, 3137, 64), 12, 1693.7},
                                        {like("Mul", {8, 12, 3137, 3137}), 12, 1291.1},
                                        {Product(25089, 768, 3072), 12, 164.8},
                                        {Product(25089, 3072, 768), 12, 158.9},
                                        {like("Assign", {8, 12, 64, 3137}), 12, 153.8},
                                        {like("Gelu", {1, 25089, 3072}), 12, 127.8},
                                        {like("Assign", {8, 12, 3137, 64}), 24, 59.2},
                                        {like("LayerNorm", {1, 25089, 768}), 13, 59.7}};
  const std::vector<Row> owlv2 = {
      {like("Softmax", {16, 5185, 5185}), 120, 2171.0}, {BatchedProduct(16, 5185, 64, 5185), 120, 1083.0},
      {BatchedProduct(16, 5185, 5185, 64), 120, 826.9}, {Product(5185, 1024, 1024), 480, 21.8},
      {Product(5185, 4096, 1024), 120, 65.6},           {Product(5185, 1024, 4096), 120, 58.4},
      {like("Mul", {1, 5185, 4096}, 2), 120, 43.4},     {like("Assign", {1, 16, 5185, 64}), 360, 13.2},
      {like("Sigmoid", {1, 5185, 4096}), 120, 33.1},    {like("LayerNorm", {1, 5185, 1024}), 250, 14.6}};
  for (const auto& rows : {timesformer, owlv2}) {
    double predicted = 0, measured = 0;
    for (const Row& row : rows) {
      predicted += row.count * Us(Of(row.op, "bf16"), "h100");
      measured += row.count * row.us;
    }
    EXPECT_NEAR(predicted / measured, 1, 0.1);
  }
}

}  // namespace
}  // namespace stowplan::cost_models
