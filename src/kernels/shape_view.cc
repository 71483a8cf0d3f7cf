// Operators that show the same elements under other sizes: view, reshape,
// flatten, expand, as_strided, and the reinterpretation of dtypes.
#include <algorithm>

#include "kernels/compose.h"
#include "kernels/registry.h"
#include "kernels/view_forms.h"
#include "kernels/views.h"

namespace tenon {
namespace {

bool Alias(KernelCall& call) {
  call.Return(call.tensor(0));
  return true;
}

bool ReturnView(KernelCall& call, Sizes sizes) {
  const Tensor& self = call.tensor(0);
  if (!InferSizes(call, self.numel(), &sizes)) return false;
  auto strides = ViewStrides(self.sizes(), self.strides(), sizes);
  if (!strides) {
    return call.Fail("view size " + ToText(sizes) +
                     " is not compatible with sizes " + ToText(self.sizes()) +
                     " and strides " + ToText(self.strides()) +
                     "; use reshape");
  }
  call.Return(self.View(sizes, std::move(*strides), self.offset()));
  return true;
}

bool View(KernelCall& call) { return ReturnView(call, call.Ints(1)); }

bool ViewAs(KernelCall& call) {
  return ReturnView(call, call.tensor(1).sizes());
}

bool ReturnReshaped(KernelCall& call, Sizes sizes) {
  const Tensor& self = call.tensor(0);
  if (!InferSizes(call, self.numel(), &sizes)) return false;
  call.Return(Reshaped(self, sizes));
  return true;
}

bool Reshape(KernelCall& call) { return ReturnReshaped(call, call.Ints(1)); }

bool ReshapeAs(KernelCall& call) {
  return ReturnReshaped(call, call.tensor(1).sizes());
}

bool Flatten(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  int64_t start = call.Int(1), end = call.Int(2);
  if (!WrapDim(call, self.dim(), &start) || !WrapDim(call, self.dim(), &end)) {
    return false;
  }
  if (start > end) {
    return call.Fail("flatten: start_dim cannot come after end_dim");
  }
  if (self.dim() == 0) return ReturnReshaped(call, {1});
  if (start == end) return Alias(call);
  Sizes sizes(self.sizes().begin(), self.sizes().begin() + start);
  int64_t merged = 1;
  for (int64_t d = start; d <= end; ++d) merged *= self.size(d);
  sizes.push_back(merged);
  sizes.insert(sizes.end(), self.sizes().begin() + end + 1, self.sizes().end());
  return ReturnReshaped(call, std::move(sizes));
}

bool Unflatten(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  int64_t dim = call.Int(1);
  Sizes inner = call.Ints(2);
  if (self.dim() == 0) return call.Fail("unflatten: tensor has no dimensions");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  if (inner.empty()) return call.Fail("unflatten: sizes must be non-empty");
  if (!InferSizes(call, self.size(dim), &inner)) return false;
  Sizes sizes = self.sizes();
  sizes.erase(sizes.begin() + dim);
  sizes.insert(sizes.begin() + dim, inner.begin(), inner.end());
  return ReturnView(call, std::move(sizes));
}

bool Ravel(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  call.Return(Reshaped(self.Contiguous(), {self.numel()}));
  return true;
}

bool ReturnExpanded(KernelCall& call, const Sizes& sizes) {
  const Tensor& self = call.tensor(0);
  auto expanded = Expanded(self, sizes);
  if (!expanded) {
    return call.Fail("sizes " + ToText(self.sizes()) +
                     " cannot be expanded to " + ToText(sizes));
  }
  if (!CheckSizes(call, expanded->sizes())) return false;
  call.Return(std::move(*expanded));
  return true;
}

// The sizes are checked before a view with them is made, as the product of
// hostile ones may overflow.
bool Expand(KernelCall& call) {
  Sizes known = call.Ints(1);
  for (int64_t& size : known) size = std::max<int64_t>(size, 1);
  return CheckSizes(call, known) && ReturnExpanded(call, call.Ints(1));
}

bool ExpandAs(KernelCall& call) {
  return ReturnExpanded(call, call.tensor(1).sizes());
}

bool BroadcastTensors(KernelCall& call) {
  const std::vector<Tensor> tensors = call.Tensors(0);
  Sizes sizes;
  if (!BroadcastSizes(tensors, &sizes)) {
    return call.Fail("broadcast_tensors: sizes do not broadcast");
  }
  if (!CheckSizes(call, sizes)) return false;
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) {
    out.push_back(*Expanded(tensor, sizes));
  }
  call.Return(TensorList(out));
  return true;
}

bool Meshgrid(KernelCall& call) {
  std::vector<Tensor> tensors = call.Tensors(0);
  const std::string indexing =
      call.num_args() > 1 ? call.arg(1).string() : std::string("ij");
  if (tensors.empty()) return call.Fail("meshgrid: no tensors given");
  if (indexing != "ij" && indexing != "xy") {
    return call.Fail("meshgrid: indexing must be 'ij' or 'xy', not '" +
                     indexing + "'");
  }
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() > 1) {
      return call.Fail("meshgrid: expected 0-d or 1-d tensors");
    }
    if (tensor.dtype() != tensors[0].dtype()) {
      return call.Fail("meshgrid: tensors differ in dtype");
    }
  }
  const bool swap = indexing == "xy" && tensors.size() >= 2;
  if (swap) std::swap(tensors[0], tensors[1]);
  Sizes sizes;
  for (const Tensor& tensor : tensors) sizes.push_back(tensor.numel());
  if (!CheckSizes(call, sizes)) return false;
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Sizes alone(tensors.size(), 1);
    alone[i] = tensors[i].numel();
    out.push_back(*Expanded(Reshaped(tensors[i], alone), sizes));
  }
  if (swap) std::swap(out[0], out[1]);
  call.Return(TensorList(out));
  return true;
}

bool AsStrided(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const Sizes sizes = call.Ints(1), strides = call.Ints(2);
  const int64_t offset = call.is_none(3) ? self.offset() : call.Int(3);
  if (sizes.size() != strides.size()) {
    return call.Fail("as_strided: mismatch in length of sizes and strides");
  }
  if (!CheckSizes(call, sizes)) return false;
  if (offset < 0) return call.Fail("as_strided: negative storage offset");
  for (int64_t stride : strides) {
    if (stride < 0) return call.Fail("as_strided: negative stride");
  }
  const Tensor view = self.View(sizes, strides, offset);
  if (!view.FitsStorage()) {
    return call.Fail("as_strided: sizes " + ToText(sizes) + ", strides " +
                     ToText(strides) + " and offset " + std::to_string(offset) +
                     " exceed the storage of " +
                     std::to_string(self.storage()->size_bytes()) + " bytes");
  }
  call.Return(view);
  return true;
}

// Bytes reinterpreted. A wider dtype merges neighbours of the last dimension,
// a narrower one splits them.
bool ViewDtype(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const DType dtype = call.arg(1).dtype();
  const int64_t old_size = static_cast<int64_t>(SizeBytes(self.dtype()));
  const int64_t new_size = static_cast<int64_t>(SizeBytes(dtype));
  if (new_size == 0) return call.Fail("view: unknown dtype");
  Sizes sizes = self.sizes(), strides = self.strides();
  int64_t offset = self.offset();
  if (new_size != old_size) {
    if (self.dim() == 0) {
      return call.Fail("view: a 0-d tensor keeps its element size");
    }
    if (strides.back() != 1) {
      return call.Fail("view: the last stride must be 1");
    }
  }
  if (new_size < old_size) {
    const int64_t ratio = old_size / new_size;
    sizes.back() *= ratio;
    for (size_t d = 0; d + 1 < strides.size(); ++d) strides[d] *= ratio;
    offset *= ratio;
  } else if (new_size > old_size) {
    const int64_t ratio = new_size / old_size;
    bool divides = sizes.back() % ratio == 0 && offset % ratio == 0;
    for (size_t d = 0; d + 1 < strides.size(); ++d) {
      divides = divides && strides[d] % ratio == 0;
      strides[d] /= ratio;
    }
    if (!divides) {
      return call.Fail(
          "view: last size, offset and strides must be divisible "
          "by " +
          std::to_string(ratio) + " to view " +
          std::string(Name(self.dtype())) + " as " + std::string(Name(dtype)));
    }
    sizes.back() /= ratio;
    offset /= ratio;
  }
  call.Return(Tensor(self.storage(), dtype, std::move(sizes),
                     std::move(strides), offset));
  return true;
}

DType RealPart(DType dtype) {
  if (dtype == DType::kComplex128) return DType::kFloat64;
  if (dtype == DType::kComplex64) return DType::kFloat32;
  return DType::kFloat16;
}

Tensor AsReal(const Tensor& self) {
  Sizes sizes = self.sizes(), strides = self.strides();
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return Tensor(self.storage(), RealPart(self.dtype()), std::move(sizes),
                std::move(strides), self.offset() * 2);
}

bool ViewAsReal(KernelCall& call) {
  if (!IsComplex(call.tensor(0).dtype())) {
    return call.Fail("view_as_real: expected a complex tensor");
  }
  call.Return(AsReal(call.tensor(0)));
  return true;
}

bool ViewAsComplex(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  DType dtype;
  switch (self.dtype()) {
    case DType::kFloat16:
      dtype = DType::kComplex32;
      break;
    case DType::kFloat32:
      dtype = DType::kComplex64;
      break;
    case DType::kFloat64:
      dtype = DType::kComplex128;
      break;
    default:
      return call.Fail("view_as_complex: expected f16, f32 or f64");
  }
  Sizes sizes = self.sizes(), strides = self.strides();
  if (sizes.empty() || sizes.back() != 2 || strides.back() != 1) {
    return call.Fail(
        "view_as_complex: the last dimension must have size 2 and stride 1");
  }
  sizes.pop_back();
  strides.pop_back();
  bool even = self.offset() % 2 == 0;
  for (int64_t& stride : strides) {
    even = even && stride % 2 == 0;
    stride /= 2;
  }
  if (!even) {
    return call.Fail("view_as_complex: strides and offset must be even");
  }
  call.Return(Tensor(self.storage(), dtype, std::move(sizes),
                     std::move(strides), self.offset() / 2));
  return true;
}

bool Real(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (!IsComplex(self.dtype())) return Alias(call);
  call.Return(Selected(AsReal(self), self.dim(), 0));
  return true;
}

bool Imag(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (!IsComplex(self.dtype())) {
    return call.Fail("imag: expected a complex tensor");
  }
  call.Return(Selected(AsReal(self), self.dim(), 1));
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.alias.default", Alias},
    {"aten.detach.default", Alias},
    {"aten.resolve_conj.default", Alias},
    {"aten.resolve_neg.default", Alias},
    {"aten.alias_copy.default", CopyOf<Alias>},
    {"aten.lift.default", Alias},
    {"aten.lift_fresh.default", Alias},
    {"aten.lift_fresh_copy.default", CopyOf<Alias>},
    {"aten.detach_copy.default", CopyOf<Alias>},
    {"aten.view.default", View},
    {"aten.view_copy.default", CopyOf<Reshape>},
    {"aten.view_as.default", ViewAs},
    {"aten._unsafe_view.default", View},
    {"aten.reshape.default", Reshape},
    {"aten.reshape_as.default", ReshapeAs},
    {"aten.flatten.using_ints", Flatten},
    {"aten.unflatten.int", Unflatten},
    {"aten.ravel.default", Ravel},
    {"aten.expand.default", Expand},
    {"aten.expand_copy.default", CopyOf<Expand>},
    {"aten.broadcast_to.default", Expand},
    {"aten.expand_as.default", ExpandAs},
    {"aten.broadcast_tensors.default", BroadcastTensors},
    {"aten.meshgrid.default", Meshgrid},
    {"aten.meshgrid.indexing", Meshgrid},
    {"aten.as_strided.default", AsStrided},
    {"aten.as_strided_.default", InPlaceOf<AsStrided>},
    {"aten.as_strided_copy.default", CopyOf<AsStrided>},
    {"aten.view.dtype", ViewDtype},
    {"aten.view_copy.dtype", CopyOf<ViewDtype>},
    {"aten.view_as_real.default", ViewAsReal},
    {"aten.view_as_real_copy.default", CopyOf<ViewAsReal>},
    {"aten.view_as_complex.default", ViewAsComplex},
    {"aten.view_as_complex_copy.default", CopyOf<ViewAsComplex>},
    {"aten.real.default", Real},
    {"aten.imag.default", Imag},
};

}  // namespace

std::span<const KernelEntry> ShapeViewKernels() { return kEntries; }

}  // namespace tenon
