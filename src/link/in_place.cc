#include "link/in_place.h"

#include <vector>

#include "analysis/origins.h"

namespace tenon {
namespace {

bool IsMutation(OutputKind kind) {
  return kind == OutputKind::kBufferMutation ||
         kind == OutputKind::kParameterMutation ||
         kind == OutputKind::kUserInputMutation;
}

ValueId TargetOf(const Program& program, const OutputSpec& spec) {
  const auto& inputs = program.root().inputs;
  if (spec.input < inputs.size()) return inputs[spec.input];
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (spec.state.valid() && program.signature.inputs[i].state == spec.state) {
      return inputs[i];
    }
  }
  return ValueId();
}

// op(values...) at the end of the root graph.
ValueId AppendCall(Program* program, std::string_view op,
                   std::initializer_list<std::string_view> parameters,
                   std::initializer_list<ValueId> values) {
  Context& context = program->context();
  const NodeId n = program->NewOp(context.InternOp(op), StringId());
  const ArgRange args = program->NewArgs(static_cast<uint32_t>(values.size()));
  program->SetArgRange(n, args);
  for (uint32_t i = 0; i < args.count; ++i) {
    program->SetArgLabel(args[i], context.Intern(parameters.begin()[i]),
                         PassKind::kPositional);
    program->SetValueArg(args[i], n, values.begin()[i]);
  }
  const ValueId result = program->NewResults(n, 1)[0];
  program->mutable_value(result).type = program->value(values.begin()[0]).type;
  program->mutable_value(result).name = program->value(values.begin()[0]).name;
  program->Append(Program::kRoot, n);
  return result;
}

}  // namespace

void WriteMutationsInPlace(Program* program) {
  struct Write {
    ValueId target, value;
  };
  std::vector<Write> writes;
  std::vector<OutputSpec> specs;
  std::vector<Arg> outputs;
  const Origins origins(*program, Program::kRoot);
  const auto before = program->outputs(Program::kRoot);
  for (size_t i = 0; i < before.size(); ++i) {
    const OutputSpec& spec = program->signature.outputs[i];
    if (!IsMutation(spec.kind)) {
      specs.push_back(spec);
      outputs.push_back(before[i]);
      continue;
    }
    const ValueId target = TargetOf(*program, spec);
    const ValueId value = before[i].value();
    const Origin origin = origins.of(value);
    if (origin.value == target && origin.is_whole) continue;
    writes.push_back({target, value});
  }
  if (specs.size() == before.size()) return;
  // What is read back or returned must not see the writes that follow: values
  // that are written later are copied first.
  for (Write& w : writes) {
    for (const Write& other : writes) {
      if (origins.of(w.value).value == other.target) {
        w.value =
            AppendCall(program, "aten.clone.default", {"self"}, {w.value});
        break;
      }
    }
  }
  for (Arg& output : outputs) {
    for (const Write& w : writes) {
      if (!output.is_value() || origins.of(output.v.value).value != w.target) {
        continue;
      }
      output.v.value =
          AppendCall(program, "aten.clone.default", {"self"}, {output.v.value});
      break;
    }
  }
  for (const Write& w : writes) {
    AppendCall(program, "aten.copy_.default", {"self", "src"},
               {w.target, w.value});
  }
  const NodeId output_node = program->root().output;
  const ArgRange args = program->NewArgs(static_cast<uint32_t>(outputs.size()));
  for (uint32_t i = 0; i < args.count; ++i) {
    if (outputs[i].is_value()) {
      program->SetValueArg(args[i], output_node, outputs[i].v.value);
    } else {
      program->SetArg(args[i], outputs[i]);
    }
  }
  program->SetOutputs(Program::kRoot, args);
  program->signature.outputs = std::move(specs);
}

}  // namespace tenon
