#include "testing/generator.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "testing/choices.h"
#include "testing/emitter.h"
#include "testing/frame.h"
#include "testing/random_program.h"

namespace tenon::testing {
namespace {

struct ShapeName {
  ProgramShape shape;
  std::string_view name;
};
constexpr ShapeName kShapeNames[] = {{ProgramShape::kChain, "chain"},
                                     {ProgramShape::kDiamond, "diamond"},
                                     {ProgramShape::kWide, "wide"},
                                     {ProgramShape::kLayers, "layers"},
                                     {ProgramShape::kRandom, "random"}};

constexpr int64_t kWidth = 4;

// Pointwise steps on float32[4, 4] that keep numbers small, so that long chains
// stay finite.
class Steps {
 public:
  Steps(Emitter* emitter, uint64_t seed) : emitter_(emitter), choices_(seed) {
    Context& context = emitter->program().context();
    type_ = TensorType(context, DType::kFloat32, {kWidth, kWidth});
    add_ = context.InternOp("aten.add.Tensor");
    for (const char* op : {"aten.tanh.default", "aten.relu.default",
                           "aten.sigmoid.default", "aten.neg.default"}) {
      unary_.push_back(context.InternOp(op));
    }
    for (const char* op : {"aten.sub.Tensor", "aten.maximum.default",
                           "aten.minimum.default", "aten.add.Tensor"}) {
      binary_.push_back(context.InternOp(op));
    }
  }

  TypeId type() const { return type_; }

  ValueId Unary(ValueId x) {
    const Operand operands[] = {x};
    return Emit(choices_.PickFrom(unary_), operands);
  }
  ValueId Binary(ValueId x, ValueId y) {
    const Operand operands[] = {x, y};
    return Emit(choices_.PickFrom(binary_), operands);
  }
  ValueId Add(ValueId x, ValueId y) {
    const Operand operands[] = {x, y};
    return Emit(add_, operands);
  }

 private:
  ValueId Emit(OpId op, std::span<const Operand> operands) {
    const TypeId types[] = {type_};
    return emitter_->result(emitter_->Emit(op, operands, {}, types));
  }

  Emitter* emitter_;
  Choices choices_;
  TypeId type_;
  OpId add_;
  std::vector<OpId> unary_, binary_;
};

// x1 = f(x0), x2 = g(x1, x0), x3 = f(x2), ...: never more than three values
// alive.
ValueId Chain(size_t num_nodes, ValueId x, ValueId y, Steps* steps) {
  ValueId before = y;
  for (size_t i = 0; i < num_nodes; ++i) {
    const ValueId next =
        i % 2 == 0 ? steps->Unary(x) : steps->Binary(x, before);
    before = std::exchange(x, next);
  }
  return x;
}

ValueId Diamond(size_t num_nodes, ValueId x, ValueId y, Steps* steps) {
  for (size_t left = num_nodes; left > 0;) {
    if (left < 3) {
      x = steps->Binary(x, y);
      --left;
      continue;
    }
    const ValueId a = steps->Unary(x);
    const ValueId b = steps->Unary(x);
    x = steps->Binary(a, b);
    left -= 3;
  }
  return x;
}

// Half of the nodes are independent; the other half joins them pairwise, so
// that the depth is logarithmic.
ValueId Wide(size_t num_nodes, ValueId x, ValueId y, Steps* steps) {
  std::vector<ValueId> open;
  const size_t num_leaves = (num_nodes + 1) / 2;
  for (size_t i = 0; i < num_leaves; ++i) {
    open.push_back(steps->Unary(i % 2 == 0 ? x : y));
  }
  size_t num_left = num_nodes - std::min(num_nodes, num_leaves);
  while (open.size() > 1) {
    std::vector<ValueId> joined;
    for (size_t i = 0; i + 1 < open.size(); i += 2) {
      joined.push_back(steps->Binary(open[i], open[i + 1]));
      --num_left;
    }
    if (open.size() % 2 == 1) joined.push_back(open.back());
    open = std::move(joined);
  }
  ValueId out = open.empty() ? x : open[0];
  for (; num_left > 0; --num_left) out = steps->Unary(out);
  return out;
}

constexpr size_t kNodesPerLayer = 4;

// A residual block: x + relu(layer_norm(linear(x))).
ValueId Layers(size_t num_nodes, ValueId x, std::span<const ValueId> weights,
               Emitter* emitter, Steps* steps) {
  Context& context = emitter->program().context();
  const OpId linear = context.InternOp("aten.linear.default");
  const OpId norm = context.InternOp("aten.layer_norm.default");
  const TypeId types[] = {steps->type()};
  const Operand norm_sizes = Operand::Ints({Operand(kWidth)});
  const size_t num_layers = num_nodes / kNodesPerLayer;
  for (size_t i = 0; i < num_layers; ++i) {
    const Operand operands[] = {x, weights[2 * i], weights[2 * i + 1]};
    const ValueId y =
        emitter->result(emitter->Emit(linear, operands, {}, types));
    const Operand norm_operands[] = {y, norm_sizes};
    const ValueId z =
        emitter->result(emitter->Emit(norm, norm_operands, {}, types));
    x = steps->Add(x, steps->Unary(z));
  }
  for (size_t i = num_layers * kNodesPerLayer; i < num_nodes; ++i) {
    x = steps->Unary(x);
  }
  return x;
}

Program GenerateRegular(const GeneratorOptions& options,
                        std::shared_ptr<Context> context) {
  Frame frame(std::move(context));
  Context& shared = frame.program().context();
  std::vector<ValueId> weights;
  if (options.shape == ProgramShape::kLayers) {
    const TypeId matrix = TensorType(shared, DType::kFloat32, {kWidth, kWidth});
    const TypeId bias = TensorType(shared, DType::kFloat32, {kWidth});
    for (size_t i = 0; i < options.num_nodes / kNodesPerLayer; ++i) {
      const std::string layer = "layers." + std::to_string(i);
      const int64_t start = static_cast<int64_t>(i);
      weights.push_back(frame.AddState(StateKind::kParameter, layer + ".weight",
                                       matrix, start));
      weights.push_back(
          frame.AddState(StateKind::kParameter, layer + ".bias", bias, start));
    }
  }
  Emitter emitter(&frame.program(), Program::kRoot);
  Steps steps(&emitter, options.seed);
  const ValueId x = frame.AddUserInput("x", steps.type(), false);
  const bool has_y = options.shape != ProgramShape::kLayers;
  const ValueId y = has_y ? frame.AddUserInput("y", steps.type(), false) : x;
  const size_t n = options.num_nodes;
  ValueId out;
  switch (options.shape) {
    case ProgramShape::kChain:
    case ProgramShape::kRandom:
      out = Chain(n, x, y, &steps);
      break;
    case ProgramShape::kDiamond:
      out = Diamond(n, x, y, &steps);
      break;
    case ProgramShape::kWide:
      out = Wide(n, x, y, &steps);
      break;
    case ProgramShape::kLayers:
      out = Layers(n, x, weights, &emitter, &steps);
      break;
  }
  const Operand outputs[] = {out};
  frame.Finish({}, outputs, TreeSpec::Leaf());
  return frame.Take();
}

}  // namespace

std::string_view Name(ProgramShape shape) {
  return kShapeNames[static_cast<size_t>(shape)].name;
}

std::optional<ProgramShape> FindProgramShape(std::string_view name) {
  for (const ShapeName& s : kShapeNames) {
    if (s.name == name) return s.shape;
  }
  return std::nullopt;
}

Program GenerateProgram(const GeneratorOptions& options,
                        std::shared_ptr<Context> context) {
  if (options.shape != ProgramShape::kRandom) {
    return GenerateRegular(options, std::move(context));
  }
  Choices choices(options.seed);
  return GenerateRandomProgram(options, &choices, std::move(context));
}

Program GenerateProgram(const GeneratorOptions& options, Bytes bytes,
                        std::shared_ptr<Context> context) {
  Choices choices(bytes);
  return GenerateRandomProgram(options, &choices, std::move(context));
}

}  // namespace tenon::testing
