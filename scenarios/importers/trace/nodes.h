// The nodes of a torch execution trace: what torch.profiler.ExecutionTraceObserver writes, schemas 1.0.1 to 1.1.1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"

namespace stowplan::scenarios::trace {

struct Tensor {
  std::int64_t id = 0;       // of the tensor object; used again after it is freed
  std::int64_t storage = 0;  // likewise; 0 = an undefined tensor
  std::int64_t offset = 0;   // [elements] in its storage
  std::int64_t elements = 0;
  std::int64_t element_bytes = 0;
  std::string device;               // "cuda:0", "cpu"
  std::string type;                 // as C++ calls it: "float", "c10::BFloat16"
  std::vector<std::int64_t> shape;  // of `elements`; empty = a number, or not told

  sim::Bytes bytes() const { return elements * element_bytes; }
  bool operator==(const Tensor&) const = default;
};

struct Argument {
  std::string name;                   // as the op's schema says, likewise what is written; empty = no schema
  std::vector<Tensor> tensors;        // defined ones; none for a number
  std::vector<std::int64_t> numbers;  // of an integer, a truth value or a short list of them
  bool is_list = false;
  bool is_written = false;
};

inline constexpr std::size_t kNoNode = SIZE_MAX;

// A range of the program: an op, or what calls ops.
struct Node {
  std::int64_t id = 0;
  std::size_t parent = kNoNode;  // index; always a smaller one
  std::int64_t record = 0;       // what a Kineto trace of the same run calls it; 0 = none
  std::int64_t thread = 0;       // counted by the recorder
  std::string name;              // "aten::mm", "Optimizer.step#Adam.step"
  bool has_schema = false;       // an op of PyTorch's dispatcher
  bool is_leaf = true;           // calls nothing that was recorded
  std::vector<Argument> inputs;
  std::vector<Tensor> outputs;  // defined ones

  // Null if absent.
  const Argument* Find(std::string_view argument) const;
};

struct ExecutionTrace {
  std::string schema;
  std::vector<Node> nodes;  // by id, which counts up in the order in which they began
};

// Throws InputError with the place.
ExecutionTrace ReadExecutionTrace(const std::string& content, const std::string& source);

}  // namespace stowplan::scenarios::trace
