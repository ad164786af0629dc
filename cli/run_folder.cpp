#include "cli/run_folder.h"

#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace stowplan::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;  // to put a key into an ordered one takes a walk along those before

bool Holds(const RunFolder& folder, const std::string& file) {
  return !file.empty() && fs::exists(fs::path(folder.path) / file);
}

std::optional<Json> ReadRecord(const RunFolder& folder) {
  if (!Holds(folder, folder.record)) return std::nullopt;
  const std::string text = formats::ReadFile((fs::path(folder.path) / folder.record).string());
  try {
    formats::ParseJson(text, folder.record);  // refuses what is nested so deep that printing it would not end
  } catch (const InputError&) {
    return std::nullopt;
  }
  Json run = Json::parse(text);
  return run.is_object() ? std::optional(std::move(run)) : std::nullopt;
}

std::string Text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The first key in which the two are not the same.
std::optional<std::string> Difference(const Json& there, const Json& here,
                                      const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (there.value(key, Json()) != here.at(key)) return key;
  }
  return std::nullopt;
}

}  // namespace

void RefuseUnknownFile(const std::string& folder, const std::string& file, const std::string& record) {
  throw InputError(
      fmt::format("{}: holds {} and no {} that says what it is of; give another --out, or --force to replace "
                  "what is there.",
                  folder, file, record));
}

void ClaimFolder(const RunFolder& folder) {
  formats::MakeFolder(folder.path);
  if (folder.force) return;
  const std::optional<Json> there = ReadRecord(folder);
  if (!there) {
    for (const std::string& file : folder.files) {
      if (Holds(folder, file)) RefuseUnknownFile(folder.path, file, folder.record);
    }
    return;
  }
  const Json here = folder.run;
  std::optional<std::string> key = Difference(*there, here, folder.same);
  if (!key && !folder.resume) key = Difference(*there, here, folder.alike);
  if (key) {
    throw InputError(
        fmt::format("{}: holds results of something else, `{}` ({} is {} there, {} here); give another "
                    "--out, or --force to replace them.",
                    folder.path, Text(there->value("command", Json("another call"))), *key,
                    Text(there->value(*key, Json())), Text(here.at(*key))));
  }
  if (!folder.resume && there->value("interrupted", Json()) == true && Holds(folder, folder.files.front())) {
    throw InputError(fmt::format(
        "{}: holds the same work, begun and not finished; --resume goes on with it, --force begins "
        "anew.",
        folder.path));
  }
}

}  // namespace stowplan::cli
