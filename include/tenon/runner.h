// Calls a program: inputs from the caller's memory, state kept between calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/error.h"
#include "tenon/model.h"

namespace tenon {

// A strided tensor over memory that somebody else owns. Strides are in
// elements; none means row-major.
struct TensorView {
  std::string dtype;  // PyTorch's name: "float32", "int64", "bool", ...
  std::vector<int64_t> sizes, strides;
  void* data = nullptr;
};

// A result. `owner` keeps its bytes alive.
struct OwnedTensor {
  TensorView view;
  std::shared_ptr<const void> owner;
};

// Not thread-safe; one per thread.
class Runner {
 public:
  static Result<Runner> Load(const Model& model);
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  // Inputs by leaf path or by number ("0"), in any order, each once. Nothing is
  // copied; inputs that the program writes are written in place. A missing,
  // unknown or unfitting input is an error, and leaves state and inputs as they
  // were. The results are the outputs that are tensors, in order.
  Result<std::vector<OwnedTensor>> Run(
      const std::vector<std::pair<std::string, TensorView>>& inputs);
  // The same, with results in the caller's memory: outputs by number, counting
  // all that Model::outputs lists. A result is computed and then copied once. A
  // buffer of another dtype or other sizes, and two that share memory, are
  // errors, and leave state and inputs as they were.
  Result<std::vector<OwnedTensor>> Run(
      const std::vector<std::pair<std::string, TensorView>>& inputs,
      const std::vector<std::pair<size_t, TensorView>>& outputs);

  // Puts the state back to what the file holds.
  void ResetState();

 private:
  struct Impl;
  explicit Runner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
