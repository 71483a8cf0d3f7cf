#include "backends/cpu/lowering_lines.h"

#include <utility>

#include "backends/cpu/lowering_operands.h"
#include "kernels/reduction.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

class LineStep : public Step {
 public:
  struct Places {
    Ref x, values, indices, order;
    bool has_values = false, has_indices = false, has_order = false;
  };
  LineStep(std::string_view name, LineFn run, LineArgs args,
           const Places& places)
      : name_(name), run_(run), args_(args), at_(places) {}

  bool Run(Frame& frame) override {
    LineArgs args = args_;
    args.x = frame.at<std::byte>(at_.x);
    if (at_.has_values) args.values = frame.at<std::byte>(at_.values);
    if (at_.has_indices) args.indices = frame.at<int64_t>(at_.indices);
    if (at_.has_order) args.order = frame.at<int64_t>(at_.order);
    run_(args);
    return true;
  }
  std::string_view name() const override { return name_; }

 private:
  const std::string_view name_;
  const LineFn run_;
  const LineArgs args_;
  const Places at_;
};

LineFn FunctionFor(const LineFunctions& functions, DType type) {
  switch (type) {
    case DType::kFloat32:
      return functions.float32;
    case DType::kFloat64:
      return functions.float64;
    default:
      return functions.int64;
  }
}

// The lines of x side by side, in LineType.
Tensor LinesOf(PlanBuilder& b, const LineOperation& op) {
  const Tensor x = ReducedLast(op.x, op.reduced);
  const DType type = LineType(x.dtype());
  if (x.dtype() == type) return b.Contiguous(x);
  const Tensor cast = b.NewTensor(type, x.sizes());
  return cast.defined() && b.EmitCopy(x, cast) ? cast : Tensor();
}

// Writes `kept` results per line to tensors whose dimensions are in the order
// of lines; undefined ones aren't asked for.
bool EmitLines(PlanBuilder& b, KernelCall& call, const LineOperation& op,
               int64_t kept, const Tensor& values, const Tensor& indices) {
  const Tensor x = LinesOf(b, op);
  const LineFn run = FunctionFor(*op.functions, LineType(op.x.dtype()));
  if (!x.defined()) return call.Fail("cannot copy " + op.x.ToString());
  if (run == nullptr) return call.Fail("no loop for " + op.x.ToString());
  LineArgs args;
  args.length = LengthOf(op);
  args.count = NumElements(ReducedSizes(op.x, op.reduced, false));
  args.kept = kept;
  args.p = op.p;
  if (args.count == 0 || kept == 0) return true;
  LineStep::Places at;
  Tensor order;
  if (op.has_order) {
    order = NewScratch(b, args.length * 8);
    if (!order.defined()) return call.Fail("a line is too long");
    at.order = b.RefOf(order);
    at.has_order = true;
  }
  at.x = b.RefOf(x);
  at.has_values = values.defined();
  at.has_indices = indices.defined();
  if (at.has_values) at.values = b.RefOf(values);
  if (at.has_indices) at.indices = b.RefOf(indices);
  const Tensor reads[] = {x};
  const Tensor writes[] = {values, indices, order};
  b.Emit(std::make_unique<LineStep>(op.functions->name, run, args, at), reads,
         writes);
  return true;
}

// A tensor to compute `out` in, seen as lines: itself, or one of another type
// or order that is copied there afterwards.
struct Result {
  Tensor out, lines, computed;
};

bool MakeResult(PlanBuilder& b, KernelCall& call, DType written, DType dtype,
                Sizes sizes, Sizes strides,
                const std::vector<bool>& reduced_last, Result* result) {
  if (!CheckSizes(call, sizes)) return false;
  result->out = b.NewTensor(dtype, sizes, std::move(strides));
  if (!result->out.defined()) return call.Fail("the result is too large");
  result->lines = ReducedLast(result->out, reduced_last);
  result->computed = result->lines;
  if (dtype != written || !result->lines.is_contiguous()) {
    result->computed = b.NewTensor(written, result->lines.sizes());
  }
  return result->computed.defined() || call.Fail("the result is too large");
}

bool Finish(PlanBuilder& b, KernelCall& call, const Result& result) {
  if (!result.out.defined()) return true;
  call.Return(result.out);
  return result.computed.SharesStorage(result.out) ||
         b.EmitCopy(result.computed, result.lines) ||
         call.Fail("cannot copy the result");
}

}  // namespace

DType LineType(DType dtype) {
  if (dtype == DType::kFloat64) return dtype;
  return IsFloating(dtype) ? DType::kFloat32 : DType::kInt64;
}

bool ReadLineDims(KernelCall& call, size_t arg, bool empty_is_all,
                  std::vector<bool>* reduced) {
  return ReadDims(call, call.tensor(0), call.arg(arg), empty_is_all, reduced);
}

int64_t LengthOf(const LineOperation& op) {
  return LineLength(op.x, op.reduced);
}

bool EmitReduction(PlanBuilder& b, KernelCall& call, const LineOperation& op,
                   bool keepdim, DType values, bool has_indices,
                   DType written) {
  const Sizes sizes = ReducedSizes(op.x, op.reduced, keepdim);
  const std::vector<bool> none(sizes.size(), false);
  if (written == DType::kUnknown) written = LineType(op.x.dtype());
  Result value, index;
  if (values != DType::kUnknown &&
      !MakeResult(b, call, written, values, sizes, ContiguousStrides(sizes),
                  none, &value)) {
    return false;
  }
  if (has_indices && !MakeResult(b, call, DType::kInt64, DType::kInt64, sizes,
                                 ContiguousStrides(sizes), none, &index)) {
    return false;
  }
  return EmitLines(b, call, op, 1, value.computed, index.computed) &&
         Finish(b, call, value) && Finish(b, call, index);
}

bool EmitScan(PlanBuilder& b, KernelCall& call, const LineOperation& op,
              int64_t kept, const Sizes& strides, DType values,
              bool has_indices) {
  Sizes sizes = op.x.sizes();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (op.reduced[d]) sizes[d] = kept;
  }
  Result value, index;
  if (values != DType::kUnknown &&
      !MakeResult(b, call, LineType(op.x.dtype()), values, sizes, strides,
                  op.reduced, &value)) {
    return false;
  }
  if (has_indices && !MakeResult(b, call, DType::kInt64, DType::kInt64, sizes,
                                 strides, op.reduced, &index)) {
    return false;
  }
  return EmitLines(b, call, op, kept, value.computed, index.computed) &&
         Finish(b, call, value) && Finish(b, call, index);
}

}  // namespace tenon::cpu
