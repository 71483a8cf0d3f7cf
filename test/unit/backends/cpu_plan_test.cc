// What a plan promises: little memory, few steps, nothing allocated once the
// geometry is known, in-place writes where they belong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include "backends/backend.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/gemm.h"
#include "region_builder.h"

namespace tenon {
namespace {

using cpu::CpuExecutable;

std::unique_ptr<CpuExecutable> Load(
    const Program& region, std::vector<DeclaredWrite>* writes = nullptr) {
  Diagnostics diags;
  const Backend* cpu = FindBackend("cpu");
  auto compiled = cpu->Compile(region, {}, diags);
  EXPECT_TRUE(compiled) << diags.ToString();
  if (!compiled) return nullptr;
  if (writes != nullptr) *writes = compiled->writes;
  auto loaded = cpu->Load(compiled->payload, nullptr, {}, diags);
  EXPECT_TRUE(loaded) << diags.ToString();
  if (!loaded) return nullptr;
  return std::unique_ptr<CpuExecutable>(
      static_cast<CpuExecutable*>(loaded->release()));
}

std::vector<RuntimeValue> RunRegion(CpuExecutable* executable,
                                    const std::vector<RuntimeValue>& inputs) {
  Diagnostics diags;
  auto results = executable->Run(inputs, diags);
  EXPECT_TRUE(results) << diags.ToString();
  return results ? *results : std::vector<RuntimeValue>();
}

TEST(CpuPlanTest, ElementwiseChainIsOneStep) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({8, 32}));
  const ValueId w = b.Input(random.Floats({32}));
  ValueId v = b.Op("aten.mul.Tensor", {{"self", x}, {"other", w}});
  v = b.Op("aten.add.Tensor", {{"self", v}, {"other", 1.0}});
  v = b.Op("aten.sigmoid.default", {{"self", v}});
  v = b.Op("aten.mul.Tensor", {{"self", x}, {"other", v}});
  const auto inputs = b.inputs;
  const auto executable = Load(b.Finish({v}));
  ASSERT_NE(executable, nullptr);
  RunRegion(executable.get(), inputs);
  EXPECT_EQ(executable->last_plan()->sizes().num_steps, 1u)
      << executable->last_plan()->ToString();
  EXPECT_EQ(executable->last_plan()->sizes().arena_bytes, 0u);
}

Program Layers(RegionBuilder& b, RandomTensors& random, int count) {
  ValueId v = b.Input(random.Floats({8, 32}));
  for (int i = 0; i < count; ++i) {
    const ValueId w = b.Input(random.Floats({32, 32}, -0.2f, 0.2f));
    v = b.Op("aten.mm.default", {{"self", v}, {"mat2", w}});
    v = b.Op("aten.relu.default", {{"self", v}});
  }
  return b.Finish({v});
}

TEST(CpuPlanTest, IntermediateResultsShareMemory) {
  RandomTensors random;
  RegionBuilder b;
  const Program region = Layers(b, random, 10);
  const auto executable = Load(region);
  RunRegion(executable.get(), b.inputs);
  const cpu::PlanSizes& sizes = executable->last_plan()->sizes();
  EXPECT_LT(sizes.arena_bytes, sizes.unshared_bytes);
  EXPECT_EQ(sizes.arena_bytes, sizes.peak_live_bytes);
  // One is read while the other is written; a product needs its scratch.
  cpu::GemmArgs product;
  product.m = 8;
  product.n = product.k = 32;
  product.a_row = product.b_row = product.c_row = 32;
  product.b_column = 1;
  EXPECT_LE(sizes.arena_bytes,
            2 * 8 * 32 * sizeof(float) +
                static_cast<size_t>(cpu::ScratchBytesFor(product)));
}

TEST(CpuPlanTest, KeepsPlansOfSeveralGeometries) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({4, 6}));
  const ValueId y = b.Op("aten.add.Tensor", {{"self", x}, {"other", x}});
  const auto executable = Load(b.Finish({y}));
  for (int round = 0; round < 2; ++round) {
    for (const int64_t rows : {4, 9, 0, 300}) {
      const Tensor t = random.Floats({rows, 6});
      const auto results = RunRegion(executable.get(), {t});
      ASSERT_EQ(results.size(), 1u);
      const Tensor& sum = results[0].tensor();
      ASSERT_EQ(sum.sizes(), t.sizes());
      for (int64_t i = 0; i < t.numel(); ++i) {
        ASSERT_EQ(sum.data<float>()[i], 2 * t.data<float>()[i]);
      }
    }
  }
  const int made = executable->num_allocations();
  RunRegion(executable.get(), {random.Floats({9, 6})});
  EXPECT_EQ(executable->num_allocations(), made);
}

TEST(CpuPlanTest, ConstantsAreComputedWhilePlanning) {
  RegionBuilder b;
  RandomTensors random;
  const ValueId x = b.Input(random.Floats({5, 5}));
  const ValueId range = b.Op("aten.arange.default", {{"end", 5}});
  const ValueId column =
      b.Op("aten.unsqueeze.default", {{"self", range}, {"dim", 1}});
  const ValueId mask =
      b.Op("aten.le.Tensor", {{"self", range}, {"other", column}});
  const ValueId y = b.Op("aten.where.ScalarOther",
                         {{"condition", mask}, {"self", x}, {"other", 0}});
  const auto inputs = b.inputs;
  const Tensor expected = b.sample(y).tensor();
  const auto executable = Load(b.Finish({y, mask}));
  for (int run = 0; run < 2; ++run) {
    const auto results = RunRegion(executable.get(), inputs);
    ASSERT_EQ(results.size(), 2u);
    for (int i = 0; i < 25; ++i) {
      ASSERT_EQ(results[0].tensor().data<float>()[i],
                expected.data<float>()[i]);
    }
    // An output is the caller's: scribbling over it must not reach the next.
    Tensor scribbled = results[1].tensor();
    std::fill_n(scribbled.mutable_data<uint8_t>(), 25, uint8_t{1});
  }
}

TEST(CpuPlanTest, InPlaceInsideARegion) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({6, 6}));
  const ValueId y = b.Op("aten.mul.Tensor", {{"self", x}, {"other", 2.0}});
  const ValueId view =
      b.Op("aten.select.int", {{"self", y}, {"dim", 0}, {"index", 1}});
  b.Op("aten.relu_.default", {{"self", y}});
  b.Op("aten.add_.Tensor", {{"self", view}, {"other", 10.0}});
  const ValueId z = b.Op("aten.add.Tensor", {{"self", y}, {"other", view}});
  const auto inputs = b.inputs;
  const Tensor expected = b.sample(z).tensor().Clone();
  const auto executable = Load(b.Finish({z, y}));
  for (int run = 0; run < 2; ++run) {
    const auto results = RunRegion(executable.get(), inputs);
    ASSERT_EQ(results.size(), 2u);
    for (int i = 0; i < 36; ++i) {
      ASSERT_NEAR(results[0].tensor().data<float>()[i],
                  expected.data<float>()[i], 1e-5);
    }
  }
}

TEST(CpuPlanTest, WritesOfInputsAreDeclaredAndInPlace) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId cache = b.Input(Tensor::Zeros(DType::kFloat32, {2, 8, 3}));
  const ValueId position = b.Input(random.Ints({1}, 5, 5));
  const ValueId row = b.Input(random.Floats({2, 1, 3}));
  const ValueId next =
      b.Op("aten.index_copy_.default",
           {{"self", cache}, {"dim", 1}, {"index", position}, {"source", row}});
  const ValueId sum = b.Op("aten.mul.Tensor", {{"self", next}, {"other", 3.0}});
  std::vector<RuntimeValue> inputs = b.inputs;
  std::vector<DeclaredWrite> writes;
  const auto executable = Load(b.Finish({sum, next}), &writes);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0], (DeclaredWrite{0, 1, WriteKind::kUser}));
  const Tensor state = Tensor::Zeros(DType::kFloat32, {2, 8, 3});
  inputs[0] = state;
  const auto results = RunRegion(executable.get(), inputs);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[1].tensor().SharesStorage(state));
  const Tensor& source = inputs[2].tensor();
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t p = 0; p < 8; ++p) {
      for (int64_t k = 0; k < 3; ++k) {
        const float expected = p == 5 ? source.data<float>()[i * 3 + k] : 0;
        EXPECT_EQ(state.data<float>()[(i * 8 + p) * 3 + k], expected);
        EXPECT_NEAR(results[0].tensor().data<float>()[(i * 8 + p) * 3 + k],
                    3 * expected, 1e-5);
      }
    }
  }
}

TEST(CpuPlanTest, AHiddenWriteDoesNotCompile) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({4}));
  b.Op("aten.add_.Tensor", {{"self", x}, {"other", 1.0}});
  const ValueId y = b.Op("aten.mul.Tensor", {{"self", x}, {"other", 2.0}});
  const Program region = b.Finish({y});
  for (const char* name : {"cpu", "echo", "reference"}) {
    Diagnostics diags;
    EXPECT_FALSE(FindBackend(name)->Compile(region, {}, diags)) << name;
    EXPECT_NE(diags.ToString().find("writes its input 0"), std::string::npos)
        << diags.ToString();
  }
}

TEST(CpuPlanTest, AReadOnlyInputIsCopiedBeforeItIsWritten) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({4}));
  const ValueId y = b.Op("aten.add_.Tensor", {{"self", x}, {"other", 1.0}});
  const auto executable = Load(b.Finish({y}));
  const float bytes[] = {1, 2, 3, 4};
  const auto storage = Storage::BorrowConst(
      AsBytes({reinterpret_cast<const char*>(bytes), 16}), nullptr);
  const auto results = RunRegion(
      executable.get(), {Tensor(storage, DType::kFloat32, {4}, {1}, 0)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].tensor().data<float>()[3], 5);
  EXPECT_EQ(bytes[3], 4);
}

// Large enough for oneDNN, which wants its weights packed.
TEST(CpuPlanTest, PackedWeightsFollowTheWeights) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({1, 32, 24, 24}));
  const ValueId w = b.Input(random.Floats({32, 32, 3, 3}));
  const ValueId y = b.Op("aten.conv2d.default", {{"input", x}, {"weight", w}});
  std::vector<RuntimeValue> inputs = b.inputs;
  const auto executable = Load(b.Finish({y}));
  const auto read_only = [](const Tensor& t) {
    const Bytes bytes(t.raw(), static_cast<size_t>(t.numel()) * sizeof(float));
    return Tensor(Storage::BorrowConst(bytes, t.storage()), t.dtype(),
                  t.sizes(), t.strides(), 0);
  };
  const auto first_of = [&](const Tensor& weight) {
    inputs[1] = weight;
    const auto results = RunRegion(executable.get(), inputs);
    return results.empty() ? NAN : results[0].tensor().data<float>()[0];
  };
  const auto expected = [&](const Tensor& weight) {
    float sum = 0;
    for (int64_t c = 0; c < 32; ++c) {
      for (int64_t k = 0; k < 9; ++k) {
        sum += weight.data<float>()[c * 9 + k] *
               inputs[0].tensor().data<float>()[(c * 24 + k / 3) * 24 + k % 3];
      }
    }
    return sum;
  };
  Tensor one = random.Floats({32, 32, 3, 3});
  const Tensor two = random.Floats({32, 32, 3, 3});
  const Tensor frozen = read_only(one);
  EXPECT_NEAR(first_of(frozen), expected(one), 1e-3);
  EXPECT_NEAR(first_of(frozen), expected(one), 1e-3);
  EXPECT_NEAR(first_of(read_only(two)), expected(two), 1e-3);
  EXPECT_NEAR(first_of(frozen), expected(one), 1e-3);
  EXPECT_NEAR(first_of(two), expected(two), 1e-3);
  // Writable weights may change between runs.
  EXPECT_NEAR(first_of(one), expected(one), 1e-3);
  one.mutable_data<float>()[0] += 100;
  EXPECT_NEAR(first_of(one), expected(one), 1e-2);
}

TEST(CpuPlanTest, LargeWeightsOfManyRowsAreNotPacked) {
  RandomTensors random;
  const auto packed_bytes = [&](int64_t rows) {
    RegionBuilder b;
    const ValueId x = b.Input(random.Floats({rows, 512}));
    const Tensor weight = random.Floats({512, 512});
    const Bytes bytes(weight.raw(), weight.storage()->size_bytes());
    const ValueId w =
        b.Input(Tensor(Storage::BorrowConst(bytes, weight.storage()),
                       weight.dtype(), weight.sizes(), weight.strides(), 0));
    const ValueId y =
        b.Op("aten.linear.default", {{"input", x}, {"weight", w}});
    const std::vector<RuntimeValue> inputs = b.inputs;
    const auto executable = Load(b.Finish({y}));
    RunRegion(executable.get(), inputs);
    return executable->last_listing()->packed_bytes;
  };
  EXPECT_EQ(packed_bytes(100), 0u);
  EXPECT_EQ(packed_bytes(1), 0u);
}

// Of one region, in two threads' hands: while the weights stay, there is one
// packed copy; a fork with other weights leaves the original's alone.
TEST(CpuPlanTest, ForksShareThePackedWeights) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({1, 32, 24, 24}));
  const ValueId w = b.Input(random.Floats({32, 32, 3, 3}));
  const ValueId y = b.Op("aten.conv2d.default", {{"input", x}, {"weight", w}});
  std::vector<RuntimeValue> inputs = b.inputs;
  const Tensor weight = inputs[1].tensor();
  const auto read_only = [](const Tensor& t) {
    const Bytes bytes(t.raw(), static_cast<size_t>(t.numel()) * sizeof(float));
    return Tensor(Storage::BorrowConst(bytes, t.storage()), t.dtype(),
                  t.sizes(), t.strides(), 0);
  };
  inputs[1] = read_only(weight);
  const auto executable = Load(b.Finish({y}));
  const Tensor expected = RunRegion(executable.get(), inputs)[0].tensor();
  const size_t packed = executable->last_listing()->packed_bytes;
  EXPECT_GE(packed, size_t{32 * 32 * 9 * 4});
  const auto fork = executable->Fork();
  ASSERT_NE(fork, nullptr);
  auto* other = static_cast<CpuExecutable*>(fork.get());
  const auto is_expected = [&](const Tensor& t) {
    return std::equal(t.data<float>(), t.data<float>() + t.numel(),
                      expected.data<float>());
  };
  EXPECT_TRUE(is_expected(RunRegion(other, inputs)[0].tensor()));
  EXPECT_EQ(other->last_listing()->packed_bytes, packed);

  std::vector<RuntimeValue> changed = inputs;
  changed[1] = read_only(random.Floats({32, 32, 3, 3}));
  std::thread thread([&] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_FALSE(is_expected(RunRegion(other, changed)[0].tensor()));
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(is_expected(RunRegion(executable.get(), inputs)[0].tensor()));
  }
  thread.join();
}

TEST(CpuPlanTest, AListingSaysWhatEachStepDoes) {
  class Counter : public StepObserver {
   public:
    void OnStep(size_t step, std::chrono::nanoseconds time) override {
      EXPECT_EQ(step, count++);
      EXPECT_GE(time.count(), 0);
    }
    size_t count = 0;
  };
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({16, 8}));
  const ValueId w = b.Input(random.Floats({8, 8}));
  const ValueId m = b.Op("aten.mm.default", {{"self", x}, {"mat2", w}});
  const ValueId r = b.Op("aten.relu.default", {{"self", m}});
  const ValueId t =
      b.Op("aten.add.Tensor", {{"self", r}, {"other", x}, {"alpha", 2}});
  const ValueId s = b.Op("aten.softmax.int", {{"self", t}, {"dim", 1}});
  const ValueId p = b.Op("aten.permute.default",
                         {{"self", s}, {"dims", std::vector<int64_t>{1, 0}}});
  const ValueId y = b.Op("aten.clone.default", {{"self", p}});
  const std::vector<RuntimeValue> inputs = b.inputs;
  const auto executable = Load(b.Finish({y}));
  EXPECT_FALSE(executable->last_listing());
  Counter counter;
  executable->set_step_observer(&counter);
  RunRegion(executable.get(), inputs);
  const auto listing = executable->last_listing();
  ASSERT_TRUE(listing);
  EXPECT_EQ(counter.count, listing->steps.size());
  executable->set_step_observer(nullptr);
  RunRegion(executable.get(), inputs);
  EXPECT_EQ(counter.count, listing->steps.size());

  // Every operator is some step's, merged ones share one.
  std::vector<std::string> ops;
  for (const ListedStep& step : listing->steps) {
    ops.insert(ops.end(), step.ops.begin(), step.ops.end());
    if (step.ops ==
        std::vector<std::string>{"aten.relu.default", "aten.add.Tensor"}) {
      EXPECT_EQ(step.name, "pointwise");
      EXPECT_FALSE(step.is_copy);
      EXPECT_EQ(step.bytes_read, 2u * 16 * 8 * 4);
      EXPECT_EQ(step.bytes_written, 16u * 8 * 4);
    }
    EXPECT_EQ(step.is_copy, step.ops[0] == "aten.clone.default") << step.name;
  }
  EXPECT_EQ(ops, (std::vector<std::string>{
                     "aten.mm.default", "aten.relu.default", "aten.add.Tensor",
                     "aten.softmax.int", "aten.clone.default"}));
  ASSERT_FALSE(listing->buffers.empty());
  for (const ListedBuffer& buffer : listing->buffers) {
    EXPECT_LE(buffer.first_step, buffer.last_step);
    EXPECT_LT(buffer.last_step, listing->steps.size());
    EXPECT_LE(buffer.offset + buffer.size_bytes, listing->arena_bytes);
  }
  EXPECT_LE(listing->arena_bytes, listing->unshared_bytes);
}

TEST(CpuPlanTest, AnIndexOutOfRangeIsAnError) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId table = b.Input(random.Floats({10, 4}));
  const ValueId ids = b.Input(random.Ints({3}, 0, 9));
  const ValueId y =
      b.Op("aten.embedding.default", {{"weight", table}, {"indices", ids}});
  std::vector<RuntimeValue> inputs = b.inputs;
  const auto executable = Load(b.Finish({y}));
  for (const int64_t bad : {int64_t{10}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    inputs[1] = random.Ints({3}, bad, bad);
    Diagnostics diags;
    EXPECT_FALSE(executable->Run(inputs, diags));
    EXPECT_NE(diags.ToString().find("out of bounds"), std::string::npos);
  }
  inputs[1] = random.Ints({3}, 0, 9);
  RunRegion(executable.get(), inputs);
}

TEST(CpuPlanTest, WrongInputsAreErrors) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({4, 2}));
  const ValueId y = b.Op("aten.relu.default", {{"self", x}});
  const auto executable = Load(b.Finish({y}));
  const Tensor good = random.Floats({4, 2});
  const std::vector<std::vector<RuntimeValue>> wrong = {
      {},
      {good, good},
      {RuntimeValue(int64_t{3})},
      {random.Floats({4})},
      {good.View({4, 2}, {2, 1}, 1)},
      {good.View({100, 2}, {2, 1}, 0)}};
  for (const auto& inputs : wrong) {
    Diagnostics diags;
    EXPECT_FALSE(executable->Run(inputs, diags));
    EXPECT_TRUE(diags.has_errors());
  }
}

// Stated dtypes aren't always what kernels give (backends/region_payload.h).
TEST(CpuPlanTest, AnotherDtypeThanStatedIsComputedWith) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({4, 2}));
  const ValueId y = b.Op("aten.relu.default", {{"self", x}});
  const auto executable = Load(b.Finish({y}));
  Diagnostics diags;
  const std::vector<RuntimeValue> inputs = {random.Ints({4, 2}, 0, 1)};
  const auto results = executable->Run(inputs, diags);
  ASSERT_TRUE(results) << diags.ToString();
  EXPECT_EQ((*results)[0].tensor().dtype(), DType::kInt64);
}

TEST(CpuPlanTest, RefusalsNameTheirReason) {
  RandomTensors random;
  const auto refusal = [&](RegionBuilder& b, ValueId output) {
    const Program region = b.Finish({output});
    const auto refused =
        FindBackend("cpu")->Refuses(region, region.graph(Program::kRoot).first);
    return refused ? refused->reason : RefusalReason::kUserChoice;
  };
  {
    RegionBuilder b;
    const ValueId x = b.Input(random.Floats({5}));
    EXPECT_EQ(refusal(b, b.Op("aten.angle.default", {{"self", x}})),
              RefusalReason::kOperatorUnknown);
  }
  {
    RegionBuilder b;
    const ValueId x = b.Input(Tensor::Zeros(DType::kComplex64, {5}));
    EXPECT_EQ(refusal(b, b.Op("aten.neg.default", {{"self", x}})),
              RefusalReason::kDtype);
  }
  {
    RegionBuilder b;
    const ValueId x = b.Input(Tensor::Zeros(DType::kFloat64, {2, 2}));
    EXPECT_EQ(refusal(b, b.Op("aten.mm.default", {{"self", x}, {"mat2", x}})),
              RefusalReason::kDtype);
  }
  {
    RegionBuilder b;
    const ValueId x = b.Input(random.Floats({5}));
    const ValueId m = b.Input(random.Bools({5}));
    EXPECT_EQ(refusal(b, b.Op("aten.index.Tensor",
                              {{"self", x},
                               TestArg("indices", std::vector<ValueId>{m},
                                       ListTag::kOptionalTensors)})),
              RefusalReason::kDataDependentOutput);
  }
  {
    RegionBuilder b;
    const ValueId x = b.Input(random.Floats({5}));
    EXPECT_EQ(refusal(b, b.Op("aten.dropout.default",
                              {{"input", x}, {"p", 0.0}, {"train", true}})),
              RefusalReason::kEffect);
  }
}

}  // namespace
}  // namespace tenon
