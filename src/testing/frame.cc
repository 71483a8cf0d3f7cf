#include "testing/frame.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace tenon::testing {
namespace {

InputKind KindOf(StateKind kind) {
  switch (kind) {
    case StateKind::kParameter:
      return InputKind::kParameter;
    case StateKind::kPersistentBuffer:
    case StateKind::kNonPersistentBuffer:
      return InputKind::kBuffer;
    case StateKind::kConstant:
      return InputKind::kConstantTensor;
    case StateKind::kObject:
      return InputKind::kObject;
  }
  return InputKind::kConstantTensor;
}

template <typename T>
void Fill(std::span<std::byte> bytes, int64_t start, double scale) {
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    const int64_t step = (start + static_cast<int64_t>(i)) % 17 - 8;
    const T value = static_cast<T>(static_cast<double>(step) * scale);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

// Small numbers around zero, all exact in binary: k/64 for floats, 0 to 3 for
// integers, which so can serve as indices.
void FillElements(std::span<std::byte> bytes, DType dtype, int64_t start) {
  if (dtype == DType::kFloat32) {
    Fill<float>(bytes, start, 1.0 / 64);
  } else if (dtype == DType::kFloat64) {
    Fill<double>(bytes, start, 1.0 / 64);
  } else if (dtype == DType::kInt64) {
    for (size_t i = 0; i + sizeof(int64_t) <= bytes.size();
         i += sizeof(int64_t)) {
      const int64_t value = (start + static_cast<int64_t>(i)) / 8 % 4;
      std::memcpy(bytes.data() + i, &value, sizeof value);
    }
  }
}

}  // namespace

Frame::Frame(std::shared_ptr<Context> context) : program_(std::move(context)) {
  program_.AddGraph("main");
}

ValueId Frame::AddState(StateKind kind, std::string_view fqn, TypeId type,
                        int64_t start) {
  Context& context = program_.context();
  Type stored = context.types.get(type);
  int64_t count = 1;
  for (const SymInt& size : stored.sizes) count *= size.value;
  const auto bytes = std::make_shared<std::vector<std::byte>>(
      static_cast<size_t>(count) * SizeBytes(stored.dtype));
  FillElements(*bytes, stored.dtype, start);

  stored.requires_grad =
      kind == StateKind::kParameter && IsFloating(stored.dtype);
  StateEntry entry;
  entry.fqn = context.Intern(fqn);
  entry.kind = kind;
  entry.type = context.types.Intern(stored);
  entry.is_param = kind == StateKind::kParameter;
  entry.storage = program_.state.AddStorage({Bytes(*bytes), bytes, false});
  const StateId state = program_.state.Add(entry);
  program_.signature.inputs.push_back({KindOf(kind), state, false});

  std::string label(kind == StateKind::kParameter  ? "p_"
                    : kind == StateKind::kConstant ? "c_"
                                                   : "b_");
  label += fqn;
  std::replace(label.begin(), label.end(), '.', '_');
  return program_.AddInput(Program::kRoot, entry.type, context.Intern(label));
}

ValueId Frame::AddUserInput(std::string_view name, TypeId type,
                            bool is_keyword) {
  (is_keyword ? keyword_ : positional_).emplace_back(name);
  program_.signature.inputs.push_back({});
  return program_.AddInput(Program::kRoot, type,
                           program_.context().Intern(name));
}

StateId Frame::state_of(ValueId input) const {
  return program_.signature.inputs[program_.value(input).index].state;
}

void Frame::Finish(std::span<const Mutation> mutations,
                   std::span<const Operand> outputs, const TreeSpec& out_spec) {
  std::vector<Operand> all;
  for (const Mutation& m : mutations) {
    const StateId state = state_of(m.target);
    OutputSpec spec;
    spec.kind = state.valid() ? OutputKind::kBufferMutation
                              : OutputKind::kUserInputMutation;
    spec.state = state;
    if (!state.valid()) spec.input = program_.value(m.target).index;
    program_.signature.outputs.push_back(spec);
    all.emplace_back(m.value);
  }
  for (const Operand& output : outputs) {
    program_.signature.outputs.push_back({});
    all.push_back(output);
  }
  Emitter(&program_, Program::kRoot).Return(all);

  const std::vector<TreeSpec> leaves(positional_.size());
  program_.in_spec = TreeSpec::Tuple(
      {TreeSpec::Tuple(leaves),
       TreeSpec::Dict(keyword_, std::vector<TreeSpec>(keyword_.size()))});
  program_.out_spec = out_spec;
  program_.forward_arg_names = positional_;
  program_.forward_arg_names.insert(program_.forward_arg_names.end(),
                                    keyword_.begin(), keyword_.end());
  program_.has_forward_arg_names = true;
}

}  // namespace tenon::testing
