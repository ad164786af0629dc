// The files of cost_models/data as the build compiled them in (data/embed.cmake).
#pragma once

#include <string_view>

namespace berth::cost_models {

std::string_view EmbeddedDevices();
std::string_view EmbeddedLinks();
std::string_view EmbeddedEfficiency();
std::string_view EmbeddedPrices();  // berth.cost_model

}  // namespace berth::cost_models
