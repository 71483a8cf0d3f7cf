#include "interpreter/evaluator.h"

#include <utility>

#include "interpreter/autocast.h"
#include "ir/call_binding.h"
#include "kernels/kernel.h"

namespace tenon {
namespace {

const OpSchema* SchemaOf(const Program& program, NodeId node) {
  if (const OpSchema* schema = program.schema(node)) return schema;
  return FindCallSchema(program.op_name(node));
}

}  // namespace

Evaluator::Evaluator(const Program& program, const InterpreterOptions& options,
                     Diagnostics& diags)
    : program_(program),
      options_(options),
      diags_(diags),
      slots_(program.num_values(), 0),
      frame_sizes_(program.num_graphs(), 0) {}

void Evaluator::NumberSlots(GraphId graph) {
  uint32_t next = 0;
  for (const ValueId v : program_.graph(graph).inputs) {
    slots_[v.index] = next++;
  }
  for (const NodeId n : program_.nodes(graph)) {
    const ValueRange results = program_.node(n).results;
    for (uint32_t i = 0; i < results.count; ++i) {
      slots_[results[i].index] = next++;
    }
  }
  frame_sizes_[graph.index] = next + 1;
}

DiagnosticBuilder Evaluator::ErrorHere() {
  return diags_.Error(Rule::kRun01,
                      Place::Node(program_.Describe(current_graph_, current_)));
}

Expected<Results> Evaluator::Run(GraphId graph, Results inputs) {
  const Graph& g = program_.graph(graph);
  if (inputs.size() != g.inputs.size()) {
    return diags_.Error(Rule::kRun01,
                        Place::Node(std::string(program_.view(g.name))))
           << "the graph takes " << g.inputs.size() << " inputs, got "
           << inputs.size();
  }
  if (++depth_ > options_.max_depth) {
    return diags_.Error(Rule::kRun01) << "graphs call each other more than "
                                      << options_.max_depth << " deep";
  }
  if (frame_sizes_[graph.index] == 0) NumberSlots(graph);
  Frame frame;
  frame.graph = graph;
  frame.values.resize(frame_sizes_[graph.index]);
  frame.uses_left.resize(frame_sizes_[graph.index]);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = g.inputs[i];
    frame.values[slots_[v.index]] = std::move(inputs[i]);
    frame.uses_left[slots_[v.index]] = program_.value(v).num_uses;
  }
  for (NodeId n = g.first; n != g.output; n = program_.node(n).next) {
    const auto outer = std::exchange(current_, n);
    const auto outer_graph = std::exchange(current_graph_, graph);
    TENON_TRY(RunNode(n, &frame));
    current_ = outer;
    current_graph_ = outer_graph;
  }
  Results outputs;
  for (const Arg& arg : program_.outputs(graph)) {
    outputs.push_back(Read(arg, frame));
  }
  --depth_;
  return outputs;
}

Expected<Results> Evaluator::RunAlone(GraphId graph, NodeId node,
                                      const Results& operands) {
  Frame frame;
  frame.graph = graph;
  uint32_t next = 0;
  program_.ForEachOperand(node, [&](ValueId v) {
    slots_[v.index] = next;
    frame.values.push_back(operands[next++]);
  });
  const ValueRange results = program_.node(node).results;
  for (uint32_t i = 0; i < results.count; ++i) {
    slots_[results[i].index] = next + i;
  }
  frame.values.resize(next + results.count);
  frame.uses_left.resize(next + results.count);
  current_ = node;
  current_graph_ = graph;
  auto returned = CallNode(node, frame);
  if (!returned || !Store(node, std::move(*returned), &frame)) return Failure{};
  return Results(frame.values.begin() + next, frame.values.end());
}

Status Evaluator::RunNode(NodeId node, Frame* frame) {
  if (depth_ == 1 && options_.before_node) options_.before_node(node);
  auto results = CallNode(node, *frame);
  if (!results) return Failure{};
  TENON_TRY(Store(node, std::move(*results), frame));
  if (depth_ == 1 && options_.observer) {
    std::vector<RuntimeValue> seen;
    const ValueRange values = program_.node(node).results;
    for (uint32_t i = 0; i < values.count; ++i) {
      seen.push_back(frame->values[slots_[values[i].index]]);
    }
    options_.observer(node, seen);
  }
  Release(node, frame);
  return {};
}

RuntimeValue Evaluator::Read(const Arg& arg, const Frame& frame) const {
  switch (arg.kind) {
    case ArgKind::kNone:
    case ArgKind::kGraph:
      return {};
    case ArgKind::kValue:
      return frame.values[slots_[arg.v.value.index]];
    case ArgKind::kInt:
      return arg.i;
    case ArgKind::kFloat:
      return arg.f;
    case ArgKind::kBool:
      return arg.i != 0;
    case ArgKind::kString:
      return std::string(program_.view(arg.text));
    case ArgKind::kComplex: {
      const auto parts = program_.args(arg.list);
      return std::complex<double>(parts[0].f, parts[1].f);
    }
    case ArgKind::kDtype:
      return arg.dtype();
    case ArgKind::kLayout:
      return arg.layout();
    case ArgKind::kMemoryFormat:
      return arg.memory_format();
    case ArgKind::kDevice:
      return DeviceValue{std::string(program_.view(arg.device.type)),
                         arg.device.index};
    case ArgKind::kOperator:
      return std::string(program_.context().op_name(arg.op));
    case ArgKind::kObject:
      return std::string(program_.view(arg.object.name));
    case ArgKind::kList:
    case ArgKind::kDict: {
      RuntimeValue::List items;
      for (const Arg& item : program_.args(arg.list)) {
        items.push_back(Read(item, frame));
      }
      return items;
    }
  }
  return {};
}

Expected<Results> Evaluator::CallNode(NodeId node, const Frame& frame) {
  const Node& n = program_.node(node);
  switch (n.kind) {
    case NodeKind::kOp:
      return CallOperator(node, frame);
    case NodeKind::kChildCall:
      return CallChild(node, frame);
    case NodeKind::kDelegateCall: {
      if (options_.delegates == nullptr) {
        return ErrorHere() << "a delegate call, but delegates aren't loaded";
      }
      Results args;
      for (const Arg& arg : program_.args(node)) {
        args.push_back(Read(arg, frame));
      }
      return options_.delegates->Run(n.delegate, args, diags_);
    }
    case NodeKind::kGetState:
      return ErrorHere() << "a state reference that isn't lifted";
    case NodeKind::kOutput:
      break;
  }
  TENON_UNREACHABLE("output nodes are not evaluated");
}

Expected<Results> Evaluator::CallChild(NodeId node, const Frame& frame) {
  const GraphId child = program_.node(node).child;
  const CallBinding binding(program_, node, child);
  for (const BindingFault& fault : binding.faults()) {
    return ErrorHere() << Describe(program_, node, child, fault);
  }
  Results args;
  for (const ArgId at : binding.args()) {
    args.push_back(Read(program_.arg(at), frame));
  }
  return Run(child, std::move(args));
}

// Factories without a dtype argument give PyTorch's default dtype, which was
// another where the program was exported: the recorded type says which.
void Evaluator::UseRecordedDType(NodeId node, const OpSchema& schema,
                                 std::vector<RuntimeValue>* args,
                                 std::vector<bool>* present) const {
  const int dtype = schema.FindArg("dtype");
  const ValueRange results = program_.node(node).results;
  if (dtype < 0 || (*present)[static_cast<size_t>(dtype)] ||
      results.count != 1) {
    return;
  }
  for (const SchemaArg& arg : schema.args) {
    if (arg.type == SchemaType::kTensor) return;
  }
  const Type& type = program_.type(results[0]);
  if (!type.is_tensor() || type.dtype != DType::kFloat64) return;
  (*args)[static_cast<size_t>(dtype)] = type.dtype;
  (*present)[static_cast<size_t>(dtype)] = true;
}

Expected<Results> Evaluator::CallOperator(NodeId node, const Frame& frame) {
  const std::string_view name = program_.op_name(node);
  if (program_.context().op(program_.node(node).op).is_higher_order) {
    HigherOrderCall call;
    call.op = name;
    for (const Arg& arg : program_.args(node)) {
      call.args.push_back(Read(arg, frame));
      call.graphs.push_back(arg.kind == ArgKind::kGraph ? arg.graph
                                                        : GraphId());
    }
    return CallHigherOrder(this, std::move(call));
  }
  const OpSchema* schema = SchemaOf(program_, node);
  const Kernel kernel = FindKernel(name);
  if (schema == nullptr || kernel == nullptr) {
    return diags_.Error(Rule::kUnsupported,
                        Place::Node(program_.Describe(frame.graph, node)))
           << "no reference kernel for operator '" << name << "'";
  }
  std::vector<RuntimeValue> args(schema->args.size());
  std::vector<bool> present(schema->args.size(), false);
  size_t position = 0;
  for (const Arg& arg : program_.args(node)) {
    const std::string_view label = program_.view(arg.name);
    const int found = program_.schema(node) != nullptr && !label.empty()
                          ? schema->FindArg(label)
                          : static_cast<int>(position);
    ++position;
    if (found < 0 || found >= static_cast<int>(args.size())) {
      return ErrorHere() << "'" << name << "' has no parameter '" << label
                         << "'";
    }
    args[static_cast<size_t>(found)] = Read(arg, frame);
    present[static_cast<size_t>(found)] = true;
  }
  UseRecordedDType(node, *schema, &args, &present);
  std::string error;
  if (!CompleteArgs(*schema, &args, present, &error)) {
    return ErrorHere() << error;
  }
  if (autocast != DType::kUnknown) ApplyAutocast(autocast, name, &args);
  KernelCall call(*schema, std::move(args));
  call.generator = options_.generator;
  if (!kernel(call)) return ErrorHere() << call.error();
  return std::move(call.results());
}

Status Evaluator::Store(NodeId node, Results results, Frame* frame) {
  const Node& n = program_.node(node);
  uint32_t next = 0;
  const auto put = [&](RuntimeValue value) {
    if (next >= n.results.count) return false;
    const ValueId v = n.results[next++];
    frame->values[slots_[v.index]] = std::move(value);
    frame->uses_left[slots_[v.index]] = program_.value(v).num_uses;
    return true;
  };
  bool fits = true;
  if (!n.form.valid()) {
    // Unread trailing results of an operator may be missing from the file.
    fits = results.size() == n.results.count;
    for (size_t i = 0; fits && i < results.size(); ++i) {
      fits = put(std::move(results[i]));
    }
  } else {
    const Form& form = program_.context().form(n.form);
    fits = form.size() == results.size();
    for (size_t i = 0; fits && i < form.size(); ++i) {
      switch (form[i].kind) {
        case FormItem::Kind::kValue:
          fits = put(std::move(results[i]));
          break;
        case FormItem::Kind::kNone:
          break;
        case FormItem::Kind::kList: {
          fits = results[i].is_list() &&
                 results[i].list().size() == form[i].list_size;
          for (size_t k = 0; fits && k < form[i].list_size; ++k) {
            fits = put(std::move(results[i].list()[k]));
          }
          break;
        }
      }
    }
  }
  if (!fits || next != n.results.count) {
    return ErrorHere() << "the call gave " << results.size()
                       << " results that don't fit the node's "
                       << n.results.count;
  }
  return {};
}

void Evaluator::Release(NodeId node, Frame* frame) {
  program_.ForEachOperand(node, [&](ValueId v) {
    const uint32_t slot = slots_[v.index];
    if (--frame->uses_left[slot] == 0) frame->values[slot] = {};
  });
  const ValueRange results = program_.node(node).results;
  for (uint32_t i = 0; i < results.count; ++i) {
    const uint32_t slot = slots_[results[i].index];
    if (frame->uses_left[slot] == 0) frame->values[slot] = {};
  }
}

Expected<std::vector<RuntimeValue>> Interpret(const Program& program,
                                              GraphId graph,
                                              std::vector<RuntimeValue> inputs,
                                              const InterpreterOptions& options,
                                              Diagnostics& diags) {
  return Evaluator(program, options, diags).Run(graph, std::move(inputs));
}

std::string WhyNotInterpretable(const Program& program, NodeId node) {
  if (program.node(node).kind != NodeKind::kOp) return "";
  const std::string name(program.op_name(node));
  if (program.context().op(program.node(node).op).is_higher_order) {
    if (!IsKnownHigherOrder(name)) return "operator '" + name + "' unknown";
    std::string why;
    program.ForEachNestedGraph(node, [&](GraphId g) {
      for (const NodeId n : program.nodes(g)) {
        if (why.empty()) why = WhyNotInterpretable(program, n);
      }
    });
    return why;
  }
  if (SchemaOf(program, node) == nullptr || FindKernel(name) == nullptr) {
    return "operator '" + name + "' unknown";
  }
  return "";
}

}  // namespace tenon
