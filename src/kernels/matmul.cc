// Matrix products: mm, bmm, matmul, linear, and the forms that add a bias.
#include "kernels/matmul.h"

#include <algorithm>

#include "kernels/compose.h"
#include "kernels/gemm.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

bool CheckDTypes(KernelCall& call, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) {
    return call.Fail("expected operands of the same dtype, found " +
                     a.ToString() + " and " + b.ToString());
  }
  if (a.dtype() == DType::kBool) {
    return call.Fail("matrix product of bool tensors");
  }
  return true;
}

bool IsZero(const RuntimeValue& scalar) {
  return !scalar.is_none() && ScalarAs<std::complex<double>>(scalar) == 0.0;
}

// For integers a fraction is cut off, as PyTorch's cast of the factor does.
bool CheckFactor(KernelCall& call, const RuntimeValue& factor, DType dtype) {
  if (!factor.is_complex() || IsComplex(dtype)) return true;
  return call.Fail("alpha and beta must not be complex for real operands");
}

template <typename C>
void AddBias(const ScaledBias& scaled, const Sizes& sizes,
             std::vector<C>* product) {
  const bool drop_product = IsZero(scaled.alpha);
  if (drop_product) {
    std::fill(product->begin(), product->end(), C(0));
  } else if (!scaled.alpha.is_none()) {
    const C alpha = ScalarAs<C>(scaled.alpha);
    for (C& value : *product) value = WrapMultiply(alpha, value);
  }
  if (!scaled.bias.defined() || IsZero(scaled.beta)) return;
  const C beta = scaled.beta.is_none() ? C(1) : ScalarAs<C>(scaled.beta);
  const std::vector<C> bias = ReadAll<C>(ExpandTo(scaled.bias, sizes));
  for (size_t i = 0; i < product->size(); ++i) {
    (*product)[i] = WrapAdd(WrapMultiply(beta, bias[i]), (*product)[i]);
  }
}

// All matrices of a batch; `a` and `b` have the same batch dimensions.
template <typename C>
void MultiplyBatch(const Tensor& a, const Tensor& b, C* out) {
  const int64_t rank = a.dim();
  if (rank > 2) {
    const int64_t step =
        a.numel() == 0 || b.numel() == 0
            ? 0
            : NumElements({a.sizes().begin() + 1, a.sizes().end() - 1}) *
                  b.sizes().back();
    for (int64_t i = 0; i < a.size(0); ++i) {
      MultiplyBatch(Selected(a, 0, i), Selected(b, 0, i), out + i * step);
    }
    return;
  }
  if (a.numel() == 0 || b.numel() == 0) return;
  const Values<C> left(a), right(b);
  MultiplyAdd(left.data(), right.data(), out, a.size(0), b.size(1), a.size(1));
}

}  // namespace

bool Product(KernelCall& call, const Tensor& a, const Tensor& b,
             const ScaledBias& scaled, Tensor* out) {
  if (a.dim() < 2 || b.dim() < 2) {
    return call.Fail("matrix product of " + a.ToString() + " and " +
                     b.ToString());
  }
  if (!CheckDTypes(call, a, b) || !CheckFactor(call, scaled.alpha, a.dtype()) ||
      !CheckFactor(call, scaled.beta, a.dtype())) {
    return false;
  }
  const int64_t m = a.size(a.dim() - 2), k = a.size(a.dim() - 1);
  const int64_t n = b.size(b.dim() - 1);
  Sizes batch;
  const Sizes a_batch(a.sizes().begin(), a.sizes().end() - 2);
  const Sizes b_batch(b.sizes().begin(), b.sizes().end() - 2);
  if (b.size(b.dim() - 2) != k || !BroadcastSizes(a_batch, b_batch, &batch)) {
    return call.Fail("matrices cannot be multiplied: " + a.ToString() +
                     " and " + b.ToString());
  }
  const auto with = [&](int64_t rows, int64_t columns) {
    Sizes sizes = batch;
    sizes.push_back(rows);
    sizes.push_back(columns);
    return sizes;
  };
  const Sizes sizes = with(m, n);
  if (scaled.bias.defined()) {
    if (scaled.bias.dtype() != a.dtype()) {
      return call.Fail("expected a bias of the operands' dtype, found " +
                       scaled.bias.ToString());
    }
    if (!BroadcastsTo(scaled.bias.sizes(), sizes)) {
      return call.Fail("bias of sizes " + ToText(scaled.bias.sizes()) +
                       " does not broadcast to " + ToText(sizes));
    }
  }
  if (!CheckSizes(call, sizes) || !Allocate(call, a.dtype(), sizes, out)) {
    return false;
  }
  DispatchCompute(a.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> product(static_cast<size_t>(out->numel()));
    // One matrix for the whole batch: its rows are the rows of one product.
    if (b.dim() == 2 && a.dim() > 2) {
      const int64_t rows = NumElements(batch) * m;
      MultiplyBatch(Reshaped(a, {rows, k}), b, product.data());
    } else {
      MultiplyBatch(ExpandTo(a, with(m, k)), ExpandTo(b, with(k, n)),
                    product.data());
    }
    AddBias(scaled, sizes, &product);
    WriteAll(out, product);
  });
  return true;
}

bool MatMul(KernelCall& call, const Tensor& a, const Tensor& b, Tensor* out) {
  if (a.dim() == 0 || b.dim() == 0) {
    return call.Fail("matmul: both operands need at least one dimension");
  }
  const Tensor left = a.dim() == 1 ? Unsqueezed(a, 0) : a;
  const Tensor right = b.dim() == 1 ? Unsqueezed(b, 1) : b;
  if (!Product(call, left, right, {}, out)) return false;
  if (b.dim() == 1) *out = Selected(*out, out->dim() - 1, 0);
  if (a.dim() == 1) {
    *out = Selected(*out, out->dim() - (b.dim() == 1 ? 1 : 2), 0);
  }
  *out = out->View(out->sizes(), ContiguousStrides(out->sizes()), 0);
  return true;
}

namespace {

bool CheckRank(KernelCall& call, const Tensor& tensor, int64_t rank) {
  if (tensor.dim() == rank) return true;
  return call.Fail("expected a tensor of rank " + std::to_string(rank) +
                   ", found " + tensor.ToString());
}

bool ReturnProduct(KernelCall& call, const Tensor& a, const Tensor& b,
                   const ScaledBias& scaled) {
  Tensor out;
  if (!Product(call, a, b, scaled, &out)) return false;
  call.Return(out);
  return true;
}

bool Mm(KernelCall& call) {
  return CheckRank(call, call.tensor(0), 2) &&
         CheckRank(call, call.tensor(1), 2) &&
         ReturnProduct(call, call.tensor(0), call.tensor(1), {});
}

bool CheckBatches(KernelCall& call, const Tensor& a, const Tensor& b) {
  if (!CheckRank(call, a, 3) || !CheckRank(call, b, 3)) return false;
  if (a.size(0) == b.size(0)) return true;
  return call.Fail("batch sizes differ: " + a.ToString() + " and " +
                   b.ToString());
}

bool Bmm(KernelCall& call) {
  return CheckBatches(call, call.tensor(0), call.tensor(1)) &&
         ReturnProduct(call, call.tensor(0), call.tensor(1), {});
}

bool Matmul(KernelCall& call) {
  Tensor out;
  if (!MatMul(call, call.tensor(0), call.tensor(1), &out)) return false;
  call.Return(out);
  return true;
}

bool Mv(KernelCall& call) {
  return CheckRank(call, call.tensor(0), 2) &&
         CheckRank(call, call.tensor(1), 1) && Matmul(call);
}

bool Dot(KernelCall& call) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  if (!CheckRank(call, a, 1) || !CheckRank(call, b, 1)) return false;
  if (a.numel() != b.numel()) {
    return call.Fail("dot: vectors of " + std::to_string(a.numel()) + " and " +
                     std::to_string(b.numel()) + " elements");
  }
  return Matmul(call);
}

// Conjugates the first vector.
bool Vdot(KernelCall& call) {
  if (IsComplex(call.tensor(0).dtype())) {
    Tensor conjugate;
    if (!CallKernel(call, "aten.conj_physical.default", {call.tensor(0)},
                    &conjugate)) {
      return false;
    }
    call.arg(0) = conjugate;
  }
  return Dot(call);
}

ScaledBias BiasOf(KernelCall& call) {
  return {call.tensor(0), call.Scalar(3), call.Scalar(4)};
}

bool Addmm(KernelCall& call) {
  return CheckRank(call, call.tensor(1), 2) &&
         CheckRank(call, call.tensor(2), 2) &&
         ReturnProduct(call, call.tensor(1), call.tensor(2), BiasOf(call));
}

bool Baddbmm(KernelCall& call) {
  return CheckBatches(call, call.tensor(1), call.tensor(2)) &&
         ReturnProduct(call, call.tensor(1), call.tensor(2), BiasOf(call));
}

bool Addmv(KernelCall& call) {
  const Tensor &self = call.tensor(0), &vector = call.tensor(2);
  if (!CheckRank(call, call.tensor(1), 2) || !CheckRank(call, vector, 1)) {
    return false;
  }
  if (self.dim() > 1) return call.Fail("addmv: expected a bias vector");
  ScaledBias scaled = BiasOf(call);
  scaled.bias = Unsqueezed(self.dim() == 0 ? Unsqueezed(self, 0) : self, 1);
  Tensor out;
  if (!Product(call, call.tensor(1), Unsqueezed(vector, 1), scaled, &out)) {
    return false;
  }
  call.Return(Reshaped(out, {out.numel()}));
  return true;
}

// The sum of a batch of products is one product with the batch in the inner
// dimension.
bool Addbmm(KernelCall& call) {
  const Tensor &a = call.tensor(1), &b = call.tensor(2);
  if (!CheckBatches(call, a, b)) return false;
  if (a.size(2) != b.size(1)) {
    return call.Fail("addbmm: matrices cannot be multiplied: " + a.ToString() +
                     " and " + b.ToString());
  }
  const int64_t inner = a.size(0) * a.size(2);
  return ReturnProduct(call,
                       Reshaped(Permuted(a, {1, 0, 2}), {a.size(1), inner}),
                       Reshaped(b, {inner, b.size(2)}), BiasOf(call));
}

bool Linear(KernelCall& call) {
  const Tensor &input = call.tensor(0), &weight = call.tensor(1);
  const Tensor bias = call.OptionalTensor(2);
  if (input.dim() == 0 || weight.dim() == 0 || weight.dim() > 2) {
    return call.Fail("linear: bad operands " + input.ToString() + " and " +
                     weight.ToString());
  }
  Tensor out;
  if (weight.dim() == 1) {
    if (!MatMul(call, input, weight, &out)) return false;
    if (bias.defined()) {
      return ForwardTo(call, "aten.add.Tensor", {out, bias});
    }
    call.Return(out);
    return true;
  }
  const Tensor rows = input.dim() == 1 ? Unsqueezed(input, 0) : input;
  if (!Product(call, rows, Transposed(weight, 0, 1), {bias, {}, {}}, &out)) {
    return false;
  }
  call.Return(input.dim() == 1 ? Selected(out, 0, 0) : out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.mm.default", Mm},         {"aten.bmm.default", Bmm},
    {"aten.matmul.default", Matmul}, {"aten.mv.default", Mv},
    {"aten.dot.default", Dot},       {"aten.vdot.default", Vdot},
    {"aten.addmm.default", Addmm},   {"aten.baddbmm.default", Baddbmm},
    {"aten.addmv.default", Addmv},   {"aten.addbmm.default", Addbmm},
    {"aten.linear.default", Linear},
};

}  // namespace

std::span<const KernelEntry> MatmulKernels() { return kEntries; }

}  // namespace tenon
