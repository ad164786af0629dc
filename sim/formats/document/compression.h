// Compressed files as strings: zstd in and out, gzip in. Which of them is told by the content, not by the name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stowplan::formats {

// No file of more bytes than this is read, nor one that decompresses to more.
inline constexpr std::size_t kMaxFileBytes = std::size_t{2} << 30;

// The content itself where it is neither zstd nor gzip. source: what messages call it. Throws InputError where it is
// damaged, cut, or far larger than what compresses so well in earnest.
std::string Decompressed(std::string content, const std::string& source);

// Of a file that is read frame by frame: what was read so far, so that the limits hold for all of it.
struct Decompression {
  std::size_t compressed = 0, bytes = 0, values = 0;
};

inline constexpr std::string_view kZstdMagic("\x28\xB5\x2F\xFD", 4);

// The bytes of the frame that the content begins with; 0 where it goes on behind it, nothing where it is no zstd.
std::optional<std::size_t> ZstdFrameBytes(std::string_view content);
// One whole frame. Throws InputError as Decompressed() does.
std::string DecompressedFrame(std::string_view frame, Decompression& so_far, const std::string& source);

inline constexpr int kThorough = 9, kQuick = 3;  // levels of zstd
// As one frame of zstd, with a checksum.
std::string Compress(std::string_view content, int level = kThorough);

}  // namespace stowplan::formats
