#include "agents/rl/checkpoint.h"

#include "agents/rl/learning_log.h"
#include "agents/rl/nn/byte_state.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

std::string InTemp(const std::string& name) {
  static const tests::TempFolder folder;
  return folder / name;
}

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Spit(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string MessageOf(const std::string& path) {
  return tests::ErrorOf([&] { ReadCheckpoint(path); }, "no error");
}

TEST(Checkpoint, RoundTrip) {
  const std::string path = InTemp("roundtrip.ckpt");
  Checkpoint written;
  written.agent = "placeto(lr=1e-3)";
  written.sections = {{"weights", std::string("a\0b\n", 4)}, {"empty", ""}, {"run", "xyz"}};
  WriteCheckpoint(path, written);
  const Checkpoint read = ReadCheckpoint(path);
  EXPECT_EQ(read.agent, written.agent);
  EXPECT_EQ(read.sections, written.sections);
}

// Two programs that save at once, or what one of them left, do not meet in a file.
TEST(Checkpoint, IsWrittenUnderANameOfItsOwn) {
  const tests::TempFolder folder;
  const std::string path = folder / "mine.ckpt";
  std::filesystem::create_directory(path + ".new");
  WriteCheckpoint(path, {"placeto", {{"weights", "0123456789"}}});
  EXPECT_EQ(ReadCheckpoint(path).agent, "placeto");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2) << "something was left";
}

TEST(Checkpoint, EveryTruncationIsRefused) {
  const std::string path = InTemp("truncated.ckpt");
  WriteCheckpoint(path, {"placeto", {{"weights", "0123456789"}, {"run", "abc"}}});
  const std::string whole = Slurp(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Spit(path, whole.substr(0, size));
    EXPECT_THROW(ReadCheckpoint(path), InputError) << size << " of " << whole.size() << " bytes";
  }
}

TEST(Checkpoint, SaysWhatIsWrong) {
  const std::string path = InTemp("bad.ckpt");
  EXPECT_THAT(MessageOf(path), HasSubstr("cannot be opened"));
  WriteCheckpoint(path, {"placeto", {{"weights", "0123456789"}}});
  std::string bytes = Slurp(path);
  bytes.back() = 'x';
  Spit(path, bytes);
  EXPECT_THAT(MessageOf(path), HasSubstr("truncated or was changed"));
  Spit(path, "{\"format\": \"stowplan.graph\", \"version\": 1}\n");
  EXPECT_THAT(MessageOf(path), HasSubstr("no checkpoint"));
  Spit(path, "{\"format\": \"stowplan.checkpoint\", \"version\": 7}\n");
  EXPECT_THAT(MessageOf(path), HasSubstr("version"));
  Spit(path, "not json\n");
  EXPECT_THAT(MessageOf(path), HasSubstr("header"));
  Spit(path, "[1, 2]\n");
  EXPECT_THAT(MessageOf(path), HasSubstr("header"));
}

// Lengths are believed only where the bytes are there; nothing is taken for them before.
TEST(Checkpoint, RefusesLengthsThatAreNone) {
  const std::string path = InTemp("lengths.ckpt");
  WriteCheckpoint(path, {"placeto", {{"weights", "0123456789"}}});
  const std::string whole = Slurp(path);
  for (const char* length :
       {"-1", "1e300", "18446744073709551615", "1099511627776", "\"10\"", "null", "[]", "9"}) {
    std::string bytes = whole;
    const std::size_t at = bytes.find(":10}") + 1;
    bytes.replace(at, 2, length);
    Spit(path, bytes);
    EXPECT_THROW(ReadCheckpoint(path), InputError) << length;
  }
  Spit(path, std::string(200'000, '[') + "\n");
  EXPECT_THAT(MessageOf(path), HasSubstr("no header"));
  EXPECT_THAT(MessageOf("/dev/zero"), HasSubstr("cannot be opened"));
}

TEST(Checkpoint, AFolderThatIsNotThereIsARunError) {
  EXPECT_THROW(WriteCheckpoint(InTemp("no_such_folder/x.ckpt"), {"placeto", {}}), RunError);
}

TEST(StateReader, RefusesShortAndLongBytes) {
  StateWriter out;
  out.Put<std::int64_t>(7);
  out.PutList(std::vector<double>{1.5, -2});
  out.PutText("text");
  const std::string bytes = out.Take();
  StateReader in(bytes, "here");
  EXPECT_EQ(in.Get<std::int64_t>(), 7);
  EXPECT_EQ(in.GetList<double>(), (std::vector<double>{1.5, -2}));
  EXPECT_THROW(in.Finish(), InputError);
  EXPECT_EQ(in.GetText(), "text");
  in.Finish();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    StateReader part(std::string_view(bytes).substr(0, size), "here");
    const auto read_all = [&part] {
      part.Get<std::int64_t>();
      part.GetList<double>();
      part.GetText();
    };
    EXPECT_THROW(read_all(), InputError) << size;
  }
}

TEST(StateReader, CountsAreOfWhatWasDone) {
  const auto read = [](std::int64_t count) {
    StateWriter out;
    out.Put(count);
    const std::string bytes = out.Take();
    return StateReader(bytes, "here").GetCount();
  };
  EXPECT_EQ(read(0), 0);
  EXPECT_EQ(read(7), 7);
  EXPECT_THROW(read(-1), InputError);
  EXPECT_THROW(read(std::numeric_limits<std::int64_t>::max()), InputError);
}

TEST(StateReader, RngGoesOnWhereItStood) {
  Rng rng(3, "test");
  rng.Next();
  StateWriter out;
  SaveRng(rng, out);
  const std::string bytes = out.Take();
  StateReader in(bytes, "rng");
  Rng restored = LoadRng(in);
  EXPECT_EQ(restored.Next(), rng.Next());
}

TEST(LearningLog, ResumesWhereTheCheckpointWas) {
  const std::string path = InTemp("log.csv");
  LearningLog log(path);
  log.Append({.update = 1, .best_us = 2.5});
  const std::string until_here = Slurp(path);
  EXPECT_EQ(log.size(), static_cast<std::int64_t>(until_here.size()));
  log.Append({.update = 2});
  LearningLog resumed(path, static_cast<std::int64_t>(until_here.size()));
  EXPECT_EQ(Slurp(path), until_here);
  resumed.Append({.update = 2, .loss = 1});
  EXPECT_EQ(Slurp(path), until_here + "2,0,0,0,1,0,0,0,0,0,0.000000\n");
}

}  // namespace
}  // namespace stowplan::agents::rl
