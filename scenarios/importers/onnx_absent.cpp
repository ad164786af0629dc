// The ONNX importer of a build without the ONNX library (STOWPLAN_WITH_ONNX off).
#include "scenarios/importers/onnx.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {

ImportedGraph ImportOnnx(const std::string&, const std::string& source, const ImportOptions&) {
  throw InputError(
      source +
      ": this stowplan was built without the ONNX library; install libonnx-dev and libprotobuf-dev "
      "and build it again, or convert the model on a machine that has them");
}

}  // namespace stowplan::scenarios
