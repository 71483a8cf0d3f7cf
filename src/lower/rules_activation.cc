// Activations. Those that delegates have nodes of come late.
#include "lower/element_chain.h"
#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

ValueId Silu(ElementChain& c, ValueId x, NodeRewrite&) {
  return c("aten.mul.Tensor", {x, c("aten.sigmoid.default", {x})});
}
ValueId HardSwish(ElementChain& c, ValueId x, NodeRewrite&) {
  return c("aten.div.Scalar",
           {c("aten.mul.Tensor", {x, c.HardStep(x)}), Operand::Float(6)});
}
ValueId HardSigmoid(ElementChain& c, ValueId x, NodeRewrite&) {
  return c("aten.div.Scalar", {c.HardStep(x), Operand::Float(6)});
}
ValueId Relu6(ElementChain& c, ValueId x, NodeRewrite&) {
  return c("aten.hardtanh.default", {x, Operand::Int(0), Operand::Int(6)});
}
ValueId Softplus(ElementChain& c, ValueId x, NodeRewrite& r) {
  const auto beta = r.Number(1), threshold = r.Number(2);
  if (!beta || !threshold) return ValueId();
  return c.Softplus(x, *beta, *threshold);
}
ValueId Mish(ElementChain& c, ValueId x, NodeRewrite&) {
  return c("aten.mul.Tensor",
           {x, c("aten.tanh.default", {c.Softplus(x, 1, 20)})});
}
// min(x, 0) - log1p(exp(-|x|)): neither exponential can overflow.
ValueId LogSigmoid(ElementChain& c, ValueId x, NodeRewrite&) {
  const ValueId small =
      c("aten.exp.default",
        {c("aten.neg.default", {c("aten.abs.default", {x})})});
  const ValueId negative =
      c("aten.clamp.default", {x, Operand(), Operand::Int(0)});
  return c("aten.sub.Tensor", {negative, c("aten.log1p.default", {small})});
}
ValueId Selu(ElementChain& c, ValueId x, NodeRewrite&) {
  return c("aten.elu.default",
           {x, Operand::Float(1.6732632423543772848170429916717),
            Operand::Float(1.0507009873554804934193349852946)});
}
ValueId Celu(ElementChain& c, ValueId x, NodeRewrite& r) {
  const auto alpha = r.Number(1);
  if (!alpha || *alpha == 0) return ValueId();
  return c("aten.elu.default", {x, Operand::Float(*alpha), Operand::Float(1),
                                Operand::Float(1 / *alpha)});
}
Rewritten Prelu(NodeRewrite& r) {
  const ValueId self = r.tensor(0), weight = r.tensor(1);
  if (!self.valid() || !weight.valid()) return Rewritten::kSkip;
  // The weight stands along dimension 1; that of the kernel has its place.
  Shape sizes(static_cast<size_t>(r.type(0).rank()), SymInt::Literal(1));
  if (r.type(1).rank() > 1) {
    sizes = r.type(1).sizes;
  } else if (r.type(1).rank() == 1 && sizes.size() >= 2) {
    sizes[1] = r.type(1).sizes[0];
  }
  const auto along = r.build.Reshape(weight, sizes);
  if (!along) return Rewritten::kSkip;
  ElementChain c(r);
  return r.Done(c.Where(c.Bool("aten.gt.Scalar", {self, Operand::Int(0)}), self,
                        c("aten.mul.Tensor", {self, *along})));
}

}  // namespace

std::vector<RuleRow> ActivationRules() {
  return {
      {"aten.silu.default", Unary(Silu)},
      {"aten.hardsigmoid.default", Unary(HardSigmoid)},
      {"aten.relu6.default", Unary(Relu6)},
      {"aten.softplus.default", Unary(Softplus)},
      {"aten.mish.default", Unary(Mish)},
      {"aten.log_sigmoid.default", Unary(LogSigmoid)},
      {"aten.selu.default", Unary(Selu)},
      {"aten.celu.default", Unary(Celu)},
  };
}

std::vector<RuleRow> LateActivationRules() {
  return {
      {"aten.hardswish.default", Unary(HardSwish)},
      {"aten.prelu.default", Prelu},
      {"aten._prelu_kernel.default", Prelu},
  };
}

}  // namespace tenon::lower
