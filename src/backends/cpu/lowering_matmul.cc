// Matrix products: mm, bmm, matmul, linear, and the forms that add a bias.
#include <omp.h>

#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/dnnl_bf16_matmul.h"
#include "backends/cpu/dnnl_matmul.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/narrow_matmul.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/broadcast.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

struct Operands {
  Tensor a, b, bias;
};

// n float32 elements side by side, of one or n.
bool Spread(PlanBuilder& builder, const Tensor& values, int64_t n, Tensor* out,
            Ref* ref) {
  // One per column and group.
  if (values.dim() == 2 && values.numel() > n) n = values.numel();
  const Tensor line = values.View({values.numel()}, {1}, values.offset());
  *out = values.is_contiguous() ? builder.Contiguous(ExpandTo(line, {n}))
                                : Tensor();
  if (!out->defined()) return false;
  *ref = builder.RefOf(*out);
  return true;
}

// The product of two matrices that both were bfloat16. False, with nothing
// emitted, where that isn't faster.
bool EmitBf16(PlanBuilder& builder, MatmulShape shape, const Operands& operands,
              const StoredTensor& b, const Tensor& out) {
  const auto a = builder.FindStored(operands.a);
  if (!a || a->stored.dtype() != DType::kBFloat16 ||
      b.stored.dtype() != DType::kBFloat16 || a->scale.defined()) {
    return false;
  }
  shape.a = builder.RefOf(a->stored);
  shape.b = builder.RefOf(b.stored);
  const auto planned = PlanDnnlBf16Matmul(shape, builder.SourceOf(b.stored),
                                          builder.packed_weights());
  if (planned == nullptr) return false;
  const Tensor scratch =
      NewScratch(builder, static_cast<int64_t>(planned->scratch_bytes()));
  const Tensor reads[] = {a->stored, b.stored, operands.bias};
  const Tensor writes[] = {out, scratch};
  builder.Emit(planned->MakeStep(builder.RefOf(scratch)), reads, writes);
  return true;
}

// The product with what B was computed from, if there is such. False, with
// nothing emitted that anybody reads, if there isn't.
bool EmitNarrow(PlanBuilder& builder, const MatmulShape& shape,
                const Operands& operands, const Tensor& out) {
  if (shape.c_offsets.size() != 1 || operands.b.dim() != 2 || shape.k == 0) {
    return false;
  }
  const auto stored = builder.FindStored(operands.b);
  if (!stored) return false;
  if (EmitBf16(builder, shape, operands, *stored, out)) return true;
  const bool is_per_column = stored->axis == 1 || shape.n == 1;
  if (stored->group > 0 && (shape.b_row != 1 || stored->axis != 1)) {
    return false;
  }
  for (const Tensor* t : {&stored->scale, &stored->zero}) {
    if (t->defined() && t->numel() != 1 && !is_per_column) return false;
  }
  NarrowMatmulShape s;
  s.m = shape.m;
  s.n = shape.n;
  s.k = shape.k;
  s.a_row = shape.a_row;
  s.b_row = shape.b_row;
  s.b_column = shape.b_column;
  s.type = stored->stored.dtype();
  s.a = shape.a;
  s.b = builder.RefOf(stored->stored);
  s.c = shape.c;
  s.has_bias = shape.has_bias;
  s.bias = shape.bias;
  s.group = stored->group;
  s.has_scale = stored->scale.defined();
  s.has_zero = stored->zero.defined();
  Tensor scale, zero;
  if ((s.has_scale && !Spread(builder, stored->scale, s.n, &scale, &s.scale)) ||
      (s.has_zero && !Spread(builder, stored->zero, s.n, &zero, &s.zero))) {
    return false;
  }
  s.num_threads = omp_get_max_threads();
  const Tensor scratch = NewScratch(builder, NarrowMatmulStep::ScratchBytes(s));
  const Tensor reads[] = {operands.a, stored->stored, operands.bias, scale,
                          zero};
  const Tensor writes[] = {out, scratch};
  builder.Emit(std::make_unique<NarrowMatmulStep>(s, builder.RefOf(scratch)),
               reads, writes);
  return true;
}

void EmitProduct(PlanBuilder& builder, MatmulShape shape,
                 const Operands& operands, const Tensor& out) {
  if (EmitNarrow(builder, shape, operands, out)) return;
  const Tensor reads[] = {operands.a, operands.b, operands.bias};
  const auto planned = PlanDnnlMatmul(shape, builder.SourceOf(operands.b),
                                      builder.packed_weights());
  const Tensor scratch =
      NewScratch(builder, planned != nullptr
                              ? static_cast<int64_t>(planned->scratch_bytes())
                              : MatmulStep::ScratchBytes(shape));
  const Tensor writes[] = {out, scratch};
  const Ref at = builder.RefOf(scratch);
  builder.Emit(planned != nullptr
                   ? planned->MakeStep(at)
                   : std::make_unique<MatmulStep>(std::move(shape), at),
               reads, writes);
}

// a [..., m, k] times b [..., k, n], plus a bias of n elements, into a fresh
// contiguous [..., m, n]. Undefined after call.Fail.
Tensor Product(PlanBuilder& builder, KernelCall& call, Tensor a, Tensor b,
               const Tensor& bias) {
  if (!NeedFloat32(call, {a, b, bias})) return Tensor();
  const auto fail = [&](const std::string& message) {
    call.Fail(message);
    return Tensor();
  };
  if (a.dim() < 2 || b.dim() < 2 ||
      a.size(a.dim() - 1) != b.size(b.dim() - 2)) {
    return fail("matrices cannot be multiplied: " + a.ToString() + " and " +
                b.ToString());
  }
  Sizes batch;
  if (!BroadcastSizes(Sizes(a.sizes().begin(), a.sizes().end() - 2),
                      Sizes(b.sizes().begin(), b.sizes().end() - 2), &batch)) {
    return fail("batch dimensions don't broadcast: " + a.ToString() + " and " +
                b.ToString());
  }
  MatmulShape shape;
  shape.m = a.size(a.dim() - 2);
  shape.k = a.size(a.dim() - 1);
  shape.n = b.size(b.dim() - 1);
  Sizes out_sizes = batch;
  out_sizes.insert(out_sizes.end(), {shape.m, shape.n});
  if (!CheckSizes(call, out_sizes)) return Tensor();
  const Tensor out = builder.NewTensor(DType::kFloat32, out_sizes);
  if (!out.defined()) return fail("the result is too large");
  if (out.numel() == 0) return out;

  // One matrix for the whole batch: its rows are the rows of one product.
  if (b.dim() == 2 && a.dim() > 2) {
    const Sizes flat = {NumElements(batch) * shape.m, shape.k};
    const auto strides = ViewStrides(a.sizes(), a.strides(), flat);
    if (strides) {
      a = a.View(flat, *strides, a.offset());
    } else {
      a = builder.Contiguous(a);
      if (!a.defined()) return fail("cannot copy an operand");
      a = a.View(flat, ContiguousStrides(flat), a.offset());
    }
    shape.m = flat[0];
    batch.clear();
  }
  a = WithUnitStep(builder, a, /*allow_columns=*/false);
  b = WithUnitStep(builder, b, /*allow_columns=*/true);
  if (!a.defined() || !b.defined()) return fail("cannot copy an operand");
  Sizes a_sizes = batch, b_sizes = batch;
  a_sizes.insert(a_sizes.end(), {shape.m, shape.k});
  b_sizes.insert(b_sizes.end(), {shape.k, shape.n});
  a = ExpandTo(a, a_sizes);
  b = ExpandTo(b, b_sizes);
  if (!NeedListable(call, batch)) return Tensor();
  const size_t leading = batch.size();
  shape.a_row = shape.m <= 1 ? shape.k : a.stride(a.dim() - 2);
  SetMatrixSteps(b, &shape.b_row, &shape.b_column);
  shape.a = builder.RefOf(a);
  shape.b = builder.RefOf(b);
  shape.c = builder.RefOf(out);
  shape.a_offsets = OffsetsOf(a_sizes, a.strides(), leading);
  shape.b_offsets = OffsetsOf(b_sizes, b.strides(), leading);
  for (size_t i = 0; i < shape.a_offsets.size(); ++i) {
    shape.c_offsets.push_back(static_cast<int64_t>(i) * shape.m * shape.n);
  }
  Tensor row;
  if (bias.defined()) {
    if (bias.sizes() != Sizes{shape.n}) {
      return fail("bias " + bias.ToString() + " doesn't fit " +
                  std::to_string(shape.n) + " columns");
    }
    row = builder.Contiguous(bias);
    if (!row.defined()) return fail("cannot copy the bias");
    shape.has_bias = true;
    shape.bias = builder.RefOf(row);
  }
  EmitProduct(builder, std::move(shape), {a, b, row}, out);
  return out;
}

bool ReturnIf(KernelCall& call, const Tensor& out) {
  if (!out.defined()) return false;
  call.Return(out);
  return true;
}

bool Mm(PlanBuilder& b, KernelCall& call, const Lowering&) {
  if (call.tensor(0).dim() != 2 || call.tensor(1).dim() != 2) {
    return call.Fail("expected matrices");
  }
  return ReturnIf(call,
                  Product(b, call, call.tensor(0), call.tensor(1), Tensor()));
}

bool Bmm(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor &x = call.tensor(0), &y = call.tensor(1);
  if (x.dim() != 3 || y.dim() != 3 || x.size(0) != y.size(0)) {
    return call.Fail("expected batches of matrices of one length");
  }
  return ReturnIf(call, Product(b, call, x, y, Tensor()));
}

// beta * input + alpha * product.
bool AddProduct(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor input = call.tensor(0);
  const Tensor x = call.tensor(1), y = call.tensor(2);
  const double beta = call.Float(3), alpha = call.Float(4);
  if (x.dim() != y.dim() || (x.dim() == 3 && x.size(0) != y.size(0))) {
    return call.Fail("expected operands of one rank and batch");
  }
  if (!NeedFloat32(call, {input})) return false;
  const bool is_row = input.dim() == 1 && beta == 1 && alpha == 1 &&
                      input.size(0) == y.size(y.dim() - 1);
  const Tensor product = Product(b, call, x, y, is_row ? input : Tensor());
  if (!product.defined() || is_row) return ReturnIf(call, product);
  if (!BroadcastsTo(input.sizes(), product.sizes())) {
    return call.Fail("input " + input.ToString() + " doesn't broadcast to " +
                     product.ToString());
  }
  const Tensor out = b.NewTensor(DType::kFloat32, product.sizes());
  PointwiseBuilder e(&b, out);
  // A factor of 0 also drops what is infinite or not a number.
  const TileValue zero = e.Load(ConstantOf(int64_t{0}, DType::kFloat32));
  const TileValue bias =
      beta == 0 ? zero
                : e.Apply(TileOp::kAddScaled, {zero, e.Load(input)}, beta);
  const TileValue sum =
      alpha == 0 ? bias
                 : e.Apply(TileOp::kAddScaled, {bias, e.Load(product)}, alpha);
  call.Return(out);
  return e.Emit(e.Apply(TileOp::kCopy, {sum})) ||
         call.Fail("cannot add the input");
}

bool Linear(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor x = call.tensor(0), weight = call.tensor(1);
  Tensor bias = call.OptionalTensor(2);
  if (weight.dim() == 0 || weight.dim() > 2 || x.dim() == 0) {
    return call.Fail("expected a matrix or a vector as weight");
  }
  const bool is_vector = x.dim() == 1, is_column = weight.dim() == 1;
  if (is_vector) x = Unsqueezed(x, 0);
  if (is_column) {
    weight = Unsqueezed(weight, 0);
    if (bias.defined() && bias.dim() == 0) bias = Unsqueezed(bias, 0);
  }
  Tensor out = Product(b, call, x, Transposed(weight, 0, 1), bias);
  if (out.defined() && is_vector) out = Squeezed(out, 0);
  if (out.defined() && is_column) out = Squeezed(out, out.dim() - 1);
  return ReturnIf(call, out);
}

bool Matmul(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor x = call.tensor(0), y = call.tensor(1);
  if (x.dim() == 0 || y.dim() == 0) return call.Fail("a 0-d operand");
  const bool x_is_vector = x.dim() == 1, y_is_vector = y.dim() == 1;
  if (x_is_vector) x = Unsqueezed(x, 0);
  if (y_is_vector) y = Unsqueezed(y, 1);
  Tensor out = Product(b, call, x, y, Tensor());
  if (!out.defined()) return false;
  if (x_is_vector) out = Squeezed(out, out.dim() - 2);
  if (y_is_vector) out = Squeezed(out, out.dim() - 1);
  return ReturnIf(call, out);
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kFloat32 = DTypeRule::kOnlyFloat32;

constexpr Lowering kLowerings[] = {
    {"aten.mm.default", kPure, Mm, kFloat32},
    {"aten.bmm.default", kPure, Bmm, kFloat32},
    {"aten.addmm.default", kPure, AddProduct, kFloat32},
    {"aten.baddbmm.default", kPure, AddProduct, kFloat32},
    {"aten.linear.default", kPure, Linear, kFloat32},
    {"aten.matmul.default", kPure, Matmul, kFloat32},
};

}  // namespace

std::span<const Lowering> MatmulLowerings() { return kLowerings; }

}  // namespace tenon::cpu
