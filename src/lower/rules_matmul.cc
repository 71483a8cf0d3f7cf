// Products of matrices. Of the kernels that there are, linear is the best: it
// takes the weight as it is stored, so nothing is transposed at run time.
#include <algorithm>
#include <numeric>

#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

bool IsMatrix(const Type& type) { return type.rank() == 2; }

// What `v` is the transposed of, where a node made it so; invalid otherwise.
ValueId TransposedOf(const Program& program, ValueId v) {
  const NodeId n = program.value(v).def;
  if (!n.valid() || program.node(n).kind != NodeKind::kOp ||
      !IsMatrix(program.type(v))) {
    return ValueId();
  }
  const std::string_view op = program.op_name(n);
  const auto args = program.args(n);
  if (args.empty() || !args[0].is_value()) return ValueId();
  if (op == "aten.t_copy.default") return args[0].value();
  if (op == "aten.transpose_copy.int" && args.size() == 3 &&
      args[1].kind == ArgKind::kInt && args[2].kind == ArgKind::kInt) {
    return FindDim(args[1].i, 2) != FindDim(args[2].i, 2) ? args[0].value()
                                                          : ValueId();
  }
  if (op == "aten.permute_copy.default" && args.size() == 2 &&
      args[1].kind == ArgKind::kList) {
    const auto dims = program.args(args[1].list);
    const bool swaps = dims.size() == 2 && dims[0].kind == ArgKind::kInt &&
                       FindDim(dims[0].i, 2) == size_t{1};
    return swaps ? args[0].value() : ValueId();
  }
  return ValueId();
}

bool AreFloating(const NodeRewrite& r, std::initializer_list<size_t> args) {
  return std::all_of(args.begin(), args.end(), [&](size_t i) {
    return r.tensor(i).valid() && IsFloating(r.type(i).dtype);
  });
}

// mm(x, t(w)) is linear(x, w).
Rewritten Mm(NodeRewrite& r) {
  if (!AreFloating(r, {0, 1})) return Rewritten::kSkip;
  const ValueId weight = TransposedOf(r.program(), r.tensor(1));
  if (!weight.valid()) return Rewritten::kSkip;
  return r.Become("aten.linear.default", {r.arg(0), weight});
}

bool IsOne(const NodeRewrite& r, size_t i) {
  const auto number = r.Number(i);
  return number && *number == 1;
}

// addmm(b, x, t(w)) is linear(x, w, b).
Rewritten Addmm(NodeRewrite& r) {
  if (!AreFloating(r, {0, 1, 2}) || !IsOne(r, 3) || !IsOne(r, 4) ||
      r.type(0).rank() != 1) {
    return Rewritten::kSkip;
  }
  const ValueId weight = TransposedOf(r.program(), r.tensor(2));
  if (!weight.valid() ||
      r.type(0).sizes[0] != r.program().type(weight).sizes[0]) {
    return Rewritten::kSkip;
  }
  return r.Become("aten.linear.default", {r.arg(1), weight, r.arg(0)});
}

ValueId Product(NodeRewrite& r, std::string_view op, ValueId a, ValueId b,
                const Shape& sizes) {
  return r.build.Call(op, {a, b},
                      r.build.TensorType(r.result_type().dtype, sizes));
}

// Batches of a and b, broadcast against each other, as one dimension.
Rewritten BatchedMatmul(NodeRewrite& r, ValueId a, ValueId b) {
  const Shape to = r.result_type().sizes;
  const Program& program = r.program();
  const Shape batch(to.begin(), to.end() - 2);
  const auto fold = [&](ValueId v) -> std::optional<ValueId> {
    const Type& type = program.type(v);
    const DType dtype = type.dtype;
    const Shape last(type.sizes.end() - 2, type.sizes.end());
    Shape wide = batch;
    wide.insert(wide.end(), last.begin(), last.end());
    if (type.sizes != wide) {
      const auto list = r.build.Sizes(wide, {{a, b}});
      if (!list) return std::nullopt;
      v = r.build.Call("aten.expand_copy.default", {v, *list},
                       r.build.TensorType(dtype, wide));
    }
    if (batch.size() == 1) return v;
    Shape flat = {r.build.ProductOf(batch)};
    flat.insert(flat.end(), last.begin(), last.end());
    return r.build.Reshape(v, flat);
  };
  const auto x = fold(a), y = fold(b);
  if (!x || !y) return Rewritten::kSkip;
  Shape sizes = {program.type(*x).sizes[0]};
  sizes.insert(sizes.end(), to.end() - 2, to.end());
  const ValueId product = Product(r, "aten.bmm.default", *x, *y, sizes);
  if (batch.size() == 1) return r.Done(product);
  const auto list = r.build.Sizes(to, {{a, b}});
  if (!list) return Rewritten::kSkip;
  return r.Done(r.build.Call("aten.view_copy.default", {product, *list},
                             r.build.TypeLike(r.result())));
}

Rewritten Matmul(NodeRewrite& r) {
  const ValueId a = r.tensor(0), b = r.tensor(1);
  if (!a.valid() || !b.valid()) return Rewritten::kSkip;
  const Type x = r.type(0), y = r.type(1);
  const Shape to = r.result_type().sizes;
  if (x.rank() == 0 || y.rank() == 0) return Rewritten::kSkip;
  if (x.rank() == 1 && y.rank() == 1) {
    const ValueId product = Product(r, "aten.mul.Tensor", a, b, x.sizes);
    return r.Become("aten.sum.dim_IntList",
                    {product, Operand::Ints(std::vector<int64_t>{0})});
  }
  if (y.rank() == 1) {
    // A column, which goes again.
    const auto column = r.build.Reshape(b, {y.sizes[0], SymInt::Literal(1)});
    Shape wide = to;
    wide.push_back(SymInt::Literal(1));
    const ValueId product = Product(r, "aten.matmul.default", a, *column, wide);
    const auto out = r.build.Reshape(product, to);
    return out ? r.Done(*out) : Rewritten::kSkip;
  }
  if (x.rank() == 1) {
    const auto row = r.build.Reshape(a, {SymInt::Literal(1), x.sizes[0]});
    Shape wide = to;
    wide.insert(wide.end() - 1, SymInt::Literal(1));
    const ValueId product = Product(r, "aten.matmul.default", *row, b, wide);
    const auto out = r.build.Reshape(product, to);
    return out ? r.Done(*out) : Rewritten::kSkip;
  }
  if (x.rank() == 2 && y.rank() == 2) {
    return r.Become("aten.mm.default", {a, b});
  }
  if (y.rank() == 2) {
    const ValueId weight = TransposedOf(r.program(), b);
    if (weight.valid() && IsFloating(x.dtype)) {
      return r.Become("aten.linear.default", {a, weight});
    }
    const Shape batch(x.sizes.begin(), x.sizes.end() - 1);
    const SymInt rows = r.build.ProductOf(batch);
    const auto flat = r.build.Reshape(a, {rows, x.sizes.back()});
    if (!flat) return Rewritten::kSkip;
    const ValueId product =
        Product(r, "aten.mm.default", *flat, b, {rows, y.sizes[1]});
    const auto list = r.build.Sizes(to, {{a, b}});
    if (!list) return Rewritten::kSkip;
    return r.Done(r.build.Call("aten.view_copy.default", {product, *list},
                               r.build.TypeLike(r.result())));
  }
  return BatchedMatmul(r, a, b);
}

// int8 by int8 as int32.
Rewritten IntMm(NodeRewrite& r) {
  if (!r.tensor(0).valid() || !r.tensor(1).valid()) return Rewritten::kSkip;
  return r.Become("aten.mm.default",
                  {r.build.Cast(r.tensor(0), DType::kInt32),
                   r.build.Cast(r.tensor(1), DType::kInt32)});
}

Rewritten Mv(NodeRewrite& r) {
  return r.Become("aten.matmul.default", {r.arg(0), r.arg(1)});
}

// beta * self + alpha * (a @ b)
Rewritten Baddbmm(NodeRewrite& r) {
  if (!AreFloating(r, {0, 1, 2})) return Rewritten::kSkip;
  const TypeId type = r.build.TypeLike(r.result());
  const ValueId product =
      r.build.Call("aten.bmm.default", {r.arg(1), r.arg(2)}, type);
  // What is times 0 isn't even read: it may be no number.
  if (r.Number(3) == 0.0) {
    return r.Become("aten.mul.Scalar", {product, r.arg(4)});
  }
  ValueId self = r.tensor(0);
  if (!IsOne(r, 3)) {
    self = r.build.Call("aten.mul.Scalar", {self, r.arg(3)},
                        r.build.TypeLike(self));
  }
  return r.Become("aten.add.Tensor", {self, product}, {{"alpha", r.arg(4)}});
}

// The kernel wants matrices; a vector is a matrix of one row.
Rewritten Linear(NodeRewrite& r) {
  if (!AreFloating(r, {0, 1}) || r.type(0).rank() != 1) {
    return Rewritten::kSkip;
  }
  const Shape to = r.result_type().sizes;
  const auto row =
      r.build.Reshape(r.tensor(0), {SymInt::Literal(1), r.type(0).sizes[0]});
  Shape wide = to;
  wide.insert(wide.begin(), SymInt::Literal(1));
  const ValueId product =
      r.build.Call("aten.linear.default", {*row, r.arg(1), r.arg(2)},
                   r.build.TensorType(r.result_type().dtype, wide));
  return r.Done(*r.build.Reshape(product, to));
}

}  // namespace

std::vector<RuleRow> MatmulRules() {
  return {
      {"aten.mm.default", Mm},           {"aten.addmm.default", Addmm},
      {"aten.matmul.default", Matmul},   {"aten.mv.default", Mv},
      {"aten._int_mm.default", IntMm},   {"aten.dot.default", Mv},
      {"aten.baddbmm.default", Baddbmm}, {"aten.linear.default", Linear},
  };
}

}  // namespace tenon::lower
