#include "lower/functionalize.h"

#include <string>
#include <utility>
#include <vector>

#include "analysis/effects.h"
#include "lower/live_graphs.h"
#include "lower/node_builder.h"
#include "lower/view_inverse.h"

namespace tenon::lower {
namespace {

// "aten.add_.Tensor" -> "aten.add.Tensor"; "" when the name isn't in place.
std::string FunctionalName(std::string_view op) {
  const size_t dot = op.rfind('.');
  if (dot == std::string_view::npos || dot < 2 || op[dot - 1] != '_' ||
      op[dot - 2] == '_') {
    return "";
  }
  return std::string(op.substr(0, dot - 1)) + std::string(op.substr(dot));
}

// What is known of a value as a name of some storage.
struct Alias {
  ValueId base;    // the first name of the storage
  ValueId parent;  // what it was taken from; invalid for the base
  NodeId view;     // by which node; invalid where both are the same tensor
  uint32_t result = 0;
  ValueId current;       // what stands for it now
  uint32_t version = 0;  // of the storage when `current` was found
  bool is_certain = true;
};

// batch_norm(input, weight, bias, mean, var, training, momentum, eps, cudnn):
// in training it moves the running statistics, which its schema doesn't say.
constexpr uint32_t kMean = 3, kVar = 4, kTraining = 5, kEps = 7;

bool IsTrainingBatchNorm(const Program& program, NodeId n) {
  if (program.node(n).kind != NodeKind::kOp ||
      program.op_name(n) != "aten.batch_norm.default") {
    return false;
  }
  const auto args = program.args(n);
  return args.size() > kEps && args[kMean].is_value() &&
         args[kVar].is_value() && args[kTraining].kind == ArgKind::kBool &&
         args[kTraining].i != 0;
}

class GraphFunctionalizer {
 public:
  GraphFunctionalizer(Program* program, GraphId graph, Diagnostics& diags)
      : program_(*program), graph_(graph), diags_(diags) {}

  Status Run() {
    for (const ValueId v : program_.graph(graph_).inputs) AddBase(v);
    std::vector<NodeId> nodes;
    for (const NodeId n : program_.nodes(graph_)) nodes.push_back(n);
    for (const NodeId n : nodes) {
      TENON_TRY(ReadCurrent(n));
      if (program_.node(n).kind == NodeKind::kOutput) break;
      if (IsTrainingBatchNorm(program_, n)) {
        TENON_TRY(WriteStatistics(n));
      } else {
        TENON_TRY(IsInPlace(n) ? Write(n) : Define(n));
      }
    }
    if (graph_ == Program::kRoot) {
      TENON_TRY(StateOutputs());
    } else {
      TENON_TRY(CheckInputsUnwritten());
    }
    for (size_t i = erased_.size(); i-- > 0;) {
      const ValueRange results = program_.node(erased_[i]).results;
      for (uint32_t k = 0; k < results.count; ++k) {
        if (program_.value(results[k]).num_uses > 0) {
          return Refuse(erased_[i], "it is read in a way that isn't known");
        }
      }
      program_.Erase(graph_, erased_[i]);
    }
    return {};
  }

 private:
  Failure Refuse(NodeId n, const std::string& why) {
    return diags_.Error(Rule::kUnsupported,
                        Place::Node(program_.Describe(graph_, n)))
           << "the write by '" << program_.op_name(n)
           << "' can't be made a result: " << why;
  }

  Alias& Of(ValueId v) {
    if (v.index >= aliases_.size()) aliases_.resize(v.index + 1);
    if (!aliases_[v.index].base.valid()) AddBase(v);
    return aliases_[v.index];
  }
  void AddBase(ValueId v) {
    if (v.index >= aliases_.size()) aliases_.resize(v.index + 1);
    Alias alias;
    alias.base = v;
    alias.current = v;
    aliases_[v.index] = alias;
    if (v.index >= versions_.size()) versions_.resize(v.index + 1, 0);
  }
  uint32_t VersionOf(ValueId base) const {
    return base.index < versions_.size() ? versions_[base.index] : 0;
  }

  // detach_ writes nothing but autograd's books.
  bool IsInPlace(NodeId n) const {
    const OpSchema* schema = program_.schema(n);
    return program_.node(n).kind == NodeKind::kOp && schema != nullptr &&
           schema->is_mutating() &&
           program_.op_name(n) != "aten.detach_.default";
  }

  // Operands that were written since become what they are now.
  Status ReadCurrent(NodeId n) {
    std::vector<ArgId> places;
    program_.ForEachArg(program_.node(n).args, [&](const Arg& a, ArgId id) {
      if (a.is_value()) places.push_back(id);
    });
    for (const ArgId id : places) {
      const ValueId v = program_.arg(id).value();
      const ValueId now = Current(v, n);
      if (!now.valid()) {
        return Refuse(n,
                      "it reads a tensor that may or may not share what was "
                      "written");
      }
      if (now != v) program_.SetValueArg(id, n, now);
    }
    return {};
  }

  // What stands for `v` before node `user`; invalid when that isn't known.
  ValueId Current(ValueId v, NodeId user) {
    const uint32_t version = VersionOf(Of(v).base);
    if (Of(v).version == version) return Of(v).current;
    const Alias alias = Of(v);
    if (!alias.is_certain) return ValueId();
    const ValueId parent = Current(alias.parent, user);
    if (!parent.valid()) return ValueId();
    ValueId now = parent;
    if (alias.view.valid()) {
      const NodeId again = program_.NewNode(NodeKind::kOp);
      const Node view = program_.node(alias.view);
      Node& node = program_.mutable_node(again);
      node.op = view.op;
      node.form = view.form;
      node.metadata = view.metadata;
      node.region = view.region;
      const ArgRange args = program_.NewArgs(view.args.count);
      program_.SetArgRange(again, args);
      for (uint32_t i = 0; i < args.count; ++i) {
        program_.CopyArg(view.args[i], args[i], again);
      }
      program_.SetValueArg(args[0], again, parent);
      const ValueRange results = program_.NewResults(again, view.results.count);
      for (uint32_t i = 0; i < results.count; ++i) {
        program_.mutable_value(results[i]).type =
            program_.value(view.results[i]).type;
      }
      program_.InsertBefore(graph_, user, again);
      now = results[alias.result];
      Note(v, now, version);
    }
    Of(v).current = now;
    Of(v).version = version;
    return now;
  }

  // Results of a node that writes nothing.
  Status Define(NodeId n) {
    const Node node = program_.node(n);
    if (node.kind != NodeKind::kOp) return {};
    const ViewKind kind = ViewKindOf(program_, n);
    if (kind == ViewKind::kNone) return {};
    if (node.args.count == 0 || !program_.arg(node.args[0]).is_value()) {
      return {};
    }
    const ValueId operand = program_.arg(node.args[0]).value();
    // The operand may be what stands for a tensor that was written: then that
    // is what the view is of.
    const ValueId parent = TargetOf(operand);
    for (uint32_t i = 0; i < node.results.count; ++i) {
      Alias alias;
      alias.base = Of(parent).base;
      alias.parent = parent;
      if (kind != ViewKind::kIdentity) alias.view = n;
      alias.result = i;
      alias.current = kind == ViewKind::kIdentity ? operand : node.results[i];
      alias.version = VersionOf(alias.base);
      alias.is_certain = kind != ViewKind::kUnknown;
      Of(node.results[i]) = alias;
    }
    if (kind == ViewKind::kIdentity) {
      // It is its operand from here on; what reads it finds that in `current`.
      erased_.push_back(n);
    }
    return {};
  }

  Status Write(NodeId n) {
    const Node node = program_.node(n);
    const OpSchema& schema = *program_.schema(n);
    const std::string name = FunctionalName(schema.name);
    if (name.empty() || FindSchema(name) == nullptr || schema.args.empty() ||
        !schema.args[0].is_written || node.args.count == 0 ||
        !program_.arg(node.args[0]).is_value() || node.results.count > 1) {
      return Refuse(n, "the operator has no form with a result");
    }
    for (size_t i = 1; i < schema.args.size(); ++i) {
      if (schema.args[i].is_written) {
        return Refuse(n, "it writes more than one argument");
      }
    }
    const ValueId operand = program_.arg(node.args[0]).value();
    const ValueId target = TargetOf(operand);
    if (!Of(target).is_certain) {
      return Refuse(n, "it may or may not write a view");
    }
    NodeBuilder build(&program_, graph_, n);
    std::vector<Operand> operands;
    const NodeId made =
        program_.NewOp(program_.context().InternOp(name), StringId());
    program_.mutable_node(made).metadata = node.metadata;
    program_.mutable_node(made).region = node.region;
    const ArgRange args = program_.NewArgs(node.args.count);
    program_.SetArgRange(made, args);
    // The two operators may call their parameters differently.
    const OpSchema& functional = *FindSchema(name);
    for (uint32_t i = 0; i < args.count; ++i) {
      program_.CopyArg(node.args[i], args[i], made);
      const int at = schema.FindArg(
          std::string(program_.view(program_.arg(args[i]).name)));
      if (at < 0 || static_cast<size_t>(at) >= functional.args.size()) continue;
      program_.SetArgLabel(args[i],
                           program_.context().Intern(
                               functional.args[static_cast<size_t>(at)].name),
                           program_.arg(args[i]).pass);
    }
    const ValueId written = program_.NewResults(made, 1)[0];
    program_.mutable_value(written).type = build.TypeLike(operand);
    program_.InsertBefore(graph_, n, made);
    TENON_TRY(SetCurrent(target, written, n, &build));
    if (node.results.count == 1) {
      Alias alias;
      alias.base = Of(target).base;
      alias.parent = target;
      alias.current = written;
      alias.version = VersionOf(alias.base);
      Of(node.results[0]) = alias;
    }
    erased_.push_back(n);
    return {};
  }

  // The tensor that a node's operand stands for.
  ValueId TargetOf(ValueId operand) const {
    return operand.index < name_of_.size() && name_of_[operand.index].valid()
               ? name_of_[operand.index]
               : operand;
  }

  Status WriteStatistics(NodeId n) {
    const Node node = program_.node(n);
    NodeBuilder build(&program_, graph_, n);
    std::vector<Operand> operands;
    for (uint32_t i = 0; i <= kEps; ++i) {
      operands.emplace_back(program_.arg(node.args[i]));
    }
    const ValueId mean = operands[kMean].value, var = operands[kVar].value;
    const TypeId row = build.TypeLike(mean);
    const TypeId types[] = {build.TypeLike(node.results[0]), row, row, row,
                            build.TypeLike(var)};
    const auto results =
        build.CallMany("aten._native_batch_norm_legit_functional.default",
                       std::move(operands), types);
    program_.ReplaceAllUses(node.results[0], results[0]);
    TENON_TRY(SetCurrent(TargetOf(mean), results[3], n, &build));
    TENON_TRY(SetCurrent(TargetOf(var), results[4], n, &build));
    erased_.push_back(n);
    return {};
  }

  // `target` is `written` now, and so is all that it is a view of.
  Status SetCurrent(ValueId target, ValueId written, NodeId n,
                    NodeBuilder* build) {
    const ValueId base = Of(target).base;
    if (base.index >= versions_.size()) versions_.resize(base.index + 1, 0);
    // The parents' values before the write, while they can still be had.
    std::vector<std::pair<ValueId, ValueId>> chain;
    for (ValueId v = target; Of(v).parent.valid(); v = Of(v).parent) {
      const ValueId before = Current(Of(v).parent, n);
      if (!before.valid()) return Refuse(n, "it writes a view of a view");
      chain.emplace_back(v, before);
    }
    const uint32_t version = ++versions_[base.index];
    Note(target, written, version);
    for (const auto& [view, before] : chain) {
      const Alias alias = Of(view);
      if (alias.view.valid()) {
        const auto back =
            PutBack(*build, alias.view, alias.result, before, written);
        if (!back) {
          return Refuse(n, "what '" +
                               std::string(program_.op_name(alias.view)) +
                               "' shows can't be written back");
        }
        written = *back;
      }
      Note(alias.parent, written, version);
    }
    return {};
  }

  void Note(ValueId v, ValueId current, uint32_t version) {
    Of(v).current = current;
    Of(v).version = version;
    if (current.index >= name_of_.size()) name_of_.resize(current.index + 1);
    name_of_[current.index] = v;
  }

  // Mutation outputs of inputs that were written give what they are now.
  Status StateOutputs() {
    const NodeId output = program_.root().output;
    const auto& inputs = program_.signature.inputs;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      const ValueId input = program_.root().inputs[i];
      if (VersionOf(input) == 0) continue;
      const ValueId now = Current(input, output);
      bool is_declared = false;
      for (uint32_t k = 0; k < program_.signature.outputs.size(); ++k) {
        const OutputSpec& o = program_.signature.outputs[k];
        const bool is_mutation = o.kind == OutputKind::kBufferMutation ||
                                 o.kind == OutputKind::kParameterMutation ||
                                 o.kind == OutputKind::kUserInputMutation;
        const bool is_target = inputs[i].state.valid()
                                   ? o.state == inputs[i].state
                                   : !o.state.valid() && o.input == i;
        if (!is_mutation || !is_target) continue;
        is_declared = true;
        program_.SetValueArg(program_.node(output).args[k], output, now);
      }
      if (!is_declared) {
        return diags_.Error(Rule::kUnsupported,
                            Place::Node(program_.Describe(graph_, output)))
               << "a constant of the program is written, which no signature "
                  "can say";
      }
    }
    return {};
  }

  Status CheckInputsUnwritten() {
    for (const ValueId input : program_.graph(graph_).inputs) {
      if (VersionOf(input) == 0) continue;
      return diags_.Error(Rule::kUnsupported,
                          Place::Node(std::string(
                              program_.view(program_.graph(graph_).name))))
             << "a graph under control flow writes what it was given";
    }
    return {};
  }

  Program& program_;
  const GraphId graph_;
  Diagnostics& diags_;
  std::vector<Alias> aliases_;      // by value
  std::vector<uint32_t> versions_;  // by base value: how often it was written
  std::vector<ValueId> name_of_;    // by value: the tensor that it stands for
  std::vector<NodeId> erased_;
};

}  // namespace

Status Functionalize(Program* program, Diagnostics& diags) {
  for (const GraphId g : LiveGraphs(*program)) {
    bool writes = false;
    for (const NodeId n : program->nodes(g)) {
      const OpSchema* schema =
          program->node(n).kind == NodeKind::kOp ? program->schema(n) : nullptr;
      if (schema != nullptr && schema->is_mutating()) writes = true;
      if (IsTrainingBatchNorm(*program, n)) writes = true;
    }
    if (!writes) continue;
    TENON_TRY(GraphFunctionalizer(program, g, diags).Run());
  }
  return {};
}

}  // namespace tenon::lower
