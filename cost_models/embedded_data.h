// The files of cost_models/data as the build compiled them in (data/embed.cmake).
#pragma once

#include <string_view>

namespace stowplan::cost_models {

std::string_view EmbeddedDevices();
std::string_view EmbeddedLinks();
std::string_view EmbeddedEfficiency();
std::string_view EmbeddedPrices();  // stowplan.cost_model

}  // namespace stowplan::cost_models
