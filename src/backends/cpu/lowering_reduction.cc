// Reductions over some dimensions: sum, mean, amax, amin, any, all, and
// running sums.
#include <algorithm>
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/loops/loops.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/broadcast.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// Rows of `size` contiguous elements to one element each.
class ReduceFloatStep : public Step {
 public:
  ReduceFloatStep(Reduction reduction, Ref x, Ref out, RowArgs args)
      : reduction_(reduction), x_(x), out_(out), args_(args) {}

  bool Run(Frame& frame) override {
    BestLoops().reduce_rows(reduction_, frame.at<float>(x_),
                            frame.at<float>(out_), args_);
    return true;
  }
  std::string_view name() const override { return "reduce"; }

 private:
  const Reduction reduction_;
  const Ref x_, out_;
  const RowArgs args_;
};

// Planes whose elements are channels side by side, to one sum per channel.
class SumPlanesStep : public Step {
 public:
  SumPlanesStep(Ref x, Ref out, const Sizes& sizes)
      : x_(x), out_(out), batch_(sizes[0]), channels_(sizes[1]) {
    for (int d = 0; d < 2; ++d) {
      const auto size = static_cast<size_t>(d) + 2;
      plane_.in_size[d] = plane_.kernel[d] = sizes[size];
      plane_.out_size[d] = plane_.stride[d] = 1;
      plane_.padding[d] = 0;
    }
  }

  bool Run(Frame& frame) override {
    const float* x = frame.at<float>(x_);
    float* out = frame.at<float>(out_);
    for (int64_t n = 0; n < batch_; ++n, out += channels_) {
      BestLoops().sum_pool_last(x, out, channels_, plane_);
      x += plane_.in_plane() * channels_;
    }
    return true;
  }
  std::string_view name() const override { return "sum_planes"; }

 private:
  const Ref x_, out_;
  const int64_t batch_, channels_;
  PoolArgs plane_;
};

class SumIntStep : public Step {
 public:
  SumIntStep(Ref x, Ref out, RowArgs args) : x_(x), out_(out), args_(args) {}

  bool Run(Frame& frame) override {
    const uint64_t* x = frame.at<uint64_t>(x_);
    uint64_t* out = frame.at<uint64_t>(out_);
    for (int64_t i = 0; i < args_.rows; ++i) {
      uint64_t sum = 0;  // wraps
      for (int64_t j = 0; j < args_.size; ++j) sum += x[i * args_.size + j];
      out[i] = sum;
    }
    return true;
  }
  std::string_view name() const override { return "sum_int"; }

 private:
  const Ref x_, out_;
  const RowArgs args_;
};

class AnyAllStep : public Step {
 public:
  AnyAllStep(bool is_any, Ref x, Ref out, RowArgs args)
      : is_any_(is_any), x_(x), out_(out), args_(args) {}

  bool Run(Frame& frame) override {
    const uint8_t* x = frame.at<uint8_t>(x_);
    uint8_t* out = frame.at<uint8_t>(out_);
    for (int64_t i = 0; i < args_.rows; ++i) {
      uint8_t any = 0, all = 1;
      for (int64_t j = 0; j < args_.size; ++j) {
        any |= x[i * args_.size + j];
        all &= x[i * args_.size + j];
      }
      out[i] = is_any_ ? any : all;
    }
    return true;
  }
  std::string_view name() const override { return "any_all"; }

 private:
  const bool is_any_;
  const Ref x_, out_;
  const RowArgs args_;
};

class CumulativeSumStep : public Step {
 public:
  CumulativeSumStep(DType dtype, Ref x, Ref out, RowArgs args)
      : dtype_(dtype), x_(x), out_(out), args_(args) {}

  bool Run(Frame& frame) override {
    if (dtype_ == DType::kFloat32) {
      Sum(frame.at<float>(x_), frame.at<float>(out_), 0.0);
    } else {
      Sum(frame.at<uint64_t>(x_), frame.at<uint64_t>(out_), uint64_t{0});
    }
    return true;
  }
  std::string_view name() const override { return "cumsum"; }

 private:
  template <typename T, typename A>
  void Sum(const T* x, T* out, A zero) const {
    for (int64_t i = 0; i < args_.rows; ++i) {
      A sum = zero;
      for (int64_t j = 0; j < args_.size; ++j) {
        sum += x[i * args_.size + j];
        out[i * args_.size + j] = static_cast<T>(sum);
      }
    }
  }

  const DType dtype_;
  const Ref x_, out_;
  const RowArgs args_;
};

// The input with the reduced dimensions moved to the end, contiguous.
struct Rows {
  Tensor x;
  RowArgs args;
  Sizes result;  // sizes of the reduction's result
};

// `dims` as given: wrapped here. An empty list means all.
bool MakeRows(PlanBuilder& b, KernelCall& call, DType dtype, Sizes dims,
              bool keepdim, Rows* rows) {
  Tensor x = call.tensor(0);
  const int64_t rank = x.dim();
  if (!WrapDims(call, rank, &dims)) return false;
  std::vector<bool> is_reduced(static_cast<size_t>(rank), dims.empty());
  for (const int64_t d : dims) {
    if (d < rank) is_reduced[static_cast<size_t>(d)] = true;
  }
  Sizes kept, reduced;
  rows->args.size = 1;
  rows->args.rows = 1;
  for (int64_t d = 0; d < rank; ++d) {
    if (is_reduced[static_cast<size_t>(d)]) {
      reduced.push_back(d);
      rows->args.size *= x.size(d);
      if (keepdim) rows->result.push_back(1);
    } else {
      kept.push_back(d);
      rows->args.rows *= x.size(d);
      rows->result.push_back(x.size(d));
    }
  }
  rows->args.x_step = rows->args.size;
  kept.insert(kept.end(), reduced.begin(), reduced.end());
  x = Permuted(x, kept);
  if (x.dtype() != dtype) {
    const Tensor cast = b.NewTensor(dtype, x.sizes());
    if (!cast.defined() || !b.EmitCopy(x, cast)) {
      return call.Fail("cannot convert " + x.ToString());
    }
    x = cast;
  }
  rows->x = b.Contiguous(x);
  return rows->x.defined() || call.Fail("cannot copy the input");
}

// Of rows without elements.
bool FillEmpty(PlanBuilder& b, KernelCall& call, const Tensor& out,
               const RuntimeValue& value) {
  PointwiseBuilder e(&b, out);
  return e.Emit(e.Apply(TileOp::kCopy,
                        {e.Load(ConstantOf(value, out.dtype()))})) ||
         call.Fail("cannot fill the result");
}

Tensor NewOut(PlanBuilder& b, KernelCall& call, DType dtype,
              const Sizes& sizes) {
  Tensor out = b.NewTensor(dtype, sizes);
  if (!out.defined()) call.Fail("the result is too large");
  return out;
}

bool ReduceFloats(PlanBuilder& b, KernelCall& call, Reduction reduction,
                  const Rows& rows, Tensor* out) {
  *out = NewOut(b, call, DType::kFloat32, rows.result);
  if (!out->defined()) return false;
  if (rows.args.size == 0) {
    if (reduction != Reduction::kSum) {
      return call.Fail("a maximum or minimum of nothing");
    }
    return FillEmpty(b, call, *out, 0.0);
  }
  if (rows.args.rows == 0) return true;
  const Tensor reads[] = {rows.x};
  const Tensor writes[] = {*out};
  b.Emit(std::make_unique<ReduceFloatStep>(reduction, b.RefOf(rows.x),
                                           b.RefOf(*out), rows.args),
         reads, writes);
  return true;
}

// sum.default has neither dims nor keepdim.
struct ReduceCall {
  Sizes dims;
  bool keepdim = false;
  DType dtype = DType::kUnknown;
};

ReduceCall CallOf(const KernelCall& call) {
  ReduceCall out;
  const int dim = call.schema().FindArg("dim");
  const int keepdim = call.schema().FindArg("keepdim");
  const int dtype = call.schema().FindArg("dtype");
  if (dim >= 0) out.dims = call.Ints(static_cast<size_t>(dim));
  if (keepdim >= 0) out.keepdim = call.Bool(static_cast<size_t>(keepdim));
  if (dtype >= 0 && !call.is_none(static_cast<size_t>(dtype))) {
    out.dtype = call.arg(static_cast<size_t>(dtype)).dtype();
  }
  return out;
}

bool Sum(PlanBuilder& b, KernelCall& call, const Lowering&) {
  ReduceCall c = CallOf(call);
  if (c.dtype == DType::kUnknown) {
    c.dtype = IsFloating(call.tensor(0).dtype()) ? call.tensor(0).dtype()
                                                 : DType::kInt64;
  }
  Rows rows;
  Tensor out;
  if (c.dtype != DType::kFloat32 && c.dtype != DType::kInt64) {
    return call.Fail("a sum in " + std::string(Name(c.dtype)));
  }
  if (!MakeRows(b, call, c.dtype, c.dims, c.keepdim, &rows)) return false;
  if (c.dtype == DType::kFloat32) {
    if (!ReduceFloats(b, call, Reduction::kSum, rows, &out)) return false;
    call.Return(out);
    return true;
  }
  out = NewOut(b, call, DType::kInt64, rows.result);
  if (!out.defined()) return false;
  call.Return(out);
  if (rows.args.rows == 0) return true;
  if (rows.args.size == 0) return FillEmpty(b, call, out, int64_t{0});
  const Tensor reads[] = {rows.x};
  const Tensor writes[] = {out};
  b.Emit(std::make_unique<SumIntStep>(b.RefOf(rows.x), b.RefOf(out), rows.args),
         reads, writes);
  return true;
}

// Over whole planes, of a tensor whose channels are last. False, with nothing
// emitted, when the call is another one.
bool SumPlanes(PlanBuilder& b, KernelCall& call, const ReduceCall& c,
               Rows* rows, Tensor* sum) {
  const Tensor& x = call.tensor(0);
  if (x.dim() != 4 || c.dims.size() != 2 || x.numel() == 0 ||
      x.dtype() != DType::kFloat32) {
    return false;
  }
  const int64_t first = c.dims[0] < 0 ? c.dims[0] + 4 : c.dims[0];
  const int64_t second = c.dims[1] < 0 ? c.dims[1] + 4 : c.dims[1];
  if (std::min(first, second) != 2 || std::max(first, second) != 3) {
    return false;
  }
  const Tensor last = b.FindChannelsLast(x);
  if (!last.defined()) return false;
  rows->args.size = x.size(2) * x.size(3);
  rows->result = {x.size(0), x.size(1)};
  if (c.keepdim) rows->result.insert(rows->result.end(), 2, 1);
  *sum = b.NewTensor(DType::kFloat32, rows->result);
  if (!sum->defined()) return false;
  const Tensor reads[] = {last};
  const Tensor writes[] = {*sum};
  b.Emit(
      std::make_unique<SumPlanesStep>(b.RefOf(last), b.RefOf(*sum), x.sizes()),
      reads, writes);
  return true;
}

bool Mean(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const ReduceCall c = CallOf(call);
  if ((c.dtype == DType::kUnknown &&
       call.tensor(0).dtype() != DType::kFloat32) ||
      (c.dtype != DType::kUnknown && c.dtype != DType::kFloat32)) {
    return call.Fail("a mean of other than float32");
  }
  Rows rows;
  Tensor sum;
  if (!SumPlanes(b, call, c, &rows, &sum) &&
      (!MakeRows(b, call, DType::kFloat32, c.dims, c.keepdim, &rows) ||
       !ReduceFloats(b, call, Reduction::kSum, rows, &sum))) {
    return false;
  }
  const Tensor out = b.NewTensor(DType::kFloat32, rows.result);
  PointwiseBuilder e(&b, out);
  const double count = static_cast<double>(rows.args.size);
  call.Return(out);
  return e.Emit(e.Apply(
             TileOp::kDiv,
             {e.Load(sum), e.Load(ConstantOf(count, DType::kFloat32))})) ||
         call.Fail("cannot divide the sum");
}

template <Reduction kReduction>
bool Extreme(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const ReduceCall c = CallOf(call);
  Rows rows;
  Tensor out;
  if (!NeedFloat32(call, {call.tensor(0)}) ||
      !MakeRows(b, call, DType::kFloat32, c.dims, c.keepdim, &rows) ||
      !ReduceFloats(b, call, kReduction, rows, &out)) {
    return false;
  }
  call.Return(out);
  return true;
}

template <bool kIsAny>
bool AnyAll(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const ReduceCall c = CallOf(call);
  Rows rows;
  if (!MakeRows(b, call, DType::kBool, c.dims, c.keepdim, &rows)) return false;
  const Tensor out = NewOut(b, call, DType::kBool, rows.result);
  if (!out.defined()) return false;
  call.Return(out);
  if (rows.args.rows == 0) return true;
  if (rows.args.size == 0) return FillEmpty(b, call, out, !kIsAny);
  const Tensor reads[] = {rows.x};
  const Tensor writes[] = {out};
  b.Emit(std::make_unique<AnyAllStep>(kIsAny, b.RefOf(rows.x), b.RefOf(out),
                                      rows.args),
         reads, writes);
  return true;
}

bool CumulativeSum(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor self = call.tensor(0);
  DType dtype = IsFloating(self.dtype()) ? self.dtype() : DType::kInt64;
  if (!call.is_none(2)) dtype = call.arg(2).dtype();
  if (dtype != DType::kFloat32 && dtype != DType::kInt64) {
    return call.Fail("a running sum in " + std::string(Name(dtype)));
  }
  int64_t dim = call.Int(1);
  if (!WrapDim(call, self.dim(), &dim)) return false;
  const Tensor out = NewOut(b, call, dtype, self.sizes());
  if (!out.defined()) return false;
  call.Return(out);
  if (out.numel() == 0) return true;
  const int64_t last = std::max<int64_t>(self.dim() - 1, 0);
  Tensor x = dim == last ? self : Transposed(self, dim, last);
  const Tensor rows_in = b.NewTensor(dtype, x.sizes());
  const Tensor rows_out = dim == last ? out : b.NewTensor(dtype, x.sizes());
  if (!rows_in.defined() || !b.EmitCopy(x, rows_in)) {
    return call.Fail("cannot convert the input");
  }
  RowArgs args;
  args.size = x.dim() == 0 ? 1 : x.size(last);
  args.rows = x.numel() / args.size;
  const Tensor reads[] = {rows_in};
  const Tensor writes[] = {rows_out};
  b.Emit(std::make_unique<CumulativeSumStep>(dtype, b.RefOf(rows_in),
                                             b.RefOf(rows_out), args),
         reads, writes);
  return dim == last || b.EmitCopy(Transposed(rows_out, dim, last), out) ||
         call.Fail("cannot copy the result");
}

std::optional<Refusal> RefuseOddResult(const Program& program, NodeId node) {
  return RefuseOtherResult(program, node, {DType::kInt64});
}

// Of uint8 the result is uint8.
std::optional<Refusal> RefuseUInt8(const Program& program, NodeId node) {
  const Arg* self = program.FindArg(node, "self");
  if (self == nullptr || !self->is_value() ||
      program.type(self->value()).dtype != DType::kUInt8) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kDtype, "uint8"};
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kFloat32 = DTypeRule::kFloat32;

constexpr Lowering kLowerings[] = {
    {"aten.sum.default", kPure, Sum, kFloat32, TileOp::kCopy, RefuseOddResult},
    {"aten.sum.dim_IntList", kPure, Sum, kFloat32, TileOp::kCopy,
     RefuseOddResult},
    {"aten.mean.default", kPure, Mean, DTypeRule::kOnlyFloat32, TileOp::kCopy,
     RefuseOddResult},
    {"aten.mean.dim", kPure, Mean, DTypeRule::kOnlyFloat32, TileOp::kCopy,
     RefuseOddResult},
    {"aten.amax.default", kPure, Extreme<Reduction::kMax>,
     DTypeRule::kOnlyFloat32},
    {"aten.amin.default", kPure, Extreme<Reduction::kMin>,
     DTypeRule::kOnlyFloat32},
    {"aten.any.default", kPure, AnyAll<true>, DTypeRule::kHeld, TileOp::kCopy,
     RefuseUInt8},
    {"aten.any.dim", kPure, AnyAll<true>, DTypeRule::kHeld, TileOp::kCopy,
     RefuseUInt8},
    {"aten.all.default", kPure, AnyAll<false>, DTypeRule::kHeld, TileOp::kCopy,
     RefuseUInt8},
    {"aten.all.dim", kPure, AnyAll<false>, DTypeRule::kHeld, TileOp::kCopy,
     RefuseUInt8},
    {"aten.cumsum.default", kPure, CumulativeSum, kFloat32, TileOp::kCopy,
     RefuseOddResult},
};

}  // namespace

std::span<const Lowering> ReductionLowerings() { return kLowerings; }

}  // namespace tenon::cpu
