#include "agents/rl/learning_log.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

constexpr const char* kHeader =
    "update,samples,episodes,mean_cost,loss,entropy,entropy_weight,learning_rate,gradient_norm,drift,best_"
    "us\n";

}  // namespace

LearningLog::LearningLog(const std::string& path, std::int64_t resumed_at) : path_(path) {
  if (path_.empty()) return;
  std::error_code error;
  const auto present = std::filesystem::file_size(path_, error);
  if (resumed_at > 0 && !error && present >= static_cast<std::uintmax_t>(resumed_at)) {
    std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(resumed_at), error);
    if (error) throw RunError(path_ + ": cannot be cut back to the checkpoint: " + error.message());
    size_ = resumed_at;
    return;
  }
  std::filesystem::remove(path_, error);
  Write(kHeader);
}

void LearningLog::Append(const UpdateRecord& r) {
  Write(fmt::format("{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.2g},{:.6f}\n", r.update, r.samples,
                    r.episodes, r.mean_cost, r.loss, r.entropy, r.entropy_weight, r.learning_rate,
                    r.gradient_norm, r.drift, r.best_us));
}

void LearningLog::Write(const std::string& text) {
  if (path_.empty()) return;
  std::ofstream out(path_, std::ios::app | std::ios::binary);
  out << text << std::flush;
  if (!out) throw RunError(path_ + ": the learning log cannot be written");
  size_ += static_cast<std::int64_t>(text.size());
}

}  // namespace stowplan::agents::rl
