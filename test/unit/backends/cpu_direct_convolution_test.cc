// The small convolutions of every instruction set that the machine has, against
// a plain loop, and what backend cpu makes of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/loops/loops.h"
#include "interpreter/interpreter.h"
#include "region_builder.h"

namespace tenon::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Random {
  std::mt19937 engine{7};

  int64_t Int(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  std::vector<float> Floats(int64_t count) {
    std::uniform_real_distribution<float> draw(-1, 1);
    std::vector<float> floats(static_cast<size_t>(count));
    for (float& f : floats) f = draw(engine);
    return floats;
  }
};

// Input pixels are drawn, not those of an image: the loops don't know of any.
struct Convolution {
  ConvolutionArgs args;
  bool is_depthwise = false;
  int64_t in_pixels = 0;
  std::vector<float> x, weight, bias, addend, zeros;
  std::vector<int32_t> offsets;

  // [out channel, tap, in channel]
  float WeightAt(int64_t o, int64_t tap, int64_t c) const {
    const int64_t depth = is_depthwise ? 1 : args.in_channels;
    return weight[static_cast<size_t>((o * args.taps + tap) * depth + c)];
  }
  double Sum(int64_t pixel, int64_t o) const {
    double sum = 0;
    for (int64_t tap = 0; tap < args.taps; ++tap) {
      const int32_t at = offsets[static_cast<size_t>(pixel * args.taps + tap)];
      if (at < 0) continue;
      const float* in = x.data() + at;
      for (int64_t c = 0; c < (is_depthwise ? 1 : args.in_channels); ++c) {
        sum += double{in[is_depthwise ? o : c]} * WeightAt(o, tap, c);
      }
    }
    const int64_t at = pixel * args.out_channels + o;
    if (!bias.empty()) sum += bias[static_cast<size_t>(o)];
    if (!addend.empty()) sum += addend[static_cast<size_t>(at)];
    if (args.has_bounds) {
      sum = std::min<double>(std::max<double>(sum, args.low), args.high);
    }
    return sum;
  }
  std::vector<float> Blocked(int64_t block) const {
    const int64_t depth = is_depthwise ? 1 : args.in_channels;
    const int64_t blocks = (args.out_channels + block - 1) / block;
    std::vector<float> out;
    for (int64_t b = 0; b < blocks; ++b) {
      for (int64_t tap = 0; tap < args.taps; ++tap) {
        for (int64_t c = 0; c < depth; ++c) {
          for (int64_t o = b * block; o < (b + 1) * block; ++o) {
            out.push_back(o < args.out_channels ? WeightAt(o, tap, c) : 0);
          }
        }
      }
    }
    return out;
  }
};

Convolution Draw(Random& random, bool is_depthwise) {
  Convolution c;
  c.is_depthwise = is_depthwise;
  ConvolutionArgs& g = c.args;
  g.pixels = random.Int(1, 21);
  g.taps = random.Int(1, 9);
  g.out_channels = random.Int(1, 70);
  g.in_channels = is_depthwise ? g.out_channels : random.Int(1, 20);
  c.in_pixels = random.Int(1, 30);
  c.x = random.Floats(c.in_pixels * g.in_channels);
  c.weight = random.Floats(g.out_channels * g.taps *
                           (is_depthwise ? 1 : g.in_channels));
  if (random.Int(0, 1) == 1) c.bias = random.Floats(g.out_channels);
  if (random.Int(0, 1) == 1) {
    c.addend = random.Floats(g.pixels * g.out_channels);
  }
  g.has_bounds = random.Int(0, 1) == 1;
  g.low = -0.25f;
  g.high = 0.5f;
  c.zeros.resize(static_cast<size_t>(g.in_channels));
  for (int64_t i = 0; i < g.pixels * g.taps; ++i) {
    const int64_t pixel = random.Int(-1, c.in_pixels - 1);
    c.offsets.push_back(
        static_cast<int32_t>(pixel < 0 ? -1 : pixel * g.in_channels));
  }
  return c;
}

void Check(const Convolution& c, const Loops& loops) {
  ConvolutionArgs g = c.args;
  g.block = loops.convolution_block(g.out_channels);
  const std::vector<float> weight = c.Blocked(g.block);
  const auto count = static_cast<size_t>(g.pixels * g.out_channels);
  std::vector<float> out(count + 16, 7.0f);
  // A residual may be where the result goes.
  std::copy(c.addend.begin(), c.addend.end(), out.begin());
  g.x = c.x.data();
  g.offsets = c.offsets.data();
  g.zeros = c.zeros.data();
  g.weight = weight.data();
  g.bias = c.bias.empty() ? nullptr : c.bias.data();
  g.addend = c.addend.empty() ? nullptr : out.data();
  g.out = out.data();
  (c.is_depthwise ? loops.convolve_depthwise : loops.convolve)(g);
  const std::string what =
      std::string(loops.name) + ": " + std::to_string(g.pixels) + " pixels, " +
      std::to_string(g.taps) + " taps, " + std::to_string(g.in_channels) +
      " to " + std::to_string(g.out_channels) + " channels";
  for (int64_t pixel = 0; pixel < g.pixels; ++pixel) {
    for (int64_t o = 0; o < g.out_channels; ++o) {
      const float found = out[static_cast<size_t>(pixel * g.out_channels + o)];
      ASSERT_NEAR(found, c.Sum(pixel, o), 2e-5)
          << what << ", at " << pixel << ", " << o;
    }
  }
  for (size_t i = count; i < out.size(); ++i) ASSERT_EQ(out[i], 7) << what;
}

TEST(CpuDirectConvolutionTest, EverySet) {
  Random random;
  for (int round = 0; round < 400; ++round) {
    const Convolution c = Draw(random, round % 2 == 1);
    for (const Loops* const* set = SupportedLoops(); *set != nullptr; ++set) {
      Check(c, **set);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CpuDirectConvolutionTest, BoundsKeepNan) {
  for (const Loops* const* set = SupportedLoops(); *set != nullptr; ++set) {
    for (const int64_t channels : {1, 5, 8, 16, 33}) {
      ConvolutionArgs g;
      g.pixels = 2;
      g.taps = 1;
      g.in_channels = 1;
      g.out_channels = channels;
      g.block = (*set)->convolution_block(channels);
      const float x[] = {kNan, -3};
      const int32_t offsets[] = {0, 1};
      const float zeros[] = {0};
      const std::vector<float> weight(64, 1.0f);
      std::vector<float> out(static_cast<size_t>(2 * channels));
      g.x = x;
      g.offsets = offsets;
      g.zeros = zeros;
      g.weight = weight.data();
      g.has_bounds = true;
      g.low = 0;
      g.high = 6;
      g.out = out.data();
      (*set)->convolve(g);
      for (int64_t i = 0; i < channels; ++i) {
        EXPECT_TRUE(std::isnan(out[static_cast<size_t>(i)])) << (*set)->name;
        EXPECT_EQ(out[static_cast<size_t>(channels + i)], 0) << (*set)->name;
      }
    }
  }
}

// --- as steps of a plan ---

Tensor ReadOnly(const Tensor& t) {
  const Bytes bytes(t.raw(), t.storage()->size_bytes());
  return Tensor(Storage::BorrowConst(bytes, t.storage()), t.dtype(), t.sizes(),
                t.strides(), 0);
}

struct Geometry {
  int64_t batch, in_channels, out_channels, height, width, kernel, stride,
      padding, dilation, groups;
};

// Convolution, residual sum, relu; twice, so that the second finds its input
// with the channels last.
std::string RunBoth(const Geometry& s, RandomTensors& random) {
  RegionBuilder b;
  const auto weight = [&](Sizes sizes) {
    return b.Input(ReadOnly(random.Floats(std::move(sizes))));
  };
  const auto convolve = [&](ValueId x, int64_t in, int64_t stride) {
    return b.Op("aten.conv2d.default",
                {{"input", x},
                 {"weight",
                  weight({s.out_channels, in / s.groups, s.kernel, s.kernel})},
                 {"bias", weight({s.out_channels})},
                 {"stride", std::vector<int64_t>(2, stride)},
                 {"padding", std::vector<int64_t>(2, s.padding)},
                 {"dilation", std::vector<int64_t>(2, s.dilation)},
                 {"groups", s.groups}});
  };
  const ValueId x =
      b.Input(random.Floats({s.batch, s.in_channels, s.height, s.width}));
  const ValueId first = convolve(x, s.in_channels, s.stride);
  const Tensor skip = random.Floats(b.sample(first).tensor().sizes());
  const ValueId sum =
      b.Op("aten.add.Tensor", {{"self", first}, {"other", b.Input(skip)}});
  const ValueId relu = b.Op("aten.relu.default", {{"self", sum}});
  const std::vector<RuntimeValue> inputs = b.inputs;
  const Program region = b.Finish({relu});
  Diagnostics diags;
  const auto expected =
      Interpret(region, Program::kRoot, inputs, InterpreterOptions{}, diags);
  EXPECT_TRUE(expected) << diags.ToString();
  const Backend* cpu = FindBackend("cpu");
  auto compiled = cpu->Compile(region, {}, diags);
  auto loaded = cpu->Load(compiled->payload, nullptr, {}, diags);
  EXPECT_TRUE(loaded) << diags.ToString();
  auto* executable = static_cast<CpuExecutable*>(loaded->get());
  const auto found = executable->Run(inputs, diags);
  EXPECT_TRUE(found) << diags.ToString();
  const std::string plan = executable->last_plan()->ToString();
  const Tensor x0 = (*expected)[0].tensor(), x1 = (*found)[0].tensor();
  for (int64_t i = 0; i < x0.numel(); ++i) {
    EXPECT_NEAR(x0.data<float>()[i], x1.data<float>()[i], 1e-4) << plan;
    if (testing::Test::HasNonfatalFailure()) break;
  }
  return plan;
}

TEST(CpuDirectConvolutionTest, StepsOfRandomGeometry) {
  RandomTensors random;
  Random draw;
  int direct = 0;
  for (int round = 0; round < 80; ++round) {
    Geometry s;
    const bool is_depthwise = round % 3 == 0;
    s.batch = draw.Int(1, 3);
    s.in_channels = draw.Int(2, 40);
    s.out_channels = is_depthwise ? s.in_channels : draw.Int(1, 40);
    s.groups = is_depthwise ? s.in_channels : 1;
    s.kernel = draw.Int(1, 4);
    s.stride = draw.Int(1, 3);
    s.padding = draw.Int(0, 2);
    s.dilation = draw.Int(1, 2);
    s.height = draw.Int(8, 12);
    s.width = draw.Int(8, 12);
    const std::string plan = RunBoth(s, random);
    direct += plan.find("convolution_direct") != std::string::npos;
    if (HasFailure()) return;
  }
  EXPECT_GT(direct, 60);
}

// All inputs are finite: that isn't what keeps it.
TEST(CpuDirectConvolutionTest, NanThatArisesInsideSurvives) {
  RandomTensors random;
  RegionBuilder b;
  const ValueId x = b.Input(random.Floats({1, 8, 6, 6}, 1, 2));
  const ValueId large = b.Op("aten.mul.Tensor", {{"self", x}, {"other", 1e38}});
  const ValueId infinite =
      b.Op("aten.mul.Tensor", {{"self", large}, {"other", 1e38}});
  const ValueId nan =
      b.Op("aten.sub.Tensor", {{"self", infinite}, {"other", infinite}});
  const ValueId w = b.Input(ReadOnly(random.Floats({8, 8, 3, 3})));
  const ValueId y =
      b.Op("aten.conv2d.default", {{"input", nan}, {"weight", w}});
  const std::vector<RuntimeValue> inputs = b.inputs;
  const Program region = b.Finish({b.Op("aten.relu.default", {{"self", y}})});
  Diagnostics diags;
  const Backend* cpu = FindBackend("cpu");
  auto compiled = cpu->Compile(region, {}, diags);
  auto loaded = cpu->Load(compiled->payload, nullptr, {}, diags);
  ASSERT_TRUE(loaded) << diags.ToString();
  auto* executable = static_cast<CpuExecutable*>(loaded->get());
  const auto found = executable->Run(inputs, diags);
  ASSERT_TRUE(found) << diags.ToString();
  const std::string plan = executable->last_plan()->ToString();
  EXPECT_NE(plan.find("convolution_direct+"), std::string::npos) << plan;
  const Tensor out = (*found)[0].tensor();
  for (int64_t i = 0; i < out.numel(); ++i) {
    EXPECT_TRUE(std::isnan(out.data<float>()[i])) << i;
  }
}

}  // namespace
}  // namespace tenon::cpu
