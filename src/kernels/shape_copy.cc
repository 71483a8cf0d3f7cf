// Copies: clone, contiguous, copy_, and the scatters that give a copy of a
// tensor with one of its views overwritten.
#include <algorithm>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/view_forms.h"
#include "kernels/views.h"

namespace tenon {

bool CopyResults(KernelCall& call) {
  const auto copy = [](RuntimeValue& value) {
    Tensor fresh = FreshCopy(value.tensor());
    if (!fresh.defined()) return false;
    value = std::move(fresh);
    return true;
  };
  for (RuntimeValue& value : call.results()) {
    if (value.is_tensor() && !copy(value)) return call.Fail("out of memory");
    if (!value.is_list()) continue;
    for (RuntimeValue& item : value.list()) {
      if (item.is_tensor() && !copy(item)) return call.Fail("out of memory");
    }
  }
  return true;
}

namespace {

bool CheckFormat(KernelCall& call, const Tensor& tensor, MemoryFormat format) {
  const int64_t rank = format == MemoryFormat::kChannelsLast     ? 4
                       : format == MemoryFormat::kChannelsLast3d ? 5
                                                                 : -1;
  if (rank >= 0 && tensor.dim() != rank) {
    return call.Fail(std::string(Name(format)) + " needs a tensor of rank " +
                     std::to_string(rank) + ", found " + tensor.ToString());
  }
  return true;
}

bool Clone(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  MemoryFormat format = MemoryFormat::kPreserve;
  if (call.num_args() > 1 && !call.is_none(1)) {
    format = call.arg(1).memory_format();
  }
  if (!CheckFormat(call, self, format)) return false;
  Sizes strides = self.strides();
  if (format != MemoryFormat::kPreserve) {
    strides = StridesFor(self.sizes(), format);
  } else if (!self.is_dense()) {
    strides = StridesFor(self.sizes(), SuggestedFormat(self));
  }
  Tensor out;
  if (!Allocate(call, self.dtype(), self.sizes(), strides, &out)) return false;
  out.CopyFrom(self);
  call.Return(out);
  return true;
}

bool Contiguous(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  // The schema's default is the number 0.
  const auto* given = std::get_if<MemoryFormat>(&call.arg(1).variant());
  const MemoryFormat format =
      given != nullptr ? *given : MemoryFormat::kContiguous;
  if (format == MemoryFormat::kPreserve) {
    return call.Fail("contiguous: preserve_format is not allowed");
  }
  if (!CheckFormat(call, self, format)) return false;
  Tensor out = ContiguousIn(self, format);
  if (!out.defined()) return call.Fail("contiguous: out of memory");
  call.Return(out);
  return true;
}

// A copy with the same strides, gaps included, so that the views taken of the
// original can be taken of the copy.
bool CloneWithStrides(KernelCall& call, const Tensor& tensor, Tensor* out) {
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.stride(d) == 0 && tensor.size(d) > 1) {
      *out = tensor.Clone();
      if (out->defined()) return true;
      return call.Fail("out of memory");
    }
  }
  if (!Allocate(call, tensor.dtype(), tensor.sizes(), tensor.strides(), out)) {
    return false;
  }
  out->CopyFrom(tensor);
  return true;
}

// A copy of the whole storage under the same view: as_strided reaches into the
// gaps too.
bool CloneStorage(KernelCall& call, const Tensor& tensor, Tensor* out) {
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.stride(d) == 0 && tensor.size(d) > 1) {
      *out = tensor.Clone();
      return out->defined() || call.Fail("out of memory");
    }
  }
  const auto& from = tensor.storage();
  auto storage = Storage::Allocate(from->size_bytes(), false);
  if (storage == nullptr) return call.Fail("out of memory");
  std::copy(from->data(), from->data() + from->size_bytes(),
            storage->mutable_data());
  *out = Tensor(std::move(storage), tensor.dtype(), tensor.sizes(),
                tensor.strides(), tensor.offset());
  return true;
}

// `to` = `from` with cast and broadcast, as copy_ does it.
bool CopyInto(KernelCall& call, Tensor to, Tensor from) {
  // Leading ones of a source of higher rank don't count.
  while (from.dim() > to.dim() && from.size(0) == 1) from = Squeezed(from, 0);
  const auto expanded = Expanded(from, to.sizes());
  if (!expanded) {
    return call.Fail("copy: sizes " + ToText(from.sizes()) +
                     " do not broadcast to " + ToText(to.sizes()));
  }
  if (to.SharesStorage(from)) {
    from = expanded->Clone();
    if (!from.defined()) return call.Fail("copy: out of memory");
  }
  if (!PrepareWrite(call, to)) return false;
  CopyCast(&to, from);
  return true;
}

bool CopyFunctional(KernelCall& call) {
  Tensor out;
  if (!CloneWithStrides(call, call.tensor(0), &out) ||
      !CopyInto(call, out, call.tensor(1))) {
    return false;
  }
  call.Return(out);
  return true;
}

bool CopyInPlace(KernelCall& call) {
  if (!CopyInto(call, call.tensor(0), call.tensor(1))) return false;
  call.Return(call.tensor(0));
  return true;
}

// The view of `base` that the operator `name` takes with those arguments of
// `call` that follow the first two.
bool TakeView(KernelCall& call, const char* name, const Tensor& base,
              Tensor* view) {
  std::vector<RuntimeValue> args = {base};
  for (size_t i = 2; i < call.num_args(); ++i) args.push_back(call.arg(i));
  return CallKernel(call, name, std::move(args), view);
}

// A copy of self whose view by `kView` is overwritten by a source.
template <const char* kView>
bool ScatterInto(KernelCall& call) {
  const Tensor& source = call.tensor(1);
  Tensor out, view;
  if (!CloneWithStrides(call, call.tensor(0), &out) ||
      !TakeView(call, kView, out, &view)) {
    return false;
  }
  if (view.sizes() != source.sizes()) {
    return call.Fail("expected a source of sizes " + ToText(view.sizes()) +
                     ", found " + ToText(source.sizes()));
  }
  if (!CopyInto(call, view, source)) return false;
  call.Return(out);
  return true;
}

// The gradient of a view: zeros of the input's sizes (the second argument)
// whose view is overwritten by the gradient.
template <const char* kView>
bool ViewBackward(KernelCall& call) {
  const Tensor& grad = call.tensor(0);
  Tensor out, view;
  if (!AllocateZeros(call, grad.dtype(), call.Ints(1), &out) ||
      !TakeView(call, kView, out, &view) || !CopyInto(call, view, grad)) {
    return false;
  }
  call.Return(out);
  return true;
}

bool AsStridedScatter(KernelCall& call) {
  const Tensor& source = call.tensor(1);
  Tensor out, view;
  if (!CloneStorage(call, call.tensor(0), &out) ||
      !TakeView(call, "aten.as_strided.default", out, &view)) {
    return false;
  }
  if (view.sizes() != source.sizes()) {
    return call.Fail("expected a source of sizes " + ToText(view.sizes()) +
                     ", found " + ToText(source.sizes()));
  }
  CopyCast(&view, source);
  call.Return(out);
  return true;
}

constexpr char kSlice[] = "aten.slice.Tensor";
constexpr char kSelect[] = "aten.select.int";
constexpr char kDiagonal[] = "aten.diagonal.default";

constexpr KernelEntry kEntries[] = {
    {"aten.clone.default", Clone},
    {"aten.contiguous.default", Contiguous},
    {"aten.copy.default", CopyFunctional},
    {"aten.copy_.default", CopyInPlace},
    {"aten.slice_scatter.default", ScatterInto<kSlice>},
    {"aten.select_scatter.default", ScatterInto<kSelect>},
    {"aten.diagonal_scatter.default", ScatterInto<kDiagonal>},
    {"aten.as_strided_scatter.default", AsStridedScatter},
    {"aten.slice_backward.default", ViewBackward<kSlice>},
    {"aten.select_backward.default", ViewBackward<kSelect>},
    {"aten.diagonal_backward.default", ViewBackward<kDiagonal>},
};

}  // namespace

std::span<const KernelEntry> ShapeCopyKernels() { return kEntries; }

}  // namespace tenon
