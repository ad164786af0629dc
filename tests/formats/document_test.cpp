#include "sim/formats/document/document.h"

#include "sim/formats/document/document_builder.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/document/yaml_reader.h"
#include "tests/formats/testing.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

std::string JsonError(const std::string& text) {
  return MessageOf([&] { ParseJson(text, "f.json"); });
}
std::string YamlError(const std::string& text) {
  return MessageOf([&] { ParseYaml(text, "f.yaml"); });
}

// ---- JSON ---------------------------------------------------------------------------------------

TEST(Json, SyntaxErrorsHaveLineAndColumn) {
  EXPECT_THAT(JsonError("{\"a\": 1,\n  \"b\" 2}"), StartsWith("f.json:2:7: is not valid JSON: syntax"));
  EXPECT_THAT(JsonError(""), StartsWith("f.json:1:1: is not valid JSON: "));
  EXPECT_THAT(JsonError("{\"a\": "), StartsWith("f.json:1:7: is not valid JSON: "));
}

// 33 MB that would become 2^24 + 1 values; in a larger file there may be as many.
TEST(Json, RefusesTooManyValues) {
  constexpr std::size_t kNumbers = std::size_t{1} << 24;
  std::string text = "[0";
  for (std::size_t i = 1; i < kNumbers; ++i) text += ",0";
  text += ']';
  EXPECT_THAT(JsonError(text), StartsWith("f.json: [16777215] is one value more than the 16777216 that a"));
  DocumentBuilder larger("f.json", 3 * text.size(), kNumbers + 1);
  larger.BeginList();
  for (std::size_t i = 0; i < kNumbers; ++i) larger.Integer(0);
  larger.End();
  EXPECT_EQ(larger.Finish().root().size(), kNumbers);
}

TEST(Json, RefusesWhatIsNotStrictJson) {
  for (const char* wrong : {"{\"a\": NaN}", "{\"a\": Infinity}", "{\"a\": -inf}", "{} x", "{\"a\": 1,}",
                            "// c\n{}", "{'a': 1}", "[01]", "[1.]", "[+1]", "[\"\x01\"]"}) {
    EXPECT_THAT(JsonError(wrong), HasSubstr("is not valid JSON")) << wrong;
  }
}

TEST(Json, RefusesNumbersBeyondDouble) {
  EXPECT_EQ(JsonError("{\"a\":\n [1, 1e999]}"), "f.json:2:10: number overflow parsing '1e999'");
}

TEST(Json, RefusesKeysGivenTwice) {
  EXPECT_THAT(JsonError(R"({"a": {"b": 1, "c": [], "b": 2}})"), StartsWith("f.json: a.b is there twice"));
  EXPECT_THAT(JsonError(R"([0, {"x y": 1, "x y": 1}])"), StartsWith("f.json: [1][\"x y\"] is there twice"));
}

TEST(Json, LimitsNesting) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  ParseJson(nested(kMaxDepth), "f.json");
  EXPECT_THAT(JsonError(nested(kMaxDepth + 1)), HasSubstr("is nested deeper than 64 lists and objects"));
  EXPECT_THAT(JsonError(std::string(1'000'000, '[')), HasSubstr("is nested deeper than 64"));
}

TEST(Json, WholeNumbersAreTakenOnlyIfExact) {
  const Document document = ParseJson(
      "[1e3, 2.0, -0.0, 9007199254740992.0, 9007199254740993.0, 1e-3, 1e19, 9223372036854775807, "
      "9223372036854775808]",
      "f.json");
  std::vector<Value> values;
  for (const Value value : document.root().items()) values.push_back(value);
  EXPECT_EQ(values[0].Int(), 1000);
  EXPECT_EQ(values[1].Int(), 2);
  EXPECT_EQ(values[2].Int(), 0);
  EXPECT_EQ(values[3].Int(), 9007199254740992);
  EXPECT_EQ(values[7].Int(), INT64_MAX);
  for (const std::size_t wrong : {4u, 5u, 6u, 8u}) {  // 2^53 + 1 is lost in a double
    EXPECT_THAT(MessageOf([&] { values[wrong].Int(); }), HasSubstr("must be a whole number, but is"))
        << wrong;
  }
  EXPECT_EQ(values[8].Number(), 9223372036854775808.0);
}

// Whole numbers beyond 64 bits are shown as they are written, not as the double nearest to them.
TEST(Json, LongNumbersAreShownAsWritten) {
  for (const std::string text :
       {"9223372036854775808", "100000000000000000001", "-123456789012345678901234567890"}) {
    EXPECT_EQ(MessageOf([&] { ParseJson(text, "f").root().Int(); }),
              "f: the file must be a whole number, but is " + text);
  }
  EXPECT_EQ(MessageOf([&] { ParseJson(std::string(300, '9'), "f").root().Int(); }),
            "f: the file must be a whole number, but is " + std::string(40, '9') + "...");
}

TEST(Json, PlacesPointAtTheValue) {
  const Document document =
      ParseJson(R"({"ops": [{}, {"outputs": [{"bytes": "12"}], "od.d": {"": null}}]})", "graph.json");
  const Value op = *++(*document.root().members().begin()).value.items().begin();
  const auto members = op.members();
  const Value output = *(*members.begin()).value.items().begin();
  const Value bytes = (*output.members().begin()).value;
  EXPECT_THAT(MessageOf([&] { bytes.Int(0, 9); }), StartsWith("graph.json: ops[1].outputs[0].bytes must"));
  const Value odd = (*++members.begin()).value;
  EXPECT_EQ((*odd.members().begin()).value.Place(), "graph.json: ops[1][\"od.d\"][\"\"]");
  EXPECT_EQ(document.root().Place(), "graph.json: the file");
}

TEST(Json, SaysWhatIsThereInstead) {
  const Document document = ParseJson(R"([null, true, 1.5, "s", [], {}])", "f");
  std::vector<std::string> messages;
  for (const Value value : document.root().items()) {
    messages.push_back(MessageOf([&] { value.Int(); }));
  }
  const char* const kShown[] = {"null", "true", "1.5", "\"s\"", "a list", "an object"};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(messages[i], "f: [" + std::to_string(i) + "] must be a whole number, but is " + kShown[i]);
  }
}

TEST(Json, LongTextsAreCutBetweenCharacters) {
  std::string text = "x";
  for (int i = 0; i < 40; ++i) text += "é";  // two bytes each, so byte 60 is inside one
  const Document document = ParseJson("\"" + text + "\"", "f");
  std::string shown = "x";
  for (int i = 0; i < 29; ++i) shown += "é";
  EXPECT_EQ(MessageOf([&] { document.root().Bool(); }),
            "f: the file must be true or false, but is \"" + shown + "...\"");
}

// A file must not write to the terminal through a message.
TEST(Json, MessagesHoldNoControlCharacters) {
  const Document document = ParseJson(R"({"\u001b[2J": "\u001b[31m\n"})", "f");
  const Value value = (*document.root().members().begin()).value;
  EXPECT_EQ(MessageOf([&] { value.Int(); }), "f: [\"?[2J\"] must be a whole number, but is \"?[31m?\"");
}

// ---- both: text in UTF-8 ------------------------------------------------------------------------

class Utf8 : public ::testing::TestWithParam<std::string> {
 protected:
  // Of a document that holds `text`: none where it is read.
  static std::string ErrorOf(const std::string& text) {
    try {
      const bool json = GetParam() == "json";
      const Document document = json ? ParseJson(text, "f") : ParseYaml(text, "f");
      return document.root().Place().empty() ? "no place" : "";
    } catch (const InputError& error) {
      return error.what();
    }
  }
};

TEST_P(Utf8, IsRead) {
  for (const char* text : {"\"\x7f\"", "\"é\"", "\"\u6f22\"", "\"\U0001F600\"", "\"\uFEFF\""}) {
    EXPECT_EQ(ErrorOf(text), "") << text;
  }
}

TEST_P(Utf8, BrokenIsRefusedWithLineAndColumn) {
  // A lone continuation, a lone start, overlong forms, a surrogate, beyond U+10FFFF, and 0xFF.
  for (const char* broken : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xed\xa0\x80",
                             "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_THAT(ErrorOf("[1,\n \"é" + std::string(broken) + "\"]"), StartsWith("f:2:5: holds a byte that"));
  }
}

TEST_P(Utf8, ByteOrderMarksAndNulAreRefused) {
  EXPECT_EQ(ErrorOf("\xef\xbb\xbf[1]"), "f: begins with a byte order mark; save it as UTF-8 without one");
  EXPECT_EQ(ErrorOf(std::string("[1\0]", 4)), "f:1:3: holds a NUL byte; a file must be text in UTF-8");
  EXPECT_THAT(ErrorOf(std::string("\xff\xfe[\0", 4)),
              HasSubstr("f:1:1: holds a byte that is not UTF-8"));  // UTF-16
}

INSTANTIATE_TEST_SUITE_P(Syntaxes, Utf8, ::testing::Values("json", "yaml"),
                         [](const auto& syntax) { return syntax.param; });

// ---- Fields -------------------------------------------------------------------------------------

constexpr std::string_view kKeys[] = {"name", "bytes"};

TEST(Fields, RefusesUnknownKeysAndListsTheKnown) {
  const Document document = ParseJson(R"({"name": "a", "byts": 3})", "f.json");
  EXPECT_THAT(MessageOf([&] { Fields(document.root(), kKeys); }), StartsWith("f.json: byts is not known"));
}

TEST(Fields, SaysWhatIsMissing) {
  const Document document = ParseJson(R"([{"bytes": 3}])", "f.json");
  const Fields fields(*document.root().items().begin(), kKeys);
  EXPECT_EQ(MessageOf([&] { fields.Require("name"); }), "f.json: [0] has no \"name\", which is required");
  EXPECT_EQ(fields.Int("bytes", 7, 0, 9), 3);
  EXPECT_EQ(fields.String("name", "none"), "none");
}

TEST(Fields, NullIsNoDefault) {
  const Document document = ParseJson(R"({"bytes": null})", "f.json");
  const Fields fields(document.root(), kKeys);
  EXPECT_THAT(MessageOf([&] { fields.Int("bytes", 7, 0, 9); }), StartsWith("f.json: bytes must be a whole"));
}

TEST(FieldsDeathTest, AskingForAnUndeclaredKeyIsAFaultOfTheReader) {
  const Document document = ParseJson("{}", "f.json");
  const Fields fields(document.root(), kKeys);
  EXPECT_DEATH(fields.Find("nmae"), "stowplan is wrong here");
}

TEST(CheckFormat, NamesFormatAndVersion) {
  const auto error = [](const std::string& text) {
    return MessageOf([&] { CheckFormat(ParseJson(text, "f.json"), "stowplan.graph", 2); });
  };
  EXPECT_EQ(error("[]"), "f.json: the file must be an object with \"format\": \"stowplan.graph\"");
  EXPECT_EQ(error("{}"), "f.json: the file has no \"format\", which must be \"stowplan.graph\"");
  EXPECT_EQ(error(R"({"format": "stowplan.cluster"})"),
            "f.json: format is \"stowplan.cluster\", but must be \"stowplan.graph\" here");
  EXPECT_EQ(error(R"({"format": "stowplan.graph"})"), "f.json: the file has no \"version\", which must be 2");
  EXPECT_EQ(error(R"({"format": "stowplan.graph", "version": 3})"),
            "f.json: version is 3, but this program knows stowplan.graph only up to version 2");
  EXPECT_EQ(error(R"({"format": "stowplan.graph", "version": "1"})"),
            "f.json: version must be a whole number, but is \"1\"");
  EXPECT_EQ(CheckFormat(ParseJson(R"({"version": 1, "format": "stowplan.graph"})", "f"), "stowplan.graph", 2),
            1);
}

// ---- YAML ---------------------------------------------------------------------------------------

TEST(Yaml, ValuesKnowTheirLines) {
  const Document document =
      ParseYaml("# a comment\na: 1\nb:\n  - {c: x}\n  - {c: y,\n     d: z}\n", "f.yaml");
  const auto members = document.root().members();
  EXPECT_EQ((*members.begin()).value.Place(), "f.yaml:2: a");
  const Value list = (*++members.begin()).value;
  EXPECT_EQ(list.Place(), "f.yaml:3: b");
  EXPECT_EQ((*++(*++list.items().begin()).members().begin()).value.Place(), "f.yaml:6: b[1].d");
}

TEST(Yaml, PlainScalarsAreWhatTheReaderAsksFor) {
  const Document document = ParseYaml("[12, '12', 1.5, true, 0x10, .inf, ~, '', 1_000, -3e2]", "f.yaml");
  std::vector<Value> values;
  for (const Value value : document.root().items()) values.push_back(value);
  EXPECT_EQ(values[0].Int(), 12);
  EXPECT_EQ(values[0].Text(), "12");
  EXPECT_EQ(values[1].Text(), "12");
  EXPECT_THAT(MessageOf([&] { values[1].Int(); }), HasSubstr("must be a whole number, but is \"12\""));
  EXPECT_EQ(values[2].Number(), 1.5);
  EXPECT_THAT(MessageOf([&] { values[2].Int(); }), HasSubstr("must be a whole number"));
  EXPECT_TRUE(values[3].Bool());
  for (const std::size_t wrong : {4u, 5u, 6u, 8u}) {
    EXPECT_THAT(MessageOf([&] { values[wrong].Number(); }), HasSubstr("must be a finite number, but is"))
        << wrong;
  }
  EXPECT_TRUE(values[6].IsNull());
  EXPECT_EQ(values[7].Text(), "");
  EXPECT_EQ(values[9].Int(), -300);
}

TEST(Yaml, IsSmall) {
  EXPECT_EQ(YamlError(std::string(kMostYamlBytes + 1, '\n')),
            "f.yaml: is larger than 4 MiB, which no file of this kind is");
}

TEST(Yaml, NumbersMayHaveManyDigits) {
  const Document document = ParseYaml(
      "[0.1000000000000000055511151231257827, 3.00000000000000000000, 123456789012345678901]", "f.yaml");
  auto value = document.root().items().begin();
  EXPECT_EQ((*value).Number(), 0.1);
  EXPECT_EQ((*++value).Int(), 3);
  EXPECT_THAT(MessageOf([&] { (*++value).Int(); }), StartsWith("f.yaml:1: [2] must be a whole number, but"));
}

TEST(Yaml, RefusesKeysGivenTwice) {
  EXPECT_EQ(YamlError("a: 1\nb: {c: 1}\na: 2\n"), "f.yaml:3: a is there twice; every key must be given once");
}

TEST(Yaml, RefusesWhatStowplanHasNoUseFor) {
  EXPECT_EQ(YamlError("a: &x 1\nb: *x\n"), "f.yaml:1: anchors are not read; remove the &name");
  EXPECT_THAT(YamlError("a: 1\nb: !!int 3\n"), StartsWith("f.yaml:2: tags are not read; remove"));
  EXPECT_THAT(YamlError("? [a, b]\n: 1\n"), StartsWith("f.yaml:1: a key must be plain text, and every"));
  EXPECT_EQ(YamlError("a: 1\n---\nb: 2\n"), "f.yaml: holds a second document; a file must hold one");
  EXPECT_EQ(YamlError(""), "f.yaml: the file is empty");
  EXPECT_EQ(YamlError("# nothing\n"), "f.yaml: the file is empty");
}

// What makes billions of nodes of few bytes needs anchors.
TEST(Yaml, BillionLaughsAreRefused) {
  EXPECT_THAT(YamlError("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"), HasSubstr("anchors are not read"));
}

TEST(Yaml, SyntaxErrorsHaveALine) {
  EXPECT_THAT(YamlError("a: 1\nb: [1, 2\n"), StartsWith("f.yaml:3: is not valid YAML: end of sequence"));
  EXPECT_THAT(YamlError("a: 1\n b: 2\n"), StartsWith("f.yaml:2: is not valid YAML: "));
  for (const char* cut : {"a: {b: 1", "a: {b: 1,", "a: {b:", "a: {", "a: [1", "a: 'x"}) {
    EXPECT_THAT(YamlError(cut),
                AllOf(StartsWith("f.yaml:1: is not valid YAML: "), HasSubstr("; the file may be cut short")))
        << cut;
  }
  EXPECT_THAT(YamlError("a: [{b: 1}, {c"), StartsWith("f.yaml:1: a key must be plain text, and every"));
}

TEST(Yaml, LimitsNesting) {
  EXPECT_THAT(YamlError(std::string(70, '[') + std::string(70, ']')), HasSubstr("is nested deeper than 64"));
  EXPECT_THAT(YamlError(std::string(100'000, '[')), StartsWith("f.yaml"));
}

}  // namespace
}  // namespace stowplan::formats
