// Elements combined into places that an index names, one per element: scatter,
// scatter_add, scatter_reduce, index_add, index_reduce, index_fill.
//
// A new tensor starts as a copy of self; the values are then taken in the order
// of the index, whose elements are numbers of slices along one dimension.
#include <algorithm>
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_lines.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/arithmetic.h"
#include "kernels/broadcast.h"
#include "kernels/combination.h"
#include "kernels/scalar_range.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// The index sees the target and the values as tensors of its own sizes.
struct ScatterShape {
  Combination combination = Combination::kAssign;
  bool includes_self = true;
  DType type = DType::kFloat32;  // of target and values; LineType
  int64_t size = 0;              // of the target along the dimension
  int64_t stride = 0;            // there, in elements
  int64_t count = 0;             // of the index's elements
  bool allows_negative = false;
  // By dimension of the index, outermost first: its size, and what a step means
  // in the target (nothing along the dimension), the index and the values.
  struct Dim {
    int64_t size = 1, target = 0, index = 0, value = 0;
  };
  std::vector<Dim> dims;
  int64_t target_count = 0;
  Ref target, index, values;
  bool counts = false;
  Ref tally;  // int64 per element of the target, if `counts`
};

class ScatterStep : public Step {
 public:
  explicit ScatterStep(ScatterShape shape) : s_(std::move(shape)) {}

  bool Run(Frame& frame) override {
    switch (s_.type) {
      case DType::kFloat32:
        return RunTyped<float>(frame);
      case DType::kFloat64:
        return RunTyped<double>(frame);
      default:
        return RunTyped<int64_t>(frame);
    }
  }
  std::string_view name() const override { return "scatter"; }

 private:
  template <typename T>
  bool RunTyped(Frame& frame) const {
    T* target = frame.at<T>(s_.target);
    const T* values = frame.at<T>(s_.values);
    const int64_t* index = frame.at<int64_t>(s_.index);
    int64_t* tally = s_.counts ? frame.at<int64_t>(s_.tally) : nullptr;
    if (tally != nullptr) std::fill_n(tally, s_.target_count, 0);
    for (int64_t i = 0; i < s_.count; ++i) {
      int64_t rest = i, to = 0, from = 0, at = 0;
      for (size_t d = s_.dims.size(); d-- > 0;) {
        const ScatterShape::Dim& dim = s_.dims[d];
        const int64_t k = rest % dim.size;
        rest /= dim.size;
        to += k * dim.target;
        at += k * dim.index;
        from += k * dim.value;
      }
      int64_t place = index[at];
      if (place < 0 && s_.allows_negative) place += s_.size;
      if (place < 0 || place >= s_.size) {
        return frame.Fail("index " + std::to_string(index[at]) +
                          " is out of bounds for a dimension of size " +
                          std::to_string(s_.size));
      }
      to += place * s_.stride;
      const bool replaces =
          tally != nullptr && tally[to]++ == 0 && !s_.includes_self;
      target[to] = replaces ? values[from] : Combine(target[to], values[from]);
    }
    if (s_.combination == Combination::kMean) Divide(target, tally);
    return true;
  }

  // NaN wins over everything, from either side.
  template <typename T>
  T Combine(T a, T b) const {
    switch (s_.combination) {
      case Combination::kAssign:
        return b;
      case Combination::kProduct:
        return Mul(a, b);
      case Combination::kMax:
        return a != a || a > b ? a : b;
      case Combination::kMin:
        return a != a || a < b ? a : b;
      case Combination::kSum:
      case Combination::kMean:
        break;
    }
    return Add(a, b);
  }

  template <typename T>
  void Divide(T* target, const int64_t* tally) const {
    for (int64_t i = 0; i < s_.target_count; ++i) {
      if (tally[i] == 0) continue;
      const int64_t count = tally[i] + (s_.includes_self ? 1 : 0);
      if constexpr (kIsInteger<T>) {
        target[i] = DivFloor(target[i], count);
      } else {
        target[i] /= static_cast<T>(count);
      }
    }
  }

  const ScatterShape s_;
};

Tensor AtLeast1d(const Tensor& t) {
  return t.dim() == 0 ? Unsqueezed(t, 0) : t;
}

Tensor As(PlanBuilder& b, const Tensor& t, DType dtype) {
  return t.dtype() == dtype ? t : b.Converted(t, dtype);
}

struct Scatter {
  Combination combination = Combination::kAssign;
  bool includes_self = true;
  bool allows_negative = false;
  int64_t dim = 0;
  Tensor index;   // of int64 or int32
  Tensor values;  // at least as large as the index
};

// A contiguous copy of the call's self with the values combined into it. All
// ranks are the same and at least 1.
bool EmitScatter(PlanBuilder& b, KernelCall& call, const Scatter& scatter) {
  const Tensor& given = call.tensor(0);
  const DType type = LineType(given.dtype());
  const Tensor target = b.NewTensor(type, given.sizes());
  if (!target.defined() || !b.EmitCopy(given, target)) {
    return call.Fail("cannot copy " + given.ToString());
  }
  ScatterShape s;
  s.count = scatter.index.numel();
  if (s.count > 0) {
    const Tensor self = AtLeast1d(target);
    const Tensor index = As(b, scatter.index, DType::kInt64);
    const Tensor values = As(b, scatter.values, type);
    if (!index.defined() || !values.defined()) {
      return call.Fail("the index is too large");
    }
    s.combination = scatter.combination;
    s.includes_self = scatter.includes_self;
    s.allows_negative = scatter.allows_negative;
    s.type = type;
    s.size = self.size(scatter.dim);
    s.stride = self.stride(scatter.dim);
    s.target_count = self.numel();
    for (int64_t d = 0; d < self.dim(); ++d) {
      s.dims.push_back({index.size(d), d == scatter.dim ? 0 : self.stride(d),
                        index.stride(d), values.stride(d)});
    }
    Tensor tally;
    s.counts = !scatter.includes_self || s.combination == Combination::kMean;
    if (s.counts) {
      tally = b.NewTensor(DType::kInt64, {s.target_count});
      if (!tally.defined()) return call.Fail("the target is too large");
      s.tally = b.RefOf(tally);
    }
    s.target = b.RefOf(self);
    s.index = b.RefOf(index);
    s.values = b.RefOf(values);
    const Tensor reads[] = {index, values, self};
    const Tensor writes[] = {self, tally};
    b.Emit(std::make_unique<ScatterStep>(std::move(s)), reads, writes);
  }
  const Tensor out = As(b, target, given.dtype());
  if (!out.defined()) return call.Fail("the result is too large");
  call.Return(out);
  return true;
}

// --- an index per element ---

bool ScatterAlong(PlanBuilder& b, KernelCall& call, Combination combination,
                  bool includes_self) {
  const Tensor& given = call.tensor(0);
  const Tensor self = AtLeast1d(given), index = AtLeast1d(call.tensor(2));
  Scatter scatter = {combination, includes_self, false, call.Int(1), index, {}};
  if (!WrapDim(call, self.dim(), &scatter.dim)) return false;
  const bool is_number = !call.arg(3).is_tensor() || call.is_number(3);
  Tensor source;
  if (is_number) {
    source = ConstantOf(call.Scalar(3), given.dtype());
  } else {
    source = AtLeast1d(call.tensor(3));
    if (source.dtype() != given.dtype()) {
      return call.Fail("self is " + given.ToString() + ", but src " +
                       source.ToString());
    }
  }
  // An empty index may be of any rank and dtype.
  if (index.numel() == 0) {
    scatter.index = Tensor::Empty(DType::kInt64, {0});
    return EmitScatter(b, call, scatter);
  }
  if (!IsIndex(index) || index.dim() != self.dim()) {
    return call.Fail("index " + index.ToString() + " doesn't fit " +
                     self.ToString());
  }
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != scatter.dim && index.size(d) > self.size(d)) {
      return call.Fail("index " + index.ToString() + " is larger than " +
                       self.ToString());
    }
    if (!is_number &&
        (source.dim() != index.dim() || index.size(d) > source.size(d))) {
      return call.Fail("index " + index.ToString() + " is larger than src " +
                       source.ToString());
    }
  }
  scatter.values =
      is_number ? ExpandTo(source, index.sizes())
                : source.View(index.sizes(), source.strides(), source.offset());
  return EmitScatter(b, call, scatter);
}

template <Combination kCombination>
bool ScatterBy(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ScatterAlong(b, call, kCombination, true);
}

// (self, dim, index, src or value, reduce)
bool ScatterReduce(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Combination combination;
  return FindCombination(call, call.arg(4).string(), &combination) &&
         ScatterAlong(b, call, combination, true);
}

// (self, dim, index, src, reduce, include_self)
bool ScatterReduceTwo(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Combination combination;
  return FindCombination(call, call.arg(4).string(), &combination) &&
         ScatterAlong(b, call, combination, call.Bool(5));
}

// --- one index for whole slices ---

// The index along `dim`, seen in the sizes of the slices that it names.
bool SliceIndex(KernelCall& call, int64_t* dim, Tensor* index) {
  const Tensor self = AtLeast1d(call.tensor(0));
  if (!WrapDim(call, self.dim(), dim)) return false;
  const Tensor line = AtLeast1d(call.tensor(2));
  if (line.dim() != 1 || !IsIndex(line)) {
    return call.Fail("expected a 1-d index, found " + line.ToString());
  }
  Sizes sizes = self.sizes(), strides(sizes.size(), 0);
  sizes[*dim] = line.size(0);
  strides[*dim] = line.stride(0);
  *index = line.View(sizes, strides, line.offset());
  return true;
}

bool CombineSlices(PlanBuilder& b, KernelCall& call, Combination combination,
                   bool includes_self, Tensor source) {
  Scatter scatter = {combination, includes_self, false, call.Int(1), {}, {}};
  if (!SliceIndex(call, &scatter.dim, &scatter.index)) return false;
  source = AtLeast1d(source);
  if (source.dtype() != call.tensor(0).dtype() ||
      source.sizes() != scatter.index.sizes()) {
    return call.Fail("expected a source of sizes " +
                     ToText(scatter.index.sizes()) + " and the dtype of self");
  }
  scatter.values = source;
  return EmitScatter(b, call, scatter);
}

// self + alpha * source.
bool IndexAdd(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor source = call.tensor(3);
  const RuntimeValue alpha = call.Scalar(4);
  if (!CheckFits(call, alpha, source.dtype())) return false;
  if (ElementOf(ConstantOf(alpha, DType::kFloat64)).float_value() != 1) {
    const Tensor scaled =
        b.NewTensor(source.dtype(), source.sizes(), LikeStrides(source));
    if (!scaled.defined()) return call.Fail("the source is too large");
    PointwiseBuilder e(&b, scaled);
    const TileOp op =
        source.dtype() == DType::kBool ? TileOp::kAnd : TileOp::kMul;
    if (!e.Emit(e.Apply(
            op, {e.Load(source), e.Load(ConstantOf(alpha, source.dtype()))}))) {
      return call.Fail("cannot scale the source");
    }
    source = scaled;
  }
  return CombineSlices(b, call, Combination::kSum, true, source);
}

bool IndexReduce(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Combination combination;
  return FindCombination(call, call.arg(4).string(), &combination) &&
         CombineSlices(b, call, combination, call.Bool(5), call.tensor(3));
}

bool IndexFill(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Scatter scatter;
  scatter.allows_negative = true;
  scatter.dim = call.Int(1);
  if (!SliceIndex(call, &scatter.dim, &scatter.index)) return false;
  const DType dtype = call.tensor(0).dtype();
  Tensor value;
  if (call.arg(3).is_tensor() && !call.is_number(3)) {
    value = call.tensor(3);
    if (value.dim() != 0) return call.Fail("expected a 0-d value");
    value = As(b, value, dtype);
  } else {
    if (!CheckFits(call, call.Scalar(3), dtype)) return false;
    value = ConstantOf(call.Scalar(3), dtype);
  }
  if (!value.defined()) return call.Fail("cannot convert the value");
  scatter.values = ExpandTo(value, scatter.index.sizes());
  return EmitScatter(b, call, scatter);
}

// Ones at the classes that the elements are.
bool OneHot(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  const int64_t classes = call.Int(1);
  if (self.dtype() != DType::kInt64 || classes < 1) {
    return call.Fail("expected int64 elements and a number of classes");
  }
  Sizes sizes = self.sizes();
  sizes.push_back(classes);
  if (!CheckSizes(call, sizes)) return false;
  Tensor zeros = b.NewTensor(DType::kInt64, sizes);
  if (!zeros.defined()) return call.Fail("the result is too large");
  PointwiseBuilder e(&b, zeros);
  if (!e.Emit(e.Apply(TileOp::kCopy,
                      {e.Load(ConstantOf(int64_t{0}, DType::kInt64))}))) {
    return call.Fail("cannot fill the result");
  }
  const Tensor index = Unsqueezed(self, self.dim());
  KernelCall inner(*FindCallSchema("aten.scatter.value"),
                   {zeros, int64_t{-1}, index, int64_t{1}});
  if (!ScatterAlong(b, inner, Combination::kAssign, true)) {
    return call.Fail(inner.error());
  }
  call.Return(inner.results()[0]);
  return true;
}

// Without a number of classes the largest element decides.
std::optional<Refusal> RefuseOpenClasses(const Program& program, NodeId node) {
  const Arg* classes = program.FindArg(node, "num_classes");
  if (classes != nullptr &&
      (classes->kind != ArgKind::kInt || classes->i >= 0)) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kDataDependentOutput,
                 "one_hot without a number of classes"};
}

constexpr Lowering Op(std::string_view name, LowerFn lower,
                      RefuseFn refuses = nullptr) {
  return {name,   LoweringKind::kPure, lower, DTypeRule::kHeld, TileOp::kCopy,
          refuses};
}

constexpr Lowering kLowerings[] = {
    Op("aten.scatter.src", ScatterBy<Combination::kAssign>),
    Op("aten.scatter.value", ScatterBy<Combination::kAssign>),
    Op("aten.scatter.reduce", ScatterReduce),
    Op("aten.scatter.value_reduce", ScatterReduce),
    Op("aten.scatter_add.default", ScatterBy<Combination::kSum>),
    Op("aten.scatter_reduce.two", ScatterReduceTwo),
    Op("aten.index_add.default", IndexAdd),
    Op("aten.index_reduce.default", IndexReduce),
    Op("aten.index_fill.int_Scalar", IndexFill),
    Op("aten.index_fill.int_Tensor", IndexFill),
    Op("aten.one_hot.default", OneHot, RefuseOpenClasses),
};

}  // namespace

std::span<const Lowering> ScatterLowerings() { return kLowerings; }

}  // namespace tenon::cpu
