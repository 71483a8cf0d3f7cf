#include "kernels/elements.h"

#include <algorithm>
#include <limits>

#include "support/assert.h"
#include "tensor/strided_loop.h"

namespace tenon {
namespace {

constexpr int64_t kChunk = 1024;

// C++ leaves a cast of an out-of-range float to an integer undefined. This is
// what x86 does, and with it PyTorch on x86: int64 conversion first, whose
// overflow is the smallest int64, then the low bits; int32 has its own.
template <typename F>
int64_t FloatToInt64(F value) {
  if (value >= static_cast<F>(-0x1p63) && value < static_cast<F>(0x1p63)) {
    return static_cast<int64_t>(value);
  }
  return std::numeric_limits<int64_t>::min();
}

template <typename F>
uint64_t FloatToUInt64(F value) {
  if (value >= static_cast<F>(0x1p63) && value < static_cast<F>(0x1p64)) {
    return static_cast<uint64_t>(value);
  }
  return static_cast<uint64_t>(FloatToInt64(value));
}

// One element of a tensor to a compute type.
template <typename C, typename S>
C FromStorage(S value) {
  if constexpr (std::is_same_v<S, Complex32>) {
    return FromStorage<C>(std::complex<float>(static_cast<float>(value.real),
                                              static_cast<float>(value.imag)));
  } else if constexpr (kIsComplex<S>) {
    if constexpr (kIsComplex<C>) {
      return C(static_cast<typename C::value_type>(value.real()),
               static_cast<typename C::value_type>(value.imag()));
    } else {
      return FromStorage<C>(value.real());
    }
  } else if constexpr (kIsReal<S>) {
    if constexpr (std::is_same_v<C, int64_t>) return FloatToInt64(value);
    if constexpr (std::is_same_v<C, uint64_t>) return FloatToUInt64(value);
    if constexpr (kIsComplex<C>) {
      return C(static_cast<typename C::value_type>(value));
    }
    if constexpr (kIsReal<C>) return static_cast<C>(value);
  } else if constexpr (kIsInteger<S>) {
    if constexpr (kIsComplex<C>) {
      return C(static_cast<typename C::value_type>(value));
    } else {
      return static_cast<C>(value);
    }
  } else {
    return FromStorage<C>(static_cast<float>(value));
  }
}

// A value of a compute type to an element; S as in DispatchStorage.
template <typename S, typename C>
S ToStorage(C value) {
  if constexpr (std::is_same_v<S, Complex32>) {
    const auto wide = ToStorage<std::complex<float>>(value);
    return {Float16(wide.real()), Float16(wide.imag())};
  } else if constexpr (kIsComplex<C> && !kIsComplex<S>) {
    return ToStorage<S>(value.real());
  } else if constexpr (kIsComplex<S> || kIsReal<S>) {
    return FromStorage<S>(value);
  } else if constexpr (std::is_same_v<S, uint64_t>) {
    return FromStorage<uint64_t>(value);
  } else if constexpr (std::is_same_v<S, int32_t> && kIsReal<C>) {
    if (value > static_cast<C>(-0x1p31 - 1) && value < static_cast<C>(0x1p31)) {
      return static_cast<int32_t>(value);
    }
    return std::numeric_limits<int32_t>::min();
  } else if constexpr (kIsInteger<S>) {
    return static_cast<S>(FromStorage<int64_t>(value));
  } else {
    return S(FromStorage<float>(value));
  }
}

template <typename C>
bool IsTrue(C value) {
  return value != C(0);
}

template <typename C>
void CopyCastRows(Tensor* to, const Tensor& source, const Sizes& strides) {
  const int64_t to_bytes = static_cast<int64_t>(SizeBytes(to->dtype()));
  const int64_t from_bytes = static_cast<int64_t>(SizeBytes(source.dtype()));
  std::byte* out = to->mutable_raw();
  const std::byte* in = source.raw();
  C buffer[kChunk];
  StridedLoop loop(to->sizes(), {to->strides(), strides},
                   StridedLoop::Order::kAny);
  while (loop.Next()) {
    for (int64_t at = 0; at < loop.run(); at += kChunk) {
      const int64_t count = std::min(kChunk, loop.run() - at);
      LoadRun(source.dtype(),
              in + (loop.offset(1) + at * loop.step(1)) * from_bytes,
              loop.step(1), count, buffer);
      StoreRun(to->dtype(),
               out + (loop.offset(0) + at * loop.step(0)) * to_bytes,
               loop.step(0), count, buffer);
    }
  }
}

}  // namespace

template <typename C>
void LoadRun(DType dtype, const std::byte* from, int64_t step, int64_t count,
             C* out) {
  DispatchStorage(dtype, [&](auto tag) {
    using S = typename decltype(tag)::type;
    const S* in = reinterpret_cast<const S*>(from);
    if (step == 1) {
      for (int64_t i = 0; i < count; ++i) out[i] = FromStorage<C>(in[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = FromStorage<C>(in[i * step]);
    }
  });
}

template <typename C>
void StoreRun(DType dtype, std::byte* to, int64_t step, int64_t count,
              const C* values) {
  if (dtype == DType::kBool) {
    auto* out = reinterpret_cast<uint8_t*>(to);
    for (int64_t i = 0; i < count; ++i) {
      out[i * step] = IsTrue(values[i]) ? 1 : 0;
    }
    return;
  }
  DispatchStorage(dtype, [&](auto tag) {
    using S = typename decltype(tag)::type;
    S* out = reinterpret_cast<S*>(to);
    if (step == 1) {
      for (int64_t i = 0; i < count; ++i) out[i] = ToStorage<S>(values[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        out[i * step] = ToStorage<S>(values[i]);
      }
    }
  });
}

template <typename C>
std::vector<C> ReadAll(const Tensor& tensor) {
  std::vector<C> values(static_cast<size_t>(tensor.numel()));
  const int64_t bytes = static_cast<int64_t>(SizeBytes(tensor.dtype()));
  C* out = values.data();
  for (StridedLoop loop(tensor.sizes(), {tensor.strides()}); loop.Next();) {
    LoadRun(tensor.dtype(), tensor.raw() + loop.offset(0) * bytes, loop.step(0),
            loop.run(), out);
    out += loop.run();
  }
  return values;
}

template <typename C>
void WriteAll(Tensor* tensor, const std::vector<C>& values) {
  TENON_ASSERT(static_cast<int64_t>(values.size()) == tensor->numel(),
               "as many values as elements");
  const int64_t bytes = static_cast<int64_t>(SizeBytes(tensor->dtype()));
  const C* in = values.data();
  for (StridedLoop loop(tensor->sizes(), {tensor->strides()}); loop.Next();) {
    StoreRun(tensor->dtype(), tensor->mutable_raw() + loop.offset(0) * bytes,
             loop.step(0), loop.run(), in);
    in += loop.run();
  }
}

template <typename C>
C ReadOne(const Tensor& tensor) {
  C value{};
  LoadRun(tensor.dtype(), tensor.raw(), 1, 1, &value);
  return value;
}

template <typename C>
void Fill(Tensor* tensor, C value) {
  if (tensor->numel() == 0) return;
  const int64_t bytes = static_cast<int64_t>(SizeBytes(tensor->dtype()));
  const std::vector<C> row(
      static_cast<size_t>(std::min(kChunk, tensor->numel())), value);
  StridedLoop loop(tensor->sizes(), {tensor->strides()},
                   StridedLoop::Order::kAny);
  while (loop.Next()) {
    for (int64_t at = 0; at < loop.run(); at += kChunk) {
      StoreRun(
          tensor->dtype(),
          tensor->mutable_raw() + (loop.offset(0) + at * loop.step(0)) * bytes,
          loop.step(0), std::min(kChunk, loop.run() - at), row.data());
    }
  }
}

template <typename C>
C ScalarAs(const RuntimeValue& scalar) {
  if (scalar.is_bool()) return FromStorage<C>(int64_t{scalar.bool_value()});
  if (scalar.is_int()) return FromStorage<C>(scalar.int_value());
  if (scalar.is_float()) return FromStorage<C>(scalar.float_value());
  return FromStorage<C>(scalar.complex_value());
}

#define TENON_INSTANTIATE(C)                                                \
  template void LoadRun<C>(DType, const std::byte*, int64_t, int64_t, C*);  \
  template void StoreRun<C>(DType, std::byte*, int64_t, int64_t, const C*); \
  template std::vector<C> ReadAll<C>(const Tensor&);                        \
  template void WriteAll<C>(Tensor*, const std::vector<C>&);                \
  template C ReadOne<C>(const Tensor&);                                     \
  template void Fill<C>(Tensor*, C);                                        \
  template C ScalarAs<C>(const RuntimeValue&);
TENON_INSTANTIATE(int64_t)
TENON_INSTANTIATE(uint64_t)
TENON_INSTANTIATE(float)
TENON_INSTANTIATE(double)
TENON_INSTANTIATE(std::complex<float>)
TENON_INSTANTIATE(std::complex<double>)
#undef TENON_INSTANTIATE

void CopyCast(Tensor* to, const Tensor& source) {
  if (to->numel() == 0) return;
  const size_t lead = to->sizes().size() - source.sizes().size();
  Sizes strides(to->sizes().size(), 0);
  for (size_t d = 0; d < source.sizes().size(); ++d) {
    if (source.sizes()[d] == to->sizes()[lead + d]) {
      strides[lead + d] = source.strides()[d];
    }
  }
  if (to->dtype() == source.dtype()) {
    to->CopyFrom(source.View(to->sizes(), strides, source.offset()));
    return;
  }
  // Through the source's compute type: wide enough to lose nothing.
  DispatchCompute(source.dtype(), [&](auto tag) {
    CopyCastRows<typename decltype(tag)::type>(to, source, strides);
  });
}

Tensor Cast(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor out = tensor.is_dense() ? Tensor::EmptyStrided(dtype, tensor.sizes(),
                                                        tensor.strides())
                                 : Tensor::Empty(dtype, tensor.sizes());
  if (out.defined()) CopyCast(&out, tensor);
  return out;
}

DType ScalarDType(const RuntimeValue& scalar) {
  if (scalar.is_bool()) return DType::kBool;
  if (scalar.is_int()) return DType::kInt64;
  if (scalar.is_float()) return DType::kFloat64;
  return DType::kComplex128;
}

void FillScalar(Tensor* tensor, const RuntimeValue& scalar) {
  DispatchCompute(ScalarDType(scalar), [&](auto tag) {
    using C = typename decltype(tag)::type;
    Fill<C>(tensor, ScalarAs<C>(scalar));
  });
}

Tensor ScalarTensor(const RuntimeValue& scalar, DType dtype) {
  Tensor out = Tensor::Empty(dtype, {});
  if (out.defined()) FillScalar(&out, scalar);
  return out;
}

Tensor ScalarTensor(const RuntimeValue& scalar) {
  return ScalarTensor(scalar, ScalarDType(scalar));
}

RuntimeValue ItemOf(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::kBool) return ReadOne<int64_t>(tensor) != 0;
  if (IsComplex(dtype)) return ReadOne<std::complex<double>>(tensor);
  if (IsFloating(dtype)) return ReadOne<double>(tensor);
  return ReadOne<int64_t>(tensor);
}

}  // namespace tenon
