// Fourier transforms: what they make of the sizes along their dimensions.
#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

enum Kind : uint32_t {
  kComplex,   // complex to complex
  kToHalf,    // real to the half that says all
  kFromHalf,  // and back, to real
};

DType OutputDType(DType input, Kind kind) {
  const DType complex = ToComplex(ToFloating(input));
  return kind == kFromHalf ? ToReal(complex) : complex;
}

InferredSize HalfOf(const InferredSize& n) {
  return Plus(DividedBy(n, 2), InferredSize::Literal(1));
}

InferredSize FullOf(const InferredSize& half) {
  return Times(Minus(half, InferredSize::Literal(1)), InferredSize::Literal(2));
}

InferredType& AddSpectrum(InferCall& call, const Type& self, Kind kind) {
  InferredType& out = call.AddLike(self, OutputDType(self.dtype, kind));
  out.is_default_dtype = ToFloating(self.dtype) != self.dtype;
  return out;
}

// fft_*(self, s, dim, norm): sizes `s` along `dim`, each with a default.
void Transform(InferCall& call, uint32_t parameter) {
  const auto kind = static_cast<Kind>(parameter);
  const Type* self = call.Self();
  if (self == nullptr) return;
  auto dims = call.Ints(2);
  const auto sizes = call.Sizes(1);
  InferredType& out = AddSpectrum(call, *self, kind);
  if ((!dims && call.Has(2)) || (!sizes && call.Has(1)) || out.rank < 1) {
    out.rank = -1;
    return;
  }
  if (!dims) {
    // All, or as many as there are sizes, from the end.
    const int64_t count =
        sizes ? static_cast<int64_t>(sizes->size()) : self->rank();
    dims.emplace();
    for (int64_t i = -count; i < 0; ++i) dims->push_back(i);
  }
  if (dims->empty() || (sizes && sizes->size() != dims->size())) {
    out.rank = -1;
    return;
  }
  for (size_t i = 0; i < dims->size(); ++i) {
    const auto d = WrapDim((*dims)[i], out.rank);
    if (!d) {
      out.rank = -1;
      return;
    }
    const bool is_last = i + 1 == dims->size();
    const bool is_given = sizes && !(*sizes)[i].is_literal(-1);
    InferredSize& size = out.sizes[*d];
    if (is_given) size = (*sizes)[i];
    if (is_last && kind == kFromHalf && !is_given) size = FullOf(size);
    if (is_last && kind == kToHalf) size = HalfOf(size);
  }
}

// The last of the dimensions of argument 1; -1: there is none to be found.
int LastDim(const InferCall& call, int64_t rank) {
  const auto dims = call.Ints(1);
  if (!dims || dims->empty()) return -1;
  return WrapDim(dims->back(), rank).value_or(-1);
}

void RealToComplex(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto is_half = call.Bool(3);
  if (self == nullptr) return;
  InferredType& out = AddSpectrum(call, *self, kToHalf);
  const int d = LastDim(call, out.rank);
  if (d < 0) {
    out.rank = -1;
  } else if (is_half != false) {
    out.sizes[d] = is_half ? HalfOf(out.sizes[d]) : InferredSize::Unknown();
  }
}

void ComplexToReal(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  if (self == nullptr || call.Get(3) == nullptr) return;
  InferredType& out = AddSpectrum(call, *self, kFromHalf);
  const int d = LastDim(call, out.rank);
  if (d < 0) {
    out.rank = -1;
  } else {
    out.sizes[d] = call.Size(*call.Get(3));
  }
}

// The distance of two frames: given, or a quarter of a frame.
std::optional<int64_t> Hop(const InferCall& call, int64_t frame) {
  constexpr size_t kHop = 2;
  return call.Has(kHop) ? call.Int(kHop) : frame / 4;
}

// stft: [batch?, frequencies, frames], complex or as pairs.
void Spectrogram(InferCall& call, uint32_t) {
  constexpr size_t kFrame = 1, kWindow = 4, kOneSided = 6, kAsComplex = 7;
  const Type *self = call.Self(), *window = call.Tensor(kWindow);
  const auto frame = call.Int(kFrame);
  const auto as_complex = call.Bool(kAsComplex);
  if (self == nullptr || !frame || *frame <= 0 || self->rank() < 1 ||
      self->rank() > 2 || !as_complex) {
    return;
  }
  const bool is_real = !IsComplex(self->dtype) &&
                       (window == nullptr || !IsComplex(window->dtype));
  const auto is_half =
      call.Has(kOneSided) ? call.Bool(kOneSided) : std::optional<bool>(is_real);
  DType dtype = OutputDType(self->dtype, kComplex);
  if (window != nullptr && ToReal(window->dtype) != ToReal(self->dtype)) {
    dtype = DType::kUnknown;
  }
  const int rank = static_cast<int>(self->rank()) + 1;
  InferredType& out = call.AddTensor(dtype, rank);
  if (rank == 3) out.sizes[0] = SizeAt(*self, 0);
  if (is_half) {
    const InferredSize all = InferredSize::Literal(*frame);
    out.sizes[rank - 2] = *is_half ? HalfOf(all) : all;
  }
  if (const auto hop = Hop(call, *frame)) {
    out.sizes[rank - 1] =
        NumWindows(SizeAt(*self, -1), {*frame, *hop, 0, 1, false});
  }
  if (!*as_complex) {
    out.dtype = ToReal(out.dtype);
    out.sizes[out.rank++] = InferredSize::Literal(2);
  }
}

// istft: [batch?, samples]. Frames overlap but for a hop; centred ones lose
// half a frame at both ends.
void Signal(InferCall& call, uint32_t) {
  constexpr size_t kFrame = 1, kCenter = 5, kLength = 8, kAsComplex = 9;
  const Type* self = call.Self();
  const auto frame = call.Int(kFrame);
  const auto as_complex = call.Bool(kAsComplex);
  if (self == nullptr || !frame || *frame <= 0 || self->rank() < 2 ||
      self->rank() > 3 || !as_complex || !IsComplex(self->dtype)) {
    return;
  }
  const int rank = static_cast<int>(self->rank()) - 1;
  InferredType& out =
      call.AddTensor(*as_complex ? self->dtype : ToReal(self->dtype), rank);
  if (rank == 2) out.sizes[0] = SizeAt(*self, 0);
  const auto hop = Hop(call, *frame);
  const auto is_centred = call.Bool(kCenter);
  InferredSize& samples = out.sizes[rank - 1];
  if (call.Has(kLength)) {
    samples = call.Size(*call.Get(kLength));
  } else if (hop && is_centred) {
    const InferredSize hops =
        Minus(SizeAt(*self, -1), InferredSize::Literal(1));
    const int64_t lost = *is_centred ? *frame / 2 * 2 : 0;
    samples = Plus(Times(hops, InferredSize::Literal(*hop)),
                   InferredSize::Literal(*frame - lost));
  }
}

constexpr InferRow kRows[] = {
    {"aten.fft_fft.default", Transform, kComplex},
    {"aten.fft_ifft.default", Transform, kComplex},
    {"aten.fft_fft2.default", Transform, kComplex},
    {"aten.fft_ifft2.default", Transform, kComplex},
    {"aten.fft_fftn.default", Transform, kComplex},
    {"aten.fft_ifftn.default", Transform, kComplex},
    {"aten.fft_rfft.default", Transform, kToHalf},
    {"aten.fft_rfft2.default", Transform, kToHalf},
    {"aten.fft_rfftn.default", Transform, kToHalf},
    {"aten.fft_ihfft.default", Transform, kToHalf},
    {"aten.fft_ihfft2.default", Transform, kToHalf},
    {"aten.fft_ihfftn.default", Transform, kToHalf},
    {"aten.fft_irfft.default", Transform, kFromHalf},
    {"aten.fft_irfft2.default", Transform, kFromHalf},
    {"aten.fft_irfftn.default", Transform, kFromHalf},
    {"aten.fft_hfft.default", Transform, kFromHalf},
    {"aten.fft_hfft2.default", Transform, kFromHalf},
    {"aten.fft_hfftn.default", Transform, kFromHalf},
    {"aten._fft_c2c.default", LikeArguments, LikeArg(0)},
    {"aten._fft_r2c.default", RealToComplex},
    {"aten._fft_c2r.default", ComplexToReal},
    {"aten.fft_fftshift.default", LikeArguments, LikeArg(0)},
    {"aten.fft_ifftshift.default", LikeArguments, LikeArg(0)},
    {"aten.stft.default", Spectrogram},
    {"aten.istft.default", Signal},
};

}  // namespace

std::span<const InferRow> FourierRows() { return kRows; }

}  // namespace tenon
