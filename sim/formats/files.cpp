// Files as strings, and writing that leaves the old file or the new one, never
// a part.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/output_error.h"
#include "sim/formats/document/compression.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"
#include "sim/formats/frames.h"
#include "sim/formats/outputs.h"

namespace stowplan::formats {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunk = std::size_t{1} << 18;

// Of errno. glibc's strerror() is thread-safe.
std::string Reason() {
  return std::strerror(errno);
}

// A file descriptor that closes itself, but for standard input and output.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool Close() {
    const int fd = std::exchange(fd_, -1);
    return fd <= STDERR_FILENO || ::close(fd) == 0;
  }

 private:
  int fd_;
};

std::string ReadAll(int fd, const std::string& path, std::string content = {}) {
  for (;;) {
    const std::size_t size = content.size();
    if (size > kMaxFileBytes) throw InputError(SourceOf(path) + ": is larger than 2 GiB, which is not read");
    content.resize(std::max(size + kChunk, content.capacity()));
    const ssize_t got = ::read(fd, content.data() + size, content.size() - size);
    content.resize(size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return content;
    if (got < 0 && errno != EINTR) throw InputError(SourceOf(path) + ": cannot be read: " + Reason());
  }
}

// Room for a file whose size is known, so that a large one is not moved while it is read.
std::string RoomFor(int fd) {
  std::string content;
  struct stat told {};
  if (::fstat(fd, &told) != 0 || !S_ISREG(told.st_mode)) return content;
  content.reserve(std::min(static_cast<std::size_t>(told.st_size), kMaxFileBytes) + kChunk);
  return content;
}

int OpenToRead(const std::string& path) {
  const int fd = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw InputError(path + ": cannot be opened: " + Reason());
  return fd;
}

void WriteAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno != EINTR) {
      const int reason = errno;
      const std::string what = path + ": cannot be written: " + std::strerror(reason);
      if (fd == STDOUT_FILENO) throw OutputError(what, reason);
      throw RunError(what);
    }
    content.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
  }
}

// Whether the path is to blame, not the machine.
bool IsWrongPath(int error) {
  return error == ENOENT || error == ENOTDIR || error == EISDIR || error == EACCES || error == EPERM ||
         error == EROFS || error == ENAMETOOLONG || error == ELOOP;
}

[[noreturn]] void FailToOpen(const std::string& path) {
  const bool wrong_path = IsWrongPath(errno);
  const std::string what = path + ": cannot be written: " + Reason();
  if (wrong_path) throw InputError(what);
  throw RunError(what);
}

// A temporary file beside `target`, removed unless it is renamed.
class Temporary {
 public:
  explicit Temporary(const fs::path& target) : file_(Open(target, name_)) {
    if (file_.get() < 0) FailToOpen(target.string());
  }
  ~Temporary() {
    if (!kept_) ::unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void Fill(std::string_view content, const std::string& path) {
    WriteAll(file_.get(), content, path);
    struct stat old {};
    const bool replaces = ::stat(path.c_str(), &old) == 0;
    const bool mode_kept = !replaces || ::fchmod(file_.get(), old.st_mode & 0777) == 0;
    if (!mode_kept || ::fsync(file_.get()) != 0 || !file_.Close()) {
      throw RunError(path + ": cannot be written: " + Reason());
    }
  }
  void RenameTo(const std::string& path) {
    if (::rename(name_.c_str(), path.c_str()) != 0)
      throw RunError(path + ": cannot be replaced: " + Reason());
    kept_ = true;
  }

 private:
  // A name that no thread of any process has; one that a killed process left behind is stepped over.
  static int Open(const fs::path& target, std::string& name) {
    static std::atomic<std::uint64_t> counter = 0;
    const std::string base =
        "." + target.filename().string().substr(0, 200) + "." + std::to_string(::getpid()) + "-";
    int fd = -1;
    do {
      name = (target.parent_path() / (base + std::to_string(counter++) + ".tmp")).string();
      fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    return fd;
  }

  std::string name_;  // before file_, whose opening fills it
  Descriptor file_;
  bool kept_ = false;
};

// So that the new name survives a power cut, too. Some file systems cannot; the content is safe in any case.
void SyncFolder(const fs::path& target) {
  const auto folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() >= 0) ::fsync(descriptor.get());
}

// Devices and pipes, which cannot be replaced by a file.
bool IsSpecial(const std::string& path) {
  std::error_code ignored;
  const auto status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

// Behind a symbolic link its target is replaced, not the link.
fs::path TargetOf(const std::string& path) {
  std::error_code ignored;
  const fs::path target =
      fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : fs::path(path);
  if (fs::is_directory(target, ignored))
    throw InputError(path + ": is a folder, but a file is to be written");
  return target;
}

}  // namespace

std::string ReadFile(const std::string& path) {
  const Descriptor descriptor(OpenToRead(path));
  return Decompressed(ReadAll(descriptor.get(), path, RoomFor(descriptor.get())), SourceOf(path));
}

FrameReader::FrameReader(const std::string& path)
    : path_(path), source_(SourceOf(path)), fd_(OpenToRead(path)) {}

FrameReader::~FrameReader() {
  const Descriptor closes(fd_);
}

bool FrameReader::Fill() {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  if (buffer_.size() > kMaxFileBytes) throw InputError(source_ + ": is larger than 2 GiB, which is not read");
  const std::size_t size = buffer_.size();
  buffer_.resize(size + kPiece);
  ssize_t got = 0;
  do {
    got = ::read(fd_, buffer_.data() + size, kPiece);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) throw InputError(source_ + ": cannot be read: " + Reason());
  return got > 0;
}

// To where the next frame may begin; false where there is none.
bool FrameReader::PassOver() {
  std::size_t from = 1;
  for (;;) {
    const std::size_t next = buffer_.find(kZstdMagic, from);
    if (next != std::string::npos) {
      buffer_.erase(0, next);
      return true;
    }
    from = std::max<std::size_t>(1, buffer_.size() - std::min(buffer_.size(), kZstdMagic.size() - 1));
    if (!Fill()) return false;
  }
}

std::optional<std::string> FrameReader::Next(bool* cut) {
  if (!std::exchange(begun_, true)) {
    while (buffer_.size() < kZstdMagic.size() && Fill()) continue;
    if (!buffer_.starts_with(kZstdMagic))
      return Decompressed(ReadAll(fd_, path_, std::exchange(buffer_, {})), source_);
  }
  for (;;) {
    if (buffer_.empty() && !Fill()) return std::nullopt;
    const std::optional<std::size_t> bytes = ZstdFrameBytes(buffer_);
    if (bytes == 0 && Fill()) continue;
    try {
      const std::string_view frame = std::string_view(buffer_).substr(0, bytes.value_or(0));
      const bool skippable = !frame.empty() && !frame.starts_with(kZstdMagic);
      std::string content =
          skippable ? ""
                    : DecompressedFrame(frame.empty() ? std::string_view(buffer_) : frame, so_far_, source_);
      buffer_.erase(0, frame.empty() ? buffer_.size() : frame.size());
      if (!skippable) return content;
    } catch (const InputError&) {
      if (cut == nullptr) throw;
      *cut = true;
      if (!PassOver()) return std::nullopt;
    }
  }
}

void WriteFile(const std::string& path, std::string_view content) {
  if (path == "-") return WriteAll(STDOUT_FILENO, content, "standard output");
  std::string compressed;
  if (path.ends_with(".zst")) {
    compressed = Compress(content);
    content = compressed;
  }
  if (IsSpecial(path)) {
    const Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (descriptor.get() < 0) FailToOpen(path);
    return WriteAll(descriptor.get(), content, path);
  }
  const fs::path target = TargetOf(path);
  Temporary temporary(target);
  temporary.Fill(content, target.string());
  temporary.RenameTo(target.string());
  SyncFolder(target);
}

void MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && fs::is_directory(path, error)) return;
  throw InputError(path + ": is to be a folder, but cannot be made one: " +
                   (error ? error.message() : std::strerror(ENOTDIR)));
}

void PrepareOutput(const std::string& path) {
  if (path == "-" || IsSpecial(path)) return;
  const fs::path target = TargetOf(path);
  if (target.has_parent_path()) MakeFolder(target.parent_path().string());
  const Temporary trial(target);
}

void RefuseExisting(const std::string& path) {
  std::error_code ignored;
  if (path != "-" && !IsSpecial(path) && fs::exists(path, ignored))
    throw InputError(path + " is there already and is not written over; give another name or remove it.");
}

}  // namespace stowplan::formats
