// Backend cpu beside the reference kernels, for regions that tests build.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/executable.h"
#include "kernels/elements.h"
#include "region_builder.h"

namespace tenon {

// Of finite numbers.
inline double ToleranceOf(DType dtype, double value, double largest) {
  switch (dtype) {
    case DType::kBFloat16:
      return std::ldexp(std::abs(value), -7) + 1e-5 * largest;
    case DType::kFloat16:
      // A unit in the last place of subnormals besides.
      return std::ldexp(std::abs(value), -10) + 1e-5 * largest + 0x1p-24;
    case DType::kFloat32:
      return 1e-5 * largest + 1e-4 * std::abs(value);
    default:
      return 1e-9;
  }
}

inline void ExpectSameTensor(const Tensor& actual, const Tensor& expected,
                             const std::string& what) {
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  ASSERT_TRUE(actual.FitsStorage()) << what;
  if (!IsFloating(expected.dtype())) {
    ASSERT_EQ(ReadAll<int64_t>(actual), ReadAll<int64_t>(expected)) << what;
    return;
  }
  const auto a = ReadAll<double>(actual), e = ReadAll<double>(expected);
  // Sums that cancel keep the rounding of their largest terms.
  double largest = 1;
  for (const double y : e) {
    if (std::isfinite(y)) largest = std::max(largest, std::abs(y));
  }
  for (size_t i = 0; i < e.size(); ++i) {
    if (std::isnan(e[i])) {
      ASSERT_TRUE(std::isnan(a[i])) << what << " at " << i << ": " << a[i];
    } else if (std::isinf(e[i])) {
      ASSERT_EQ(a[i], e[i]) << what << " at " << i;
    } else {
      ASSERT_NEAR(a[i], e[i], ToleranceOf(expected.dtype(), e[i], largest))
          << what << " at " << i;
    }
  }
}

// Compiles, loads and runs the region on the samples; compares the outputs
// with the samples of the values that they are. Twice, so that what a first
// run leaves behind is seen.
inline void ExpectAsReference(RegionBuilder& b,
                              const std::vector<ValueId>& outputs,
                              const std::string& what) {
  std::vector<Tensor> expected;
  for (const ValueId v : outputs) {
    ASSERT_TRUE(v.valid()) << what;
    expected.push_back(b.sample(v).tensor().Clone());
  }
  std::vector<Sizes> strides;
  for (const ValueId v : outputs) {
    strides.push_back(b.sample(v).tensor().strides());
  }
  const std::vector<RuntimeValue> inputs = b.inputs;
  const Program region = b.Finish(outputs);
  const Backend* cpu = FindBackend("cpu");
  Diagnostics diags;
  const auto compiled = cpu->Compile(region, {}, diags);
  ASSERT_TRUE(compiled) << what << "\n" << diags.ToString();
  const auto loaded = cpu->Load(compiled->payload, nullptr, {}, diags);
  ASSERT_TRUE(loaded) << what << "\n" << diags.ToString();
  for (int run = 0; run < 2; ++run) {
    const auto results = (*loaded)->Run(inputs, diags);
    ASSERT_TRUE(results) << what << "\n" << diags.ToString();
    ASSERT_EQ(results->size(), outputs.size()) << what;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& actual = (*results)[i].tensor();
      ExpectSameTensor(actual, expected[i], what);
      for (int64_t d = 0; d < actual.dim() && actual.numel() > 0; ++d) {
        if (actual.size(d) > 1) {
          EXPECT_EQ(actual.stride(d), strides[i][static_cast<size_t>(d)])
              << what << " output " << i << " dim " << d;
        }
      }
    }
  }
}

// The only output of a region, computed by the backend; its plan's steps.
inline Tensor RunOnCpu(RegionBuilder& b, ValueId output,
                       std::string* steps = nullptr) {
  const auto inputs = b.inputs;
  const Program region = b.Finish({output});
  Diagnostics diags;
  const Backend* cpu = FindBackend("cpu");
  const auto compiled = cpu->Compile(region, {}, diags);
  EXPECT_TRUE(compiled) << diags.ToString();
  if (!compiled) return Tensor();
  const auto loaded = cpu->Load(compiled->payload, nullptr, {}, diags);
  EXPECT_TRUE(loaded) << diags.ToString();
  if (!loaded) return Tensor();
  const auto results = (*loaded)->Run(inputs, diags);
  EXPECT_TRUE(results) << diags.ToString();
  if (!results) return Tensor();
  if (steps != nullptr) {
    *steps = static_cast<cpu::CpuExecutable&>(**loaded).last_plan()->ToString();
  }
  return (*results)[0].tensor();
}

inline Tensor RandomBytes(RandomTensors& random, DType dtype, Sizes sizes) {
  return Cast(random.Ints(std::move(sizes), -300, 300), dtype);
}

// One operator with fixed arguments.
using Build = std::function<std::vector<ValueId>(RegionBuilder&)>;

inline void CheckOperator(const std::string& name, const Build& build) {
  SCOPED_TRACE(name);
  RegionBuilder b;
  const std::vector<ValueId> outputs = build(b);
  ASSERT_FALSE(outputs.empty());
  ExpectAsReference(b, outputs, name);
}

}  // namespace tenon
