// Compressed files as strings: zstd in and out, gzip in. Which of them is told by the content, not by the name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stowplan::formats {

// No file of more bytes than this is read, nor one that decompresses to more.
inline constexpr std::size_t kMaxFileBytes = std::size_t{2} << 30;

// The content itself where it is neither zstd nor gzip. source: what messages call it. Throws InputError where it is
// damaged, cut, or far larger than what compresses so well in earnest.
std::string Decompressed(std::string content, const std::string& source);

// As zstd, with a checksum.
std::string Compress(std::string_view content);

}  // namespace stowplan::formats
