#include "testing/random_program.h"

#include <string>
#include <utility>
#include <vector>

#include "testing/frame.h"
#include "testing/scene.h"

namespace tenon::testing {
namespace {

// Sizes that recur, so that many values fit each other.
struct Sizes {
  SymInt batch;  // a symbol, or a number
  SymInt a, b;
};

Sizes ChooseSizes(Program* program, Choices* choices) {
  Sizes sizes;
  sizes.a = SymInt::Literal(choices->Between(2, 4));
  sizes.b = SymInt::Literal(choices->Between(2, 4));
  if (!choices->OneIn(2)) {
    sizes.batch = SymInt::Literal(choices->Between(1, 5));
    return sizes;
  }
  constexpr int64_t kHint = 5;
  const ExprId s0 =
      program->context().exprs.Symbol("s0", "positive=True, integer=True");
  sizes.batch = SymInt::Symbolic(s0, kHint);
  program->ranges.push_back({s0, "s0", 2, 64});
  return sizes;
}

TypeId ChooseTensorType(const Scene& s, const Sizes& sizes) {
  constexpr DType kKinds[] = {DType::kFloat32, DType::kFloat32, DType::kFloat32,
                              DType::kFloat64, DType::kInt64,   DType::kBool};
  const DType dtype = s.choices.PickFrom(std::span(kKinds));
  switch (s.choices.Below(5)) {
    case 0:
      return s.RowMajor(dtype, {sizes.batch, sizes.a});
    case 1:
      return s.RowMajor(dtype, {sizes.a, sizes.b});
    case 2:
      return s.RowMajor(dtype, {sizes.b});
    case 3:
      return s.RowMajor(dtype, {sizes.batch, sizes.b, sizes.a});
    default:
      return s.RowMajor(dtype, {});
  }
}

// None, True, 3, 0.5, "mean": fixed at export.
TypeId ChooseLiteralType(const Scene& s) {
  Type t;
  switch (s.choices.Below(5)) {
    case 0:
      t.kind = TypeKind::kNone;
      break;
    case 1:
      t.kind = TypeKind::kBool;
      t.sym = SymInt::Literal(1);
      break;
    case 2:
      t.kind = TypeKind::kInt;
      t.sym = SymInt::Literal(3);
      break;
    case 3:
      t.kind = TypeKind::kFloat;
      t.real = 0.5;
      break;
    default:
      t.kind = TypeKind::kString;
      t.text = s.context().Intern("mean");
      break;
  }
  return s.Intern(std::move(t));
}

class RandomProgram {
 public:
  RandomProgram(const GeneratorOptions& options, Choices* choices,
                std::shared_ptr<Context> context)
      : options_(options),
        choices_(*choices),
        frame_(std::move(context)),
        scene_(&frame_.program(), Program::kRoot, choices),
        sizes_(ChooseSizes(&frame_.program(), choices)) {}

  Program Generate() {
    AddState();
    AddUserInputs();
    if (options_.with_child_calls) scene_.children = &children_;
    ExtendScene(scene_, options_.num_nodes);
    Finish();
    return frame_.Take();
  }

 private:
  void AddState() {
    const auto add = [&](StateKind kind, std::string_view stem, TypeId type) {
      const std::string fqn = std::string(stem) + std::to_string(num_state_);
      const ValueId v =
          frame_.AddState(kind, fqn, type, static_cast<int64_t>(num_state_++));
      scene_.tensors.push_back(v);
      return v;
    };
    const TypeId matrix =
        scene_.RowMajor(DType::kFloat32, {sizes_.a, sizes_.a});
    const TypeId row = scene_.RowMajor(DType::kFloat32, {sizes_.a});
    if (choices_.OneIn(2)) add(StateKind::kParameter, "linear.weight", matrix);
    if (choices_.OneIn(2)) add(StateKind::kParameter, "linear.bias", row);
    if (choices_.OneIn(2)) {
      targets_.push_back(add(StateKind::kPersistentBuffer, "cache", matrix));
    }
    if (choices_.OneIn(3)) {
      targets_.push_back(add(StateKind::kNonPersistentBuffer, "scratch", row));
    }
    if (choices_.OneIn(3)) {
      const TypeId ids = scene_.RowMajor(DType::kInt64, {sizes_.b});
      add(StateKind::kConstant, "lifted_tensor_", ids);
    }
  }

  void AddUserInputs() {
    // At least one float tensor, on which every recipe can fall back.
    const TypeId first =
        scene_.RowMajor(DType::kFloat32, {sizes_.batch, sizes_.a});
    AddUserInput(first, false);
    const int64_t num_more = choices_.Between(0, 3);
    for (int64_t i = 0; i < num_more; ++i) {
      AddUserInput(ChooseTensorType(scene_, sizes_), false);
    }
    if (choices_.OneIn(4)) AddUserInput(ChooseLiteralType(scene_), false);
    if (choices_.OneIn(3)) AddUserInput(first, true);
    if (choices_.OneIn(4)) AddUserInput(ChooseLiteralType(scene_), true);
  }

  void AddUserInput(TypeId type, bool is_keyword) {
    const ValueId v = frame_.AddUserInput(
        "x" + std::to_string(num_user_inputs_++), type, is_keyword);
    if (scene_.context().types.get(type).is_tensor()) {
      scene_.tensors.push_back(v);
      user_tensors_.push_back(v);
    } else {
      frame_.program().signature.inputs.back().is_constant_input = true;
    }
  }

  // Each target holds a computed value of its own type afterwards.
  std::vector<Frame::Mutation> ChooseMutations() {
    if (choices_.OneIn(4)) targets_.push_back(user_tensors_.back());
    std::vector<Frame::Mutation> mutations;
    for (const ValueId target : targets_) {
      const Type type = scene_.type(target);
      const bool is_float = IsFloating(type.dtype);
      if (!is_float || choices_.OneIn(3)) continue;
      const ValueId value =
          scene_.emit.Emit("aten.add.Tensor", {target, Operand(1)},
                           scene_.Like(type, type.dtype));
      scene_.tensors.push_back(value);
      mutations.push_back({target, value});
    }
    return mutations;
  }

  Operand ChooseOutput() {
    switch (choices_.Below(12)) {
      case 0:
        return Operand();
      case 1:
        return Operand(3);
      case 2:
        return Operand(user_tensors_[0]);
      case 3:
        if (!scene_.sym_ints.empty()) return Operand(scene_.sym_ints[0]);
        break;
      default:
        break;
    }
    const size_t count = scene_.tensors.size();
    const uint32_t recent = static_cast<uint32_t>(std::min<size_t>(count, 8));
    return Operand(scene_.tensors[count - 1 - choices_.Below(recent)]);
  }

  void Finish() {
    const std::vector<Frame::Mutation> mutations = ChooseMutations();
    // The newest value comes first, so that a chain to it stays alive.
    std::vector<Operand> outputs = {Operand(scene_.tensors.back())};
    const int64_t num_more = choices_.Between(0, 3);
    for (int64_t i = 0; i < num_more; ++i) outputs.push_back(ChooseOutput());
    frame_.Finish(mutations, outputs, ChooseOutSpec(outputs.size()));
  }

  TreeSpec ChooseOutSpec(size_t num_outputs) {
    if (num_outputs == 1 && choices_.OneIn(2)) return TreeSpec::Leaf();
    std::vector<TreeSpec> leaves(num_outputs);
    switch (choices_.Below(3)) {
      case 0:
        return TreeSpec::Tuple(std::move(leaves));
      case 1: {
        leaves.pop_back();
        return TreeSpec::List(
            {TreeSpec::Tuple(std::move(leaves)), TreeSpec::Leaf()});
      }
      default: {
        std::vector<std::string> keys;
        for (size_t i = 0; i < num_outputs; ++i) {
          keys.push_back("y" + std::to_string(i));
        }
        return TreeSpec::Dict(keys, std::move(leaves));
      }
    }
  }

  const GeneratorOptions& options_;
  Choices& choices_;
  Frame frame_;
  Scene scene_;
  Sizes sizes_;
  size_t num_state_ = 0;
  size_t num_user_inputs_ = 0;
  std::vector<ValueId> targets_, user_tensors_;
  std::vector<GraphId> children_;
};

}  // namespace

Program GenerateRandomProgram(const GeneratorOptions& options, Choices* choices,
                              std::shared_ptr<Context> context) {
  return RandomProgram(options, choices, std::move(context)).Generate();
}

}  // namespace tenon::testing
