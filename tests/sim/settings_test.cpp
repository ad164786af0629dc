#include "sim/base/settings.h"

#include "tests/testing.h"

namespace stowplan {
namespace {

double Half(double /*fallback*/, double of, double /*default_of*/) {
  return of / 2;
}

double KeptWhereItIsNotGiven(double fallback, double of, double default_of) {
  return of == default_of ? fallback : of;
}

const SettingTable& Table() {
  static const SettingTable table = {
      {{"preset", "whose defaults", OneOf({"ours", "theirs", "late"}), "ours"},
       {"count", "of things", Whole(1, 100), "3"},
       {"rate", "of change", Number(0, 10), "2e-1"},
       {"rate_end", "and at last", Number(0, 10), "0", {"rate", "half of rate", Half}},
       {"steps", "of it", Number(0, 10), "1", {"rate", "rate, if that is given", KeptWhereItIsNotGiven}},
       {"edges", "are seen", YesNo(), "yes"},
       {"reach", "of a glance", Whole(0), "5", {}, "edges=yes"},
       {"path", "of a file", Text(), ""}},
      {{"", "count=4"},
       {"preset=theirs|late", "count=7,rate=1"},
       {"preset=late", "count=9"},
       {"edges=no", "path=none"}}};
  return table;
}

Settings Read(const std::string& text) {
  return {Spec::Parse(text), Table()};
}

TEST(Settings, DefaultsAreThoseOfTheConditionsThatHoldTheLastOfThemFirst) {
  EXPECT_EQ(Read("x").Canonical(), "x(preset=ours,count=4,rate=0.2,rate_end=0.1,steps=1,edges=yes,reach=5)");
  EXPECT_EQ(Read("x(preset=theirs)").Canonical(),
            "x(preset=theirs,count=7,rate=1,rate_end=0.5,steps=1,edges=yes,reach=5)");
  EXPECT_EQ(Read("x(preset=late,count=08)").Int("count"), 8);
  EXPECT_EQ(Read("x(preset=late)").Int("count"), 9);
}

TEST(Settings, OnesThatFollowAnotherAreStillGivenByThemselves) {
  EXPECT_EQ(Read("x(rate=3)").Double("rate_end"), 1.5);
  EXPECT_EQ(Read("x(rate=3,rate_end=2)").Double("rate_end"), 2);
  EXPECT_EQ(Read("x(rate=3)").Double("steps"), 3);
  EXPECT_EQ(Read("x(rate=0.2)").Double("steps"), 1) << "as by default";
  EXPECT_EQ(Read("x(preset=theirs,rate=1)").Double("steps"), 1);
}

TEST(Settings, CanBeAbsent) {
  EXPECT_TRUE(Read("x").Has("reach"));
  const Settings without = Read("x(edges=0,preset=late)");
  EXPECT_FALSE(without.Has("reach"));
  EXPECT_EQ(without.Canonical(), "x(preset=late,count=9,rate=1,rate_end=0.5,steps=1,edges=no,path=none)");
  EXPECT_EQ(Read(without.Canonical()).Canonical(), without.Canonical());
}

TEST(Settings, AreReadByTheirType) {
  enum class Kind : std::uint8_t { kOurs, kTheirs, kLate };
  const Settings read = Read(R"(x(preset=late,path="a, b",edges=true))");
  EXPECT_EQ(read.name(), "x");
  EXPECT_EQ(read.Choice<Kind>("preset"), Kind::kLate);
  EXPECT_TRUE(read.Is("preset", "late"));
  EXPECT_TRUE(read.Bool("edges"));
  EXPECT_EQ(read.Text("path"), "a, b");
}

TEST(Settings, WrongOnesGetOneSentence) {
  const auto expect = [](const std::string& text, const std::string& says) {
    EXPECT_THAT([&] { Read(text); }, ThrowsMessage<InputError>(says)) << text;
  };
  expect("x(count=0)", "x: setting 'count' is '0', but must be a whole number from 1 to 100");
  expect("x(count=1.5)", "x: setting 'count' is '1.5', but must be a whole number from 1 to 100");
  expect("x(rate=nan)", "x: setting 'rate' is 'nan', but must be a number from 0 to 10");
  expect("x(rate=10.1)", "x: setting 'rate' is '10.1', but must be a number from 0 to 10");
  expect("x(reach=-1)", "x: setting 'reach' is '-1', but must be a whole number of at least 0");
  expect("x(edges=maybe)", "x: setting 'edges' is 'maybe', but must be yes or no");
  expect("x(preset=our)",
         "x: setting 'preset' is 'our', but must be one of ours, theirs and late (did you mean ours?)");
  expect(
      "x(edges=no,reach=2)",
      "x takes 'reach' with edges=yes alone; it takes preset, count, rate, rate_end, steps, edges and path");
  expect("x(3)",
         "x: '3' is not of the form key=value; it takes preset, count, rate, rate_end, steps, edges, reach "
         "and path");
  EXPECT_THAT([] { Settings(Spec::Parse("y(a=1)"), {}); },
              ThrowsMessage<InputError>("y has no setting 'a'; it takes none"));
}

TEST(Settings, SayWhatTheyTake) {
  EXPECT_EQ(ValuesText(Whole(1, 1'000'000)), "a whole number from 1 to 1000000");
  EXPECT_EQ(ValuesText(Whole(0)), "a whole number of at least 0");
  EXPECT_EQ(ValuesText(Number(0, 0.5)), "a number from 0 to 0.5");
  EXPECT_EQ(ValuesText(YesNo()), "yes or no");
  EXPECT_EQ(ValuesText(OneOf({"a", "b", "c"})), "a, b or c");
  EXPECT_EQ(ValuesText(Text()), "");
}

}  // namespace
}  // namespace stowplan
