// Masks: masked_fill, masked_scatter, masked_select, nonzero.
#include <algorithm>
#include <cstring>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/scalar_range.h"
#include "kernels/views.h"

namespace tenon {
namespace {

bool CheckMask(KernelCall& call, const Tensor& mask) {
  if (mask.dtype() == DType::kBool) return true;
  return call.Fail("expected a bool mask, found " +
                   std::string(Name(mask.dtype())));
}

// `mask` broadcasts to out.
bool FillWhere(KernelCall& call, Tensor out, const Tensor& mask,
               const RuntimeValue& value) {
  if (!CheckMask(call, mask) || !CheckFits(call, value, out.dtype())) {
    return false;
  }
  if (!BroadcastsTo(mask.sizes(), out.sizes())) {
    return call.Fail("masked_fill: mask of sizes " + ToText(mask.sizes()) +
                     " does not broadcast to " + ToText(out.sizes()));
  }
  if (!PrepareWrite(call, out)) return false;
  const std::vector<int64_t> set =
      ReadAll<int64_t>(ExpandTo(mask, out.sizes()));
  DispatchCompute(out.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> values = ReadAll<C>(out);
    const C fill = ScalarAs<C>(value);
    for (size_t i = 0; i < values.size(); ++i) {
      if (set[i] != 0) values[i] = fill;
    }
    WriteAll(&out, values);
  });
  return true;
}

// A contiguous copy of self, broadcast against the mask.
bool CloneBroadcast(KernelCall& call, const Tensor& self, const Tensor& mask,
                    Tensor* out) {
  Sizes sizes;
  if (!BroadcastSizes(self.sizes(), mask.sizes(), &sizes)) {
    return call.Fail("mask of sizes " + ToText(mask.sizes()) +
                     " does not broadcast against " + ToText(self.sizes()));
  }
  if (!CheckSizes(call, sizes) || !Allocate(call, self.dtype(), sizes, out)) {
    return false;
  }
  out->CopyFrom(ExpandTo(self, sizes));
  return true;
}

// The value argument: a number, or a 0-d tensor.
bool FillValue(KernelCall& call, RuntimeValue* value) {
  if (call.arg(2).is_tensor() && call.tensor(2).dim() != 0) {
    return call.Fail("masked_fill: expected a 0-d value, found rank " +
                     std::to_string(call.tensor(2).dim()));
  }
  *value = call.Scalar(2);
  return true;
}

bool MaskedFill(KernelCall& call) {
  Tensor out;
  RuntimeValue value;
  if (!FillValue(call, &value) ||
      !CloneBroadcast(call, call.tensor(0), call.tensor(1), &out) ||
      !FillWhere(call, out, call.tensor(1), value)) {
    return false;
  }
  call.Return(out);
  return true;
}

bool MaskedFillInPlace(KernelCall& call) {
  RuntimeValue value;
  if (!FillValue(call, &value) ||
      !FillWhere(call, call.tensor(0), call.tensor(1), value)) {
    return false;
  }
  call.Return(call.tensor(0));
  return true;
}

// The true places take the source's elements in order.
bool ScatterWhere(KernelCall& call, Tensor out, const Tensor& mask,
                  const Tensor& source) {
  if (!CheckMask(call, mask)) return false;
  if (source.dtype() != out.dtype()) {
    return call.Fail("masked_scatter: self and source differ in dtype");
  }
  if (!BroadcastsTo(mask.sizes(), out.sizes())) {
    return call.Fail("masked_scatter: mask of sizes " + ToText(mask.sizes()) +
                     " does not broadcast to " + ToText(out.sizes()));
  }
  if (!PrepareWrite(call, out)) return false;
  const std::vector<int64_t> set =
      ReadAll<int64_t>(ExpandTo(mask, out.sizes()));
  bool enough = true;
  DispatchCompute(out.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> values = ReadAll<C>(out);
    const std::vector<C> given = ReadAll<C>(source);
    size_t next = 0;
    for (size_t i = 0; i < values.size() && enough; ++i) {
      if (set[i] == 0) continue;
      enough = next < given.size();
      if (enough) values[i] = given[next++];
    }
    if (enough) WriteAll(&out, values);
  });
  return enough || call.Fail(
                       "masked_scatter: the source has fewer elements "
                       "than the mask has ones");
}

bool MaskedScatter(KernelCall& call) {
  Tensor out;
  if (!CloneBroadcast(call, call.tensor(0), call.tensor(1), &out) ||
      !ScatterWhere(call, out, call.tensor(1), call.tensor(2))) {
    return false;
  }
  call.Return(out);
  return true;
}

bool MaskedScatterInPlace(KernelCall& call) {
  if (!ScatterWhere(call, call.tensor(0), call.tensor(1), call.tensor(2))) {
    return false;
  }
  call.Return(call.tensor(0));
  return true;
}

bool SelectWhere(KernelCall& call, const Tensor& self, const Tensor& mask,
                 Tensor* out) {
  Sizes sizes;
  if (!CheckMask(call, mask)) return false;
  if (!BroadcastSizes(self.sizes(), mask.sizes(), &sizes)) {
    return call.Fail("masked_select: sizes do not broadcast");
  }
  Tensor all;
  if (!CheckSizes(call, sizes) || !Allocate(call, self.dtype(), sizes, &all)) {
    return false;
  }
  all.CopyFrom(ExpandTo(self, sizes));
  const std::vector<int64_t> set = ReadAll<int64_t>(ExpandTo(mask, sizes));
  int64_t count = 0;
  for (int64_t bit : set) count += bit != 0;
  if (!Allocate(call, self.dtype(), {count}, out)) return false;
  const size_t item = SizeBytes(self.dtype());
  std::byte* to = count > 0 ? out->mutable_raw() : nullptr;
  for (size_t i = 0; i < set.size(); ++i) {
    if (set[i] == 0) continue;
    std::memcpy(to, all.raw() + i * item, item);
    to += item;
  }
  return true;
}

bool MaskedSelect(KernelCall& call) {
  Tensor out;
  if (!SelectWhere(call, call.tensor(0), call.tensor(1), &out)) return false;
  call.Return(out);
  return true;
}

// The gradients at the true places, then zeros, in the source's sizes.
bool MaskedScatterBackward(KernelCall& call) {
  Tensor picked, out;
  if (!SelectWhere(call, call.tensor(0), call.tensor(1), &picked) ||
      !AllocateZeros(call, picked.dtype(), call.Ints(2), &out)) {
    return false;
  }
  const int64_t count = std::min(picked.numel(), out.numel());
  Reshaped(out, {out.numel()})
      .View({count}, {1}, 0)
      .CopyFrom(Narrowed(picked, 0, 0, count));
  call.Return(out);
  return true;
}

// Row-major positions of the nonzero elements; nan counts.
std::vector<int64_t> NonzeroPositions(const Tensor& self) {
  std::vector<int64_t> positions;
  DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const std::vector<C> values = ReadAll<C>(self);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != C(0)) positions.push_back(static_cast<int64_t>(i));
    }
  });
  return positions;
}

// [rank, count] coordinates; PyTorch returns them transposed.
bool Coordinates(KernelCall& call, const Tensor& self,
                 const std::vector<int64_t>& positions, Tensor* out) {
  const int64_t count = static_cast<int64_t>(positions.size());
  if (!Allocate(call, DType::kInt64, {self.dim(), count}, out)) return false;
  std::vector<int64_t> values(static_cast<size_t>(self.dim() * count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = positions[static_cast<size_t>(i)];
    for (int64_t d = self.dim() - 1; d >= 0; --d) {
      values[static_cast<size_t>(d * count + i)] = rest % self.size(d);
      rest /= self.size(d);
    }
  }
  WriteAll(out, values);
  return true;
}

bool Nonzero(KernelCall& call) {
  Tensor out;
  if (!Coordinates(call, call.tensor(0), NonzeroPositions(call.tensor(0)),
                   &out)) {
    return false;
  }
  // A row per element, laid out column by column.
  call.Return(out.View({out.size(1), out.size(0)}, {1, out.size(1)}, 0));
  return true;
}

bool NonzeroNumpy(KernelCall& call) {
  Tensor self = call.tensor(0);
  if (self.dim() == 0) self = Unsqueezed(self, 0);
  Tensor out;
  if (!Coordinates(call, self, NonzeroPositions(self), &out)) return false;
  std::vector<Tensor> rows;
  for (int64_t d = 0; d < self.dim(); ++d) rows.push_back(Selected(out, 0, d));
  call.Return(TensorList(rows));
  return true;
}

// Exactly `size` rows: cut off, or filled up.
bool NonzeroStatic(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t size = call.Int(1), fill = call.Int(2);
  if (size < 0) return call.Fail("nonzero_static: negative size");
  std::vector<int64_t> positions = NonzeroPositions(self);
  if (static_cast<int64_t>(positions.size()) > size) {
    positions.resize(static_cast<size_t>(size));
  }
  Tensor found, out;
  if (!Coordinates(call, self, positions, &found) ||
      !Allocate(call, DType::kInt64, {size, self.dim()}, &out)) {
    return false;
  }
  Fill<int64_t>(&out, fill);
  Narrowed(out, 0, 0, static_cast<int64_t>(positions.size()))
      .CopyFrom(Transposed(found, 0, 1));
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.masked_fill.Scalar", MaskedFill},
    {"aten.masked_fill.Tensor", MaskedFill},
    {"aten.masked_fill_.Scalar", MaskedFillInPlace},
    {"aten.masked_fill_.Tensor", MaskedFillInPlace},
    {"aten.masked_scatter.default", MaskedScatter},
    {"aten.masked_scatter_.default", MaskedScatterInPlace},
    {"aten.masked_scatter_backward.default", MaskedScatterBackward},
    {"aten.masked_select.default", MaskedSelect},
    {"aten.nonzero.default", Nonzero},
    {"aten.nonzero_numpy.default", NonzeroNumpy},
    {"aten.nonzero_static.default", NonzeroStatic},
    {"aten.argwhere.default", Nonzero},
};

}  // namespace

std::span<const KernelEntry> IndexingMaskKernels() { return kEntries; }

}  // namespace tenon
