// Random tensors. The streams are PyTorch's (kernels/random.h), except where
// its builds use MKL: bernoulli with one probability and exponential.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "kernels/broadcast.h"
#include "kernels/elements.h"
#include "kernels/factory.h"
#include "kernels/promotion.h"
#include "kernels/random.h"
#include "kernels/views.h"

namespace tenon {
namespace {

int MantissaBits(DType dtype) {
  if (dtype == DType::kFloat16) return 11;
  return dtype == DType::kBFloat16 ? 8 : 24;
}

double UniformFor(DType dtype, Generator& generator) {
  return dtype == DType::kFloat64 ? generator.Uniform()
                                  : generator.Uniform(MantissaBits(dtype));
}

std::vector<double> UniformValues(KernelCall& call, DType dtype, size_t count) {
  Generator& generator = GeneratorOf(call);
  std::vector<double> values(count);
  for (double& value : values) value = UniformFor(dtype, generator);
  return values;
}

// Box-Muller over 16 uniform values at once, as PyTorch does from 16 elements
// on; the last 16 are drawn anew when the count isn't a multiple.
void NormalBlock(double* values) {
  for (int i = 0; i < 8; ++i) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - values[i]));
    const double angle = 2.0 * M_PI * values[i + 8];
    values[i] = radius * std::cos(angle);
    values[i + 8] = radius * std::sin(angle);
  }
}

std::vector<double> NormalValues(KernelCall& call, DType dtype, size_t count,
                                 bool contiguous) {
  Generator& generator = GeneratorOf(call);
  if (count < 16 || !contiguous) {
    std::vector<double> values(count);
    for (double& value : values) value = generator.Normal();
    return values;
  }
  std::vector<double> values = UniformValues(call, dtype, count);
  for (size_t i = 0; i + 16 <= count; i += 16) NormalBlock(&values[i]);
  if (count % 16 != 0) {
    double* last = &values[count - 16];
    for (int i = 0; i < 16; ++i) last[i] = UniformFor(dtype, generator);
    NormalBlock(last);
  }
  return values;
}

// Complex numbers draw their parts in turn.
void WriteUniform(KernelCall& call, double from, double to, Tensor* out) {
  const auto count = static_cast<size_t>(out->numel());
  const bool complex = IsComplex(out->dtype());
  std::vector<double> parts =
      UniformValues(call, RealDType(out->dtype()), complex ? 2 * count : count);
  for (double& part : parts) part = part * (to - from) + from;
  if (!complex) return WriteAll(out, parts);
  std::vector<std::complex<double>> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = {parts[2 * i], parts[2 * i + 1]};
  }
  WriteAll(out, values);
}

// Complex numbers share the variance between their parts; the mean is real.
void WriteNormal(KernelCall& call, double mean, double deviation, Tensor* out) {
  const auto count = static_cast<size_t>(out->numel());
  const bool complex = IsComplex(out->dtype());
  std::vector<double> parts =
      NormalValues(call, RealDType(out->dtype()), complex ? 2 * count : count,
                   out->is_contiguous());
  if (!complex) {
    for (double& part : parts) part = part * deviation + mean;
    return WriteAll(out, parts);
  }
  std::vector<std::complex<double>> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = std::complex<double>(parts[2 * i], parts[2 * i + 1]) *
                    (deviation * std::sqrt(0.5)) +
                mean;
  }
  WriteAll(out, values);
}

// --- rand, randn, randint ---

bool CheckRandom(KernelCall& call, DType dtype) {
  if (IsComplex(dtype) || (IsFloating(dtype) && SizeBytes(dtype) > 1)) {
    return true;
  }
  return call.Fail("random values of dtype " + std::string(Name(dtype)) +
                   " aren't supported");
}

// A contiguous tensor by size, or one like an argument.
bool MakeOutput(KernelCall& call, DType default_dtype, int size_arg,
                Tensor* out) {
  DType dtype = default_dtype;
  if (size_arg >= 0) {
    const Sizes sizes = call.Ints(static_cast<size_t>(size_arg));
    return CheckSizes(call, sizes) && ReadOptions(call, &dtype) &&
           Allocate(call, dtype, sizes, out);
  }
  Sizes strides;
  dtype = call.tensor(0).dtype();
  return ReadOptions(call, &dtype) &&
         ReadLikeStrides(call, call.tensor(0), &strides) &&
         Allocate(call, dtype, call.tensor(0).sizes(), strides, out);
}

template <int kSizeArg>
bool Rand(KernelCall& call) {
  Tensor out;
  if (!MakeOutput(call, DType::kFloat32, kSizeArg, &out) ||
      !CheckRandom(call, out.dtype())) {
    return false;
  }
  WriteUniform(call, 0, 1, &out);
  call.Return(out);
  return true;
}

template <int kSizeArg>
bool Randn(KernelCall& call) {
  Tensor out;
  if (!MakeOutput(call, DType::kFloat32, kSizeArg, &out) ||
      !CheckRandom(call, out.dtype())) {
    return false;
  }
  WriteNormal(call, 0, 1, &out);
  call.Return(out);
  return true;
}

bool FillIntegers(KernelCall& call, int64_t low, int64_t high, Tensor* out) {
  if (low >= high) {
    return call.Fail("the range [" + std::to_string(low) + ", " +
                     std::to_string(high) + ") is empty");
  }
  const uint64_t range =
      static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  Generator& generator = GeneratorOf(call);
  std::vector<int64_t> values(static_cast<size_t>(out->numel()));
  for (int64_t& value : values) {
    value = static_cast<int64_t>(static_cast<uint64_t>(low) +
                                 generator.Below(range));
  }
  WriteAll(out, values);
  return true;
}

// randint(high, size), randint(low, high, size), and like an argument.
template <bool kHasLow, bool kLike>
bool Randint(KernelCall& call) {
  constexpr size_t first = kLike ? 1 : 0;
  Tensor out;
  if (!MakeOutput(call, DType::kInt64, kLike ? -1 : kHasLow ? 2 : 1, &out)) {
    return false;
  }
  const int64_t low = kHasLow ? call.Int(first) : 0;
  const int64_t high = call.Int(first + (kHasLow ? 1 : 0));
  if (!FillIntegers(call, low, high, &out)) return false;
  call.Return(out);
  return true;
}

bool Randperm(KernelCall& call) {
  const int64_t n = call.Int(0);
  DType dtype = DType::kInt64;
  Tensor out;
  if (!CheckSizes(call, {n}) || !ReadOptions(call, &dtype) ||
      !Allocate(call, dtype, {n}, &out)) {
    return false;
  }
  Generator& generator = GeneratorOf(call);
  const auto count = static_cast<size_t>(n);
  std::vector<int64_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  // 64-bit draws where 32 bits would favour small remainders.
  const bool wide = count >= std::numeric_limits<uint32_t>::max() / 20;
  for (size_t i = 0; i + 1 < count; ++i) {
    const uint64_t draw = wide ? generator.Random64() : generator.Random();
    std::swap(values[i], values[i + draw % (count - i)]);
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

// --- filling an existing tensor, and the functional forms of that ---

using Draw = std::function<double(Generator&)>;

// The written argument, or a fresh tensor like it for functional forms.
bool Target(KernelCall& call, Tensor* out) {
  *out = call.tensor(0);
  if (call.schema().is_mutating()) return true;
  return Allocate(call, out->dtype(), out->sizes(), LikeStrides(*out), out);
}

bool FillDrawn(KernelCall& call, const Draw& draw) {
  Tensor out;
  if (!Target(call, &out)) return false;
  Generator& generator = GeneratorOf(call);
  std::vector<double> values(static_cast<size_t>(out.numel()));
  for (double& value : values) value = draw(generator);
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

bool UniformFill(KernelCall& call) {
  const double from = call.Float(1), to = call.Float(2);
  const DType dtype = call.tensor(0).dtype();
  if (!CheckRandom(call, dtype)) return false;
  if (!(from <= to)) return call.Fail("the bounds are in the wrong order");
  Tensor out;
  if (!Target(call, &out)) return false;
  WriteUniform(call, from, to, &out);
  call.Return(out);
  return true;
}

bool NormalFill(KernelCall& call) {
  const double mean = call.Float(1), deviation = call.Float(2);
  Tensor out;
  if (deviation < 0) return call.Fail("a negative standard deviation");
  if (!CheckRandom(call, call.tensor(0).dtype()) || !Target(call, &out)) {
    return false;
  }
  WriteNormal(call, mean, deviation, &out);
  call.Return(out);
  return true;
}

bool LogNormalFill(KernelCall& call) {
  const double mean = call.Float(1), deviation = call.Float(2);
  if (!CheckRandom(call, call.tensor(0).dtype())) return false;
  if (!(deviation > 0)) return call.Fail("the deviation isn't positive");
  return FillDrawn(call, [=](Generator& g) {
    return std::exp(g.Normal() * deviation + mean);
  });
}

bool ExponentialFill(KernelCall& call) {
  const double lambda = call.Float(1);
  if (!CheckRandom(call, call.tensor(0).dtype())) return false;
  if (!(lambda > 0)) return call.Fail("lambda isn't positive");
  return FillDrawn(
      call, [=](Generator& g) { return -std::log1p(-g.Uniform()) / lambda; });
}

bool CauchyFill(KernelCall& call) {
  const double median = call.Float(1), sigma = call.Float(2);
  if (!CheckRandom(call, call.tensor(0).dtype())) return false;
  if (!(sigma > 0)) return call.Fail("sigma isn't positive");
  return FillDrawn(call, [=](Generator& g) {
    return median + sigma * std::tan(M_PI * (g.Uniform() - 0.5));
  });
}

bool GeometricFill(KernelCall& call) {
  const double p = call.Float(1);
  if (!(p > 0 && p < 1)) return call.Fail("p lies outside (0, 1)");
  return FillDrawn(call, [=](Generator& g) {
    return std::ceil(std::log(g.Uniform()) / std::log1p(-p));
  });
}

bool BernoulliFill(KernelCall& call) {
  const double p = call.Float(1);
  if (!(p >= 0 && p <= 1)) return call.Fail("p lies outside [0, 1]");
  return FillDrawn(call,
                   [=](Generator& g) { return g.Uniform() < p ? 1.0 : 0.0; });
}

// A draw per element, with the probabilities in `probabilities`.
bool BernoulliEach(KernelCall& call, const Tensor& probabilities, Tensor* out) {
  if (!IsFloating(probabilities.dtype())) {
    return call.Fail("probabilities are floating");
  }
  std::vector<double> values =
      ReadAll<double>(ExpandTo(probabilities, out->sizes()));
  Generator& generator = GeneratorOf(call);
  for (double& value : values) {
    if (!(value >= 0 && value <= 1)) {
      return call.Fail("a probability lies outside [0, 1]");
    }
    value = generator.Uniform(24) < value ? 1.0 : 0.0;
  }
  WriteAll(out, values);
  call.Return(*out);
  return true;
}

bool Bernoulli(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  Tensor out;
  return Allocate(call, self.dtype(), self.sizes(), LikeStrides(self), &out) &&
         BernoulliEach(call, self, &out);
}

bool BernoulliTensor(KernelCall& call) {
  Tensor out;
  if (!Target(call, &out)) return false;
  if (!BroadcastsTo(call.tensor(1).sizes(), out.sizes())) {
    return call.Fail("the probabilities don't broadcast to the result");
  }
  return BernoulliEach(call, call.tensor(1), &out);
}

// random_(): all values that the dtype holds exactly.
bool RandomFill(KernelCall& call) {
  Tensor out;
  if (!Target(call, &out)) return false;
  const DType dtype = out.dtype();
  const bool is_float = IsFloating(dtype);
  const int bits = dtype == DType::kBool      ? 1
                   : dtype == DType::kFloat64 ? 53
                   : is_float                 ? MantissaBits(dtype)
                              : static_cast<int>(SizeBytes(dtype)) * 8 -
                                    (IsSigned(dtype) ? 1 : 0);
  const uint64_t mask = bits >= 64
                            ? ~uint64_t{0}
                            : (uint64_t{1} << bits) - 1 + (is_float ? 1 : 0);
  Generator& generator = GeneratorOf(call);
  std::vector<int64_t> values(static_cast<size_t>(out.numel()));
  for (int64_t& value : values) {
    const uint64_t draw = bits > 32 ? generator.Random64() : generator.Random();
    value = static_cast<int64_t>(is_float ? draw % mask : draw & mask);
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

bool RandomRange(KernelCall& call, int64_t low, int64_t high) {
  Tensor out;
  if (!Target(call, &out) || !FillIntegers(call, low, high, &out)) {
    return false;
  }
  call.Return(out);
  return true;
}
bool RandomFrom(KernelCall& call) {
  if (call.is_none(2)) {
    return call.Fail("random.from without an end isn't supported");
  }
  return RandomRange(call, call.Int(1), call.Int(2));
}
bool RandomTo(KernelCall& call) { return RandomRange(call, 0, call.Int(1)); }

// --- normal(mean, std) ---

bool NormalOf(KernelCall& call, const Tensor& mean, const Tensor& deviation) {
  Sizes sizes;
  const Tensor both[] = {mean, deviation};
  if (!BroadcastSizes(both, &sizes)) {
    return call.Fail("mean and std don't broadcast");
  }
  const DType dtype = mean.defined() ? mean.dtype() : deviation.dtype();
  Tensor out;
  if (!CheckRandom(call, dtype) ||
      !Allocate(call, dtype, sizes, ResultStrides(sizes, both), &out)) {
    return false;
  }
  const auto count = static_cast<size_t>(out.numel());
  const auto read = [&](const Tensor& tensor, size_t arg) {
    if (tensor.defined()) return ReadAll<double>(ExpandTo(tensor, sizes));
    return std::vector<double>(count, call.Float(arg));
  };
  const std::vector<double> means = read(mean, 0), factors = read(deviation, 1);
  std::vector<double> values =
      NormalValues(call, dtype, count, out.is_contiguous());
  for (size_t i = 0; i < count; ++i) {
    if (factors[i] < 0) return call.Fail("a negative standard deviation");
    values[i] = values[i] * factors[i] + means[i];
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

bool NormalTensors(KernelCall& call) {
  return NormalOf(call, call.tensor(0), call.tensor(1));
}
bool NormalMean(KernelCall& call) {
  return NormalOf(call, call.tensor(0), Tensor());
}
bool NormalDeviation(KernelCall& call) {
  return NormalOf(call, Tensor(), call.tensor(1));
}
bool NormalSized(KernelCall& call) {
  Tensor out;
  if (call.Float(1) < 0) return call.Fail("a negative standard deviation");
  if (!MakeOutput(call, DType::kFloat32, 2, &out) ||
      !CheckRandom(call, out.dtype())) {
    return false;
  }
  std::vector<double> values =
      NormalValues(call, out.dtype(), static_cast<size_t>(out.numel()), true);
  for (double& value : values) value = value * call.Float(1) + call.Float(0);
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

// --- multinomial ---

// Draws categories from one row of weights; without replacement a drawn
// category's weight becomes 0.
bool DrawRow(KernelCall& call, std::vector<double> weights, int64_t samples,
             bool replacement, int64_t* out) {
  Generator& generator = GeneratorOf(call);
  for (int64_t s = 0; s < samples; ++s) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (!(total > 0)) return call.Fail("too few categories of nonzero weight");
    double left = generator.Uniform() * total;
    size_t pick = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] == 0) continue;
      pick = i;
      if (left < weights[i]) break;
      left -= weights[i];
    }
    out[s] = static_cast<int64_t>(pick);
    if (!replacement) weights[pick] = 0;
  }
  return true;
}

bool Multinomial(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t samples = call.Int(1);
  const bool replacement = call.Bool(2);
  if (self.dim() < 1 || self.dim() > 2 || !IsFloating(self.dtype())) {
    return call.Fail("multinomial needs one or two dimensions of weights");
  }
  const int64_t categories = self.size(self.dim() - 1);
  if (samples <= 0 || (!replacement && samples > categories)) {
    return call.Fail("can't draw " + std::to_string(samples) + " of " +
                     std::to_string(categories) + " categories");
  }
  const std::vector<double> weights = ReadAll<double>(self);
  for (const double w : weights) {
    if (!(w >= 0) || std::isinf(w)) {
      return call.Fail("weights are finite and not negative");
    }
  }
  Sizes sizes = self.sizes();
  sizes.back() = samples;
  Tensor out;
  if (!Allocate(call, DType::kInt64, sizes, &out)) return false;
  const int64_t rows = self.dim() == 2 ? self.size(0) : 1;
  for (int64_t r = 0; r < rows; ++r) {
    const auto row = weights.begin() + r * categories;
    if (!DrawRow(call, std::vector<double>(row, row + categories), samples,
                 replacement, out.mutable_data<int64_t>() + r * samples)) {
      return false;
    }
  }
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.rand.default", Rand<0>},
    {"aten.rand.generator", Rand<0>},
    {"aten.rand_like.default", Rand<-1>},
    {"aten.rand_like.generator", Rand<-1>},
    {"aten.randn.default", Randn<0>},
    {"aten.randn.generator", Randn<0>},
    {"aten.randn_like.default", Randn<-1>},
    {"aten.randn_like.generator", Randn<-1>},
    {"aten.randint.default", Randint<false, false>},
    {"aten.randint.generator", Randint<false, false>},
    {"aten.randint.low", Randint<true, false>},
    {"aten.randint.low_generator", Randint<true, false>},
    {"aten.randint_like.default", Randint<false, true>},
    {"aten.randint_like.generator", Randint<false, true>},
    {"aten.randint_like.Tensor", Randint<false, true>},
    {"aten.randint_like.low_dtype", Randint<true, true>},
    {"aten.randint_like.low_generator_dtype", Randint<true, true>},
    {"aten.randperm.default", Randperm},
    {"aten.randperm.generator", Randperm},
    {"aten.uniform.default", UniformFill},
    {"aten.uniform_.default", UniformFill},
    {"aten.normal_functional.default", NormalFill},
    {"aten.normal_.default", NormalFill},
    {"aten.log_normal.default", LogNormalFill},
    {"aten.log_normal_.default", LogNormalFill},
    {"aten.exponential.default", ExponentialFill},
    {"aten.exponential_.default", ExponentialFill},
    {"aten.cauchy.default", CauchyFill},
    {"aten.cauchy_.default", CauchyFill},
    {"aten.geometric.default", GeometricFill},
    {"aten.geometric_.default", GeometricFill},
    {"aten.bernoulli.default", Bernoulli},
    {"aten.bernoulli.p", BernoulliFill},
    {"aten.bernoulli.Tensor", BernoulliTensor},
    {"aten.bernoulli_.float", BernoulliFill},
    {"aten.bernoulli_.Tensor", BernoulliTensor},
    {"aten.random.default", RandomFill},
    {"aten.random_.default", RandomFill},
    {"aten.random.from", RandomFrom},
    {"aten.random_.from", RandomFrom},
    {"aten.random.to", RandomTo},
    {"aten.random_.to", RandomTo},
    {"aten.normal.Tensor_Tensor", NormalTensors},
    {"aten.normal.Tensor_float", NormalMean},
    {"aten.normal.float_Tensor", NormalDeviation},
    {"aten.normal.float_float", NormalSized},
    {"aten.multinomial.default", Multinomial},
};

}  // namespace

std::span<const KernelEntry> RandomKernels() { return kEntries; }

}  // namespace tenon
