// The files of cost_models/data as the build compiled them in (data/embed.cmake).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stowplan::cost_models {

std::string_view EmbeddedDevices();
std::string_view EmbeddedLinks();
std::string_view EmbeddedEfficiency();
std::string_view EmbeddedHost();
std::string_view EmbeddedCollectives();

struct EmbeddedFile {
  std::string name;        // where it stands in the repository, without the packing
  std::string_view bytes;  // zstd
};
std::vector<EmbeddedFile> EmbeddedPrices();  // each a stowplan.cost_model

}  // namespace stowplan::cost_models
