// Functions of single elements, activations, and softmax.
#include <cmath>
#include <limits>

#include "xnnpack/translate.h"

namespace tenon::xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void TranslateUnary(Task& t, NodeKind kind) {
  const ValueId x = t.read.value("self").valid() ? t.read.value("self")
                                                 : t.read.value("input");
  const Order order = t.graph.OrderFor({x});
  const uint32_t in = t.graph.Get(x, order);
  t.graph.Add(kind, Unary{in, t.graph.Define(t.result, order), 0}, t.range);
}

void TranslateClamp(Task& t, NodeKind kind) {
  t.range = RangeOf(t.graph.region(), t.node);
  TranslateUnary(t, kind);
}

void TranslateLeakyReLU(Task& t, NodeKind kind) {
  const ValueId x = t.read.value("self");
  const Order order = t.graph.OrderFor({x});
  LeakyReLU node;
  node.slope = static_cast<float>(*t.read.Number("negative_slope"));
  node.input = t.graph.Get(x, order);
  node.output = t.graph.Define(t.result, order);
  t.graph.Add(kind, node);
}

// scale * x above 0, alpha * scale * (exp(input_scale * x) - 1) below: a node
// has alpha alone, so that the scales are products before it and behind it.
void TranslateELU(Task& t, NodeKind kind) {
  const ValueId x = t.read.value("self");
  const double before = *t.read.Number("input_scale");
  const double behind = *t.read.Number("scale") / before;
  const Order order = t.graph.OrderFor({x});
  const auto scale = [&](uint32_t in, double by, uint32_t out) {
    const uint32_t number = t.graph.AddScalar(static_cast<float>(by));
    t.graph.Add(NodeKind::kMultiply, Binary{in, number, out, 0});
  };
  ELU node;
  node.alpha = static_cast<float>(*t.read.Number("alpha") * before);
  node.input = t.graph.Get(x, order);
  if (before != 1) {
    const uint32_t scaled = t.graph.Temporary(t.result, order);
    scale(node.input, before, scaled);
    node.input = scaled;
  }
  if (behind == 1) {
    node.output = t.graph.Define(t.result, order);
    t.graph.Add(kind, node);
    return;
  }
  node.output = t.graph.Temporary(t.result, order);
  t.graph.Add(kind, node);
  scale(node.output, behind, t.graph.Define(t.result, order));
}

// The slopes lie along the last dimension, which the channels have to be.
void TranslatePReLU(Task& t, NodeKind kind) {
  const ValueId x = t.read.value("self");
  const Tensor slopes = *t.graph.FindConstant(t.read.value("weight"));
  const bool is_one = slopes.numel() == 1;
  const bool is_image = IsImage(t.graph.region(), x);
  const Order order = is_one     ? t.graph.OrderFor({x})
                      : is_image ? Order::kChannelsLast
                                 : Order::kPlain;
  Binary node;
  node.input1 = t.graph.Get(x, order);
  node.input2 = t.graph.AddConstant(slopes.Contiguous(),
                                    {static_cast<uint32_t>(slopes.numel())});
  node.output = t.graph.Define(t.result, order);
  t.graph.Add(kind, node);
}

void TranslateBinary(Task& t, NodeKind kind) {
  const ValueId a = t.read.value("self"), b = t.read.value("other");
  const Order order = t.graph.OrderFor({a, b, t.result});
  const uint32_t x = t.graph.Get(a, order), y = t.graph.Get(b, order);
  t.graph.Add(kind, Binary{x, y, t.graph.Define(t.result, order), 0}, t.range);
}

void TranslateWithScalar(Task& t, NodeKind kind) {
  const ValueId a = t.read.value("self");
  const Order order = t.graph.OrderFor({a});
  const uint32_t x = t.graph.Get(a, order);
  const uint32_t y =
      t.graph.AddScalar(static_cast<float>(*t.read.Number("other")));
  t.graph.Add(kind, Binary{x, y, t.graph.Define(t.result, order), 0}, t.range);
}

void TranslateSoftmax(Task& t, NodeKind kind) {
  const uint32_t in = t.graph.Get(t.read.value("self"), Order::kPlain);
  t.graph.Add(kind, Unary{in, t.graph.Define(t.result, Order::kPlain), 0});
}

std::optional<Refusal> RefuseRange(const Question& q) {
  if (RangeOf(q.program, q.node)) return std::nullopt;
  return Because("bounds that are no numbers, or no range");
}

std::optional<Refusal> RefuseSlope(const Question& q) {
  const auto slope = q.read.Number("negative_slope");
  if (slope && std::isfinite(*slope)) return std::nullopt;
  return Because("a slope that is no number");
}

std::optional<Refusal> RefuseELU(const Question& q) {
  const auto alpha = q.read.Number("alpha"), scale = q.read.Number("scale"),
             before = q.read.Number("input_scale");
  const auto is_positive = [](double number) {
    return number > 0 && std::isnormal(static_cast<float>(number));
  };
  // The last two are what the nodes get.
  if (alpha && scale && before && is_positive(*alpha) && is_positive(*scale) &&
      is_positive(*before) && is_positive(*alpha * *before) &&
      is_positive(*scale / *before)) {
    return std::nullopt;
  }
  return Because("an elu by other than positive numbers");
}

// A slope for all, or one per channel.
std::optional<Refusal> RefusePReLU(const Question& q) {
  const ValueId x = q.read.value("self"), weight = q.read.value("weight");
  if (!weight.valid() || !q.is_constant(weight)) return Unknown("a slope");
  int64_t count = 1;
  for (const int64_t size : q.sizes(weight)) count *= size;
  if (count == 1) return std::nullopt;
  const size_t rank = q.rank(x);
  // One dimension, or the dimensions of x with the others of size 1.
  const size_t along = q.rank(weight) == 1 ? 0 : 1;
  const bool is_row =
      rank >= 2 && along < q.rank(weight) && q.sizes(weight)[along] == count &&
      (along == 0 || q.rank(weight) == rank) && q.sizes(x)[1] == count;
  if (is_row && (rank == 2 || IsImage(q.program, x))) return std::nullopt;
  return Because("slopes along other than the channels of images");
}

std::optional<Refusal> RefuseGelu(const Question& q) {
  const Arg* approximate = q.program.FindArg(q.node, "approximate");
  if (approximate == nullptr || (approximate->kind == ArgKind::kString &&
                                 q.program.view(approximate->text) == "none")) {
    return std::nullopt;
  }
  return Because("an approximated gelu");
}

std::optional<Refusal> RefuseSquare(const Question& q) {
  if (q.read.Number("exponent") == 2) return std::nullopt;
  return Because("an exponent other than 2");
}

std::optional<Refusal> RefuseAlpha(const Question& q) {
  if (q.read.Number("alpha") == 1) return std::nullopt;
  return Because("alpha other than 1");
}

std::optional<Refusal> RefuseScalar(const Question& q) {
  const auto other = q.read.Number("other");
  if (other && std::isfinite(*other)) return std::nullopt;
  return Because("an operand that is no finite number");
}

std::optional<Refusal> RefuseScalarOrAlpha(const Question& q) {
  if (auto refusal = RefuseScalar(q)) return refusal;
  return RefuseAlpha(q);
}

std::optional<Refusal> RefuseSoftmax(const Question& q) {
  const auto rank = static_cast<int64_t>(q.rank(q.result()));
  const auto dim = q.read.Int("dim");
  if (rank == 0 || !dim || (*dim != -1 && *dim != rank - 1)) {
    return Because("softmax over other than the last dimension");
  }
  if (q.read.Bool("half_to_float") == true) return Because("half_to_float");
  return std::nullopt;
}

std::optional<Refusal> RefuseFormat(const Question& q) {
  const Arg* format = q.program.FindArg(q.node, "memory_format");
  if (format == nullptr || format->kind == ArgKind::kNone ||
      (format->kind == ArgKind::kMemoryFormat &&
       (format->memory_format() == MemoryFormat::kContiguous ||
        format->memory_format() == MemoryFormat::kPreserve))) {
    return std::nullopt;
  }
  return Because("a memory format");
}

constexpr Translation Unaries(std::string_view op, NodeKind kind) {
  return {op, nullptr, TranslateUnary, kind};
}

constexpr Translation kTranslations[] = {
    Unaries("aten.abs.default", NodeKind::kAbs),
    Unaries("aten.ceil.default", NodeKind::kCeiling),
    Unaries("aten.cos.default", NodeKind::kCos),
    Unaries("aten.exp.default", NodeKind::kExp),
    Unaries("aten.floor.default", NodeKind::kFloor),
    Unaries("aten.hardswish.default", NodeKind::kHardswish),
    Unaries("aten.log.default", NodeKind::kLog),
    Unaries("aten.neg.default", NodeKind::kNegate),
    Unaries("aten.rsqrt.default", NodeKind::kReciprocalSquareRoot),
    Unaries("aten.sigmoid.default", NodeKind::kSigmoid),
    Unaries("aten.sin.default", NodeKind::kSin),
    Unaries("aten.sqrt.default", NodeKind::kSquareRoot),
    Unaries("aten.tanh.default", NodeKind::kTanh),
    {"aten.clone.default", RefuseFormat, TranslateUnary, NodeKind::kCopy},
    {"aten.gelu.default", RefuseGelu, TranslateUnary, NodeKind::kGelu},
    {"aten.pow.Tensor_Scalar", RefuseSquare, TranslateUnary, NodeKind::kSquare},
    {"aten.relu.default", RefuseRange, TranslateClamp, NodeKind::kClamp},
    {"aten.clamp.default", RefuseRange, TranslateClamp, NodeKind::kClamp},
    {"aten.hardtanh.default", RefuseRange, TranslateClamp, NodeKind::kClamp},
    {"aten.elu.default", RefuseELU, TranslateELU, NodeKind::kELU},
    {"aten.leaky_relu.default", RefuseSlope, TranslateLeakyReLU,
     NodeKind::kLeakyReLU},
    {"aten.prelu.default", RefusePReLU, TranslatePReLU, NodeKind::kPReLU},
    {"aten._prelu_kernel.default", RefusePReLU, TranslatePReLU,
     NodeKind::kPReLU},
    {"aten.add.Tensor", RefuseAlpha, TranslateBinary, NodeKind::kAdd, true},
    {"aten.sub.Tensor", RefuseAlpha, TranslateBinary, NodeKind::kSubtract,
     true},
    {"aten.mul.Tensor", nullptr, TranslateBinary, NodeKind::kMultiply, true},
    {"aten.div.Tensor", nullptr, TranslateBinary, NodeKind::kDiv},
    {"aten.maximum.default", nullptr, TranslateBinary, NodeKind::kMaximum},
    {"aten.minimum.default", nullptr, TranslateBinary, NodeKind::kMinimum},
    {"aten.add.Scalar", RefuseScalarOrAlpha, TranslateWithScalar,
     NodeKind::kAdd, true},
    {"aten.sub.Scalar", RefuseScalarOrAlpha, TranslateWithScalar,
     NodeKind::kSubtract, true},
    {"aten.mul.Scalar", RefuseScalar, TranslateWithScalar, NodeKind::kMultiply,
     true},
    {"aten.div.Scalar", RefuseScalar, TranslateWithScalar, NodeKind::kDiv},
    {"aten._softmax.default", RefuseSoftmax, TranslateSoftmax,
     NodeKind::kSoftmax},
};

}  // namespace

std::span<const Translation> ElementwiseTranslations() { return kTranslations; }

std::optional<OutputRange> RangeOf(const Program& program, NodeId node) {
  if (program.node(node).kind != tenon::NodeKind::kOp) return std::nullopt;
  const std::string op = PlainName(program.op_name(node));
  const NodeReader read(program, node);
  OutputRange range{-kInfinity, kInfinity};
  if (op == "aten.relu.default") {
    range.min = 0;
    return range;
  }
  const bool is_clamp = op == "aten.clamp.default";
  if (!is_clamp && op != "aten.hardtanh.default") return std::nullopt;
  const auto bound = [&](std::string_view name, float* to) {
    const auto number = read.Number(name);
    if (number) *to = static_cast<float>(*number);
    return number || read.IsNone(name);
  };
  const bool are_known = bound(is_clamp ? "min" : "min_val", &range.min) &&
                         bound(is_clamp ? "max" : "max_val", &range.max);
  // XNNPACK refuses an empty range; NaN is none either.
  if (!are_known || !(range.min < range.max)) return std::nullopt;
  return range;
}

}  // namespace tenon::xnnpack
