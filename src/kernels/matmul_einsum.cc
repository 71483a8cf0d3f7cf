// einsum, tensordot and the products that are views around a multiplication:
// outer, inner, kron, bilinear.
#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "kernels/compose.h"
#include "kernels/matmul.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// --- einsum ---

// Stand for the dimensions of an ellipsis, outermost first: 256, 257, ...
constexpr int kEllipsis = 256;

struct Equation {
  std::vector<std::vector<int>> operands;
  std::vector<int> output;
};

// Labels of one term, the ellipsis filled up to `rank` (-1: as it is widest).
bool ParseTerm(KernelCall& call, std::string_view text, int64_t rank,
               int64_t ellipsis_rank, std::vector<int>* out) {
  int64_t letters = 0;
  for (char c : text)
    letters += std::isalpha(static_cast<unsigned char>(c)) != 0;
  bool seen = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (std::isalpha(c) != 0) {
      out->push_back(c);
    } else if (text.substr(i, 3) == "..." && !seen) {
      seen = true;
      i += 2;
      const int64_t width = rank < 0 ? ellipsis_rank : rank - letters;
      if (width < 0) return call.Fail("einsum: too many labels");
      for (int64_t k = ellipsis_rank - width; k < ellipsis_rank; ++k) {
        out->push_back(kEllipsis + static_cast<int>(k));
      }
    } else {
      return call.Fail("einsum: unexpected '" + std::string(1, text[i]) +
                       "' in the equation");
    }
  }
  if (rank >= 0 && static_cast<int64_t>(out->size()) != rank) {
    return call.Fail("einsum: '" + std::string(text) +
                     "' doesn't name all dimensions of its operand");
  }
  return true;
}

bool ParseEquation(KernelCall& call, std::string text,
                   const std::vector<Tensor>& tensors, Equation* out) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::vector<std::string> terms = {""};
  for (char c : left) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  if (terms.size() != tensors.size()) {
    return call.Fail("einsum: the equation has " +
                     std::to_string(terms.size()) + " operands, but " +
                     std::to_string(tensors.size()) + " were given");
  }
  int64_t ellipsis_rank = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].find("...") == std::string::npos) continue;
    ellipsis_rank =
        std::max(ellipsis_rank,
                 tensors[i].dim() - static_cast<int64_t>(terms[i].size()) + 3);
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    out->operands.emplace_back();
    if (!ParseTerm(call, terms[i], tensors[i].dim(), ellipsis_rank,
                   &out->operands.back())) {
      return false;
    }
  }
  std::map<int, int> uses;
  for (const auto& labels : out->operands) {
    for (int label : labels) ++uses[label];
  }
  if (arrow != std::string::npos) {
    if (!ParseTerm(call, text.substr(arrow + 2), -1, ellipsis_rank,
                   &out->output)) {
      return false;
    }
  } else {
    // The ellipsis, then the labels used once, in order.
    for (int64_t k = 0; k < ellipsis_rank; ++k) {
      out->output.push_back(kEllipsis + static_cast<int>(k));
    }
    for (const auto& [label, count] : uses) {
      if (label < kEllipsis && count == 1) out->output.push_back(label);
    }
  }
  std::map<int, int> in_output;
  for (int label : out->output) {
    if (uses.count(label) == 0 || ++in_output[label] > 1) {
      return call.Fail("einsum: bad output labels");
    }
  }
  return true;
}

// Repeated labels become diagonals; dimensions go to `position`, those that
// the operand lacks have size 1.
bool AlignOperand(KernelCall& call, Tensor tensor, std::vector<int> labels,
                  const std::map<int, int64_t>& position, Tensor* out) {
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t j = labels.size() - 1; j > i; --j) {
      if (labels[j] != labels[i]) continue;
      const int64_t a = static_cast<int64_t>(i), b = static_cast<int64_t>(j);
      if (tensor.size(a) != tensor.size(b)) {
        return call.Fail("einsum: a repeated label has different sizes");
      }
      Sizes sizes = tensor.sizes(), strides = tensor.strides();
      strides[a] += strides[b];
      sizes.erase(sizes.begin() + b);
      strides.erase(strides.begin() + b);
      labels.erase(labels.begin() + b);
      tensor = tensor.View(sizes, strides, tensor.offset());
    }
  }
  Sizes order(position.size(), -1);
  for (size_t i = 0; i < labels.size(); ++i) {
    order[position.at(labels[i])] = static_cast<int64_t>(i);
  }
  Sizes present;
  for (int64_t dim : order) {
    if (dim >= 0) present.push_back(dim);
  }
  *out = Permuted(tensor, present);
  for (size_t d = 0; d < order.size(); ++d) {
    if (order[d] < 0) *out = Unsqueezed(*out, static_cast<int64_t>(d));
  }
  return true;
}

// In the tensor's own dtype: a plain sum of small integers gives int64.
bool SumOver(KernelCall& call, const Sizes& dims, Tensor* tensor) {
  return dims.empty() ||
         CallKernel(call, "aten.sum.dim_IntList",
                    {*tensor, IntList(dims), true, tensor->dtype()}, tensor);
}

// The product of two aligned operands with `sum_dims` summed (size 1 is kept),
// as one batched matrix product of [batch, left, sum] and [batch, sum, right].
bool MultiplyPair(KernelCall& call, Tensor left, Tensor right,
                  const Sizes& sum_dims, Tensor* out) {
  if (sum_dims.empty()) {
    return CallKernel(call, "aten.mul.Tensor", {left, right}, out);
  }
  Sizes batch, left_only, right_only;
  int64_t batch_size = 1, left_size = 1, right_size = 1, sum_size = 1;
  for (int64_t d = 0; d < left.dim(); ++d) {
    const bool in_left = left.size(d) != 1, in_right = right.size(d) != 1;
    if (in_left && in_right && left.size(d) != right.size(d)) {
      return call.Fail("einsum: operands do not broadcast");
    }
    if (std::count(sum_dims.begin(), sum_dims.end(), d) > 0) {
      if (in_left && in_right) {
        sum_size *= left.size(d);
      } else if (!SumOver(call, {d}, in_left ? &left : &right)) {
        return false;
      }
    } else if (in_left && in_right) {
      batch.push_back(d);
      batch_size *= left.size(d);
    } else if (in_left) {
      left_only.push_back(d);
      left_size *= left.size(d);
    } else {
      right_only.push_back(d);
      right_size *= right.size(d);
    }
  }
  const auto join = [](std::initializer_list<const Sizes*> parts) {
    Sizes all;
    for (const Sizes* part : parts) {
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  };
  const Sizes out_order = join({&batch, &left_only, &sum_dims, &right_only});
  Sizes out_sizes;
  for (int64_t d : batch) out_sizes.push_back(left.size(d));
  for (int64_t d : left_only) out_sizes.push_back(left.size(d));
  out_sizes.insert(out_sizes.end(), sum_dims.size(), 1);
  for (int64_t d : right_only) out_sizes.push_back(right.size(d));
  Sizes back(out_order.size());
  for (size_t i = 0; i < out_order.size(); ++i) {
    back[out_order[i]] = static_cast<int64_t>(i);
  }
  const Tensor a =
      Reshaped(Permuted(left, out_order), {batch_size, left_size, sum_size});
  const Tensor b = Reshaped(
      Permuted(right, join({&batch, &sum_dims, &right_only, &left_only})),
      {batch_size, sum_size, right_size});
  Tensor product;
  if (!Product(call, a, b, {}, &product)) return false;
  *out = Permuted(Reshaped(product, out_sizes), back);
  return true;
}

// Multiplies operands from left to right; a label is summed as soon as no
// later operand has it.
bool Einsum(KernelCall& call) {
  const std::vector<Tensor> tensors = call.Tensors(1);
  Equation equation;
  if (tensors.empty()) return call.Fail("einsum: no operands");
  if (!ParseEquation(call, call.arg(0).string(), tensors, &equation)) {
    return false;
  }
  std::map<int, int64_t> position;
  for (int label : equation.output) {
    position.emplace(label, static_cast<int64_t>(position.size()));
  }
  const int64_t out_rank = static_cast<int64_t>(position.size());
  std::map<int, int> sorted;
  for (const auto& labels : equation.operands) {
    for (int label : labels) sorted[label] = 1;
  }
  for (const auto& [label, unused] : sorted) {
    position.emplace(label, static_cast<int64_t>(position.size()));
  }
  const int64_t rank = static_cast<int64_t>(position.size());
  std::vector<Tensor> operands;
  std::vector<int> uses(static_cast<size_t>(rank));
  for (size_t i = 0; i < tensors.size(); ++i) {
    Tensor aligned;
    if (!AlignOperand(call, tensors[i], equation.operands[i], position,
                      &aligned)) {
      return false;
    }
    for (int64_t d = 0; d < rank; ++d) {
      uses[static_cast<size_t>(d)] += aligned.size(d) != 1;
    }
    operands.push_back(aligned);
  }
  Tensor result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    Tensor next = operands[i];
    Sizes sum_result, sum_next, sum_both;
    for (int64_t d = out_rank; d < rank; ++d) {
      int& left = uses[static_cast<size_t>(d)];
      const bool in_result = result.size(d) != 1, in_next = next.size(d) != 1;
      if (in_result && in_next) {
        if (--left == 1) {
          sum_both.push_back(d);
          left = 0;
        }
      } else if (left == 1 && (in_result || in_next)) {
        (in_result ? sum_result : sum_next).push_back(d);
        left = 0;
      }
    }
    if (!SumOver(call, sum_result, &result) ||
        !SumOver(call, sum_next, &next) ||
        !MultiplyPair(call, result, next, sum_both, &result)) {
      return false;
    }
  }
  if (rank > out_rank && operands.size() == 1) {
    Sizes dims;
    for (int64_t d = out_rank; d < rank; ++d) dims.push_back(d);
    if (!SumOver(call, dims, &result)) return false;
  }
  // A view, not a squeeze: the strides of dimensions of size 1 follow from it.
  if (rank > out_rank) {
    result = Reshaped(
        result, {result.sizes().begin(), result.sizes().begin() + out_rank});
  }
  call.Return(result);
  return true;
}

// --- tensordot and others ---

bool TensorDotTensors(KernelCall& call, Tensor a, Tensor b, Sizes dims_a,
                      Sizes dims_b, Tensor* out) {
  if (dims_a.size() != dims_b.size()) {
    return call.Fail("tensordot: both dimension lists should have one length");
  }
  if (!WrapDims(call, a.dim(), &dims_a) || !WrapDims(call, b.dim(), &dims_b)) {
    return false;
  }
  int64_t inner = 1;
  for (size_t i = 0; i < dims_a.size(); ++i) {
    const int64_t x = a.size(dims_a[i]), y = b.size(dims_b[i]);
    if (x == 1 && y != 1) {
      if (!SumOver(call, {dims_b[i]}, &b)) return false;
    } else if (y == 1 && x != 1) {
      if (!SumOver(call, {dims_a[i]}, &a)) return false;
    } else if (x != y) {
      return call.Fail("tensordot: contracted dimensions differ in size");
    } else {
      inner *= x;
    }
  }
  Sizes order_a, order_b = dims_b, sizes;
  int64_t rows = 1, columns = 1;
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (std::count(dims_a.begin(), dims_a.end(), d) > 0) continue;
    order_a.push_back(d);
    sizes.push_back(a.size(d));
    rows *= a.size(d);
  }
  order_a.insert(order_a.end(), dims_a.begin(), dims_a.end());
  for (int64_t d = 0; d < b.dim(); ++d) {
    if (std::count(dims_b.begin(), dims_b.end(), d) > 0) continue;
    order_b.push_back(d);
    sizes.push_back(b.size(d));
    columns *= b.size(d);
  }
  Tensor product;
  if (!CheckSizes(call, sizes) ||
      !Product(call, Reshaped(Permuted(a, order_a), {rows, inner}),
               Reshaped(Permuted(b, order_b), {inner, columns}), {},
               &product)) {
    return false;
  }
  *out = Reshaped(product, sizes);
  return true;
}

bool TensorDot(KernelCall& call) {
  Tensor out;
  if (!TensorDotTensors(call, call.tensor(0), call.tensor(1), call.Ints(2),
                        call.Ints(3), &out)) {
    return false;
  }
  call.Return(out);
  return true;
}

bool Inner(KernelCall& call) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  if (a.dim() == 0 || b.dim() == 0) {
    return ForwardTo(call, "aten.mul.Tensor", {a, b});
  }
  if (a.sizes().back() != b.sizes().back()) {
    return call.Fail("inner: the last dimensions differ in size");
  }
  Tensor out;
  if (!TensorDotTensors(call, a, b, {-1}, {-1}, &out)) return false;
  call.Return(out);
  return true;
}

bool Outer(KernelCall& call) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  if (a.dim() != 1 || b.dim() != 1) {
    return call.Fail("outer: expected two vectors");
  }
  return ForwardTo(call, "aten.mul.Tensor", {Unsqueezed(a, 1), b});
}

// Blocks of b, scaled by the elements of a.
bool Kron(KernelCall& call) {
  Tensor a = call.tensor(0), b = call.tensor(1);
  while (a.dim() < b.dim()) a = Unsqueezed(a, 0);
  while (b.dim() < a.dim()) b = Unsqueezed(b, 0);
  Sizes a_sizes, b_sizes, sizes;
  for (int64_t d = 0; d < a.dim(); ++d) {
    a_sizes.insert(a_sizes.end(), {a.size(d), 1});
    b_sizes.insert(b_sizes.end(), {1, b.size(d)});
    sizes.push_back(a.size(d) * b.size(d));
  }
  Tensor product;
  if (!CallKernel(call, "aten.mul.Tensor",
                  {Reshaped(a, a_sizes), Reshaped(b, b_sizes)}, &product)) {
    return false;
  }
  call.Return(Reshaped(product, sizes));
  return true;
}

// i1 · i2 · i3 summed over `sumdim`, each with dimensions inserted first.
bool Trilinear(KernelCall& call) {
  Tensor factors[3];
  for (size_t i = 0; i < 3; ++i) {
    factors[i] = call.tensor(i);
    Sizes expand = call.Ints(3 + i);
    std::sort(expand.begin(), expand.end());
    for (int64_t d : expand) {
      if (d < 0 || d > factors[i].dim()) {
        return call.Fail("_trilinear: bad dimension to expand");
      }
      factors[i] = Unsqueezed(factors[i], d);
    }
  }
  Tensor product;
  if (!CallKernel(call, "aten.mul.Tensor", {factors[0], factors[1]},
                  &product) ||
      !CallKernel(call, "aten.mul.Tensor", {product, factors[2]}, &product)) {
    return false;
  }
  if (call.Ints(6).empty()) {
    call.Return(product);
    return true;
  }
  return ForwardTo(call, "aten.sum.dim_IntList",
                   {product, call.arg(6), false, product.dtype()});
}

// x1ᵀ · weight[o] · x2 + bias[o] for every output o.
bool Bilinear(KernelCall& call) {
  const Tensor &x1 = call.tensor(0), &x2 = call.tensor(1);
  const Tensor& weight = call.tensor(2);
  const Tensor bias = call.OptionalTensor(3);
  if (x1.dim() < 1 || x1.dim() != x2.dim() || weight.dim() != 3 ||
      !std::equal(x1.sizes().begin(), x1.sizes().end() - 1,
                  x2.sizes().begin()) ||
      x1.sizes().back() != weight.size(1) ||
      x2.sizes().back() != weight.size(2)) {
    return call.Fail("bilinear: operands don't fit: " + x1.ToString() + ", " +
                     x2.ToString() + ", " + weight.ToString());
  }
  if (bias.defined() && bias.sizes() != Sizes{weight.size(0)}) {
    return call.Fail("bilinear: the bias doesn't fit the weight");
  }
  Sizes sizes(x1.sizes().begin(), x1.sizes().end() - 1);
  const int64_t rows = NumElements(sizes);
  sizes.push_back(weight.size(0));
  const int64_t outputs = weight.size(0);
  const int64_t n1 = weight.size(1), n2 = weight.size(2);
  // [rows, n1] · [n1, outputs · n2] -> [rows, outputs, n2] · [rows, n2, 1].
  Tensor half, whole;
  if (!Product(call, Reshaped(x1, {rows, n1}),
               Reshaped(Permuted(weight, {1, 0, 2}), {n1, outputs * n2}), {},
               &half) ||
      !Product(call, Reshaped(half, {rows, outputs, n2}),
               Reshaped(x2, {rows, n2, 1}),
               {bias.defined() ? Unsqueezed(bias, 1) : bias, {}, {}}, &whole)) {
    return false;
  }
  call.Return(Reshaped(whole, sizes));
  return true;
}

// beta · self + alpha · vec1 ⊗ vec2.
bool Addr(KernelCall& call) {
  const Tensor &a = call.tensor(1), &b = call.tensor(2);
  if (a.dim() != 1 || b.dim() != 1) {
    return call.Fail("addr: expected two vectors");
  }
  // Unlike in addmm, an alpha of 0 doesn't drop the product.
  Tensor scaled, out;
  if (!CallKernel(call, "aten.mul.Scalar", {a, call.Scalar(4)}, &scaled) ||
      !Product(call, Unsqueezed(scaled, 1), Unsqueezed(b, 0),
               {call.tensor(0), call.Scalar(3), {}}, &out)) {
    return false;
  }
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.einsum.default", Einsum},
    {"aten.tensordot.default", TensorDot},
    {"aten.inner.default", Inner},
    {"aten.outer.default", Outer},
    {"aten.ger.default", Outer},
    {"aten.kron.default", Kron},
    {"aten._trilinear.default", Trilinear},
    {"aten.bilinear.default", Bilinear},
    {"aten.addr.default", Addr},
};

}  // namespace

std::span<const KernelEntry> EinsumKernels() { return kEntries; }

}  // namespace tenon
