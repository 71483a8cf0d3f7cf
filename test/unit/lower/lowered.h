// Programs before and after lowering, for tests of it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../../parsed_program.h"
#include "formats/pte/kernels.h"
#include "lower/lower.h"
#include "runtime/session.h"

namespace tenon {

inline bool HasStockKernel(std::string_view op) {
  return FindPteKernelOf(op) != nullptr || op.starts_with("_operator.") ||
         op == "higher_order.cond";
}

// Small numbers, some below zero, none alike; integers count from 0.
inline RuntimeValue DrawInput(const Type& type, int salt) {
  Sizes sizes;
  for (const SymInt& s : type.sizes) sizes.push_back(s.value);
  Tensor t = Tensor::Zeros(type.dtype, sizes);
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (type.dtype == DType::kFloat32) {
      t.mutable_data<float>()[i] =
          0.125f * static_cast<float>((i * 7 + salt * 3) % 23 - 11);
    } else if (type.dtype == DType::kInt64) {
      t.mutable_data<int64_t>()[i] = i % 3;
    } else if (type.dtype == DType::kBool) {
      t.mutable_data<bool>()[i] = i % 2 == 0;
    }
  }
  return t;
}

// Results of two calls in a row, state carried on.
inline std::vector<RuntimeValue> RunTwice(const Program& program) {
  Diagnostics diags;
  auto session = Session::Load(std::make_shared<const Program>(program.Clone()),
                               SessionOptions(), diags);
  std::vector<RuntimeValue> all;
  if (!session) {
    ADD_FAILURE() << diags.ToString();
    return all;
  }
  for (int call = 0; call < 2; ++call) {
    std::vector<RuntimeValue> inputs;
    for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
      if (program.signature.inputs[i].kind != InputKind::kUserInput) continue;
      const Type& type = program.type(program.root().inputs[i]);
      inputs.push_back(DrawInput(type, static_cast<int>(i) + call));
    }
    const auto got = (*session)->RunFlat(std::move(inputs), diags);
    if (!got) {
      ADD_FAILURE() << diags.ToString() << Print(program);
      return all;
    }
    all.insert(all.end(), got->begin(), got->end());
  }
  return all;
}

inline void ExpectSame(const std::vector<RuntimeValue>& got,
                       const std::vector<RuntimeValue>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].is_tensor(), want[i].is_tensor());
    if (!got[i].is_tensor()) continue;
    const Tensor a = got[i].tensor().Contiguous();
    const Tensor b = want[i].tensor().Contiguous();
    ASSERT_EQ(a.ToString(), b.ToString()) << "result " << i;
    for (int64_t k = 0; k < a.numel(); ++k) {
      if (a.dtype() == DType::kFloat32) {
        EXPECT_NEAR(a.data<float>()[k], b.data<float>()[k], 1e-5)
            << "result " << i << ", element " << k;
      } else {
        EXPECT_EQ(std::memcmp(a.raw() + k * SizeBytes(a.dtype()),
                              b.raw() + k * SizeBytes(b.dtype()),
                              SizeBytes(a.dtype())),
                  0)
            << "result " << i << ", element " << k;
      }
    }
  }
}

// The lowered program: holds all rules, has kernels for everything, and gives
// what the source gives.
inline Program Lowered(std::string_view text) {
  const Program source = Parse(text);
  Program program = source.Clone();
  Diagnostics diags;
  EXPECT_TRUE(LowerProgram(&program, diags)) << diags.ToString();
  for (const MissingKernel& m : FindMissingKernels(program, HasStockKernel)) {
    ADD_FAILURE() << "no kernel for " << m.op;
  }
  ExpectSame(RunTwice(program), RunTwice(source));
  return program;
}

inline void ExpectHas(const Program& program, std::string_view part) {
  const std::string text = Print(program);
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin " << text;
}
inline void ExpectLacks(const Program& program, std::string_view part) {
  const std::string text = Print(program);
  EXPECT_EQ(text.find(part), std::string::npos) << part << "\nin " << text;
}

// Lowered as for no delegate, it has kernels and computes the same.
inline void ExpectLowers(std::string_view text) {
  const Program source = Parse(text);
  Program program = source.Clone();
  Diagnostics diags;
  ASSERT_TRUE(LowerProgram(&program, diags)) << diags.ToString();
  const auto changed = LowerLeftovers(&program, diags);
  ASSERT_TRUE(changed) << diags.ToString();
  for (const MissingKernel& m : FindMissingKernels(program, HasStockKernel)) {
    ADD_FAILURE() << "no kernel for " << m.op;
  }
  ExpectSame(RunTwice(program), RunTwice(source));
}

}  // namespace tenon
