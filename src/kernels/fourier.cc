// Discrete Fourier transforms: aten._fft_* and torch.fft.
//
// A transform along one dimension is the sum of its definition, taken in double
// precision. That costs the square of the size, and is easy to believe.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/promotion.h"
#include "kernels/registry.h"

namespace tenon {
namespace {

using Complex = std::complex<double>;

// --- arrays of complex numbers, row-major ---

struct Array {
  Sizes sizes;
  std::vector<Complex> values;
  // Of the tensor that PyTorch would hold at this point. They decide those of
  // the result.
  Sizes strides;
};

int64_t Inner(const Sizes& sizes, size_t dim) {
  return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(dim) + 1,
                         sizes.end(), int64_t{1}, std::multiplies<>());
}

// Calls visit(line) with each run of elements along `dim`, which it changes to
// one of `size` elements.
template <typename Visit>
void MapLines(Array* array, size_t dim, int64_t size, Visit&& visit) {
  const int64_t old = array->sizes[dim], inner = Inner(array->sizes, dim);
  int64_t outer = 1;
  for (size_t d = 0; d < dim; ++d) outer *= array->sizes[d];
  Array out;
  out.sizes = array->sizes;
  out.strides = array->strides;
  out.sizes[dim] = size;
  out.values.resize(static_cast<size_t>(outer * size * inner));
  std::vector<Complex> line(static_cast<size_t>(old));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t k = 0; k < old; ++k) {
        line[static_cast<size_t>(k)] =
            array->values[static_cast<size_t>((o * old + k) * inner + i)];
      }
      const std::vector<Complex> result = visit(line);
      for (int64_t k = 0; k < size; ++k) {
        out.values[static_cast<size_t>((o * size + k) * inner + i)] =
            result[static_cast<size_t>(k)];
      }
    }
  }
  *array = std::move(out);
}

// e^(sign * 2 pi i k / n) for k below n.
std::vector<Complex> Roots(int64_t n, int sign) {
  std::vector<Complex> roots;
  for (int64_t k = 0; k < n; ++k) {
    const double angle =
        sign * 2 * M_PI * static_cast<double>(k) / static_cast<double>(n);
    roots.push_back(std::polar(1.0, angle));
  }
  return roots;
}

void Transform(Array* array, size_t dim, bool forward) {
  const int64_t n = array->sizes[dim];
  const std::vector<Complex> roots = Roots(n, forward ? -1 : 1);
  MapLines(array, dim, n, [&](const std::vector<Complex>& line) {
    std::vector<Complex> out(line.size());
    for (size_t k = 0; k < line.size(); ++k) {
      for (size_t j = 0; j < line.size(); ++j) {
        out[k] += line[j] * roots[j * k % line.size()];
      }
    }
    return out;
  });
}

// Cuts `dim` to `size` elements.
void Cut(Array* array, size_t dim, int64_t size) {
  MapLines(array, dim, size, [size](std::vector<Complex> line) {
    line.resize(static_cast<size_t>(size));
    return line;
  });
}

// The inverse transform of the half of a spectrum that real signals have:
// n / 2 + 1 of n elements.
void TransformToReal(Array* array, size_t dim, int64_t n) {
  const std::vector<Complex> roots = Roots(n, 1);
  MapLines(array, dim, n, [&](const std::vector<Complex>& half) {
    std::vector<Complex> out(static_cast<size_t>(n));
    for (size_t j = 0; j < out.size(); ++j) {
      double sum = half[0].real();
      for (size_t k = 1; k < half.size(); ++k) {
        const bool has_twin = 2 * k != out.size();
        const Complex term = half[k] * roots[j * k % out.size()];
        // The element in the middle of an even size counts by its real part.
        sum += has_twin ? 2 * term.real()
                        : half[k].real() * roots[j * k % out.size()].real();
      }
      out[j] = sum;
    }
    return out;
  });
}

void Conjugate(Array* array) {
  for (Complex& v : array->values) v = std::conj(v);
}

// --- arguments ---

enum class Scaling { kNone, kByRoot, kBySize };

// `norm` of torch.fft: what the forward transform is divided by; the inverse by
// the rest.
std::optional<Scaling> ScalingOf(KernelCall& call, size_t arg, bool forward) {
  const std::string norm =
      call.is_none(arg) ? "backward" : call.arg(arg).string();
  if (norm == "ortho") return Scaling::kByRoot;
  if (norm == "backward") return forward ? Scaling::kNone : Scaling::kBySize;
  if (norm == "forward") return forward ? Scaling::kBySize : Scaling::kNone;
  call.Fail("invalid normalization mode: \"" + norm + "\"");
  return std::nullopt;
}

// `n`: how many elements were transformed together.
void Scale(Array* array, int64_t n, Scaling scaling) {
  const auto count = static_cast<double>(n);
  const double by = scaling == Scaling::kNone     ? 1
                    : scaling == Scaling::kByRoot ? std::sqrt(count)
                                                  : count;
  for (Complex& v : array->values) v /= by;
}

int64_t Product(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         std::multiplies<>());
}

bool FindDims(KernelCall& call, const Tensor& input,
              const std::vector<int64_t>& given, std::vector<size_t>* out) {
  for (int64_t d : given) {
    if (d < -input.dim() || d >= input.dim()) {
      return call.Fail("dimension " + std::to_string(d) + " is out of range");
    }
    if (d < 0) d += input.dim();
    const auto dim = static_cast<size_t>(d);
    if (std::find(out->begin(), out->end(), dim) != out->end()) {
      return call.Fail("FFT dims must be unique");
    }
    out->push_back(dim);
  }
  return true;
}

// The complex dtype in which `dtype` is transformed; kUnknown: PyTorch's CPU
// has no transform of it.
DType TransformDType(DType dtype) {
  if (dtype == DType::kFloat64 || dtype == DType::kComplex128) {
    return DType::kComplex128;
  }
  const bool is_half = dtype == DType::kFloat16 || dtype == DType::kBFloat16 ||
                       dtype == DType::kComplex32;
  return is_half ? DType::kUnknown : DType::kComplex64;
}

// --- transforms over several dimensions ---

// The strides that a transform over `dims` gives: dimensions that aren't
// transformed come first, in the order of their strides, then `dims`.
void LayOut(Array* array, const std::vector<size_t>& dims) {
  std::vector<size_t> order;
  for (size_t d = 0; d < array->sizes.size(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) {
      order.push_back(d);
    }
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return array->strides[a] > array->strides[b];
  });
  order.insert(order.end(), dims.begin(), dims.end());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    array->strides[order[i]] = stride;
    stride *= array->sizes[order[i]];
  }
}

void SortByStride(const Array& array, std::vector<size_t>* dims, size_t count) {
  std::sort(
      dims->begin(), dims->begin() + static_cast<std::ptrdiff_t>(count),
      [&](size_t a, size_t b) { return array.strides[a] > array.strides[b]; });
}

void ComplexToComplex(Array* array, std::vector<size_t> dims, bool forward) {
  for (const size_t d : dims) Transform(array, d, forward);
  // PyTorch takes three dimensions at a time.
  while (!dims.empty()) {
    SortByStride(*array, &dims, dims.size());
    const size_t rest = dims.size() - std::min<size_t>(dims.size(), 3);
    LayOut(array,
           {dims.begin() + static_cast<std::ptrdiff_t>(rest), dims.end()});
    dims.resize(rest);
  }
}

// With `is_onesided` the last of `dims` keeps n / 2 + 1 of its n elements.
void RealToComplex(Array* array, std::vector<size_t> dims, bool is_onesided) {
  if (dims.empty()) return;
  for (const size_t d : dims) Transform(array, d, true);
  const size_t last = dims.back();
  if (is_onesided) Cut(array, last, array->sizes[last] / 2 + 1);
  SortByStride(*array, &dims, dims.size() - 1);
  LayOut(array, dims);
}

// The last of `dims`, of which half is there, becomes `n` real elements.
void ComplexToReal(Array* array, std::vector<size_t> dims, int64_t n) {
  const size_t last = dims.back();
  dims.pop_back();
  ComplexToComplex(array, dims, false);
  TransformToReal(array, last, n);
  LayOut(array, {last});
}

Array ArrayOf(const Tensor& tensor) {
  return {tensor.sizes(), ReadAll<Complex>(tensor), tensor.strides()};
}

bool ReturnArray(KernelCall& call, const Array& array, DType dtype) {
  Tensor out = Tensor::EmptyStrided(dtype, array.sizes, array.strides);
  if (!out.defined()) return call.Fail("out of memory");
  WriteAll(&out, array.values);
  call.Return(std::move(out));
  return true;
}

// --- aten._fft_* ---

bool ReadScaling(KernelCall& call, size_t arg, Scaling* out) {
  const int64_t code = call.Int(arg);
  if (code < 0 || code > 2) return call.Fail("invalid normalization");
  *out = static_cast<Scaling>(code);
  return true;
}

std::vector<int64_t> SizesAlong(const Tensor& input,
                                const std::vector<size_t>& dims) {
  std::vector<int64_t> out;
  for (const size_t d : dims) out.push_back(input.sizes()[d]);
  return out;
}

struct PrimitiveArgs {
  std::vector<size_t> dims;
  std::vector<int64_t> sizes;
  Scaling scaling = Scaling::kNone;
  DType dtype = DType::kUnknown;  // complex
};

bool ReadPrimitive(KernelCall& call, bool is_complex, PrimitiveArgs* out) {
  const Tensor& input = call.tensor(0);
  out->dtype = TransformDType(input.dtype());
  if (out->dtype == DType::kUnknown || IsComplex(input.dtype()) != is_complex) {
    return call.Fail("no such transform of " +
                     std::string(Name(input.dtype())));
  }
  if (!FindDims(call, input, call.Ints(1), &out->dims) ||
      !ReadScaling(call, 2, &out->scaling)) {
    return false;
  }
  out->sizes = SizesAlong(input, out->dims);
  return true;
}

bool FftC2c(KernelCall& call) {
  PrimitiveArgs args;
  if (!ReadPrimitive(call, true, &args)) return false;
  Array array = ArrayOf(call.tensor(0));
  ComplexToComplex(&array, args.dims, call.Bool(3));
  Scale(&array, Product(args.sizes), args.scaling);
  return ReturnArray(call, array, args.dtype);
}

bool FftR2c(KernelCall& call) {
  PrimitiveArgs args;
  if (!ReadPrimitive(call, false, &args)) return false;
  Array array = ArrayOf(call.tensor(0));
  RealToComplex(&array, args.dims, call.Bool(3));
  Scale(&array, Product(args.sizes), args.scaling);
  return ReturnArray(call, array, args.dtype);
}

bool FftC2r(KernelCall& call) {
  PrimitiveArgs args;
  if (!ReadPrimitive(call, true, &args)) return false;
  if (args.dims.empty()) return call.Fail("no dimension to transform");
  const int64_t n = call.Int(3);
  if (n < 1) return call.Fail("invalid number of data points");
  args.sizes.back() = n;
  Array array = ArrayOf(call.tensor(0));
  if (array.sizes[args.dims.back()] < n / 2 + 1) {
    return call.Fail("the last dimension is shorter than half of the signal");
  }
  Cut(&array, args.dims.back(), n / 2 + 1);
  ComplexToReal(&array, args.dims, n);
  Scale(&array, Product(args.sizes), args.scaling);
  return ReturnArray(call, array, RealDType(args.dtype));
}

// --- torch.fft ---

enum class Kind { kComplex, kFromReal, kToReal };

// What is transformed, of which size, and how.
struct Signal {
  std::vector<size_t> dims;
  std::vector<int64_t> sizes;  // along `dims`
  Scaling scaling = Scaling::kNone;
};

// The input with the sizes that the transform wants, cut or filled up with
// zeros.
Tensor Resized(KernelChain& chain, Tensor x, const Signal& signal, Kind kind) {
  std::vector<int64_t> padding(x.sizes().size() * 2, 0);
  bool pads = false;
  for (size_t i = 0; i < signal.dims.size() && chain.ok(); ++i) {
    const bool is_half = kind == Kind::kToReal && i + 1 == signal.dims.size();
    const int64_t size = is_half ? signal.sizes[i] / 2 + 1 : signal.sizes[i];
    const size_t d = signal.dims[i];
    if (x.sizes()[d] > size) {
      x = chain("aten.slice.Tensor",
                {x, static_cast<int64_t>(d), int64_t{0}, size});
    } else if (x.sizes()[d] < size) {
      pads = true;
      padding[padding.size() - 2 * d - 1] = size - x.sizes()[d];
    }
  }
  return pads ? chain("aten.constant_pad_nd.default", {x, IntList(padding)})
              : x;
}

// `transforms_reals`: a real signal goes the way of reals, whose result is the
// same but for its strides.
template <Kind kKind, bool kForward>
bool Run(KernelCall& call, const Signal& signal, bool transforms_reals) {
  const Tensor& input = call.tensor(0);
  const DType dtype = TransformDType(input.dtype());
  if (dtype == DType::kUnknown) {
    return call.Fail("no transform of " + std::string(Name(input.dtype())));
  }
  const bool is_real = !IsComplex(input.dtype());
  if (kKind == Kind::kFromReal && !is_real) {
    return call.Fail("expects a real input tensor");
  }
  for (const int64_t size : signal.sizes) {
    if (size < 1) return call.Fail("invalid number of data points");
  }
  const bool stays_real =
      kKind == Kind::kFromReal ||
      (kKind == Kind::kComplex && is_real && transforms_reals);
  KernelChain chain(call);
  const Tensor x =
      Resized(chain, chain.To(input, stays_real ? RealDType(dtype) : dtype),
              signal, kKind);
  if (!chain.ok()) return false;
  Array array = ArrayOf(x);
  std::vector<size_t> leading = signal.dims;
  if (kKind == Kind::kToReal) {
    if constexpr (kForward) {
      leading.pop_back();
      ComplexToComplex(&array, leading, true);
      Conjugate(&array);
      ComplexToReal(&array, {signal.dims.back()}, signal.sizes.back());
    } else {
      ComplexToReal(&array, signal.dims, signal.sizes.back());
    }
  } else if (kKind == Kind::kFromReal && !kForward) {
    leading.pop_back();
    RealToComplex(&array, {signal.dims.back()}, true);
    Conjugate(&array);
    ComplexToComplex(&array, leading, false);
  } else if (stays_real) {
    RealToComplex(&array, signal.dims, kKind == Kind::kFromReal);
    if constexpr (!kForward) Conjugate(&array);
  } else {
    ComplexToComplex(&array, signal.dims, kForward);
  }
  Scale(&array, Product(signal.sizes), signal.scaling);
  return ReturnArray(call, array,
                     kKind == Kind::kToReal ? RealDType(dtype) : dtype);
}

// (self, n, dim, norm)
template <Kind kKind, bool kForward>
bool AlongOne(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  Signal signal;
  const auto scaling = ScalingOf(call, 3, kForward);
  if (!scaling || !FindDims(call, input, {call.Int(2)}, &signal.dims)) {
    return false;
  }
  signal.scaling = *scaling;
  const int64_t size = input.sizes()[signal.dims[0]];
  const int64_t whole = kKind == Kind::kToReal ? 2 * (size - 1) : size;
  signal.sizes = {call.is_none(1) ? whole : call.Int(1)};
  return Run<kKind, kForward>(call, signal, /*transforms_reals=*/true);
}

// (self, s, dim, norm): all dimensions, or the last as many as `s` has, unless
// `dim` names some. A size of -1 leaves the dimension as it is.
template <Kind kKind, bool kForward>
bool AlongMany(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  Signal signal;
  const auto scaling = ScalingOf(call, 3, kForward);
  if (!scaling) return false;
  signal.scaling = *scaling;
  const std::vector<int64_t> given =
      call.is_none(1) ? std::vector<int64_t>() : call.Ints(1);
  std::vector<int64_t> dims;
  if (!call.is_none(2)) {
    dims = call.Ints(2);
  } else {
    const int64_t count =
        call.is_none(1) ? input.dim() : static_cast<int64_t>(given.size());
    if (count > input.dim()) return call.Fail("more sizes than dimensions");
    dims.resize(static_cast<size_t>(count));
    std::iota(dims.begin(), dims.end(), input.dim() - count);
  }
  if (!call.is_none(1) && given.size() != dims.size()) {
    return call.Fail("as many sizes as dimensions are needed");
  }
  if (!FindDims(call, input, dims, &signal.dims)) return false;
  signal.sizes = SizesAlong(input, signal.dims);
  if (kKind != Kind::kComplex && signal.dims.empty()) {
    return call.Fail("at least one dimension has to be transformed");
  }
  if (kKind == Kind::kToReal) {
    signal.sizes.back() = 2 * (signal.sizes.back() - 1);
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] != -1) signal.sizes[i] = given[i];
  }
  return Run<kKind, kForward>(call, signal, /*transforms_reals=*/false);
}

// The zero frequency in the middle, or back.
template <bool kInverse>
bool Shift(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  std::vector<int64_t> dims;
  if (call.is_none(1)) {
    dims.resize(static_cast<size_t>(input.dim()));
    std::iota(dims.begin(), dims.end(), int64_t{0});
  } else {
    dims = call.Ints(1);
  }
  std::vector<size_t> found;
  if (!FindDims(call, input, dims, &found)) return false;
  std::vector<int64_t> shifts;
  for (const size_t d : found) {
    shifts.push_back((input.sizes()[d] + (kInverse ? 1 : 0)) / 2);
  }
  if (dims.empty()) return ForwardTo(call, "aten.clone.default", {input});
  return ForwardTo(call, "aten.roll.default",
                   {input, IntList(shifts), IntList(dims)});
}

constexpr KernelEntry kEntries[] = {
    {"aten._fft_c2c.default", &FftC2c},
    {"aten._fft_c2r.default", &FftC2r},
    {"aten._fft_r2c.default", &FftR2c},
    {"aten.fft_fft.default", &AlongOne<Kind::kComplex, true>},
    {"aten.fft_fft2.default", &AlongMany<Kind::kComplex, true>},
    {"aten.fft_fftn.default", &AlongMany<Kind::kComplex, true>},
    {"aten.fft_fftshift.default", &Shift<false>},
    {"aten.fft_hfft.default", &AlongOne<Kind::kToReal, true>},
    {"aten.fft_hfft2.default", &AlongMany<Kind::kToReal, true>},
    {"aten.fft_hfftn.default", &AlongMany<Kind::kToReal, true>},
    {"aten.fft_ifft.default", &AlongOne<Kind::kComplex, false>},
    {"aten.fft_ifft2.default", &AlongMany<Kind::kComplex, false>},
    {"aten.fft_ifftn.default", &AlongMany<Kind::kComplex, false>},
    {"aten.fft_ifftshift.default", &Shift<true>},
    {"aten.fft_ihfft.default", &AlongOne<Kind::kFromReal, false>},
    {"aten.fft_ihfft2.default", &AlongMany<Kind::kFromReal, false>},
    {"aten.fft_ihfftn.default", &AlongMany<Kind::kFromReal, false>},
    {"aten.fft_irfft.default", &AlongOne<Kind::kToReal, false>},
    {"aten.fft_irfft2.default", &AlongMany<Kind::kToReal, false>},
    {"aten.fft_irfftn.default", &AlongMany<Kind::kToReal, false>},
    {"aten.fft_rfft.default", &AlongOne<Kind::kFromReal, true>},
    {"aten.fft_rfft2.default", &AlongMany<Kind::kFromReal, true>},
    {"aten.fft_rfftn.default", &AlongMany<Kind::kFromReal, true>},
};

}  // namespace

std::span<const KernelEntry> FourierKernels() { return kEntries; }

}  // namespace tenon
