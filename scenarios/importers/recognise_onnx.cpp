// Telling an ONNX model by its bytes, in builds without the ONNX library too: it is refused as what it is.
#include "scenarios/importers/onnx.h"
#include "scenarios/onnx_files/wire_format.h"

namespace stowplan::scenarios {

bool RecognisesOnnx(const std::string& content) {
  // ir_version comes first where fields are written in their order, and every writer does.
  std::string_view rest = content;
  const auto version = TakeField(rest);
  if (!version || version->number != 1 || version->wire_type != 0 || version->body.size() != 1) return false;
  while (!rest.empty()) {
    std::uint32_t cut = 0;
    const auto field = TakeField(rest, &cut);
    if (!field) return cut == 7;  // a file that was cut off in its graph is to be told so
    const bool in_model =
        field->number <= 8 || field->number == 14 || field->number == 20 || field->number == 25;
    if (!in_model) return false;
    if (field->number == 7) return field->wire_type == 2;
  }
  return false;
}

}  // namespace stowplan::scenarios
