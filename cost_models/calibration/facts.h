// A place in the free JSON of a recording's part: what is asked for is there, or an InputError says where it is
// not ("run.trace: gemm.rows[3].hot has no 'median_us'").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::cost_models {

class Facts {
 public:
  // The value must outlive this. `place`: what messages call it.
  Facts(const sim::Attribute& value, std::string place) : value_(&value), place_(std::move(place)) {}

  const std::string& place() const { return place_; }
  const sim::Attribute& value() const { return *value_; }
  std::optional<Facts> Find(const std::string& key) const;  // of an object; empty if absent or null
  Facts Require(const std::string& key) const;
  std::vector<Facts> Items() const;                             // of a list
  std::vector<std::pair<std::string, Facts>> Members() const;   // of an object
  double Number(double low, double high) const;                 // finite, in [low, high]
  std::int64_t Int(std::int64_t low, std::int64_t high) const;  // a whole number
  const std::string& Text() const;
  bool Is(bool wanted) const;  // a boolean of that value
  [[noreturn]] void Fail(const std::string& what) const;

 private:
  const sim::Attribute* value_;
  std::string place_;
};

// One number with its repeats, as every recorder writes it.
struct Repeats {
  std::int64_t count = 0;
  double median_us = 0;
  double mad_us = 0;  // median absolute deviation; 0 where there are fewer than three repeats
  double low_us = 0;  // 5 % and 95 % quantile
  double high_us = 0;

  double spread() const { return median_us > 0 ? mad_us / median_us : 0; }
};
Repeats ReadRepeats(const Facts& facts);

}  // namespace stowplan::cost_models
