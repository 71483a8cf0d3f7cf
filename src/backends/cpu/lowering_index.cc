// Elements picked or placed by index tensors: embedding, index, index_put,
// index_select, index_copy.
// Where the indexed dimensions don't adjoin, outer is empty and they come first
// (index_step.h).
#include <algorithm>
#include <string>

#include "backends/cpu/index_step.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/lowering_results.h"
#include "kernels/broadcast.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// An index plan: the shape of the step, and of the picked elements.
struct Selection {
  IndexShape shape;
  std::vector<Tensor> indices;  // contiguous int64
  Sizes outer, index_sizes, inner;

  Sizes ResultSizes() const {
    Sizes sizes = outer;
    sizes.insert(sizes.end(), index_sizes.begin(), index_sizes.end());
    sizes.insert(sizes.end(), inner.begin(), inner.end());
    return sizes;
  }
};

// `given[d]` indexes dimension d of `self`, undefined ones don't.
bool Select(PlanBuilder& b, KernelCall& call, const Tensor& self,
            std::vector<Tensor> given, Selection* out) {
  if (given.size() > self.sizes().size()) {
    return call.Fail("more indices than dimensions");
  }
  if (!BroadcastSizes(given, &out->index_sizes)) {
    return call.Fail("the indices don't broadcast");
  }
  if (!CheckSizes(call, out->index_sizes)) return false;
  given.resize(self.sizes().size());
  Sizes indexed, others;
  for (int64_t d = 0; d < self.dim(); ++d) {
    (given[d].defined() ? indexed : others).push_back(d);
  }
  if (indexed.empty()) return call.Fail("no index tensor given");
  const bool adjoin = indexed.back() - indexed.front() + 1 ==
                      static_cast<int64_t>(indexed.size());
  const int64_t num_outer = adjoin ? indexed.front() : 0;
  const auto item = static_cast<int64_t>(SizeBytes(self.dtype()));
  IndexShape& s = out->shape;
  s.item_bytes = static_cast<size_t>(item);
  s.count = NumElements(out->index_sizes);
  Sizes outer_strides, inner_strides;
  for (const int64_t d : others) {
    const bool is_outer = d < num_outer;
    (is_outer ? out->outer : out->inner).push_back(self.size(d));
    (is_outer ? outer_strides : inner_strides).push_back(self.stride(d) * item);
  }
  const int64_t listed = NumElements(out->outer) + NumElements(out->inner);
  if (listed > (int64_t{1} << 24) && NumElements(out->outer) > 1) {
    return call.Fail("too many blocks");
  }
  s.outer_bytes = OffsetsOf(out->outer, outer_strides, out->outer.size());
  // Inner dimensions that follow each other in memory make one run.
  size_t run_from = out->inner.size();
  s.run_step_bytes = item;
  if (!out->inner.empty()) {
    run_from = out->inner.size() - 1;
    s.run_length = out->inner[run_from];
    s.run_step_bytes = inner_strides[run_from];
    while (run_from > 0 && inner_strides[run_from - 1] ==
                               inner_strides[run_from] * out->inner[run_from]) {
      --run_from;
      s.run_length *= out->inner[run_from];
    }
  }
  s.run_bytes = OffsetsOf(out->inner, inner_strides, run_from);
  for (const int64_t d : indexed) {
    const Tensor& index = given[static_cast<size_t>(d)];
    if (!IsIndex(index)) {
      return call.Fail("an index of " + std::string(Name(index.dtype())));
    }
    Tensor flat = ExpandTo(index, out->index_sizes);
    if (flat.dtype() != DType::kInt64 || !flat.is_contiguous()) {
      const Tensor copy = b.NewTensor(DType::kInt64, out->index_sizes);
      if (!copy.defined() || !b.EmitCopy(flat, copy)) {
        return call.Fail("cannot copy an index");
      }
      flat = copy;
    }
    s.dims.push_back({self.size(d), self.stride(d) * item, b.RefOf(flat)});
    out->indices.push_back(flat);
  }
  return true;
}

bool Take(PlanBuilder& b, KernelCall& call, const Tensor& self,
          Selection selection) {
  const Sizes sizes = selection.ResultSizes();
  if (!CheckSizes(call, sizes)) return false;
  const Tensor out = b.NewTensor(self.dtype(), sizes);
  if (!out.defined()) return call.Fail("the result is too large");
  call.Return(out);
  if (out.numel() == 0) return true;
  selection.shape.self = b.RefOf(self);
  selection.shape.other = b.RefOf(out);
  std::vector<Tensor> reads = selection.indices;
  reads.push_back(self);
  const Tensor writes[] = {out};
  b.Emit(std::make_unique<IndexStep>(IndexStep::Mode::kTake,
                                     std::move(selection.shape)),
         reads, writes);
  return true;
}

// Writes into `self` itself, which is writable.
bool Put(PlanBuilder& b, KernelCall& call, const Tensor& self,
         Selection selection, const Tensor& values, bool accumulate) {
  const Sizes sizes = selection.ResultSizes();
  if (values.dtype() != self.dtype()) {
    return call.Fail("values of " + std::string(Name(values.dtype())) +
                     " for " + self.ToString());
  }
  if (accumulate && self.dtype() != DType::kFloat32) {
    return call.Fail("accumulating into " + self.ToString());
  }
  if (!CheckSizes(call, sizes) || !BroadcastsTo(values.sizes(), sizes)) {
    return call.Fail("values " + values.ToString() + " don't broadcast to " +
                     ToText(sizes));
  }
  const Tensor expanded = ExpandTo(values, sizes);
  if (expanded.numel() == 0) return true;
  // A source in the same buffer is read before anything is written.
  Tensor source = expanded;
  if (!source.is_contiguous() || source.SharesStorage(self)) {
    source = b.NewTensor(self.dtype(), sizes);
    if (!source.defined() || !b.EmitCopy(expanded, source)) {
      return call.Fail("cannot copy the values");
    }
  }
  selection.shape.self = b.RefOf(self);
  selection.shape.other = b.RefOf(source);
  selection.shape.is_saved = b.InputOf(self) >= 0;
  std::vector<Tensor> reads = selection.indices;
  reads.push_back(source);
  b.EmitPartial(
      std::make_unique<IndexStep>(
          accumulate ? IndexStep::Mode::kAccumulate : IndexStep::Mode::kPut,
          std::move(selection.shape)),
      reads, self, source);
  return true;
}

// --- the operators ---

// As TensorIterator chooses them from the operand, in which indexed dimensions
// have stride 0, and the index tensors in their place.
Sizes IndexStrides(const Selection& selection, const Tensor& self,
                   const std::vector<Tensor>& given) {
  const Sizes sizes = selection.ResultSizes();
  const size_t before = selection.outer.size(), after = selection.inner.size();
  Sizes strides;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const auto i = static_cast<size_t>(d);
    if (i >= given.size() || !given[i].defined()) {
      strides.push_back(self.stride(d));
    }
  }
  const auto at = static_cast<int64_t>(before);
  strides.insert(strides.begin() + at, selection.index_sizes.size(), 0);
  std::vector<Tensor> operands = {self.View(sizes, strides, self.offset())};
  for (const Tensor& index : given) {
    if (!index.defined()) continue;
    Sizes index_sizes = index.sizes(), index_strides = index.strides();
    const size_t missing =
        before + selection.index_sizes.size() - index_sizes.size();
    index_sizes.insert(index_sizes.begin(), missing, 1);
    index_strides.insert(index_strides.begin(), missing, 0);
    index_sizes.insert(index_sizes.end(), after, 1);
    index_strides.insert(index_strides.end(), after, 0);
    operands.push_back(index.View(index_sizes, index_strides, index.offset()));
  }
  return ResultStrides(sizes, operands);
}

bool Index(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor self = call.tensor(0);
  const std::vector<Tensor> given = call.OptionalTensors(1);
  Selection selection;
  if (!Select(b, call, self, given, &selection)) return false;
  const Sizes strides = IndexStrides(selection, self, given);
  if (!Take(b, call, self, std::move(selection))) return false;
  const Tensor taken = call.results()[0].tensor();
  if (taken.strides() == strides) return true;
  const Tensor out = b.NewTensor(taken.dtype(), taken.sizes(), strides);
  if (!out.defined() || !b.EmitCopy(taken, out)) {
    return call.Fail("the result is too large");
  }
  call.results()[0] = out;
  return true;
}

bool Embedding(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor weight = call.tensor(0);
  if (weight.dim() != 2) return call.Fail("the weight isn't a matrix");
  Selection selection;
  if (!Select(b, call, weight, {call.tensor(1)}, &selection)) return false;
  selection.shape.allows_negative = false;
  return Take(b, call, weight, std::move(selection));
}

// A 0-d tensor counts as one of a dimension of size 1.
Tensor AtLeast1d(const Tensor& t) {
  return t.dim() == 0 ? Unsqueezed(t, 0) : t;
}

bool SelectAlong(PlanBuilder& b, KernelCall& call, const Tensor& self,
                 int64_t dim, const Tensor& index, Selection* selection) {
  if (!WrapDim(call, self.dim(), &dim)) return false;
  if (index.dim() > 1) return call.Fail("expected a 1-d index");
  std::vector<Tensor> given(static_cast<size_t>(dim) + 1);
  given.back() = index.dim() == 1 ? index : Unsqueezed(index, 0);
  if (!Select(b, call, self, given, selection)) return false;
  selection->shape.allows_negative = false;
  return true;
}

bool IndexSelect(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor given = call.tensor(0), self = AtLeast1d(given);
  Selection selection;
  if (given.dim() == 0 && call.tensor(2).numel() != 1) {
    return call.Fail("a 0-d tensor takes one index");
  }
  if (!SelectAlong(b, call, self, call.Int(1), call.tensor(2), &selection) ||
      !Take(b, call, self, std::move(selection))) {
    return false;
  }
  RuntimeValue& out = call.results()[0];
  if (given.dim() == 0) out = Squeezed(out.tensor(), 0);
  return true;
}

// A copy with the strides of the original, as PyTorch's clone has them.
bool CopyOf(PlanBuilder& b, KernelCall& call, const Tensor& self, Tensor* out) {
  *out = b.NewTensor(
      self.dtype(), self.sizes(),
      self.is_dense() ? self.strides() : ContiguousStrides(self.sizes()));
  if (out->defined() && b.EmitCopy(self, *out)) return true;
  return call.Fail("cannot copy " + self.ToString());
}

// The tensor that an in-place or a functional form writes.
bool TargetOf(PlanBuilder& b, KernelCall& call, bool in_place, Tensor* out) {
  const bool has_overlap = HasOverlap(call.tensor(0));
  if (!in_place && (has_overlap || !b.updates_in_place())) {
    return CopyOf(b, call, call.tensor(0), out);
  }
  if (has_overlap) return call.Fail("the target's elements overlap");
  *out = call.arg(0).tensor() = b.Writable(call.tensor(0));
  return true;
}

template <bool kInPlace>
bool IndexPut(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor target;
  Selection selection;
  if (!TargetOf(b, call, kInPlace, &target) ||
      !Select(b, call, target, call.OptionalTensors(1), &selection) ||
      !Put(b, call, target, std::move(selection), call.tensor(2),
           call.Bool(3))) {
    return false;
  }
  call.Return(target);
  return true;
}

template <bool kInPlace>
bool IndexCopy(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor target;
  Selection selection;
  if (!TargetOf(b, call, kInPlace, &target) ||
      !SelectAlong(b, call, AtLeast1d(target), call.Int(1), call.tensor(2),
                   &selection)) {
    return false;
  }
  const Tensor source = AtLeast1d(call.tensor(3));
  if (source.sizes() != selection.ResultSizes()) {
    return call.Fail("source " + call.tensor(3).ToString() +
                     " doesn't fit the index");
  }
  if (!Put(b, call, AtLeast1d(target), std::move(selection), source, false)) {
    return false;
  }
  call.Return(target);
  return true;
}

// --- what the backend leaves to others ---

bool IsIndexType(const Program& program, ValueId v) {
  const Type& type = program.type(v);
  return type.is_tensor() &&
         (type.dtype == DType::kInt64 || type.dtype == DType::kInt32);
}

std::optional<Refusal> RefuseMasks(const Program& program, NodeId node) {
  const Arg* indices = program.FindArg(node, "indices");
  if (indices == nullptr || !indices->has_items()) return std::nullopt;
  for (const Arg& item : program.args(indices->list)) {
    if (item.is_value() && !IsIndexType(program, item.value())) {
      return Refusal{RefusalReason::kDataDependentOutput, "indexing by a mask"};
    }
  }
  const Arg* accumulate = program.FindArg(node, "accumulate");
  const Arg* self = program.FindArg(node, "self");
  if (accumulate != nullptr && accumulate->i != 0 && self != nullptr &&
      self->is_value() &&
      program.type(self->value()).dtype != DType::kFloat32) {
    return Refusal{RefusalReason::kDtype, "accumulating other than float32"};
  }
  return std::nullopt;
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr LoweringKind kInPlace = LoweringKind::kInPlace;
constexpr DTypeRule kHeld = DTypeRule::kHeld;

constexpr Lowering kLowerings[] = {
    {"aten.index.Tensor", kPure, Index, kHeld, TileOp::kCopy, RefuseMasks},
    {"aten._unsafe_index.Tensor", kPure, Index, kHeld, TileOp::kCopy,
     RefuseMasks},
    {"aten.embedding.default", kPure, Embedding},
    {"aten.index_select.default", kPure, IndexSelect},
    {"aten.index_put.default", kPure, IndexPut<false>, kHeld, TileOp::kCopy,
     RefuseMasks},
    {"aten.index_put_.default", kInPlace, IndexPut<true>, kHeld, TileOp::kCopy,
     RefuseMasks},
    {"aten.index_copy.default", kPure, IndexCopy<false>},
    {"aten.index_copy_.default", kInPlace, IndexCopy<true>},
};

}  // namespace

std::span<const Lowering> IndexLowerings() { return kLowerings; }

}  // namespace tenon::cpu
