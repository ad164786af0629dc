#include "sim/formats/document/compression.h"

#include <algorithm>
#include <limits>
#include <memory>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "sim/base/error.h"

namespace stowplan::formats {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;
// A file may grow by this factor, or to this size, whichever is more: our formats compress 10 to 80 times, a file of zeros
// made to fill the memory 30 000 times.
constexpr std::size_t kMaxGrowth = 100;
constexpr std::size_t kAlwaysAllowed = std::size_t{64} << 20;
// Nor may it hold more values than this for each compressed byte, or this many: graphs of ours hold up to 5, and what is made
// of one takes up to 240 bytes (of an op without anything), so that 1 MB takes less than 2 GB.
constexpr std::size_t kMaxValuesPerByte = 6;
constexpr std::size_t kValuesAlwaysAllowed = std::size_t{1} << 22;

// What separates one value from the next in JSON and in tables. Those inside of texts count too.
std::size_t ValuesIn(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return c == ',' || c == '[' || c == '{' || c == '\n'; }));
}

// Where decompressed bytes go: grows as they come, up to what the compressed size allows.
class Output {
 public:
  Output(std::size_t compressed, const std::string& source, const Decompression& before = {})
      : bytes_before_(before.bytes),
        values_(before.values),
        limit_(std::max(kAlwaysAllowed, (before.compressed + compressed) * kMaxGrowth)),
        most_values_(std::max(kValuesAlwaysAllowed, (before.compressed + compressed) * kMaxValuesPerByte)),
        source_(source) {}

  // fill(free room) returns how much of it was used.
  template <typename Fill>
  void Add(const Fill& fill) {
    // Bytes behind `used_` are room that was made before.
    if (content_.size() - used_ < kChunk) content_.resize(std::max(used_ + kChunk, used_ + used_ / 2));
    const std::size_t filled = fill(content_.data() + used_, content_.size() - used_);
    values_ += ValuesIn(std::string_view(content_).substr(used_, filled));
    used_ += filled;
    if (bytes_before_ + used_ > limit_ || used_ > kMaxFileBytes)
      FailAbove(std::to_string(std::min(limit_, kMaxFileBytes) >> 20) + " MiB");
    if (values_ > most_values_) FailAbove(std::to_string(most_values_) + " values");
  }
  std::size_t values() const { return values_; }
  std::string Take() {
    content_.resize(used_);
    return std::move(content_);
  }

 private:
  [[noreturn]] void FailAbove(const std::string& most) const {
    throw InputError(source_ + ": decompresses to more than " + most +
                     "; decompress it by hand where that is meant");
  }

  std::string content_;
  const std::size_t bytes_before_;
  std::size_t used_ = 0, values_;
  const std::size_t limit_, most_values_;
  const std::string& source_;
};

void FromZstd(std::string_view compressed, const std::string& source, Output& output) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  STOWPLAN_CHECK(context != nullptr);
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  for (;;) {
    std::size_t hint = 0;
    bool room_left = false;
    output.Add([&](char* room, std::size_t size) {
      ZSTD_outBuffer out{room, size, 0};
      hint = ZSTD_decompressStream(context.get(), &out, &in);
      room_left = out.pos < out.size;
      return out.pos;
    });
    if (ZSTD_isError(hint) != 0)
      throw InputError(source + ": is not valid zstd data: " + ZSTD_getErrorName(hint));
    // The last frame has ended, perhaps with the room.
    if (hint == 0 && in.pos == in.size) return;
    if (room_left && in.pos == in.size) throw InputError(source + ": ends in the middle of its zstd data");
  }
}

// Of the members that a file may have one after the other, as gzip itself reads them.
std::string FromGzip(std::string_view compressed, const std::string& source) {
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  z_stream stream{};
  STOWPLAN_CHECK(inflateInit2(&stream, kGzipOnly) == Z_OK);
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
  Output output(compressed.size(), source);
  int status = Z_OK;
  while (status != Z_STREAM_END || !compressed.empty()) {
    if (status == Z_STREAM_END) inflateReset(&stream);
    const std::size_t given = std::min<std::size_t>(compressed.size(), std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
    stream.avail_in = static_cast<uInt>(given);
    output.Add([&](char* room, std::size_t size) {
      size = std::min<std::size_t>(size, std::numeric_limits<uInt>::max());
      stream.next_out = reinterpret_cast<Bytef*>(room);
      stream.avail_out = static_cast<uInt>(size);
      status = inflate(&stream, Z_NO_FLUSH);
      return size - stream.avail_out;
    });
    compressed.remove_prefix(given - stream.avail_in);
    if (status == Z_BUF_ERROR) throw InputError(source + ": ends in the middle of its gzip data");
    if (status != Z_OK && status != Z_STREAM_END)
      throw InputError(source + ": is not valid gzip data" +
                       (stream.msg != nullptr ? std::string(": ") + stream.msg : ""));
  }
  return output.Take();
}

}  // namespace

std::string Decompressed(std::string content, const std::string& source) {
  constexpr std::string_view kGzip("\x1F\x8B", 2);
  if (content.starts_with(kZstdMagic)) {
    Output output(content.size(), source);
    FromZstd(content, source, output);
    return output.Take();
  }
  if (content.starts_with(kGzip)) return FromGzip(content, source);
  return content;
}

std::optional<std::size_t> ZstdFrameBytes(std::string_view content) {
  constexpr std::size_t kShortestFrame = 8;
  if (content.size() < kShortestFrame) return 0;
  const std::size_t bytes = ZSTD_findFrameCompressedSize(content.data(), content.size());
  if (ZSTD_isError(bytes) == 0) return bytes;
  if (ZSTD_getErrorCode(bytes) == ZSTD_error_srcSize_wrong) return 0;
  return std::nullopt;
}

std::string DecompressedFrame(std::string_view frame, Decompression& so_far, const std::string& source) {
  Output output(frame.size(), source, so_far);
  FromZstd(frame, source, output);
  std::string content = output.Take();
  so_far.compressed += frame.size();
  so_far.bytes += content.size();
  so_far.values = output.values();
  return content;
}

std::string Compress(std::string_view content, int level) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  STOWPLAN_CHECK(context != nullptr);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string compressed(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), compressed.data(), compressed.size(), content.data(), content.size());
  if (ZSTD_isError(size) != 0)
    throw RunError(std::string("zstd cannot compress: ") + ZSTD_getErrorName(size));
  compressed.resize(size);
  return compressed;
}

}  // namespace stowplan::formats
