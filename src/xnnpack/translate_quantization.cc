// Steps between numbers and integers (quantized_activation.h, and
// quantized_weight.h for those that are stored).
#include <string>

#include "xnnpack/quantized_activation.h"
#include "xnnpack/quantized_filter.h"
#include "xnnpack/translate.h"
#include "xnnpack/translate_region.h"

namespace tenon::xnnpack {
namespace {

template <typename Predicate>
bool AllUsers(const Program& program, ValueId v, Predicate&& holds) {
  bool all = true;
  program.ForEachUse(v,
                     [&](UseId u) { all = all && holds(program.use(u).user); });
  return all;
}

NodeId FirstUser(const Program& program, ValueId v) {
  const UseId use = program.value(v).first_use;
  return use.valid() ? program.use(use).user : NodeId();
}

// --- stored integers ---

// One reader, which XNNPACK takes: a value that nothing but constants make
// can't leave a region.
std::optional<Refusal> RefuseWeight(const Question& q) {
  const Refusal elsewhere =
      Because("stored integers that aren't the weight of one node");
  if (q.program.value(q.result()).num_uses != 1) return elsewhere;
  const NodeId user = FirstUser(q.program, q.result());
  if (q.program.node(user).kind != tenon::NodeKind::kOp) return elsewhere;
  const auto product = FindProduct(q.program, user);
  const bool is_weight =
      product ? product->weight == q.result()
              : q.program.op_name(user) == "aten.convolution.default" &&
                    NodeReader(q.program, user).value("weight") == q.result();
  if (!is_weight) return elsewhere;
  return WhyRefused(q.program, user, q.stored);
}

// --- once and for all ---

bool AreEqual(const std::optional<PerTensorQuant>& a,
              const std::optional<PerTensorQuant>& b) {
  return a && b && a->scale == b->scale && a->zero_point == b->zero_point;
}

// Whether all that makes numbers of the integers does it in one way.
bool HaveOneMeaning(const Program& program, ValueId integers) {
  const NodeId first = program.value(integers).def;
  std::optional<PerTensorQuant> quant;
  if (first.valid() && IsQuantize(program, first)) {
    quant = FindStaticQuant(program, first);
    if (!quant) return false;
  }
  return AllUsers(program, integers, [&](NodeId user) {
    if (!IsDequantize(program, user)) return true;
    const auto own = FindStaticQuant(program, user);
    if (!quant) quant = own;
    return AreEqual(quant, own);
  });
}

std::optional<Refusal> RefuseQuantize(const Question& q) {
  const ValueId x = q.read.value("input");
  if (!FindStaticQuant(q.program, q.node)) {
    return Because("a quantisation to other than the whole of int8");
  }
  if (auto refusal = RefuseTensor(q.program, x)) return refusal;
  if (q.rank(x) == 0) {
    return Refusal{RefusalReason::kRank, "a tensor without dimensions"};
  }
  if (!HaveOneMeaning(q.program, q.result())) {
    return Because("integers with several scales or zero points");
  }
  return std::nullopt;
}

std::optional<Refusal> RefuseStored(const Question& q) {
  if (!MayDequantizeWeight(q.program, q.node)) {
    return Refusal{RefusalReason::kOperatorUnknown,
                   std::string(q.program.op_name(q.node))};
  }
  if (FindQuantizedWeight(q.program, q.result(), q.stored)) {
    return RefuseWeight(q);
  }
  return Because("other than stored integers with a zero point of 0");
}

std::optional<Refusal> RefuseDequantize(const Question& q) {
  const ValueId integers = q.read.value("input");
  if (FindQuantizedWeight(q.program, q.result(), q.stored)) {
    return RefuseWeight(q);
  }
  if (!FindStaticQuant(q.program, q.node) || q.stored(integers).defined()) {
    return Because("integers other than int8, or a zero point of weights");
  }
  if (auto refusal = RefuseTensor(q.program, integers, DType::kInt8)) {
    return refusal;
  }
  if (q.rank(integers) == 0) {
    return Refusal{RefusalReason::kRank, "a tensor without dimensions"};
  }
  if (!HaveOneMeaning(q.program, integers)) {
    return Because("integers with several scales or zero points");
  }
  return std::nullopt;
}

void TranslateQuantize(Task& t, NodeKind kind) {
  const ValueId x = t.read.value("input");
  const Order order = t.graph.OrderFor({x});
  const uint32_t in = t.graph.Get(x, order);
  t.graph.Add(kind, Unary{in, t.graph.Define(t.result, order), 0});
}

void TranslateDequantize(Task& t, NodeKind) {
  if (t.graph.FindWeight(t.result) != nullptr) return;
  t.graph.DefineNumbers(t.result, t.read.value("input"));
}

// The region's builder knows them.
void TranslateStored(Task&, NodeKind) {}

// --- by rows, at run time ---

bool IsDynamicProduct(const Question& q, NodeId user, ValueId v) {
  const auto p = FindProduct(q.program, user);
  if (!p || p->x != v || p->weight == v || p->bias == v) return false;
  const auto weight = FindQuantizedWeight(q.program, p->weight, q.stored);
  return weight &&
         (HasOutputScales(*weight, p->is_transposed) ||
          HasKnownGroups(*weight, p->is_transposed)) &&
         !WhyRefused(q.program, user, q.stored);
}

// Whether all that reads the integers is a product that XNNPACK takes with
// them.
bool IsWhole(const Question& q, NodeId quantize, NodeId choose) {
  const ValueId integers = q.program.node(quantize).results[0];
  return AllUsers(q.program, integers, [&](NodeId user) {
    const auto pattern = FindDynamicQuant(q.program, user);
    if (!pattern || pattern->choose != choose ||
        pattern->quantize != quantize ||
        RefuseTensor(q.program, pattern->numbers)) {
      return false;
    }
    const ValueId numbers = q.program.node(user).results[0];
    return AllUsers(q.program, numbers, [&](NodeId reader) {
      return IsDynamicProduct(q, reader, numbers);
    });
  });
}

// What chooses scales has readers of two kinds: what makes integers, and what
// makes numbers of those.
std::optional<Refusal> RefuseDynamic(const Question& q) {
  const NodeId choose = ChooserOf(q.program, q.node);
  const auto reads_whole = [&](NodeId user) {
    if (q.program.node(user).kind != tenon::NodeKind::kOp) return false;
    if (const auto last = FindDynamicQuant(q.program, user)) {
      return last->choose == choose && IsWhole(q, last->quantize, choose);
    }
    return IsDynamicQuantize(q.program, user) && IsWhole(q, user, choose);
  };
  bool is_whole = choose.valid() && q.program.node(choose).results.count == 2;
  for (uint32_t r = 0; r < 2 && is_whole; ++r) {
    is_whole =
        AllUsers(q.program, q.program.node(choose).results[r], reads_whole);
  }
  if (is_whole) return std::nullopt;
  return Because(
      "rows quantised at run time for other than products with stored "
      "integers");
}

void TranslateDynamic(Task& t, NodeKind) {
  if (const auto pattern = FindDynamicQuant(t.graph.region(), t.node)) {
    t.graph.DefineDynamic(t.result, pattern->numbers);
  }
}

std::optional<Refusal> RefuseAffine(const Question& q) {
  if (FindQuantizedWeight(q.program, q.result(), q.stored)) {
    return RefuseWeight(q);
  }
  return RefuseDynamic(q);
}

constexpr Translation Weights(std::string_view op) {
  return {op, RefuseStored, TranslateStored, NodeKind::kConvert, false, true};
}
constexpr Translation Rows(std::string_view op) {
  return {op, RefuseDynamic, TranslateDynamic, NodeKind::kConvert, false, true};
}

constexpr Translation kTranslations[] = {
    {"quantized_decomposed.quantize_per_tensor.default", RefuseQuantize,
     TranslateQuantize, NodeKind::kConvert, false, true},
    Weights("aten._to_copy.default"),
    {"quantized_decomposed.dequantize_per_tensor.default", RefuseDequantize,
     TranslateDequantize, NodeKind::kConvert, false, true},
    Weights("quantized_decomposed.dequantize_per_channel.default"),
    Weights("quantized_decomposed.dequantize_per_channel_group.default"),
    Rows("quantized_decomposed.choose_qparams_per_token_asymmetric.default"),
    Rows("quantized_decomposed.quantize_per_token.default"),
    Rows("quantized_decomposed.dequantize_per_token.default"),
    Rows("torchao.choose_qparams_affine.default"),
    Rows("torchao.quantize_affine.default"),
    {"torchao.dequantize_affine.default", RefuseAffine, TranslateDynamic,
     NodeKind::kConvert, false, true},
};

}  // namespace

std::span<const Translation> QuantizationTranslations() {
  return kTranslations;
}

}  // namespace tenon::xnnpack
