// Calling an operator's kernel in a test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "kernels/elements.h"
#include "kernels/kernel.h"

namespace tenon {

// The results of one call, or why it failed.
struct OperatorOutcome {
  std::vector<RuntimeValue> results;
  std::vector<RuntimeValue> args;  // after the call
  std::string error;

  const Tensor& tensor(size_t i = 0) const { return results[i].tensor(); }
};

// `given` are the leading arguments; the rest take their defaults.
inline OperatorOutcome CallOperator(std::string_view name,
                                    std::vector<RuntimeValue> given) {
  OperatorOutcome outcome;
  const OpSchema* schema = FindSchema(name);
  const Kernel kernel = FindKernel(name);
  if (schema == nullptr || kernel == nullptr) {
    outcome.error = "no kernel for " + std::string(name);
    return outcome;
  }
  const std::vector<bool> present(given.size(), true);
  if (!CompleteArgs(*schema, &given, present, &outcome.error)) return outcome;
  KernelCall call(*schema, std::move(given));
  if (!kernel(call)) {
    outcome.error = call.error();
    EXPECT_FALSE(outcome.error.empty()) << "a failure says why";
  }
  outcome.results = call.results();
  for (size_t i = 0; i < call.num_args(); ++i) {
    outcome.args.push_back(call.arg(i));
  }
  return outcome;
}

inline Tensor MakeTensor(const Sizes& sizes, const std::vector<double>& values,
                         DType dtype = DType::kFloat32) {
  Tensor tensor = Tensor::Empty(dtype, sizes);
  WriteAll(&tensor, values);
  return tensor;
}

// 0, 1, 2, ...
inline Tensor Count(const Sizes& sizes, DType dtype = DType::kFloat32) {
  std::vector<double> values(static_cast<size_t>(NumElements(sizes)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i);
  }
  return MakeTensor(sizes, values, dtype);
}

inline RuntimeValue Ints(const std::vector<int64_t>& values) {
  return RuntimeValue::List(values.begin(), values.end());
}

inline void ExpectValues(const Tensor& tensor,
                         const std::vector<double>& expected,
                         double tolerance = 0) {
  const std::vector<double> values = ReadAll<double>(tensor);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance) << "element " << i;
  }
}

}  // namespace tenon
