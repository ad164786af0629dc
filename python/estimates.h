#pragma once

#include <pybind11/pybind11.h>

namespace stowplan::python {

void BindEstimates(pybind11::module_& module);

}  // namespace stowplan::python
