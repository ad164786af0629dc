// Files that grow while they are written: whole frames of zstd one behind the other, of which only the last can be
// damaged.
#pragma once

#include <optional>
#include <string>

#include "sim/formats/document/compression.h"

namespace stowplan::formats {

// Reads a file frame by frame, so that it may be larger than what ReadFile() takes. A file that is not zstd is one
// frame. "-" means standard input.
class FrameReader {
 public:
  explicit FrameReader(const std::string& path);
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  // The next frame, decompressed; nothing behind the last one. Throws InputError as ReadFile() does where a frame is
  // damaged or cut. Where `cut` is given it is set instead, and what is damaged is passed over.
  std::optional<std::string> Next(bool* cut = nullptr);
  const std::string& source() const { return source_; }  // what messages call the file

 private:
  bool Fill();  // false at the end of the file
  bool PassOver();

  std::string path_, source_;
  int fd_;
  std::string buffer_;
  bool begun_ = false;
  Decompression so_far_;
};

}  // namespace stowplan::formats
