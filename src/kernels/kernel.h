// Reference kernels: one plain function per operator overload.
//
// A kernel takes its arguments in schema order with defaults filled in, and
// gives one result per return of the schema. Kernels follow PyTorch's eager
// CPU semantics: type promotion, broadcasting, result strides, errors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/schema.h"
#include "tensor/value.h"

namespace tenon {

class Generator;  // PyTorch's CPU random stream; see kernels/random.h

// One call of an operator.
class KernelCall {
 public:
  // `args` went through CompleteArgs. A number in a Tensor slot becomes a 0-d
  // tensor that is_number() tells from others, since it promotes differently.
  KernelCall(const OpSchema& schema, std::vector<RuntimeValue> args);

  const OpSchema& schema() const { return schema_; }

  // --- arguments, by schema position ---
  size_t num_args() const { return args_.size(); }
  const RuntimeValue& arg(size_t i) const { return args_[i]; }
  RuntimeValue& arg(size_t i) { return args_[i]; }
  bool is_none(size_t i) const { return args_[i].is_none(); }
  const Tensor& tensor(size_t i) const { return args_[i].tensor(); }
  bool is_number(size_t i) const { return is_number_[i]; }
  // The following accept what PyTorch accepts in the slot (a bool where an
  // int is meant, an int where a float is meant, a 0-d tensor as a scalar).
  int64_t Int(size_t i) const;
  double Float(size_t i) const;
  bool Bool(size_t i) const;
  RuntimeValue Scalar(size_t i) const;        // is_scalar()
  std::vector<int64_t> Ints(size_t i) const;  // a single int is a list of one
  std::vector<double> Floats(size_t i) const;
  std::vector<Tensor> Tensors(size_t i) const;
  // None entries become undefined tensors (Tensor?[]).
  std::vector<Tensor> OptionalTensors(size_t i) const;
  // Undefined when None.
  Tensor OptionalTensor(size_t i) const {
    return is_none(i) ? Tensor() : tensor(i);
  }

  // --- results, in the order of the schema's returns ---
  void Return(RuntimeValue value) { results_.push_back(std::move(value)); }
  std::vector<RuntimeValue>& results() { return results_; }

  // Records what is wrong and returns false: `return call.Fail("...");`.
  bool Fail(std::string message) {
    error_ = std::move(message);
    return false;
  }
  const std::string& error() const { return error_; }

  // Null when the caller gave none; then a kernel that draws uses the default
  // generator of the thread.
  Generator* generator = nullptr;

 private:
  const OpSchema& schema_;
  std::vector<RuntimeValue> args_;
  std::vector<bool> is_number_;
  std::vector<RuntimeValue> results_;
  std::string error_;
};

// False after call.Fail.
using Kernel = bool (*)(KernelCall& call);

struct KernelEntry {
  std::string_view name;  // "aten.add.Tensor"
  Kernel kernel;
};

// Null when no reference kernel exists. Thread-safe.
Kernel FindKernel(std::string_view name);
std::vector<std::string_view> AllKernelNames();

// The schema of a callable: FindSchema's, or for a Python function that
// programs call on scalars ("_operator.add", "math.floor") one of positional
// arguments named a, b, ... Null when there is none.
const OpSchema* FindCallSchema(std::string_view name);

// Fills in defaults: `given[i]` is the i-th schema argument or absent
// (`present[i]` false). False with `error` when a required one is missing or
// an argument isn't of the kind that the schema asks for, so that kernels can
// rely on kinds.
bool CompleteArgs(const OpSchema& schema, std::vector<RuntimeValue>* given,
                  const std::vector<bool>& present, std::string* error);

}  // namespace tenon
