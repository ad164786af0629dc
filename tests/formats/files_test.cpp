#include <csignal>

#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include "sim/formats/formats.h"
#include "sim/formats/frames.h"
#include "sim/formats/outputs.h"
#include "tests/formats/testing.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }
  std::size_t Entries() const { return folder_.Files().size(); }
  void Put(const std::string& name, const std::string& content) const {
    std::ofstream(Path(name), std::ios::binary) << content;
  }

  tests::TempFolder folder_;
};

TEST_F(Files, WritesAndReads) {
  const std::string content("a\0b\n", 4);
  WriteFile(Path("plain"), content);
  EXPECT_EQ(ReadFile(Path("plain")), content);
  WriteFile(Path("plain"), "");
  EXPECT_EQ(ReadFile(Path("plain")), "");
  EXPECT_EQ(Entries(), 1u) << "a temporary file was left";
}

TEST_F(Files, CompressesByNameAndReadsByContent) {
  std::string content;
  for (int i = 0; i < 100'000; ++i) content += std::to_string(i % 977) + ",";
  WriteFile(Path("x.json.zst"), content);
  EXPECT_LT(fs::file_size(Path("x.json.zst")), content.size() / 10);
  EXPECT_EQ(ReadFile(Path("x.json.zst")), content);
  fs::rename(Path("x.json.zst"), Path("x.json"));
  EXPECT_EQ(ReadFile(Path("x.json")), content);
}

TEST_F(Files, ReadsSeveralFrames) {
  WriteFile(Path("a.zst"), "one ");
  WriteFile(Path("b.zst"), "two");
  Put("both", ReadText(Path("a.zst")) + ReadText(Path("b.zst")));
  EXPECT_EQ(ReadFile(Path("both")), "one two");
}

// As large as the room that there is at first, and after it has grown once.
TEST_F(Files, ReadsWhatEndsWithTheRoom) {
  for (const std::size_t size : {262'144, 524'288}) {
    WriteFile(Path("full.zst"), std::string(size, 'x'));
    EXPECT_EQ(ReadFile(Path("full.zst")).size(), size);
  }
}

// One member, as gzip writes it.
std::string Gzip(const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string compressed(content.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  return compressed;
}

TEST_F(Files, ReadsGzipAndItsMembers) {
  std::string content;
  for (int i = 0; i < 200'000; ++i) content += std::to_string(i) + ",";
  Put("a.json.gz", Gzip(content));
  EXPECT_EQ(ReadFile(Path("a.json.gz")), content);
  Put("two", Gzip("one ") + Gzip("") + Gzip("two"));
  EXPECT_EQ(ReadFile(Path("two")), "one two");
}

TEST_F(Files, RefusesDamagedGzip) {
  const std::string whole = Gzip(std::string(5000, 'x') + "some text at the end");
  for (std::size_t size = 2; size < whole.size(); ++size) {
    Put("cut.gz", whole.substr(0, size));
    EXPECT_EQ(MessageOf([&] { ReadFile(Path("cut.gz")); }),
              Path("cut.gz") + ": ends in the middle of its gzip data");
  }
  std::string flipped = whole;
  flipped[flipped.size() - 8] = static_cast<char>(flipped[flipped.size() - 8] ^ 1);  // of the checksum
  Put("flipped.gz", flipped);
  EXPECT_EQ(MessageOf([&] { ReadFile(Path("flipped.gz")); }),
            Path("flipped.gz") + ": is not valid gzip data: incorrect data check");
  Put("tail.gz", whole + "tail");
  EXPECT_THAT(MessageOf([&] { ReadFile(Path("tail.gz")); }), HasSubstr("is not valid gzip data"));
  Put("bomb.gz", Gzip(std::string(std::size_t{80} << 20, '\0')));
  EXPECT_THAT(MessageOf([&] { ReadFile(Path("bomb.gz")); }), HasSubstr("decompresses to more than"));
}

TEST_F(Files, RefusesDamagedCompression) {
  WriteFile(Path("a.zst"), std::string(5000, 'x') + "some text at the end");
  const std::string whole = ReadText(Path("a.zst"));
  for (std::size_t size = 4; size < whole.size(); ++size) {
    Put("cut.zst", whole.substr(0, size));
    EXPECT_EQ(MessageOf([&] { ReadFile(Path("cut.zst")); }),
              Path("cut.zst") + ": ends in the middle of its zstd data");
  }
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x40);
  Put("flipped.zst", flipped);
  EXPECT_THAT(MessageOf([&] { ReadFile(Path("flipped.zst")); }), HasSubstr("is not valid zstd data"));
  Put("tail.zst", whole + "tail");
  EXPECT_THAT(MessageOf([&] { ReadFile(Path("tail.zst")); }), HasSubstr("is not valid zstd data"));
}

// 20 frames of 16 MiB of zeros each are a file of some 10 KB; a file of ours never grows a hundredfold.
TEST_F(Files, RefusesDecompressionBombs) {
  WriteFile(Path("frame.zst"), std::string(std::size_t{16} << 20, '\0'));
  const std::string frame = ReadText(Path("frame.zst"));
  std::string bomb;
  for (int i = 0; i < 20; ++i) bomb += frame;
  ASSERT_LT(bomb.size(), 64u << 10);
  Put("bomb.json", bomb);
  EXPECT_EQ(
      MessageOf([&] { ReadFile(Path("bomb.json")); }),
      Path("bomb.json") + ": decompresses to more than 64 MiB; decompress it by hand where that is meant");
}

TEST_F(Files, FramesAreReadOneByOne) {
  WriteFile(Path("a.zst"), "one"), WriteFile(Path("b.zst"), std::string(3'000'000, 'x'));
  Put("both.zst", ReadText(Path("a.zst")) + ReadText(Path("b.zst")));
  FrameReader frames(Path("both.zst"));
  EXPECT_EQ(frames.Next(), "one");
  EXPECT_EQ(frames.Next()->size(), 3'000'000u);
  EXPECT_EQ(frames.Next(), std::nullopt);
  for (const std::string plain : {"", "a", "no frame at all"}) {
    Put("plain", plain);
    FrameReader one(Path("plain"));
    EXPECT_EQ(one.Next(), plain);
    EXPECT_EQ(one.Next(), std::nullopt);
  }
  EXPECT_THAT(MessageOf([&] { FrameReader(Path("nowhere")); }), HasSubstr("cannot be opened"));
}

TEST_F(Files, ADamagedFrameIsRefusedOrPassedOver) {
  WriteFile(Path("a.zst"), "one"), WriteFile(Path("b.zst"), "two and more than that");
  const std::string one = ReadText(Path("a.zst")), two = ReadText(Path("b.zst"));
  for (const std::string& damaged :
       {two.substr(0, two.size() - 1), two.substr(0, 5), two.substr(0, 9) + "?" + two.substr(10)}) {
    Put("damaged.zst", one + damaged + one);
    FrameReader strict(Path("damaged.zst"));
    EXPECT_EQ(strict.Next(), "one");
    EXPECT_THAT(MessageOf([&] { strict.Next(); }), HasSubstr("zstd data"));
    FrameReader lenient(Path("damaged.zst"));
    bool cut = false;
    EXPECT_EQ(lenient.Next(&cut), "one");
    EXPECT_FALSE(cut);
    EXPECT_EQ(lenient.Next(&cut), "one");
    EXPECT_TRUE(cut);
    EXPECT_EQ(lenient.Next(&cut), std::nullopt);
  }
}

// The limits hold for all frames together, as if they were one.
TEST_F(Files, ManySmallFramesAreNoWayAroundTheLimits) {
  WriteFile(Path("frame.zst"), std::string(std::size_t{16} << 20, '\0'));
  std::string bomb;
  for (int i = 0; i < 5; ++i) bomb += ReadText(Path("frame.zst"));
  Put("bomb.zst", bomb);
  FrameReader frames(Path("bomb.zst"));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(frames.Next().has_value());
  EXPECT_THAT(MessageOf([&] { frames.Next(); }), HasSubstr("decompresses to more than 64 MiB"));
}

// 10 MB that would become 5 million values of a document.
TEST_F(Files, RefusesToExpandToTooManyValues) {
  std::string numbers = "[";
  for (int i = 0; i < 5'000'000; ++i) numbers += "0,";
  const std::string refusal =
      ": decompresses to more than 4194304 values; decompress it by hand where that is meant";
  WriteFile(Path("numbers.json.zst"), numbers);
  EXPECT_EQ(MessageOf([&] { ReadFile(Path("numbers.json.zst")); }), Path("numbers.json.zst") + refusal);
  Put("numbers.json.gz", Gzip(numbers));
  EXPECT_EQ(MessageOf([&] { ReadFile(Path("numbers.json.gz")); }), Path("numbers.json.gz") + refusal);
  Put("numbers.json", numbers);
  EXPECT_EQ(ReadFile(Path("numbers.json")), numbers);
}

TEST_F(Files, RefusesPathsThatLeadNowhere) {
  EXPECT_EQ(MessageOf([&] { ReadFile(Path("none.json")); }),
            Path("none.json") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(MessageOf([&] { ReadFile(folder_.path()); }),
            folder_.path() + ": cannot be read: Is a directory");
  EXPECT_EQ(MessageOf([&] { WriteFile(Path("no/such/folder"), "x"); }),
            Path("no/such/folder") + ": cannot be written: No such file or directory");
  EXPECT_EQ(MessageOf([&] { WriteFile(folder_.path(), "x"); }),
            folder_.path() + ": is a folder, but a file is to be written");
}

// A write that fails half-way (here by the limit on the size of files) leaves the old file, and nothing else.
TEST_F(Files, AFailingWriteLeavesTheOldFile) {
  WriteFile(Path("kept"), "the old content");
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit tight = old;
  tight.rlim_cur = 4096;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  std::string message;
  try {
    WriteFile(Path("kept"), std::string(100'000, 'n'));
  } catch (const RunError& error) {
    message = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, Path("kept") + ": cannot be written: File too large");
  EXPECT_EQ(ReadFile(Path("kept")), "the old content");
  EXPECT_EQ(Entries(), 1u) << "a temporary file was left";
}

TEST_F(Files, KeepsPermissionsAndFollowsLinks) {
  WriteFile(Path("target"), "old");
  fs::permissions(Path("target"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("target", Path("link"));
  WriteFile(Path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(ReadFile(Path("target")), "new");
  EXPECT_EQ(fs::status(Path("target")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, OutputsAreMadeRoomForBeforeThereIsAnything) {
  PrepareOutput(Path("new/folder/x.json"));
  EXPECT_TRUE(fs::is_empty(Path("new/folder")));
  PrepareOutput("-");
  PrepareOutput("/dev/null");
  Put("file", "mine");
  PrepareOutput(Path("file"));
  EXPECT_EQ(ReadFile(Path("file")), "mine");
  for (const char* const below : {"file/x", "file/x/y"})
    EXPECT_THAT(MessageOf([&] { PrepareOutput(Path(below)); }), HasSubstr("is to be a folder, but"));
  EXPECT_EQ(MessageOf([&] { PrepareOutput(folder_.path()); }),
            folder_.path() + ": is a folder, but a file is to be written");
}

TEST_F(Files, AFileIsNoFolder) {
  Put("file", "mine");
  EXPECT_EQ(MessageOf([&] { MakeFolder(Path("file")); }),
            Path("file") + ": is to be a folder, but cannot be made one: Not a directory");
  MakeFolder(Path("a/b"));
  MakeFolder(Path("a/b"));
  EXPECT_TRUE(fs::is_directory(Path("a/b")));
}

TEST_F(Files, WhatIsThereIsRefusedWhereItMustNotBe) {
  Put("file", "mine");
  EXPECT_EQ(MessageOf([&] { RefuseExisting(Path("file")); }),
            Path("file") + " is there already and is not written over; give another name or remove it.");
  RefuseExisting(Path("other"));
  RefuseExisting("/dev/null");
}

TEST_F(Files, WritesIntoDevicesAndPipes) {
  WriteFile("/dev/null", "anything");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Files, DashIsStandardInputAndOutput) {
  Put("in", "from the input");
  const int old_in = ::dup(STDIN_FILENO), old_out = ::dup(STDOUT_FILENO);
  ASSERT_NE(std::freopen(Path("in").c_str(), "r", stdin), nullptr);
  std::fflush(stdout);
  FILE* out = std::fopen(Path("out").c_str(), "w");
  ::dup2(::fileno(out), STDOUT_FILENO);
  const std::string read = ReadFile("-");
  WriteFile("-", "to the output");
  ::dup2(old_in, STDIN_FILENO);
  ::dup2(old_out, STDOUT_FILENO);
  ::close(old_in);
  ::close(old_out);
  std::fclose(out);
  EXPECT_EQ(read, "from the input");
  EXPECT_EQ(ReadText(Path("out")), "to the output");
}

}  // namespace
}  // namespace stowplan::formats
