// Functions of each element as kernels in a row.
#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "lower/rewrite_rules.h"

namespace tenon::lower {

// A chain of kernels over the dtype and sizes of the result.
class ElementChain {
 public:
  explicit ElementChain(NodeRewrite& r)
      : r_(r), type_(r.build.TypeLike(r.result())) {}

  ValueId operator()(std::string_view op, std::vector<Operand> operands) {
    return r_.build.Call(op, std::move(operands), type_);
  }
  ValueId Bool(std::string_view op, std::vector<Operand> operands) {
    return r_.build.Call(op, std::move(operands),
                         r_.build.TypeLike(r_.result(), DType::kBool));
  }
  ValueId Add(ValueId v, double number) {
    return (*this)("aten.add.Scalar", {v, Operand::Float(number)});
  }
  ValueId Times(ValueId v, double number) {
    return (*this)("aten.mul.Scalar", {v, Operand::Float(number)});
  }
  // A 0-d tensor of the result's dtype.
  ValueId Number(double number) {
    return r_.build.Scalar(Arg::Float(number), r_.result_type().dtype);
  }
  ValueId Where(ValueId condition, ValueId a, ValueId b) {
    return (*this)("aten.where.self", {condition, a, b});
  }
  // Clamped to [0, 6], of v + 3.
  ValueId HardStep(ValueId v) {
    return (*this)("aten.hardtanh.default",
                   {Add(v, 3), Operand::Int(0), Operand::Int(6)});
  }
  // log(1 + exp(beta v)) / beta, v itself where beta v is above `threshold`.
  ValueId Softplus(ValueId v, double beta, double threshold) {
    const ValueId scaled = beta == 1 ? v : Times(v, beta);
    ValueId log =
        (*this)("aten.log1p.default", {(*this)("aten.exp.default", {scaled})});
    if (beta != 1) {
      log = (*this)("aten.div.Scalar", {log, Operand::Float(beta)});
    }
    const ValueId is_large =
        Bool("aten.gt.Scalar", {scaled, Operand::Float(threshold)});
    return Where(is_large, v, log);
  }

 private:
  NodeRewrite& r_;
  const TypeId type_;
};

// For functions of one floating-point tensor.
inline RewriteRule Unary(
    std::function<ValueId(ElementChain&, ValueId, NodeRewrite&)> make) {
  return [make](NodeRewrite& r) {
    const ValueId self = r.tensor(0);
    if (!self.valid() || !IsFloating(r.type(0).dtype)) return Rewritten::kSkip;
    ElementChain chain(r);
    const ValueId out = make(chain, self, r);
    return out.valid() ? r.Done(out) : Rewritten::kSkip;
  };
}

}  // namespace tenon::lower
