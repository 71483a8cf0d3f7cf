#include "xnnpack/translate_region.h"

#include <algorithm>
#include <string>
#include <utility>

#include "xnnpack/translate.h"

namespace tenon {
namespace xnnpack {

const Translation* FindTranslation(std::string_view op) {
  const std::string name = PlainName(op);
  for (const auto family :
       {ElementwiseTranslations(), NeuralTranslations(), ShapeTranslations()}) {
    const auto at =
        std::find_if(family.begin(), family.end(),
                     [&](const Translation& t) { return t.op == name; });
    if (at != family.end()) return &*at;
  }
  return nullptr;
}

namespace {

constexpr size_t kMaxRank = 6;

std::optional<Refusal> RefuseType(const Program& program, ValueId v) {
  const Type& type = program.type(v);
  if (!type.is_tensor()) {
    return Refusal{RefusalReason::kScalarBoundary, "a number as operand"};
  }
  if (type.dtype != DType::kFloat32) {
    return Refusal{RefusalReason::kDtype, std::string(Name(type.dtype))};
  }
  if (type.layout != Layout::kStrided) {
    return Refusal{RefusalReason::kLayout, std::string(Name(type.layout))};
  }
  if (type.sizes.size() > kMaxRank) {
    return Refusal{RefusalReason::kRank,
                   std::to_string(type.sizes.size()) + " dimensions"};
  }
  const auto sizes = SeenSizes(program, v);
  if (!sizes) {
    return Refusal{RefusalReason::kDynamicShape, "sizes that aren't known"};
  }
  constexpr int64_t kMaxSize = int64_t{1} << 31;
  const auto is_odd = [](int64_t s) { return s <= 0 || s >= kMaxSize; };
  if (std::any_of(sizes->begin(), sizes->end(), is_odd)) {
    return Because("an empty tensor, or one of 2^31 rows");
  }
  return std::nullopt;
}

// Results of batch norms and pools that nobody reads may be of any type.
std::optional<Refusal> RefuseTypes(const Program& program, NodeId node,
                                   const IsConstant& is_constant) {
  std::optional<Refusal> refusal;
  // Its tensors have dimensions; a number that is known gets one.
  const auto refuse_number = [&](ValueId v) {
    if (!refusal && program.type(v).sizes.empty() && !is_constant(v)) {
      refusal = Refusal{RefusalReason::kRank, "a tensor without dimensions"};
    }
  };
  program.ForEachOperand(node, [&](ValueId v) {
    if (!refusal) refusal = RefuseType(program, v);
    refuse_number(v);
  });
  const ValueRange results = program.node(node).results;
  for (uint32_t r = 0; r < results.count && !refusal; ++r) {
    if (r == 0 || program.value(results[r]).num_uses > 0) {
      refusal = RefuseType(program, results[r]);
      refuse_number(results[r]);
    }
  }
  return refusal;
}

}  // namespace

std::optional<Refusal> WhyRefused(const Program& program, NodeId node,
                                  const IsConstant& is_constant) {
  if (program.node(node).kind != tenon::NodeKind::kOp) {
    return Refusal{RefusalReason::kOperatorUnknown, "not an operator call"};
  }
  const std::string_view op = program.op_name(node);
  const Translation* translation = FindTranslation(op);
  if (translation == nullptr || program.schema(node) == nullptr ||
      program.node(node).results.count == 0) {
    return Refusal{RefusalReason::kOperatorUnknown, std::string(op)};
  }
  if (auto refusal = RefuseTypes(program, node, is_constant)) return refusal;
  if (translation->refuses == nullptr) return std::nullopt;
  return translation->refuses(Question(program, node, is_constant));
}

bool IsFixedState(const Program& program, ValueId v) {
  const Value& value = program.value(v);
  const auto& inputs = program.root().inputs;
  if (!value.is_input() || value.index >= inputs.size() ||
      inputs[value.index] != v ||
      value.index >= program.signature.inputs.size()) {
    return false;
  }
  const StateId state = program.signature.inputs[value.index].state;
  if (!state.valid()) return false;
  const auto& outputs = program.signature.outputs;
  return std::none_of(outputs.begin(), outputs.end(), [&](const OutputSpec& o) {
    return o.state == state && (o.kind == OutputKind::kBufferMutation ||
                                o.kind == OutputKind::kParameterMutation);
  });
}

namespace {

class RegionTranslator {
 public:
  RegionTranslator(const Program& region,
                   const std::vector<RegionConstant>& constants)
      : region_(region),
        graph_(region, constants),
        is_constant_(
            [this](ValueId v) { return graph_.FindConstant(v) != nullptr; }) {}

  Status Run(Diagnostics& diags) {
    for (const NodeId n : region_.nodes(Program::kRoot)) {
      if (region_.node(n).kind == tenon::NodeKind::kOutput) continue;
      if (const auto refusal = WhyRefused(region_, n, is_constant_)) {
        return diags.Error(Rule::kUnsupported,
                           Place::Node(region_.Describe(Program::kRoot, n)))
               << "backend xnnpack does not take this node: "
               << Name(refusal->reason) << ", " << refusal->detail;
      }
    }
    std::vector<bool> is_done(region_.num_nodes());
    for (const NodeId n : region_.nodes(Program::kRoot)) {
      if (region_.node(n).kind == tenon::NodeKind::kOutput ||
          is_done[n.index]) {
        continue;
      }
      const Translation* translation = FindTranslation(region_.op_name(n));
      Task task(graph_, n);
      if (region_.op_name(n) == "aten.convolution.default") {
        const NodeId next = OnlyReader(task.result);
        if (next.valid() &&
            IsFixedBatchNorm(Question(region_, next, is_constant_)) &&
            NodeReader(region_, next).value("input") == task.result) {
          Take(next, &task, &is_done);
          task.batch_norm = next;
        }
      }
      if (translation->takes_range) {
        const NodeId next = OnlyReader(task.result);
        if (next.valid() && (task.range = RangeOf(region_, next))) {
          Take(next, &task, &is_done);
        }
      }
      translation->translate(task, translation->kind);
    }
    graph_.Finish();
    return {};
  }

  GraphBuilder& graph() { return graph_; }

 private:
  // The node of the region that alone reads a value, once.
  NodeId OnlyReader(ValueId v) const {
    NodeId reader;
    uint32_t count = 0;
    region_.ForEachUse(v, [&](UseId u) {
      reader = region_.use(u).user;
      ++count;
    });
    if (count != 1 || region_.node(reader).kind != tenon::NodeKind::kOp) {
      return NodeId();
    }
    return reader;
  }

  void Take(NodeId next, Task* task, std::vector<bool>* is_done) const {
    task->result = region_.node(next).results[0];
    (*is_done)[next.index] = true;
  }

  const Program& region_;
  GraphBuilder graph_;
  const IsConstant is_constant_;
};

// What a graph can't give: one of its inputs as it is, or a value twice.
Status CheckOutputs(const Program& region, Diagnostics& diags) {
  std::vector<ValueId> seen;
  for (const Arg& output : region.outputs(Program::kRoot)) {
    const bool is_right =
        output.is_value() && !region.value(output.value()).is_input() &&
        std::find(seen.begin(), seen.end(), output.value()) == seen.end();
    if (!is_right) {
      return diags.Error(Rule::kUnsupported)
             << "backend xnnpack: an output of the region that is no result of "
                "a node, or another output, too";
    }
    seen.push_back(output.value());
  }
  return {};
}

}  // namespace

Expected<TranslatedRegion> TranslateRegion(
    const Program& region, const std::vector<RegionConstant>& constants,
    Diagnostics& diags) {
  TENON_TRY(CheckOutputs(region, diags));
  if (constants.size() == region.root().inputs.size()) {
    // The runtime computes nothing for a call without inputs.
    return diags.Error(Rule::kUnsupported)
           << "backend xnnpack: the region has no inputs";
  }
  RegionTranslator translator(region, constants);
  TENON_TRY(translator.Run(diags));
  return TranslatedRegion{translator.graph().TakeGraph(),
                          translator.graph().TakeData()};
}

}  // namespace xnnpack

}  // namespace tenon
