// A log axis from a whole decade to the next 1, 2 or 5 above the largest number.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace berth::bench {

class LogAxis {
 public:
  // What is not positive has no place on it.
  void Add(std::optional<double> value);
  bool empty() const { return high_ <= 0; }
  int first() const;                 // exponent it starts at
  double At(double value) const;     // 0 to 1
  std::vector<int> decades() const;  // exponents of the powers of ten that stand on it
  double span() const;               // how many decades it is long

 private:
  double low_ = 1e300;
  double high_ = 0;
};

// 10^exponent in digits: "0.01", "1000".
std::string PowerText(int exponent);

}  // namespace berth::bench
