// Logarithm and exponential from additions, multiplications and divisions alone. The C library picks a
// variant for the processor it runs on, and variants differ in the last bit; prices must be the same bits on
// every machine.
#pragma once

namespace stowplan::cost_models {

double PortableLog(double x);  // natural; x > 0 and normal. Relative error below 1e-15 away from 1
double PortableExp(double x);  // |x| <= 700. Relative error below 1e-14

}  // namespace stowplan::cost_models
