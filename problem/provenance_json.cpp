#include "problem/provenance_json.h"

#include <nlohmann/json.hpp>

#include "problem/provenance.h"

namespace stowplan::problem {

void AddProvenance(nlohmann::ordered_json& json) {
  const Provenance now = CurrentProvenance();
  json["command"] = now.command;
  json["revision"] = now.revision;
  json["dirty"] = now.dirty;
  json["machine"] = now.machine;
  json["date"] = now.date;
}

}  // namespace stowplan::problem
