// A small program with one of everything that a rule speaks of, by hand.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/pte/pte_program.h"

namespace tenon {

// Bytes with their owner.
inline FlatBlob BlobOf(std::string text, uint64_t alignment = 1) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  return {AsBytes(*owner), owner, alignment};
}

inline PteTensor PlannedTensor(std::vector<int32_t> sizes, uint64_t offset,
                               PteScalarType type = PteScalarType::kFloat) {
  PteTensor t;
  t.type = type;
  for (size_t i = 0; i < sizes.size(); ++i) {
    t.dim_order.push_back(static_cast<uint8_t>(i));
  }
  t.sizes = std::move(sizes);
  t.allocation = PteAllocation{1, offset};
  return t;
}

// forward(x): y = x + w; z = cat([y, y]); p = permute(z); delegate: p -> q;
// if c: r = q else: r = p; return r
struct SampleProgram {
  enum Value : int32_t {
    kX,
    kWeight,
    kAlpha,
    kY,
    kList,
    kDim,
    kZ,
    kOne,
    kZero,
    kDims,
    kP,
    kQ,
    kCondition,
    kR,
    kCounter,
    kFalse,
    kEnd,
  };
  // Instructions.
  static constexpr size_t kAdd = 0, kCat = 1, kPermute = 2, kDelegate = 3,
                          kJump = 4, kMove = 5;

  SampleProgram() {
    PteTensor weight = PlannedTensor({2, 3}, 0);
    weight.allocation.reset();
    weight.data_index = 1;
    PteTensor counter = PlannedTensor({}, 192);
    counter.data_index = 1;
    plan().name = "forward";
    Add(PlannedTensor({2, 3}, 0));    // kX
    Add(weight);                      // kWeight
    Add(PteInt{1});                   // kAlpha
    Add(PlannedTensor({2, 3}, 32));   // kY
    Add(PteTensorList{{kY, kY}});     // kList
    Add(PteInt{0});                   // kDim
    Add(PlannedTensor({4, 3}, 64));   // kZ
    Add(PteInt{1});                   // kOne
    Add(PteInt{0});                   // kZero
    Add(PteIntList{{kOne, kZero}});   // kDims
    Add(PlannedTensor({3, 4}, 112));  // kP
    Add(PlannedTensor({3, 4}, 0));    // kQ
    Add(PteBool{true});               // kCondition
    Add(PlannedTensor({3, 4}, 208));  // kR
    Add(counter);
    Add(PteBool{false});
    plan().inputs = {kX};
    plan().outputs = {kR};
    plan().operators = {{"aten::add", "out"},
                        {"aten::cat", "out"},
                        {"aten::permute_copy", "out"}};
    PteDelegate delegate;
    delegate.backend = "XnnpackBackend";
    delegate.payload = {PtePayloadPlace::kSegment, 2};
    delegate.specs.push_back({"key", BlobOf("value")});
    plan().delegates.push_back(delegate);
    plan().arena_bytes = {0, 256};
    plan().chains.emplace_back();
    Add(PteKernelCall{0, {kX, kWeight, kAlpha, kY, kY}});
    Add(PteKernelCall{1, {kList, kDim, kZ, kZ}});
    Add(PteKernelCall{2, {kZ, kDims, kP, kP}});
    Add(PteDelegateCall{0, {kP, kQ}});
    Add(PteJumpFalseCall{kCondition, 7});
    Add(PteMoveCall{kQ, kR});
    Add(PteJumpFalseCall{kFalse, 8});
    Add(PteMoveCall{kP, kR});
    program.constants = PteSubsegments{0, {0, 0}};
    program.mutable_data.push_back({1, {0, 0}});
    program.segments = {BlobOf(std::string(24, 'w'), kPteSegmentAlignment),
                        BlobOf(std::string(4, '\0'), kPteSegmentAlignment),
                        BlobOf("payload", kPteSegmentAlignment)};
    program.named_data.push_back({"blob", 2});
  }

  PtePlan& plan() {
    if (program.plans.empty()) program.plans.emplace_back();
    return program.plans[0];
  }
  PteTensor& tensor(int32_t value) {
    return std::get<PteTensor>(plan().values[value].content);
  }
  template <typename T>
  T& action(size_t instruction) {
    return std::get<T>(plan().chains[0].instructions[instruction].action);
  }
  void Add(PteContent content) {
    plan().values.push_back({std::move(content)});
  }
  void Add(PteAction action) {
    plan().chains[0].instructions.push_back({std::move(action)});
  }

  PteProgram program;
};

}  // namespace tenon
