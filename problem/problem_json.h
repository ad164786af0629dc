// What a run was of, as its run.json keeps it, so that `stowplan export RUN` needs no other words.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "problem/loaded_problem.h"

namespace stowplan::problem {

nlohmann::ordered_json ProblemJson(const ProblemSource& source);

// `place`: what messages call the object. Throws InputError where it is none of ours.
ProblemSource ReadProblemJson(const nlohmann::json& json, const std::string& place);

}  // namespace stowplan::problem
