// Convolutions on backend cpu and what becomes of the steps around them: each
// thing that is fused, each place where it must not be, and each border between
// tensors with their channels last and PyTorch's order. The reference executor
// says what is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/executable.h"
#include "interpreter/interpreter.h"
#include "region_builder.h"

namespace tenon {
namespace {

using cpu::CpuExecutable;
using Ints = std::vector<int64_t>;

// State as a program brings it: mapped, read only.
Tensor ReadOnly(const Tensor& t) {
  const Bytes bytes(t.raw(), static_cast<size_t>(t.numel()) * sizeof(float));
  return Tensor(Storage::BorrowConst(bytes, t.storage()), t.dtype(), t.sizes(),
                t.strides(), 0);
}

// What networks are made of.
class Net {
 public:
  explicit Net(uint32_t seed = 1) : engine_(seed) {}

  Tensor Floats(Sizes sizes, float low = -1, float high = 1) {
    Tensor t = Tensor::Empty(DType::kFloat32, std::move(sizes));
    std::uniform_real_distribution<float> draw(low, high);
    for (int64_t i = 0; i < t.numel(); ++i) {
      t.mutable_data<float>()[i] = draw(engine_);
    }
    return t;
  }
  int64_t Int(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }

  ValueId Input(Sizes sizes) { return b.Input(Floats(std::move(sizes))); }
  ValueId Weight(Sizes sizes, float low = -1, float high = 1) {
    const Tensor t = Floats(std::move(sizes), low, high);
    return b.Input(are_weights_fixed ? ReadOnly(t) : t);
  }

  struct Options {
    int64_t kernel = 3, stride = 1, dilation = 1, groups = 1;
    int64_t padding = -1;  // -1 keeps the size
    bool has_bias = false;
  };
  ValueId Conv(ValueId x, int64_t out, Options o) {
    const Sizes sizes = SizesOf(x);
    const size_t rank = sizes.size() - 2;
    Sizes weight = {out, sizes[1] / o.groups};
    weight.insert(weight.end(), rank, o.kernel);
    const float bound =
        1.5f / std::sqrt(static_cast<float>(NumElements(weight) / out));
    if (o.padding < 0) o.padding = o.dilation * (o.kernel - 1) / 2;
    std::vector<TestArg> args = {{"input", x},
                                 {"weight", Weight(weight, -bound, bound)},
                                 {"stride", Ints(rank, o.stride)},
                                 {"padding", Ints(rank, o.padding)},
                                 {"dilation", Ints(rank, o.dilation)},
                                 {"groups", o.groups}};
    if (o.has_bias) args.push_back({"bias", Weight({out})});
    return b.Op(rank == 2 ? "aten.conv2d.default" : "aten.conv1d.default",
                args);
  }
  ValueId Conv(ValueId x, int64_t out) { return Conv(x, out, Options()); }

  ValueId BatchNorm(ValueId x) {
    const int64_t channels = SizesOf(x)[1];
    return b.Op("aten._native_batch_norm_legit_no_training.default",
                {{"input", x},
                 {"weight", Weight({channels}, 0.5f, 1.5f)},
                 {"bias", Weight({channels})},
                 {"running_mean", Weight({channels})},
                 {"running_var", Weight({channels}, 0.5f, 2.0f)},
                 {"momentum", 0.1},
                 {"eps", 1e-5}});
  }
  ValueId Unary(const std::string& name, ValueId x) {
    return b.Op("aten." + name + ".default", {{"self", x}});
  }
  ValueId Relu(ValueId x) { return Unary("relu", x); }
  ValueId Relu6(ValueId x) {
    return b.Op("aten.hardtanh.default",
                {{"self", x}, {"min_val", 0.0}, {"max_val", 6.0}});
  }
  ValueId Add(ValueId x, ValueId y) {
    return b.Op("aten.add.Tensor", {{"self", x}, {"other", y}});
  }
  ValueId Mul(ValueId x, ValueId y) {
    return b.Op("aten.mul.Tensor", {{"self", x}, {"other", y}});
  }
  ValueId Cat(const std::vector<ValueId>& parts, int64_t dim = 1) {
    return b.Op("aten.cat.default", {{"tensors", parts}, {"dim", dim}});
  }
  ValueId MaxPool(ValueId x, int64_t kernel, int64_t stride, int64_t padding) {
    return b.Op("aten.max_pool2d.default", {{"self", x},
                                            {"kernel_size", Ints(2, kernel)},
                                            {"stride", Ints(2, stride)},
                                            {"padding", Ints(2, padding)}});
  }
  ValueId AvgPool(ValueId x, int64_t kernel, int64_t stride, int64_t padding) {
    return b.Op("aten.avg_pool2d.default", {{"self", x},
                                            {"kernel_size", Ints(2, kernel)},
                                            {"stride", Ints(2, stride)},
                                            {"padding", Ints(2, padding)}});
  }
  ValueId AdaptivePool(ValueId x, int64_t size) {
    return b.Op("aten.adaptive_avg_pool2d.default",
                {{"self", x}, {"output_size", Ints(2, size)}});
  }
  ValueId Mean(ValueId x, bool keepdim) {
    return b.Op("aten.mean.dim",
                {{"self", x}, {"dim", Ints{-1, -2}}, {"keepdim", keepdim}});
  }

  Sizes SizesOf(ValueId v) const { return b.sample(v).tensor().sizes(); }

  RegionBuilder b;
  bool are_weights_fixed = true;

 private:
  std::mt19937 engine_;
};

std::unique_ptr<CpuExecutable> Load(const Program& region) {
  Diagnostics diags;
  const Backend* cpu = FindBackend("cpu");
  auto compiled = cpu->Compile(region, {}, diags);
  EXPECT_TRUE(compiled) << diags.ToString();
  if (!compiled) return nullptr;
  auto loaded = cpu->Load(compiled->payload, nullptr, {}, diags);
  EXPECT_TRUE(loaded) << diags.ToString();
  if (!loaded) return nullptr;
  return std::unique_ptr<CpuExecutable>(
      static_cast<CpuExecutable*>(loaded->release()));
}

std::vector<RuntimeValue> Copies(const std::vector<RuntimeValue>& inputs) {
  std::vector<RuntimeValue> copies;
  for (const RuntimeValue& value : inputs) {
    const Tensor& t = value.tensor();
    copies.push_back(t.storage()->writable() ? t.Clone() : t);
  }
  return copies;
}

void ExpectClose(const Tensor& found, const Tensor& expected,
                 const std::string& what) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  ASSERT_EQ(found.strides(), expected.strides()) << what;
  const Tensor x = found.Contiguous(), y = expected.Contiguous();
  float largest = 1;
  for (int64_t i = 0; i < y.numel(); ++i) {
    largest = std::max(largest, std::abs(y.data<float>()[i]));
  }
  for (int64_t i = 0; i < y.numel(); ++i) {
    ASSERT_NEAR(x.data<float>()[i], y.data<float>()[i], 2e-5 * largest)
        << what << " at " << i;
  }
}

// Runs the region by the reference executor and, twice, by the backend; the
// second run finds everything prepared. The backend's plan.
std::string Check(const Program& region,
                  const std::vector<RuntimeValue>& inputs,
                  CpuExecutable* executable) {
  Diagnostics diags;
  const auto expected = Interpret(region, Program::kRoot, Copies(inputs),
                                  InterpreterOptions{}, diags);
  EXPECT_TRUE(expected) << diags.ToString();
  if (!expected || executable == nullptr) return "";
  std::string plan;
  for (int run = 0; run < 2; ++run) {
    const auto found = executable->Run(Copies(inputs), diags);
    EXPECT_TRUE(found) << diags.ToString();
    if (!found) return "";
    plan = executable->last_plan()->ToString();
    EXPECT_EQ(found->size(), expected->size());
    for (size_t i = 0; i < found->size(); ++i) {
      ExpectClose((*found)[i].tensor(), (*expected)[i].tensor(),
                  "output " + std::to_string(i) + " of\n" + plan);
    }
  }
  return plan;
}

std::string Check(Net& net, const std::vector<ValueId>& outputs) {
  const auto inputs = net.b.inputs;
  const Program region = net.b.Finish(outputs);
  const auto executable = Load(region);
  return Check(region, inputs, executable.get());
}

// How many steps of a plan have the name.
int Count(const std::string& plan, const std::string& name) {
  int count = 0;
  for (size_t at = 0; (at = plan.find(name + "\n", at)) != std::string::npos;
       at += name.size()) {
    count += at == 0 || plan[at - 1] == '\n';
  }
  return count;
}

// Without AVX2 oneDNN has no kernel for this order, and nothing is fused.
bool HasFastConvolutions() {
  static const bool has = [] {
    Net net;
    const ValueId x = net.Input({1, 32, 20, 20});
    return Check(net, {net.Conv(x, 32)}).find("dnnl") != std::string::npos;
  }();
  return has;
}

#define NEED_FAST_CONVOLUTIONS() \
  if (!HasFastConvolutions()) GTEST_SKIP() << "oneDNN has no fast kernel here"

// --- what is fused ---

TEST(CpuConvolutionTest, BatchNormAndActivationBecomePartOfIt) {
  NEED_FAST_CONVOLUTIONS();
  for (const bool has_bias : {false, true}) {
    Net net;
    const ValueId x = net.Input({2, 16, 20, 20});
    const ValueId y = net.Conv(x, 32, {.has_bias = has_bias});
    const std::string plan = Check(net, {net.Relu(net.BatchNorm(y))});
    // Into channels last, and back; scale and shift.
    EXPECT_EQ(Count(plan, "transpose"), 2) << plan;
    EXPECT_EQ(Count(plan, "pointwise"), 2) << plan;
    EXPECT_EQ(Count(plan, "convolution_dnnl+"), 1) << plan;
  }
}

TEST(CpuConvolutionTest, BatchNormOfWeightsThatChange) {
  NEED_FAST_CONVOLUTIONS();
  Net net;
  net.are_weights_fixed = false;
  const ValueId x = net.Input({1, 32, 24, 24});
  const ValueId y =
      net.Relu(net.BatchNorm(net.Conv(x, 48, {.has_bias = true})));
  auto inputs = net.b.inputs;
  const Program region = net.b.Finish({y});
  const auto executable = Load(region);
  EXPECT_EQ(Count(Check(region, inputs, executable.get()), "pointwise"), 2);
  // Other values, in the same place or elsewhere.
  for (int round = 0; round < 2; ++round) {
    for (RuntimeValue& input : inputs) {
      if (round == 1) input = input.tensor().Clone();
      Tensor t = input.tensor();
      for (int64_t i = 0; i < t.numel(); ++i) {
        t.mutable_data<float>()[i] *= 0.5f;
      }
    }
    Check(region, inputs, executable.get());
  }
}

// The scale is in the packed weights: a run that brings other statistics, or
// other weights, must not find the old ones.
TEST(CpuConvolutionTest, OtherReadOnlyStateIsPackedAgain) {
  Net net;
  const ValueId x = net.Input({1, 16, 20, 20});
  const ValueId y = net.BatchNorm(net.Conv(x, 32));
  auto inputs = net.b.inputs;
  const Program region = net.b.Finish({y});
  const auto executable = Load(region);
  Check(region, inputs, executable.get());
  for (size_t i = 1; i < inputs.size(); ++i) {
    Tensor other = inputs[i].tensor().Clone();
    for (int64_t k = 0; k < other.numel(); ++k) {
      other.mutable_data<float>()[k] *= 0.75f;
    }
    inputs[i] = ReadOnly(other);
    Check(region, inputs, executable.get());
  }
}

TEST(CpuConvolutionTest, OneWeightWithTwoScales) {
  Net net;
  const ValueId x = net.Input({1, 16, 20, 20});
  const ValueId w = net.Weight({16, 16, 3, 3}, -0.2f, 0.2f);
  ValueId v = x;
  for (int i = 0; i < 3; ++i) {
    v = net.b.Op("aten.conv2d.default",
                 {{"input", v}, {"weight", w}, {"padding", Ints{1, 1}}});
    if (i < 2) v = net.BatchNorm(v);
  }
  Check(net, {v});
}

TEST(CpuConvolutionTest, Activations) {
  NEED_FAST_CONVOLUTIONS();
  const std::vector<
      std::pair<std::string, std::function<ValueId(Net&, ValueId)>>>
      cases = {
          {"relu", [](Net& n, ValueId x) { return n.Relu(x); }},
          {"relu6", [](Net& n, ValueId x) { return n.Relu6(x); }},
          {"silu", [](Net& n, ValueId x) { return n.Unary("silu", x); }},
          {"product with sigmoid",
           [](Net& n, ValueId x) { return n.Mul(x, n.Unary("sigmoid", x)); }},
          {"sigmoid", [](Net& n, ValueId x) { return n.Unary("sigmoid", x); }},
          {"hardswish",
           [](Net& n, ValueId x) { return n.Unary("hardswish", x); }},
          {"clamp",
           [](Net& n, ValueId x) {
             return n.b.Op("aten.clamp.default",
                           {{"self", x}, {"min", -0.25}, {"max", 0.5}});
           }},
          {"clamp_min",
           [](Net& n, ValueId x) {
             return n.b.Op("aten.clamp.default", {{"self", x}, {"min", -0.25}});
           }},
          {"clamp_max",
           [](Net& n, ValueId x) {
             return n.b.Op("aten.clamp.default", {{"self", x}, {"max", 0.25}});
           }},
          {"leaky_relu",
           [](Net& n, ValueId x) {
             return n.b.Op("aten.leaky_relu.default",
                           {{"self", x}, {"negative_slope", 0.1}});
           }},
          {"scaled", [](Net& n, ValueId x) {
             x = n.b.Op("aten.mul.Tensor", {{"self", x}, {"other", 2.0}});
             return n.b.Op("aten.add.Tensor", {{"self", x}, {"other", 3.0}});
           }}};
  for (const auto& [name, build] : cases) {
    Net net;
    const ValueId x = net.Input({1, 16, 20, 20});
    const ValueId y = net.Conv(x, 32, {.has_bias = true});
    const std::string plan = Check(net, {build(net, y)});
    EXPECT_EQ(Count(plan, "pointwise"), 0) << name << "\n" << plan;
  }
}

TEST(CpuConvolutionTest, ActivationsOfOneKind) {
  Net net;
  const ValueId x = net.Conv(net.Input({1, 16, 20, 20}), 32);
  const auto number = [&](const char* name, ValueId v, double other) {
    return net.b.Op(name, {{"self", v}, {"other", other}});
  };
  ValueId v = number("aten.mul.Tensor", x, 2.0);
  v = net.Relu6(number("aten.add.Tensor", v, 3.0));
  v = number("aten.add.Tensor", number("aten.mul.Tensor", v, -0.5), 0.25);
  v = net.b.Op("aten.leaky_relu.default",
               {{"self", v}, {"negative_slope", 0.1}});
  v = net.b.Op("aten.clamp.default", {{"self", v}, {"max", 0.5}});
  Check(net, {net.Relu(v)});
}

// Not every elementwise step can follow, and one with no post-op of oneDNN
// still sees the channels last.
TEST(CpuConvolutionTest, ActivationsWithoutPostOp) {
  Net net;
  const ValueId x = net.Input({1, 16, 20, 20});
  ValueId v = net.Unary("erf", net.Conv(x, 32));
  v = net.Unary("softplus", net.Conv(v, 16));
  const std::string plan = Check(net, {net.Conv(v, 8)});
  if (HasFastConvolutions()) {
    EXPECT_EQ(Count(plan, "transpose"), 2) << plan;
  }
}

TEST(CpuConvolutionTest, ResidualSums) {
  NEED_FAST_CONVOLUTIONS();
  Net net;
  ValueId v = net.Relu(net.BatchNorm(net.Conv(net.Input({2, 8, 20, 20}), 32)));
  for (int i = 0; i < 3; ++i) {
    const ValueId inner = net.Relu(net.BatchNorm(net.Conv(v, 32)));
    const ValueId sum = i == 1 ? net.Add(v, net.BatchNorm(net.Conv(inner, 32)))
                               : net.Add(net.BatchNorm(net.Conv(inner, 32)), v);
    v = net.Relu(sum);
  }
  const std::string plan = Check(net, {v});
  EXPECT_EQ(Count(plan, "transpose"), 2) << plan;
  EXPECT_EQ(Count(plan, "pointwise"), 2 * 7) << plan;
}

TEST(CpuConvolutionTest, ResidualThroughAConvolution) {
  Net net;
  const ValueId x = net.Relu(net.Conv(net.Input({1, 8, 21, 21}), 16));
  const ValueId main =
      net.BatchNorm(net.Conv(net.Relu(net.Conv(x, 32, {.stride = 2})), 32));
  const ValueId skip =
      net.BatchNorm(net.Conv(x, 32, {.kernel = 1, .stride = 2}));
  Check(net, {net.Relu(net.Add(main, skip))});
}

// The residual is needed afterwards: nothing may be written over it.
TEST(CpuConvolutionTest, ResidualThatLivesOn) {
  Net net;
  const ValueId x = net.Relu(net.Conv(net.Input({1, 8, 20, 20}), 16));
  const ValueId y = net.Add(net.Conv(x, 16), x);
  const ValueId z = net.Add(net.Conv(y, 16), x);
  Check(net, {net.Conv(z, 16), y});
}

TEST(CpuConvolutionTest, ResultAddedToItself) {
  Net net;
  const ValueId y = net.Conv(net.Input({1, 8, 20, 20}), 16);
  const ValueId z = net.Conv(net.Add(y, y), 16);
  Check(net, {net.Mul(z, net.Unary("sigmoid", z))});
}

// Sums before, between and after activations, of one tensor and of several, in
// the place of the residual and elsewhere.
TEST(CpuConvolutionTest, SumsAmongActivations) {
  const char* names[] = {"relu", "silu", "sigmoid", "hardswish"};
  for (const int64_t kernel : {1, 3}) {
    for (const int64_t groups : {1, 16}) {
      for (const bool lives_on : {false, true}) {
        for (const char* first : names) {
          for (const char* second : names) {
            Net net;
            const ValueId input = net.Input({1, 8, 20, 20});
            const ValueId a = net.Conv(input, 16), b = net.Conv(input, 16);
            const ValueId c = net.Unary("erf", net.Conv(input, 16));
            ValueId v = net.Conv(a, 16, {.kernel = kernel, .groups = groups});
            v = net.Add(b, net.Unary(first, net.BatchNorm(v)));
            v = net.Mul(net.Unary(second, net.Add(v, c)), b);
            std::vector<ValueId> outputs = {net.Add(v, a)};
            if (lives_on) outputs.push_back(net.Conv(net.Add(a, c), 8));
            SCOPED_TRACE(std::string(first) + ", " + second);
            Check(net, outputs);
          }
        }
      }
    }
  }
}

TEST(CpuConvolutionTest, DepthwiseOntoFewPixels) {
  for (const bool are_fixed : {false, true}) {
    for (const int64_t size : {1, 2, 3, 9}) {
      for (const int64_t kernel : {1, 3, 5}) {
        Net net;
        net.are_weights_fixed = are_fixed;
        const ValueId x = net.Conv(net.Input({1, 8, size, size}), 48);
        ValueId v = net.Conv(x, 48, {.kernel = kernel, .groups = 48});
        v = net.Add(net.Unary("hardswish", net.BatchNorm(v)), x);
        v = net.BatchNorm(net.Conv(v, 48, {.kernel = kernel, .groups = 48}));
        Check(net, {net.Relu(net.Add(net.Add(v, x), v)), net.Mul(v, x)});
      }
    }
  }
}

// Elementwise work that goes back to the result is no chain.
TEST(CpuConvolutionTest, ResultNeededAgain) {
  Net net;
  const ValueId y = net.Conv(net.Input({1, 8, 20, 20}), 16);
  const ValueId z = net.Conv(net.Add(net.Relu(y), y), 16);
  Check(net, {net.Mul(net.Unary("sigmoid", net.Relu(z)), z)});
}

TEST(CpuConvolutionTest, Gates) {
  Net net;
  ValueId v = net.Unary("silu", net.Conv(net.Input({2, 8, 20, 20}), 32));
  ValueId gate = net.Unary(
      "silu", net.Conv(net.Mean(v, true), 8, {.kernel = 1, .has_bias = true}));
  gate =
      net.Unary("sigmoid", net.Conv(gate, 32, {.kernel = 1, .has_bias = true}));
  v = net.Mul(gate, v);
  const std::string plan = Check(net, {net.Conv(v, 16, {.kernel = 1})});
  if (HasFastConvolutions()) {
    EXPECT_EQ(Count(plan, "transpose"), 2) << plan;
  }
}

// oneDNN's bounds would make numbers of it.
TEST(CpuConvolutionTest, NotANumberStays) {
  for (const bool is_in_weight : {false, true}) {
    for (const float value : {std::nanf(""), INFINITY}) {
      // Whether padding is multiplied by a weight is a kernel's own business.
      if (is_in_weight && std::isinf(value)) continue;
      SCOPED_TRACE(std::to_string(value) +
                   (is_in_weight ? " in the weight" : " in the image"));
      Net net;
      Tensor image = net.Floats({1, 8, 20, 20});
      const ValueId x = net.b.Input(image);
      ValueId v = net.Relu(net.BatchNorm(net.Conv(x, 16)));
      v = net.MaxPool(net.Relu6(net.Conv(v, 16)), 2, 2, 0);
      auto inputs = net.b.inputs;
      const Program region = net.b.Finish({v});
      const auto executable = Load(region);
      const auto run = [&] {
        Diagnostics diags;
        const auto found = executable->Run(inputs, diags);
        const auto expected = Interpret(region, Program::kRoot, inputs,
                                        InterpreterOptions{}, diags);
        const float* a = (*found)[0].tensor().data<float>();
        const float* b = (*expected)[0].tensor().data<float>();
        int64_t count = 0;
        for (int64_t i = 0; i < (*found)[0].tensor().numel(); ++i) {
          EXPECT_EQ(std::isnan(a[i]), std::isnan(b[i])) << i;
          count += std::isnan(b[i]);
        }
        return count;
      };
      EXPECT_EQ(run(), 0);
      const size_t at = is_in_weight ? 1 : 0;
      Tensor changed = inputs[at].tensor().Clone();
      changed.mutable_data<float>()[7] = value;
      inputs[at] = is_in_weight ? ReadOnly(changed) : changed;
      EXPECT_GT(run(), 0);
      EXPECT_GT(run(), 0);
    }
  }
}

// --- borders ---

TEST(CpuConvolutionTest, ResultUsedTwice) {
  Net net;
  const ValueId x = net.Conv(net.Input({1, 8, 20, 20}), 16);
  const ValueId y = net.Relu(x);
  Check(net, {net.Conv(x, 8), net.Conv(y, 8)});
}

TEST(CpuConvolutionTest, ResultIsAnOutputToo) {
  Net net;
  const ValueId x = net.Conv(net.Input({1, 8, 20, 20}), 16);
  Check(net, {x, net.Relu(x), net.Conv(x, 8)});
}

TEST(CpuConvolutionTest, ViewsOfAResult) {
  Net net;
  const ValueId x = net.Relu(net.Conv(net.Input({2, 8, 20, 20}), 16));
  const ValueId flat =
      net.b.Op("aten.view.default", {{"self", x}, {"size", Ints{2, 16, 400}}});
  const ValueId last = net.b.Op("aten.permute.default",
                                {{"self", x}, {"dims", Ints{0, 2, 3, 1}}});
  const ValueId part = net.b.Op(
      "aten.slice.Tensor",
      {{"self", x}, {"dim", 1}, {"start", 3}, {"end", 11}, {"step", 2}});
  Check(net,
        {flat, last, part, net.Conv(part, 8), net.Conv(x, 8), net.Relu(last)});
}

// Where the channels are wanted last, nothing is copied.
TEST(CpuConvolutionTest, PermutedResults) {
  Net net;
  ValueId v = net.Conv(net.Input({2, 8, 12, 14}), 24);
  for (int i = 0; i < 2; ++i) {
    ValueId y = net.b.Op("aten.permute.default",
                         {{"self", v}, {"dims", Ints{0, 2, 3, 1}}});
    y = net.b.Op("aten.layer_norm.default",
                 {{"input", y}, {"normalized_shape", Ints{24}}});
    y = net.b.Op("aten.linear.default",
                 {{"input", y}, {"weight", net.Weight({24, 24})}});
    y = net.b.Op("aten.permute.default",
                 {{"self", y}, {"dims", Ints{0, 3, 1, 2}}});
    v = net.Conv(net.Add(v, y), 24);
  }
  const ValueId flat =
      net.b.Op("aten.flatten.using_ints", {{"self", v}, {"start_dim", 2}});
  ValueId tokens = net.b.Op("aten.transpose.int",
                            {{"self", flat}, {"dim0", 1}, {"dim1", 2}});
  tokens = net.b.Op("aten.softmax.int", {{"self", tokens}, {"dim", -1}});
  const std::string plan = Check(net, {tokens});
  if (HasFastConvolutions()) {
    EXPECT_EQ(Count(plan, "transpose"), 1) << plan;
  }
}

TEST(CpuConvolutionTest, PartsOfPermutedResults) {
  Net net;
  const ValueId x = net.Relu(net.Conv(net.Input({3, 8, 12, 14}), 20));
  const auto permuted = [&](Ints dims) {
    return net.b.Op("aten.permute.default", {{"self", x}, {"dims", dims}});
  };
  std::vector<ValueId> outputs;
  for (const Ints& dims : {Ints{0, 2, 3, 1}, Ints{2, 3, 0, 1}, Ints{3, 2, 1, 0},
                           Ints{0, 3, 2, 1}, Ints{1, 0, 2, 3}}) {
    for (int64_t dim = 0; dim < 4; ++dim) {
      for (const int64_t step : {1, 2}) {
        const ValueId part =
            net.b.Op("aten.slice.Tensor", {{"self", permuted(dims)},
                                           {"dim", dim},
                                           {"start", 1},
                                           {"step", step}});
        outputs.push_back(
            net.b.Op("aten.softmax.int", {{"self", part}, {"dim", -1}}));
        outputs.push_back(net.Relu(part));
      }
    }
  }
  Check(net, outputs);
}

TEST(CpuConvolutionTest, WritesInPlace) {
  Net net;
  ValueId x = net.Conv(net.Input({1, 8, 20, 20}), 16);
  x = net.b.Op("aten.relu_.default", {{"self", x}});
  const ValueId before = net.Conv(x, 8);
  const ValueId row =
      net.b.Op("aten.select.int", {{"self", x}, {"dim", 2}, {"index", 5}});
  net.b.Op("aten.add_.Tensor", {{"self", row}, {"other", 10.0}});
  const ValueId after = net.Conv(x, 8);
  net.b.Op("aten.mul_.Tensor", {{"self", x}, {"other", 0.5}});
  Check(net, {before, after, net.Conv(x, 8), row});
}

TEST(CpuConvolutionTest, InputWrittenBetweenUses) {
  Net net;
  const ValueId x = net.Input({1, 8, 20, 20});
  const ValueId before = net.Relu(net.Conv(x, 16));
  net.b.Op("aten.mul_.Tensor", {{"self", x}, {"other", 2.0}});
  const ValueId after = net.Relu(net.Conv(x, 16));
  Check(net, {before, after, x});
}

// The operands of a fused step have to be there when it runs.
TEST(CpuConvolutionTest, OperandWrittenBeforeTheSum) {
  Net net;
  const ValueId x = net.Relu(net.Conv(net.Input({1, 8, 20, 20}), 16));
  const ValueId y = net.Conv(x, 16);
  net.b.Op("aten.add_.Tensor", {{"self", x}, {"other", 1.0}});
  Check(net, {net.Relu(net.Add(y, x))});
}

TEST(CpuConvolutionTest, Geometries) {
  struct Geometry {
    int64_t batch, in, out, size;
    Net::Options options;
  };
  const Geometry geometries[] = {
      {1, 3, 32, 33, {.kernel = 3, .stride = 2}},
      {1, 3, 64, 40, {.kernel = 7, .stride = 2}},
      {3, 5, 7, 21, {}},
      {2, 17, 23, 15, {.kernel = 1}},
      {1, 24, 40, 14, {.kernel = 1, .stride = 2, .padding = 0}},
      {2, 16, 16, 20, {.dilation = 2}},
      {1, 12, 18, 20, {.groups = 6}},
      {1, 32, 64, 14, {.groups = 4, .has_bias = true}},
      {2, 32, 32, 15, {.groups = 32}},
      {1, 37, 37, 15, {.stride = 2, .groups = 37, .has_bias = true}},
      {1, 16, 48, 15, {.groups = 16}},
      {1, 24, 24, 17, {.kernel = 5, .dilation = 2, .groups = 24}},
      {1, 1, 16, 28, {}},
      {1, 16, 1, 28, {}},
      {1, 20, 20, 9, {.kernel = 4, .padding = 3}},
      {1, 64, 96, 1, {.kernel = 1, .has_bias = true}},
      {4, 2, 2, 3, {}},
  };
  for (const Geometry& g : geometries) {
    for (const bool is_1d : {false, true}) {
      Net net;
      Sizes sizes = {g.batch, g.in, g.size};
      if (!is_1d) sizes.push_back(g.size + 2);
      ValueId v = net.Input(sizes);
      v = net.Relu(net.BatchNorm(net.Conv(v, g.out, g.options)));
      v = net.Relu6(net.Conv(v, 16, {.kernel = 1, .has_bias = true}));
      SCOPED_TRACE("channels " + std::to_string(g.in) + ", kernel " +
                   std::to_string(g.options.kernel) + ", groups " +
                   std::to_string(g.options.groups) +
                   (is_1d ? ", 1-d" : ", 2-d"));
      Check(net, {v});
    }
  }
}

// Read-only weights whose channels are last, input too: results have PyTorch's
// strides for that.
TEST(CpuConvolutionTest, ProgramsWithChannelsLast) {
  Net net;
  const auto last = [&](Sizes sizes) {
    const Sizes strides = {sizes[1] * sizes[2] * sizes[3], 1,
                           sizes[1] * sizes[3], sizes[1]};
    Tensor t = Tensor::EmptyStrided(DType::kFloat32, sizes, strides);
    t.CopyFrom(net.Floats(sizes));
    return t;
  };
  ValueId v = net.b.Input(last({2, 8, 20, 21}));
  const ValueId w = net.b.Input(ReadOnly(last({16, 8, 3, 3})));
  v = net.b.Op("aten.conv2d.default", {{"input", v}, {"weight", w}});
  v = net.Relu(net.BatchNorm(v));
  const ValueId pooled = net.MaxPool(v, 3, 2, 1);
  Check(net, {v, pooled, net.Conv(pooled, 8), net.AdaptivePool(v, 3)});
}

TEST(CpuConvolutionTest, UnbatchedInput) {
  Net net;
  ValueId v = net.Input({8, 20, 20});
  for (int i = 0; i < 2; ++i) {
    v = net.b.Op("aten.conv2d.default", {{"input", v},
                                         {"weight", net.Weight({8, 8, 3, 3})},
                                         {"padding", Ints{1, 1}}});
    v = net.Relu(v);
  }
  Check(net, {v});
}

TEST(CpuConvolutionTest, Pools) {
  for (const int64_t channels : {5, 16, 72}) {
    Net net;
    const ValueId x = net.Relu(net.Conv(net.Input({2, 8, 19, 22}), channels));
    std::vector<ValueId> outputs = {net.MaxPool(x, 3, 2, 1),
                                    net.MaxPool(x, 2, 2, 0),
                                    net.AvgPool(x, 3, 1, 1),
                                    net.AvgPool(x, 2, 2, 0),
                                    net.AdaptivePool(x, 1),
                                    net.AdaptivePool(x, 4),
                                    net.Mean(x, true),
                                    net.Mean(x, false),
                                    net.Conv(net.MaxPool(x, 3, 2, 1), 8)};
    const auto with_indices =
        net.b.Ops("aten.max_pool2d_with_indices.default",
                  {{"self", x}, {"kernel_size", Ints{2, 2}}});
    outputs.push_back(with_indices[0]);
    Check(net, outputs);
  }
}

TEST(CpuConvolutionTest, UnusedIndicesCostNothing) {
  Net net;
  const ValueId x = net.Conv(net.Input({1, 8, 24, 24}), 32);
  const ValueId pooled =
      net.b.Ops("aten.max_pool2d_with_indices.default",
                {{"self", x}, {"kernel_size", Ints{2, 2}}})[0];
  const std::string plan = Check(net, {net.Conv(pooled, 8)});
  EXPECT_EQ(Count(plan, "max_pool"), 1) << plan;
}

TEST(CpuConvolutionTest, PoolsKeepTheChannelsLast) {
  NEED_FAST_CONVOLUTIONS();
  Net net;
  ValueId v = net.Conv(net.Input({1, 8, 24, 24}), 32);
  v = net.MaxPool(v, 3, 2, 1);
  v = net.AvgPool(net.Conv(v, 32), 2, 2, 0);
  v = net.AdaptivePool(net.Conv(v, 32), 1);
  // One transpose at the input; a single pixel is the same in either order.
  const std::string plan = Check(net, {v});
  EXPECT_EQ(Count(plan, "transpose"), 1) << plan;
}

TEST(CpuConvolutionTest, Joins) {
  for (const int64_t dim : {0, 1, 2, 3}) {
    Net net;
    const ValueId x = net.Input({2, 8, 20, 20});
    const ValueId y = net.Relu(net.Conv(x, 16)), z = net.Conv(x, 16);
    const ValueId joined = net.Cat({y, z, y}, dim);
    const std::string plan = Check(net, {net.Conv(joined, 8)});
    if (HasFastConvolutions()) {
      EXPECT_EQ(Count(plan, "transpose"), 2) << plan;
    }
  }
  Net net;
  const ValueId x = net.Input({2, 7, 20, 20});
  const ValueId y = net.Conv(x, 5);
  const ValueId joined = net.Cat({y, x, net.Conv(y, 13)});
  Check(net, {net.Conv(joined, 8), joined});
}

TEST(CpuConvolutionTest, SeveralBatchSizesShareTheirWeights) {
  Net net;
  ValueId v = net.Relu(net.BatchNorm(net.Conv(net.Input({1, 8, 20, 20}), 32)));
  v = net.Add(net.BatchNorm(net.Conv(v, 32)), v);
  auto inputs = net.b.inputs;
  const Program region = net.b.Finish({v});
  const auto executable = Load(region);
  for (const int64_t batch : {1, 3, 2, 5, 1, 3}) {
    inputs[0] = net.Floats({batch, 8, 20, 20});
    Check(region, inputs, executable.get());
  }
}

TEST(CpuConvolutionTest, BatchOfNothing) {
  Net net;
  const ValueId v =
      net.Relu(net.BatchNorm(net.Conv(net.Input({0, 8, 20, 20}), 32)));
  Check(net, {v, net.Conv(v, 8)});
}

// --- random networks ---

ValueId RandomLayer(Net& net, ValueId x, std::vector<ValueId>* known) {
  const Sizes sizes = net.SizesOf(x);
  const int64_t channels = sizes[1], size = std::min(sizes[2], sizes[3]);
  switch (net.Int(0, 11)) {
    case 0:
    case 1:
    case 2: {
      Net::Options o;
      o.kernel = net.Int(0, 1) == 0 ? 1 : 3;
      o.stride = size > 6 && net.Int(0, 3) == 0 ? 2 : 1;
      o.dilation = net.Int(0, 4) == 0 ? 2 : 1;
      o.has_bias = net.Int(0, 1) == 0;
      int64_t out = net.Int(1, 40);
      if (net.Int(0, 3) == 0) {
        o.groups = out = channels;
      } else if (channels % 2 == 0 && net.Int(0, 3) == 0) {
        o.groups = 2;
        out = 2 * net.Int(1, 20);
      }
      return net.Conv(x, out, o);
    }
    case 3:
      return net.BatchNorm(x);
    case 4: {
      const char* names[] = {"relu", "silu", "sigmoid", "hardswish", "abs"};
      if (net.Int(0, 5) == 0) {
        return net.b.Op("aten.mul.Tensor", {{"self", x}, {"other", -1.5}});
      }
      return net.Unary(names[net.Int(0, 4)], x);
    }
    case 5:
      return net.Relu6(x);
    case 6:
    case 7:
      // Two convolutions of equal shape, or one with what there is.
      for (auto at = known->rbegin(); at != known->rend(); ++at) {
        if (*at != x && net.SizesOf(*at) == sizes) {
          return net.Int(0, 3) == 0 ? net.Mul(x, *at) : net.Add(x, *at);
        }
      }
      return net.Add(net.Conv(x, channels), x);
    case 8:
      for (auto at = known->rbegin(); at != known->rend(); ++at) {
        const Sizes other = net.SizesOf(*at);
        if (*at != x && other[2] == sizes[2] && other[3] == sizes[3] &&
            other[1] + channels < 80) {
          return net.Cat({*at, x});
        }
      }
      return net.Relu(x);
    case 9:
      if (size < 4) return x;
      return net.Int(0, 1) == 0 ? net.MaxPool(x, 3, 2, 1)
                                : net.AvgPool(x, 2, 1, net.Int(0, 1));
    case 10:
      if (x != known->front() && net.Int(0, 2) == 0) {
        return net.b.Op("aten.relu_.default", {{"self", x}});
      }
      return net.Mul(x, net.Unary("sigmoid", net.Mean(x, true)));
    default:
      return net.Int(0, 5) == 0 ? net.AdaptivePool(x, net.Int(1, 3))
                                : net.Conv(x, net.Int(8, 32));
  }
}

TEST(CpuConvolutionTest, RandomNetworks) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Net net(seed);
    net.are_weights_fixed = seed % 5 != 0;
    ValueId v = net.Input(
        {net.Int(1, 3), net.Int(1, 20), net.Int(5, 24), net.Int(5, 24)});
    std::vector<ValueId> known = {v};
    std::vector<ValueId> outputs;
    for (int64_t i = net.Int(3, 14); i > 0; --i) {
      v = RandomLayer(net, v, &known);
      known.push_back(v);
      if (net.Int(0, 9) == 0) outputs.push_back(v);
    }
    outputs.push_back(v);
    Check(net, outputs);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tenon
