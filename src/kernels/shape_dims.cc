// Views that reorder, add, drop or combine dimensions.
#include <algorithm>

#include "kernels/compose.h"
#include "kernels/registry.h"
#include "kernels/view_forms.h"
#include "kernels/views.h"

namespace tenon {
namespace {

bool Permute(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  Sizes dims = call.Ints(1);
  if (static_cast<int64_t>(dims.size()) != self.dim()) {
    return call.Fail("permute: " + std::to_string(dims.size()) +
                     " dims given for a tensor of rank " +
                     std::to_string(self.dim()));
  }
  if (!WrapDims(call, self.dim(), &dims)) return false;
  call.Return(Permuted(self, dims));
  return true;
}

bool Transpose(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  int64_t dim0 = call.Int(1), dim1 = call.Int(2);
  if (!WrapDim(call, self.dim(), &dim0) || !WrapDim(call, self.dim(), &dim1)) {
    return false;
  }
  call.Return(Transposed(self, dim0, dim1));
  return true;
}

bool T(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (self.dim() > 2) {
    return call.Fail("t: expected at most 2 dimensions, found " +
                     std::to_string(self.dim()));
  }
  call.Return(self.dim() < 2 ? self : Transposed(self, 0, 1));
  return true;
}

bool NumpyT(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  Sizes dims;
  for (int64_t d = self.dim() - 1; d >= 0; --d) dims.push_back(d);
  call.Return(Permuted(self, dims));
  return true;
}

bool MatrixT(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (self.dim() < 2) {
    return call.Fail("expected a matrix or a batch of matrices, found rank " +
                     std::to_string(self.dim()));
  }
  call.Return(Transposed(self, self.dim() - 2, self.dim() - 1));
  return true;
}

// The conjugate transpose; a copy for complex tensors, as no tensor here
// carries PyTorch's lazy conjugation.
bool MatrixH(KernelCall& call) {
  if (!MatrixT(call)) return false;
  Tensor transposed = call.results()[0].tensor();
  if (!IsComplex(transposed.dtype())) return true;
  call.results().clear();
  return ForwardTo(call, "aten.conj_physical.default", {transposed});
}

bool MoveDimensions(KernelCall& call, Sizes source, Sizes destination) {
  const Tensor& self = call.tensor(0);
  if (source.size() != destination.size()) {
    return call.Fail("movedim: " + std::to_string(source.size()) +
                     " source dims but " + std::to_string(destination.size()) +
                     " destination dims");
  }
  if (!WrapDims(call, self.dim(), &source) ||
      !WrapDims(call, self.dim(), &destination)) {
    return false;
  }
  if (self.dim() == 0) {
    call.Return(self);
    return true;
  }
  Sizes order(self.dim(), -1);
  std::vector<bool> moved(self.dim());
  for (size_t i = 0; i < source.size(); ++i) {
    order[destination[i]] = source[i];
    moved[source[i]] = true;
  }
  int64_t next = 0;
  for (int64_t& dim : order) {
    if (dim >= 0) continue;
    while (moved[next]) ++next;
    dim = next++;
  }
  call.Return(Permuted(self, order));
  return true;
}

// Also the overload of single ints, as Ints takes an int as a list of one.
bool Movedim(KernelCall& call) {
  return MoveDimensions(call, call.Ints(1), call.Ints(2));
}

bool Unsqueeze(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  int64_t dim = call.Int(1);
  if (!WrapDim(call, self.dim() + 1, &dim)) return false;
  call.Return(Unsqueezed(self, dim));
  return true;
}

bool SqueezeAll(KernelCall& call) {
  Tensor out = call.tensor(0);
  for (int64_t d = out.dim() - 1; d >= 0; --d) out = Squeezed(out, d);
  call.Return(out);
  return true;
}

bool SqueezeDims(KernelCall& call) {
  Tensor out = call.tensor(0);
  Sizes dims = call.Ints(1);
  if (!WrapDims(call, out.dim(), &dims)) return false;
  std::sort(dims.rbegin(), dims.rend());
  for (int64_t dim : dims) out = Squeezed(out, dim);
  call.Return(out);
  return true;
}

bool Diagonal(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t shift = call.Int(1);
  int64_t dim1 = call.Int(2), dim2 = call.Int(3);
  if (!WrapDim(call, self.dim(), &dim1) || !WrapDim(call, self.dim(), &dim2)) {
    return false;
  }
  if (dim1 == dim2) return call.Fail("diagonal dimensions cannot be identical");
  // Clamped, so that the differences below can't overflow.
  const int64_t rows = self.size(dim1), columns = self.size(dim2);
  const int64_t diagonal = std::clamp(shift, -rows, columns);
  const int64_t size =
      std::max<int64_t>(diagonal >= 0 ? std::min(rows, columns - diagonal)
                                      : std::min(rows + diagonal, columns),
                        0);
  int64_t offset = self.offset();
  if (size > 0) {
    offset += diagonal >= 0 ? diagonal * self.stride(dim2)
                            : -diagonal * self.stride(dim1);
  }
  Sizes sizes, strides;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d == dim1 || d == dim2) continue;
    sizes.push_back(self.size(d));
    strides.push_back(self.stride(d));
  }
  sizes.push_back(size);
  strides.push_back(self.stride(dim1) + self.stride(dim2));
  call.Return(self.View(std::move(sizes), std::move(strides), offset));
  return true;
}

bool Unfold(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  int64_t dim = call.Int(1);
  const int64_t size = call.Int(2), step = call.Int(3);
  if (!WrapDim(call, self.dim(), &dim)) return false;
  const bool scalar = self.dim() == 0;
  const int64_t available = scalar ? 1 : self.size(dim);
  if (size < 0 || size > available) {
    return call.Fail("unfold: window of " + std::to_string(size) +
                     " in a dimension of size " + std::to_string(available));
  }
  if (step <= 0) return call.Fail("unfold: step must be positive");
  Sizes sizes = self.sizes(), strides = self.strides();
  sizes.push_back(size);
  strides.push_back(scalar ? 1 : self.stride(dim));
  if (!scalar) {
    sizes[dim] = (available - size) / step + 1;
    strides[dim] =
        sizes[dim] > 1
            ? strides[dim] * step
            : static_cast<int64_t>(static_cast<uint64_t>(strides[dim]) *
                                   static_cast<uint64_t>(step));
  }
  call.Return(self.View(std::move(sizes), std::move(strides), self.offset()));
  return true;
}

Tensor AtLeast(const Tensor& tensor, int64_t rank) {
  if (tensor.dim() == 0) return Reshaped(tensor, Sizes(rank, 1));
  Tensor out = tensor;
  if (rank >= 2 && out.dim() == 1) out = Unsqueezed(out, 0);
  if (rank >= 3 && out.dim() == 2) out = Unsqueezed(out, 2);
  return out;
}

template <int kRank>
bool AtLeastOne(KernelCall& call) {
  call.Return(AtLeast(call.tensor(0), kRank));
  return true;
}

template <int kRank>
bool AtLeastEach(KernelCall& call) {
  std::vector<Tensor> out = call.Tensors(0);
  for (Tensor& tensor : out) tensor = AtLeast(tensor, kRank);
  call.Return(TensorList(out));
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.permute.default", Permute},
    {"aten.permute_copy.default", CopyOf<Permute>},
    {"aten.transpose.int", Transpose},
    {"aten.transpose_.default", InPlaceOf<Transpose>},
    {"aten.transpose_copy.int", CopyOf<Transpose>},
    {"aten.swapaxes.default", Transpose},
    {"aten.swapaxes_.default", InPlaceOf<Transpose>},
    {"aten.swapdims.default", Transpose},
    {"aten.swapdims_.default", InPlaceOf<Transpose>},
    {"aten.t.default", T},
    {"aten.t_.default", InPlaceOf<T>},
    {"aten.t_copy.default", CopyOf<T>},
    {"aten.numpy_T.default", NumpyT},
    {"aten.mT.default", MatrixT},
    {"aten.mH.default", MatrixH},
    {"aten.adjoint.default", MatrixH},
    {"aten.matrix_H.default", MatrixH},
    {"aten.movedim.int", Movedim},
    {"aten.movedim.intlist", Movedim},
    {"aten.moveaxis.int", Movedim},
    {"aten.moveaxis.intlist", Movedim},
    {"aten.unsqueeze.default", Unsqueeze},
    {"aten.unsqueeze_.default", InPlaceOf<Unsqueeze>},
    {"aten.unsqueeze_copy.default", CopyOf<Unsqueeze>},
    {"aten.squeeze.default", SqueezeAll},
    {"aten.squeeze_.default", InPlaceOf<SqueezeAll>},
    {"aten.squeeze_copy.default", CopyOf<SqueezeAll>},
    {"aten.squeeze.dim", SqueezeDims},
    {"aten.squeeze_.dim", InPlaceOf<SqueezeDims>},
    {"aten.squeeze_copy.dim", CopyOf<SqueezeDims>},
    {"aten.squeeze.dims", SqueezeDims},
    {"aten.squeeze_.dims", InPlaceOf<SqueezeDims>},
    {"aten.squeeze_copy.dims", CopyOf<SqueezeDims>},
    {"aten.diagonal.default", Diagonal},
    {"aten.diagonal_copy.default", CopyOf<Diagonal>},
    {"aten.unfold.default", Unfold},
    {"aten.unfold_copy.default", CopyOf<Unfold>},
    {"aten.atleast_1d.default", AtLeastOne<1>},
    {"aten.atleast_2d.default", AtLeastOne<2>},
    {"aten.atleast_3d.default", AtLeastOne<3>},
    {"aten.atleast_1d.Sequence", AtLeastEach<1>},
    {"aten.atleast_2d.Sequence", AtLeastEach<2>},
    {"aten.atleast_3d.Sequence", AtLeastEach<3>},
};

}  // namespace

std::span<const KernelEntry> ShapeDimsKernels() { return kEntries; }

}  // namespace tenon
