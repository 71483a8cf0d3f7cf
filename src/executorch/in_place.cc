#include "executorch/in_place.h"

#include <algorithm>
#include <string_view>

namespace tenon::executorch {
namespace {

constexpr std::string_view kView = "aten.view_copy.default";

// Kernels that go through the elements one by one.
constexpr std::string_view kElementwise[] = {
    "aten.add.Tensor",      "aten.add.Scalar",          "aten.sub.Tensor",
    "aten.sub.Scalar",      "aten.mul.Tensor",          "aten.mul.Scalar",
    "aten.div.Tensor",      "aten.div.Scalar",          "aten.neg.default",
    "aten.relu.default",    "aten.clamp.default",       "aten.maximum.default",
    "aten.minimum.default", "aten.sigmoid.default",     "aten.tanh.default",
    "aten.exp.default",     "aten.logical_not.default",
};
constexpr std::string_view kIndexPut = "aten.index_put.default";

// The root's input that a mutation output writes; invalid for other outputs.
ValueId TargetOf(const Program& program, const OutputSpec& spec) {
  if (!IsMutation(spec)) return ValueId();
  const auto& inputs = program.signature.inputs;
  if (!spec.state.valid()) {
    return spec.input < inputs.size() ? program.root().inputs[spec.input]
                                      : ValueId();
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].state == spec.state) return program.root().inputs[i];
  }
  return ValueId();
}

// What `v` is a view of, through all views.
ValueId RootOf(const Program& program, ValueId v) {
  while (program.value(v).def.valid()) {
    const NodeId n = program.value(v).def;
    if (program.node(n).kind != NodeKind::kOp || program.op_name(n) != kView) {
      break;
    }
    v = program.args(n)[0].value();
  }
  return v;
}

class InPlaceFinder {
 public:
  explicit InPlaceFinder(const Program& program) : program_(program) {
    place_.resize(program.num_values());
    position_.resize(program.num_nodes(), 0);
    uint32_t at = 0;
    for (const NodeId n : program.nodes(Program::kRoot)) {
      position_[n.index] = ++at;
    }
  }

  std::vector<ValueId> Find() {
    const auto outputs = program_.outputs(Program::kRoot);
    for (size_t k = 0; k < outputs.size(); ++k) {
      const ValueId target = TargetOf(program_, program_.signature.outputs[k]);
      if (!target.valid() || !outputs[k].is_value()) continue;
      std::vector<ValueId> chain;
      if (Fits(outputs[k].value(), target, &chain)) {
        for (const ValueId v : chain) place_[v.index] = target;
      }
    }
    return std::move(place_);
  }

 private:
  // Whether `v` can be computed in the place of `target`; adds to `chain` what
  // lies there then.
  bool Fits(ValueId v, ValueId target, std::vector<ValueId>* chain) {
    const NodeId n = program_.value(v).def;
    if (v == target || !n.valid() || place_[v.index].valid()) return false;
    const Type &a = program_.type(v), &b = program_.type(target);
    if (a.dtype != b.dtype || a.sizes != b.sizes || !a.has_static_sizes()) {
      return false;
    }
    // A delegate's steps are its own matter, so that it must not read what it
    // writes over.
    if (program_.node(n).kind == NodeKind::kDelegateCall) {
      if (!IsReadBefore(target, n, false)) return false;
      chain->push_back(v);
      return true;
    }
    if (program_.node(n).kind != NodeKind::kOp ||
        program_.schema(n) == nullptr || program_.op_name(n) == kView ||
        program_.node(n).results.count != 1) {
      return false;
    }
    const auto args = program_.args(n);
    const ValueId self =
        !args.empty() && args[0].is_value() ? args[0].value() : ValueId();
    const bool may_overwrite = WritesOverSelf(program_.op_name(n)) &&
                               self.valid() &&
                               program_.type(self).dtype == a.dtype &&
                               program_.type(self).sizes == a.sizes;
    // A chain of updates, each over the one before.
    if (may_overwrite && self != target && program_.op_name(n) == kIndexPut) {
      std::vector<ValueId> before;
      if (IsReadBefore(self, n, true) && Fits(self, target, &before)) {
        chain->insert(chain->end(), before.begin(), before.end());
        chain->push_back(v);
        return true;
      }
    }
    if (!IsReadBefore(target, n, may_overwrite && self == target)) return false;
    chain->push_back(v);
    return true;
  }

  // Whether `v` and its views are read by nodes before `n` only, or also by `n`
  // as its first argument.
  bool IsReadBefore(ValueId v, NodeId n, bool or_by_n) {
    bool holds = true;
    program_.ForEachUse(v, [&](UseId u) {
      const NodeId user = program_.use(u).user;
      if (user == n) {
        uint32_t count = 0;
        program_.ForEachOperand(n, [&](ValueId o) {
          count += RootOf(program_, o) == RootOf(program_, v);
        });
        holds = holds && or_by_n && count == 1;
        return;
      }
      const uint32_t at = position_[user.index];
      if (at == 0 || at >= position_[n.index]) {
        // Its own mutation output reads the new state, not the old one.
        holds = false;
        return;
      }
      if (program_.node(user).kind == NodeKind::kOp &&
          program_.op_name(user) == kView) {
        const ValueId view = program_.node(user).results[0];
        holds = holds && IsReadBefore(view, n, false);
      }
    });
    return holds;
  }

  const Program& program_;
  std::vector<ValueId> place_;
  std::vector<uint32_t> position_;  // by node, from 1; 0: not in the root
};

}  // namespace

bool IsMutation(const OutputSpec& spec) {
  return spec.kind == OutputKind::kBufferMutation ||
         spec.kind == OutputKind::kParameterMutation ||
         spec.kind == OutputKind::kUserInputMutation;
}

bool WritesOverSelf(std::string_view op) {
  return op == kIndexPut ||
         std::find(std::begin(kElementwise), std::end(kElementwise), op) !=
             std::end(kElementwise);
}

std::vector<ValueId> FindInPlace(const Program& program) {
  return InPlaceFinder(program).Find();
}

void CopyOldState(Program* program) {
  const NodeId output = program->root().output;
  const size_t count = program->signature.outputs.size();
  std::vector<ValueId> written;
  for (size_t k = 0; k < count; ++k) {
    const ValueId target = TargetOf(*program, program->signature.outputs[k]);
    const Arg& arg = program->outputs(Program::kRoot)[k];
    if (target.valid() && arg.is_value() && arg.value() != target) {
      written.push_back(target);
    }
  }
  if (written.empty()) return;
  for (uint32_t k = 0; k < count; ++k) {
    const ArgId at = program->node(output).args[k];
    const Arg arg = program->arg(at);
    if (!arg.is_value() || !program->type(arg.value()).is_tensor()) continue;
    const ValueId root = RootOf(*program, arg.value());
    if (std::find(written.begin(), written.end(), root) == written.end()) {
      continue;
    }
    if (TargetOf(*program, program->signature.outputs[k]) == arg.value()) {
      continue;
    }
    const NodeId copy = program->NewOp(
        program->context().InternOp("aten.clone.default"), StringId());
    const ArgRange args = program->NewArgs(1);
    program->SetArgRange(copy, args);
    program->SetArgLabel(args[0], program->context().Intern("self"),
                         PassKind::kPositional);
    program->SetValueArg(args[0], copy, arg.value());
    const ValueId result = program->NewResults(copy, 1)[0];
    program->mutable_value(result).type = program->value(arg.value()).type;
    program->InsertBefore(Program::kRoot, output, copy);
    program->SetValueArg(at, output, result);
  }
}

}  // namespace tenon::executorch
