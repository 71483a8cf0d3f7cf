// Indexing by tensors: index, index_put, take, put.
//
// x[i, :, j] picks, for every position of the broadcast index tensors, the
// block that the remaining dimensions span. Indexed dimensions that lie next
// to each other are replaced in place; otherwise they move to the front.
#include <algorithm>
#include <cstring>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// A tensor seen through index tensors.
struct Selection {
  Tensor self;        // permuted so that the indexed dimensions adjoin
  size_t before = 0;  // dimensions before the indexed ones
  size_t num_indexed = 0;
  Sizes index_sizes;                   // of the broadcast index tensors
  std::vector<Tensor> indices;         // for result strides
  std::vector<int64_t> index_offsets;  // into self, per index position

  Sizes BlockSizes() const {
    Sizes sizes = self.sizes();
    sizes.erase(sizes.begin() + before, sizes.begin() + before + num_indexed);
    return sizes;
  }
  Sizes BlockStrides(const Tensor& tensor, size_t skipped) const {
    Sizes strides = tensor.strides();
    strides.erase(strides.begin() + before, strides.begin() + before + skipped);
    return strides;
  }
  // `before` block dimensions, the index's, the other block dimensions.
  Sizes ResultSizes() const {
    Sizes sizes = BlockSizes();
    sizes.insert(sizes.begin() + before, index_sizes.begin(),
                 index_sizes.end());
    return sizes;
  }
};

// Replaces masks by the positions of their true elements, one index tensor per
// dimension of the mask.
bool ExpandMasks(KernelCall& call, const Tensor& self,
                 const std::vector<Tensor>& given, std::vector<Tensor>* out) {
  for (const Tensor& index : given) {
    const int64_t at = static_cast<int64_t>(out->size());
    if (!index.defined()) {
      out->push_back(index);
      continue;
    }
    const DType dtype = index.dtype();
    if (dtype == DType::kInt64 || dtype == DType::kInt32) {
      out->push_back(index);
      continue;
    }
    if (dtype != DType::kBool && dtype != DType::kUInt8) {
      return call.Fail(
          "index: tensors used as indices must be int64, int32, "
          "uint8 or bool, found " +
          std::string(Name(dtype)));
    }
    for (int64_t d = 0; d < index.dim(); ++d) {
      if (at + d >= self.dim() || index.size(d) != self.size(at + d)) {
        return call.Fail("index: mask of sizes " + ToText(index.sizes()) +
                         " doesn't match a tensor of sizes " +
                         ToText(self.sizes()) + " at dimension " +
                         std::to_string(at));
      }
    }
    Tensor positions;
    if (!CallKernel(call, "aten.nonzero.default", {index}, &positions)) {
      return false;
    }
    for (int64_t d = 0; d < index.dim(); ++d) {
      out->push_back(Selected(positions, 1, d));
    }
  }
  return true;
}

bool Select(KernelCall& call, const Tensor& self,
            const std::vector<Tensor>& given, Selection* out) {
  std::vector<Tensor> indices;
  if (!ExpandMasks(call, self, given, &indices)) return false;
  if (static_cast<int64_t>(indices.size()) > self.dim()) {
    return call.Fail("index: " + std::to_string(indices.size()) +
                     " indices for a tensor of rank " +
                     std::to_string(self.dim()));
  }
  if (!BroadcastSizes(indices, &out->index_sizes)) {
    return call.Fail("index: the index tensors don't broadcast together");
  }
  if (!CheckSizes(call, out->index_sizes)) return false;
  indices.resize(static_cast<size_t>(self.dim()));
  Sizes indexed, others;
  for (int64_t d = 0; d < self.dim(); ++d) {
    (indices[d].defined() ? indexed : others).push_back(d);
  }
  if (indexed.empty()) return call.Fail("index: no index tensor given");
  const bool adjoin = indexed.back() - indexed.front() + 1 ==
                      static_cast<int64_t>(indexed.size());
  out->before = adjoin ? static_cast<size_t>(indexed.front()) : 0;
  out->num_indexed = indexed.size();
  Sizes order = others;
  order.insert(order.begin() + out->before, indexed.begin(), indexed.end());
  out->self = Permuted(self, order);

  out->index_offsets.assign(static_cast<size_t>(NumElements(out->index_sizes)),
                            0);
  for (int64_t dim : indexed) {
    const int64_t size = self.size(dim), stride = self.stride(dim);
    const std::vector<int64_t> values =
        ReadAll<int64_t>(ExpandTo(indices[dim], out->index_sizes));
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t value = values[i];
      if (value < -size || value >= size) {
        return call.Fail("index " + std::to_string(value) +
                         " is out of bounds for dimension " +
                         std::to_string(dim) + " with size " +
                         std::to_string(size));
      }
      if (value < 0) value += size;
      out->index_offsets[i] += value * stride;
    }
    out->indices.push_back(indices[dim]);
  }
  return true;
}

// Strides as TensorIterator chooses them from the source, in which indexed
// dimensions have stride 0, and the index tensors in their place.
Sizes IndexResultStrides(const Selection& s) {
  const Sizes sizes = s.ResultSizes();
  Sizes strides = s.BlockStrides(s.self, s.num_indexed);
  strides.insert(strides.begin() + s.before, s.index_sizes.size(), 0);
  std::vector<Tensor> operands = {s.self.View(sizes, strides, s.self.offset())};
  const size_t after = sizes.size() - s.before - s.index_sizes.size();
  for (const Tensor& index : s.indices) {
    Sizes index_sizes = index.sizes(), index_strides = index.strides();
    while (index_sizes.size() < s.index_sizes.size()) {
      index_sizes.insert(index_sizes.begin(), 1);
      index_strides.insert(index_strides.begin(), 0);
    }
    index_sizes.insert(index_sizes.begin(), s.before, 1);
    index_strides.insert(index_strides.begin(), s.before, 0);
    index_sizes.insert(index_sizes.end(), after, 1);
    index_strides.insert(index_strides.end(), after, 0);
    operands.push_back(index.View(index_sizes, index_strides, index.offset()));
  }
  return ResultStrides(sizes, operands);
}

// Calls f(offset into self, offset into other) for all elements; `other` has
// the result's sizes.
template <typename F>
void ForEachSelected(const Selection& s, const Tensor& other, F f) {
  const std::vector<int64_t> self_block =
      ElementOffsets(s.BlockSizes(), s.BlockStrides(s.self, s.num_indexed));
  const std::vector<int64_t> other_block = ElementOffsets(
      s.BlockSizes(), s.BlockStrides(other, s.index_sizes.size()));
  const Sizes index_strides(
      other.strides().begin() + s.before,
      other.strides().begin() + s.before + s.index_sizes.size());
  const std::vector<int64_t> other_index =
      ElementOffsets(s.index_sizes, index_strides);
  for (size_t i = 0; i < s.index_offsets.size(); ++i) {
    for (size_t k = 0; k < self_block.size(); ++k) {
      f(s.index_offsets[i] + self_block[k], other_index[i] + other_block[k]);
    }
  }
}

bool IndexTensor(KernelCall& call, const Tensor& self,
                 const std::vector<Tensor>& indices, Tensor* out) {
  Selection s;
  if (!Select(call, self, indices, &s)) return false;
  if (!Allocate(call, self.dtype(), s.ResultSizes(), IndexResultStrides(s),
                out)) {
    return false;
  }
  const size_t item = SizeBytes(self.dtype());
  const std::byte* from = s.self.raw();
  std::byte* to = out->mutable_raw();
  ForEachSelected(s, *out, [&](int64_t self_offset, int64_t out_offset) {
    std::memcpy(to + out_offset * static_cast<int64_t>(item),
                from + self_offset * static_cast<int64_t>(item), item);
  });
  return true;
}

bool Index(KernelCall& call) {
  Tensor out;
  if (!IndexTensor(call, call.tensor(0), call.OptionalTensors(1), &out)) {
    return false;
  }
  call.Return(out);
  return true;
}

// Adds to the elements of self: repeated positions add up.
void Accumulate(const Selection& s, const Tensor& values) {
  const int64_t item = static_cast<int64_t>(SizeBytes(s.self.dtype()));
  DispatchCompute(s.self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    Tensor self = s.self;
    std::byte* to = self.mutable_raw();
    const std::byte* from = values.raw();
    ForEachSelected(s, values, [&](int64_t self_offset, int64_t offset) {
      C sum, value;
      LoadRun(self.dtype(), to + self_offset * item, 1, 1, &sum);
      LoadRun(values.dtype(), from + offset * item, 1, 1, &value);
      sum += value;
      StoreRun(self.dtype(), to + self_offset * item, 1, 1, &sum);
    });
  });
}

// Writes into `self` itself; repeated positions keep the last value.
bool PutInto(KernelCall& call, const Tensor& self,
             const std::vector<Tensor>& indices, Tensor values,
             bool accumulate) {
  if (values.dtype() != self.dtype()) {
    return call.Fail("index_put: the source is " +
                     std::string(Name(values.dtype())) +
                     " but the destination " + std::string(Name(self.dtype())));
  }
  Selection s;
  if (!Select(call, self, indices, &s)) return false;
  const Sizes sizes = s.ResultSizes();
  while (values.dim() > static_cast<int64_t>(sizes.size()) &&
         values.size(0) == 1) {
    values = Squeezed(values, 0);
  }
  if (!BroadcastsTo(values.sizes(), sizes)) {
    return call.Fail("index_put: values of sizes " + ToText(values.sizes()) +
                     " do not broadcast to " + ToText(sizes));
  }
  if (!PrepareWrite(call, self)) return false;
  if (values.SharesStorage(self)) values = values.Clone();
  if (!values.defined()) return call.Fail("index_put: out of memory");
  values = ExpandTo(values, sizes);
  if (accumulate) {
    Accumulate(s, values);
    return true;
  }
  const size_t item = SizeBytes(self.dtype());
  std::byte* to = s.self.mutable_raw();
  const std::byte* from = values.raw();
  ForEachSelected(s, values, [&](int64_t self_offset, int64_t value_offset) {
    std::memcpy(to + self_offset * static_cast<int64_t>(item),
                from + value_offset * static_cast<int64_t>(item), item);
  });
  return true;
}

bool IndexPutInPlace(KernelCall& call) {
  if (!PutInto(call, call.tensor(0), call.OptionalTensors(1), call.tensor(2),
               call.Bool(3))) {
    return false;
  }
  call.Return(call.tensor(0));
  return true;
}

bool IndexPut(KernelCall& call) {
  Tensor out;
  if (!CallKernel(call, "aten.clone.default", {call.tensor(0)}, &out) ||
      !PutInto(call, out, call.OptionalTensors(1), call.tensor(2),
               call.Bool(3))) {
    return false;
  }
  call.Return(out);
  return true;
}

// Indices clamped into range, for the masked forms, which ignore what lies
// outside.
bool ClampIndices(KernelCall& call, const Tensor& self,
                  std::vector<Tensor>* indices) {
  for (size_t d = 0; d < indices->size(); ++d) {
    Tensor& index = (*indices)[d];
    if (!index.defined()) continue;
    if (static_cast<int64_t>(d) >= self.dim()) {
      return call.Fail("index: too many indices");
    }
    const int64_t size = self.size(static_cast<int64_t>(d));
    std::vector<int64_t> values = ReadAll<int64_t>(index);
    for (int64_t& value : values) value = std::clamp(value, -size, size - 1);
    Tensor clamped;
    if (!Allocate(call, DType::kInt64, index.sizes(), &clamped)) return false;
    WriteAll(&clamped, values);
    index = clamped;
  }
  return true;
}

// self[indices] where the mask is true, `fill` elsewhere.
bool MaskedIndex(KernelCall& call) {
  const Tensor &self = call.tensor(0), &mask = call.tensor(1);
  std::vector<Tensor> indices = call.OptionalTensors(2);
  Tensor picked, outside;
  if (self.numel() == 0) {
    return call.Fail("_unsafe_masked_index of an empty tensor");
  }
  return ClampIndices(call, self, &indices) &&
         IndexTensor(call, self, indices, &picked) &&
         CallKernel(call, "aten.logical_not.default", {mask}, &outside) &&
         ForwardTo(call, "aten.masked_fill.Scalar",
                   {picked, outside, call.arg(3)});
}

bool MaskedIndexPutAccumulate(KernelCall& call) {
  const Tensor &self = call.tensor(0), &mask = call.tensor(1);
  std::vector<Tensor> indices = call.OptionalTensors(2);
  Tensor outside, values, out;
  if (!CallKernel(call, "aten.clone.default", {self}, &out)) return false;
  if (self.numel() > 0 &&
      !(ClampIndices(call, self, &indices) &&
        CallKernel(call, "aten.logical_not.default", {mask}, &outside) &&
        CallKernel(call, "aten.masked_fill.Scalar",
                   {call.tensor(3), outside, int64_t{0}}, &values) &&
        PutInto(call, out, indices, values, true))) {
    return false;
  }
  call.Return(out);
  return true;
}

// --- the tensor as if it were one row ---

bool FlatPositions(KernelCall& call, const Tensor& self, const Tensor& index,
                   std::vector<int64_t>* out) {
  if (index.dtype() != DType::kInt64) {
    return call.Fail("expected an int64 index, found " +
                     std::string(Name(index.dtype())));
  }
  *out = ReadAll<int64_t>(index);
  for (int64_t& value : *out) {
    if (value < -self.numel() || value >= self.numel()) {
      return call.Fail("index " + std::to_string(value) +
                       " is out of range of a tensor of " +
                       std::to_string(self.numel()) + " elements");
    }
    if (value < 0) value += self.numel();
  }
  return true;
}

bool Take(KernelCall& call) {
  const Tensor &self = call.tensor(0), &index = call.tensor(1);
  std::vector<int64_t> positions;
  Tensor out;
  if (!FlatPositions(call, self, index, &positions) ||
      !Allocate(call, self.dtype(), index.sizes(), &out)) {
    return false;
  }
  const Tensor flat = self.Contiguous();
  if (!flat.defined()) return call.Fail("take: out of memory");
  const size_t item = SizeBytes(self.dtype());
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(out.mutable_raw() + i * item,
                flat.raw() + static_cast<size_t>(positions[i]) * item, item);
  }
  call.Return(out);
  return true;
}

bool PutFlat(KernelCall& call, const Tensor& self) {
  const Tensor &index = call.tensor(1), &source = call.tensor(2);
  if (source.dtype() != self.dtype()) {
    return call.Fail("put: self and source differ in dtype");
  }
  if (source.numel() != index.numel()) {
    return call.Fail("put: source and index differ in number of elements");
  }
  std::vector<int64_t> positions;
  if (!FlatPositions(call, self, index, &positions)) return false;
  if (!PrepareWrite(call, self)) return false;
  const bool accumulate = call.Bool(3);
  DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> values = ReadAll<C>(self);
    const std::vector<C> given = ReadAll<C>(source);
    for (size_t i = 0; i < positions.size(); ++i) {
      C& value = values[static_cast<size_t>(positions[i])];
      value = accumulate ? value + given[i] : given[i];
    }
    Tensor out = self;
    WriteAll(&out, values);
  });
  return true;
}

bool PutInPlace(KernelCall& call) {
  if (!PutFlat(call, call.tensor(0))) return false;
  call.Return(call.tensor(0));
  return true;
}

bool Put(KernelCall& call) {
  Tensor out;
  if (!CallKernel(call, "aten.clone.default", {call.tensor(0)}, &out) ||
      !PutFlat(call, out)) {
    return false;
  }
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.index.Tensor", Index},
    {"aten._unsafe_index.Tensor", Index},
    {"aten.index_put.default", IndexPut},
    {"aten._unsafe_index_put.default", IndexPut},
    {"aten.index_put_.default", IndexPutInPlace},
    {"aten._index_put_impl_.default", IndexPutInPlace},
    {"aten._unsafe_masked_index.default", MaskedIndex},
    {"aten._unsafe_masked_index_put_accumulate.default",
     MaskedIndexPutAccumulate},
    {"aten.take.default", Take},
    {"aten.put.default", Put},
    {"aten.put_.default", PutInPlace},
};

}  // namespace

std::span<const KernelEntry> IndexingKernels() { return kEntries; }

}  // namespace tenon
