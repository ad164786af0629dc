#include "cost_models/ops/portable_math.h"

#include <cmath>

namespace stowplan::cost_models {
namespace {

constexpr double kLn2 = 0.693147180559945309417;
constexpr double kSqrtHalf = 0.707106781186547524401;

}  // namespace

double PortableLog(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // [0.5, 1), exact
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 artanh z with z = (m - 1) / (m + 1), |z| <= 0.1716: z^23 / 23 is below 1e-18.
  const double z = (mantissa - 1) / (mantissa + 1);
  const double square = z * z;
  double series = 0;
  for (int k = 21; k >= 1; k -= 2) series = series * square + 1.0 / k;
  return exponent * kLn2 + 2 * z * series;
}

double PortableExp(double x) {
  const double halves = std::floor(x / kLn2 + 0.5);
  const double rest = x - halves * kLn2;  // |rest| <= 0.347: rest^16 / 16! is below 1e-20
  double series = 1;
  for (int k = 15; k >= 1; --k) series = 1 + series * rest / k;
  return std::ldexp(series, static_cast<int>(halves));
}

}  // namespace stowplan::cost_models
