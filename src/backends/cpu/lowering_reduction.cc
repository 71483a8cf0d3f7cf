// Reductions over some dimensions: sum, mean, amax, amin, any, all.
#include <algorithm>
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/loops/loops.h"
#include "backends/cpu/lowering_lines.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/reduction.h"
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

// The input with the reduced dimensions moved to the end, contiguous.
struct Rows {
  Tensor x;
  RowArgs args;
  Sizes result;  // sizes of the reduction's result
};

bool MakeRows(PlanBuilder& b, KernelCall& call, DType dtype,
              const std::vector<bool>& reduced, bool keepdim, Rows* rows) {
  const Tensor& self = call.tensor(0);
  rows->args.size = rows->args.x_step = LineLength(self, reduced);
  rows->args.rows = NumElements(ReducedSizes(self, reduced, false));
  rows->result = ReducedSizes(self, reduced, keepdim);
  Tensor x = ReducedLast(self, reduced);
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
  if (rows.args.size == 0) return FillEmpty(b, call, *out, 0.0);
  if (rows.args.rows == 0) return true;
  const Tensor reads[] = {rows.x};
  const Tensor writes[] = {*out};
  b.Emit(std::make_unique<ReduceFloatStep>(reduction, b.RefOf(rows.x),
                                           b.RefOf(*out), rows.args),
         reads, writes);
  return true;
}

// What a call reduces over; sum.default has neither dims nor keepdim.
struct ReduceCall {
  std::vector<bool> reduced;
  bool keepdim = false;
  DType dtype = DType::kUnknown;
};

bool ReadCall(KernelCall& call, bool empty_is_all, ReduceCall* out) {
  const int dim = call.schema().FindArg("dim");
  const int keepdim = call.schema().FindArg("keepdim");
  const int dtype = call.schema().FindArg("dtype");
  if (keepdim >= 0) out->keepdim = call.Bool(static_cast<size_t>(keepdim));
  if (dtype >= 0 && !call.is_none(static_cast<size_t>(dtype))) {
    out->dtype = call.arg(static_cast<size_t>(dtype)).dtype();
  }
  return ReadDims(
      call, call.tensor(0),
      dim >= 0 ? call.arg(static_cast<size_t>(dim)) : RuntimeValue(),
      empty_is_all, &out->reduced);
}

// A line at a time, of what the input becomes in c.dtype.
bool ReduceOther(PlanBuilder& b, KernelCall& call, const ReduceCall& c,
                 const LineFunctions& functions) {
  const Tensor& self = call.tensor(0);
  const Tensor x = self.dtype() == c.dtype ? self : b.Converted(self, c.dtype);
  if (!x.defined()) return call.Fail("cannot convert " + self.ToString());
  return EmitReduction(b, call, {&functions, x, c.reduced}, c.keepdim, c.dtype,
                       false);
}

bool Sum(PlanBuilder& b, KernelCall& call, const Lowering&) {
  ReduceCall c;
  if (!ReadCall(call, true, &c)) return false;
  if (c.dtype == DType::kUnknown) c.dtype = SumDType(call.tensor(0).dtype());
  if (c.dtype != DType::kFloat32) return ReduceOther(b, call, c, kSumOfLines);
  Rows rows;
  Tensor out;
  if (!MakeRows(b, call, c.dtype, c.reduced, c.keepdim, &rows) ||
      !ReduceFloats(b, call, Reduction::kSum, rows, &out)) {
    return false;
  }
  call.Return(out);
  return true;
}

// Over whole planes, of a tensor whose channels are last. False, with nothing
// emitted, when the call is another one.
bool SumPlanes(PlanBuilder& b, KernelCall& call, const ReduceCall& c,
               Rows* rows, Tensor* sum) {
  const Tensor& x = call.tensor(0);
  if (c.reduced != std::vector<bool>{false, false, true, true} ||
      x.numel() == 0 || x.dtype() != DType::kFloat32) {
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
  ReduceCall c;
  if (!ReadCall(call, true, &c)) return false;
  if (c.dtype == DType::kUnknown) c.dtype = call.tensor(0).dtype();
  if (!IsFloating(c.dtype)) {
    return call.Fail("a mean of " + std::string(Name(c.dtype)));
  }
  if (c.dtype != DType::kFloat32) return ReduceOther(b, call, c, kMeanOfLines);
  Rows rows;
  Tensor sum;
  if (!SumPlanes(b, call, c, &rows, &sum) &&
      (!MakeRows(b, call, DType::kFloat32, c.reduced, c.keepdim, &rows) ||
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
  ReduceCall c;
  if (!ReadCall(call, true, &c)) return false;
  const Tensor& self = call.tensor(0);
  if (LineLength(self, c.reduced) == 0) {
    return call.Fail("an extreme of no elements isn't defined");
  }
  if (self.dtype() != DType::kFloat32) {
    c.dtype = self.dtype();
    return ReduceOther(
        b, call, c,
        kReduction == Reduction::kMax ? kMaximumOfLines : kMinimumOfLines);
  }
  Rows rows;
  Tensor out;
  if (!MakeRows(b, call, DType::kFloat32, c.reduced, c.keepdim, &rows) ||
      !ReduceFloats(b, call, kReduction, rows, &out)) {
    return false;
  }
  call.Return(out);
  return true;
}

// Of uint8 the result is uint8.
template <bool kIsAny, bool kEmptyIsAll>
bool AnyAll(PlanBuilder& b, KernelCall& call, const Lowering&) {
  ReduceCall c;
  Rows rows;
  if (!ReadCall(call, kEmptyIsAll, &c) ||
      !MakeRows(b, call, DType::kBool, c.reduced, c.keepdim, &rows)) {
    return false;
  }
  const bool is_byte = call.tensor(0).dtype() == DType::kUInt8;
  Tensor out = NewOut(b, call, DType::kBool, rows.result);
  if (!out.defined()) return false;
  if (rows.args.size == 0) {
    if (!FillEmpty(b, call, out, !kIsAny)) return false;
  } else if (rows.args.rows > 0) {
    const Tensor reads[] = {rows.x};
    const Tensor writes[] = {out};
    b.Emit(std::make_unique<AnyAllStep>(kIsAny, b.RefOf(rows.x), b.RefOf(out),
                                        rows.args),
           reads, writes);
  }
  if (is_byte) out = b.Converted(out, DType::kUInt8);
  if (!out.defined()) return call.Fail("the result is too large");
  call.Return(out);
  return true;
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kWidened = DTypeRule::kWidened;

constexpr Lowering kLowerings[] = {
    {"aten.sum.default", kPure, Sum, kWidened},
    {"aten.sum.dim_IntList", kPure, Sum, kWidened},
    {"aten.mean.default", kPure, Mean, kWidened},
    {"aten.mean.dim", kPure, Mean, kWidened},
    {"aten.amax.default", kPure, Extreme<Reduction::kMax>, kWidened},
    {"aten.amin.default", kPure, Extreme<Reduction::kMin>, kWidened},
    {"aten.any.default", kPure, AnyAll<true, true>},
    {"aten.any.dim", kPure, AnyAll<true, true>},
    {"aten.any.dims", kPure, AnyAll<true, false>},
    {"aten.all.default", kPure, AnyAll<false, true>},
    {"aten.all.dim", kPure, AnyAll<false, true>},
    {"aten.all.dims", kPure, AnyAll<false, false>},
};

}  // namespace

std::span<const Lowering> ReductionLowerings() { return kLowerings; }

}  // namespace tenon::cpu
