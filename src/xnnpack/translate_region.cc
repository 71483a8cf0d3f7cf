#include "xnnpack/translate_region.h"

#include <algorithm>
#include <string>
#include <utility>

#include "xnnpack/quantized_activation.h"
#include "xnnpack/translate.h"
#include "xnnpack/translate_integers.h"

namespace tenon {
namespace xnnpack {

const Translation* FindTranslation(std::string_view op) {
  const std::string name = PlainName(op);
  for (const auto family :
       {ConvolutionTranslations(), ElementwiseTranslations(),
        ProductTranslations(), NeuralTranslations(), ShapeTranslations(),
        QuantizationTranslations()}) {
    const auto at =
        std::find_if(family.begin(), family.end(),
                     [&](const Translation& t) { return t.op == name; });
    if (at != family.end()) return &*at;
  }
  return nullptr;
}

std::optional<Refusal> RefuseTensor(const Program& program, ValueId v,
                                    DType dtype) {
  constexpr size_t kMaxRank = 6;
  const Type& type = program.type(v);
  if (!type.is_tensor()) {
    return Refusal{RefusalReason::kScalarBoundary, "a number as operand"};
  }
  if (type.dtype != dtype) {
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

namespace {

// Results of batch norms and pools that nobody reads may be of any type.
std::optional<Refusal> RefuseTypes(const Program& program, NodeId node,
                                   const FindStored& stored) {
  std::optional<Refusal> refusal;
  // Its tensors have dimensions; a number that is known gets one.
  const auto refuse_number = [&](ValueId v) {
    if (!refusal && program.type(v).sizes.empty() && !stored(v).defined()) {
      refusal = Refusal{RefusalReason::kRank, "a tensor without dimensions"};
    }
  };
  program.ForEachOperand(node, [&](ValueId v) {
    if (!refusal) refusal = RefuseTensor(program, v);
    refuse_number(v);
  });
  const ValueRange results = program.node(node).results;
  for (uint32_t r = 0; r < results.count && !refusal; ++r) {
    if (r == 0 || program.value(results[r]).num_uses > 0) {
      refusal = RefuseTensor(program, results[r]);
      refuse_number(results[r]);
    }
  }
  return refusal;
}

}  // namespace

std::optional<Refusal> WhyRefused(const Program& program, NodeId node,
                                  const FindStored& stored) {
  if (program.node(node).kind != tenon::NodeKind::kOp) {
    return Refusal{RefusalReason::kOperatorUnknown, "not an operator call"};
  }
  const std::string_view op = program.op_name(node);
  const Translation* translation = FindTranslation(op);
  if (translation == nullptr || program.schema(node) == nullptr ||
      program.node(node).results.count == 0) {
    return Refusal{RefusalReason::kOperatorUnknown, std::string(op)};
  }
  if (!translation->checks_types) {
    if (auto refusal = RefuseTypes(program, node, stored)) return refusal;
  }
  if (translation->refuses == nullptr) return std::nullopt;
  return translation->refuses(Question(program, node, stored));
}

namespace {

class RegionTranslator {
 public:
  RegionTranslator(const Program& region,
                   const std::vector<RegionConstant>& constants, bool rounds)
      : region_(region),
        graph_(region, constants, rounds),
        stored_([this](ValueId v) { return graph_.Stored(v); }) {}

  Status Run(Diagnostics& diags) {
    for (const NodeId n : region_.nodes(Program::kRoot)) {
      if (region_.node(n).kind == tenon::NodeKind::kOutput) continue;
      if (const auto refusal = WhyRefused(region_, n, stored_)) {
        return diags.Error(Rule::kUnsupported,
                           Place::Node(region_.Describe(Program::kRoot, n)))
               << "backend xnnpack does not take this node: "
               << Name(refusal->reason) << ", " << refusal->detail;
      }
    }
    DefineIntegers();
    std::vector<bool> is_done(region_.num_nodes());
    for (const NodeId n : region_.nodes(Program::kRoot)) {
      if (region_.node(n).kind == tenon::NodeKind::kOutput ||
          is_done[n.index]) {
        continue;
      }
      const Translation* translation = FindTranslation(region_.op_name(n));
      Task task(graph_, n);
      if (const auto integers = FindIntegerNode(graph_, n)) {
        task.result = integers->result;
        task.range = integers->range;
        task.integers = integers->output;
        for (const NodeId taken : integers->taken) is_done[taken.index] = true;
        graph_.BeginIntegers();
        translation->translate(task, translation->kind);
        graph_.EndIntegers();
        continue;
      }
      if (region_.op_name(n) == "aten.convolution.default") {
        const NodeId next = OnlyReader(region_, task.result);
        if (next.valid() &&
            IsFixedBatchNorm(Question(region_, next, stored_)) &&
            NodeReader(region_, next).value("input") == task.result) {
          Take(next, &task, &is_done);
          task.batch_norm = next;
        }
      }
      if (translation->takes_range) {
        const NodeId next = OnlyReader(region_, task.result);
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
  // Weights that are stored as integers, and what integers stand for.
  void DefineIntegers() {
    for (const NodeId n : region_.nodes(Program::kRoot)) {
      if (region_.node(n).kind != tenon::NodeKind::kOp ||
          region_.node(n).results.count == 0) {
        continue;
      }
      const ValueId result = region_.node(n).results[0];
      if (auto weight = FindQuantizedWeight(region_, result, stored_)) {
        graph_.DefineWeight(result, std::move(*weight));
        continue;
      }
      const auto quant = FindStaticQuant(region_, n);
      if (!quant) continue;
      const ValueId integers = IsQuantize(region_, n)
                                   ? result
                                   : NodeReader(region_, n).value("input");
      graph_.DefineIntegers(integers, *quant);
    }
  }

  void Take(NodeId next, Task* task, std::vector<bool>* is_done) const {
    task->result = region_.node(next).results[0];
    (*is_done)[next.index] = true;
  }

  const Program& region_;
  GraphBuilder graph_;
  const FindStored stored_;
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
    bool rounds, Diagnostics& diags) {
  TENON_TRY(CheckOutputs(region, diags));
  if (constants.size() == region.root().inputs.size()) {
    // The runtime computes nothing for a call without inputs.
    return diags.Error(Rule::kUnsupported)
           << "backend xnnpack: the region has no inputs";
  }
  RegionTranslator translator(region, constants, rounds);
  TENON_TRY(translator.Run(diags));
  return TranslatedRegion{translator.graph().TakeGraph(),
                          translator.graph().TakeData()};
}

}  // namespace xnnpack

}  // namespace tenon
