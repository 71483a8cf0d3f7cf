#include "analysis/infer.h"

#include <cassert>
#include <unordered_map>

#include "analysis/infer_call.h"

namespace tenon {
namespace {

const InferRow* FindRow(std::string_view op) {
  static const auto* const kByName = [] {
    auto* rows = new std::unordered_map<std::string_view, const InferRow*>;
    for (const auto table :
         {AttentionRows(),  ConvertRows(),      DiagonalRows(),
          FactoryRows(),    EmbeddingBagRows(), EinsumRows(),
          DifferenceRows(), DistanceRows(),     SolveRows(),
          SearchRows(),     FourierRows(),      GradientRows(),
          IndexRows(),      JoinRows(),         LinalgRows(),
          LossRows(),       MatmulRows(),       NeuralRows(),
          NormRows(),       PadRows(),          PointwiseRows(),
          RecurrentRows(),  QuantizedRows(),    ReductionRows(),
          ResizeRows(),     SliceRows(),        SpecialRows(),
          SplitRows(),      StatisticsRows(),   ViewRows()}) {
      for (const InferRow& row : table) {
        [[maybe_unused]] const bool is_first =
            rows->emplace(row.op, &row).second;
        assert(is_first && "an operator stands in one table, once");
      }
    }
    return rows;
  }();
  const auto it = kByName->find(op);
  return it == kByName->end() ? nullptr : it->second;
}

// An operator that returns what it wrote: x.add_(y) has the type of x. A tensor
// passed as `out` keeps its dtype, but is resized to what it gets.
void WrittenArgument(InferCall& call, uint32_t) {
  for (const SchemaReturn& r : call.schema().returns) {
    const Type* written = nullptr;
    bool is_out = false;
    for (size_t i = 0; r.is_written && i < call.num_parameters(); ++i) {
      const SchemaArg& a = call.schema().args[i];
      if (!a.is_written || a.alias_set != r.alias_set) continue;
      written = call.Tensor(i);
      is_out = a.keyword_only;
    }
    if (written != nullptr) {
      InferredType& out = call.AddLike(*written);
      if (is_out) out.rank = -1;
    } else {
      call.AddUnknown();
    }
  }
}

bool ReturnsWhatItWrites(const OpSchema& schema) {
  for (const SchemaReturn& r : schema.returns) {
    if (r.is_written && !r.is_list) return true;
  }
  return false;
}

}  // namespace

bool InferredType::is_complete() const {
  if (kind != TypeKind::kTensor || dtype == DType::kUnknown || rank < 0) {
    return false;
  }
  for (int d = 0; d < rank; ++d) {
    if (sizes[d].kind == InferredSize::Kind::kUnknown) return false;
  }
  return true;
}

TypeInference::TypeInference(const Program& program)
    : program_(program), binder_(program) {
  FindAutocast();
}

// Marks the nodes of graphs that an autocast region holds.
void TypeInference::FindAutocast() {
  const StringId name =
      program_.context().strings.Find("higher_order.wrap_with_autocast");
  if (!name.valid()) return;
  std::vector<bool> is_inside(program_.num_graphs(), false);
  std::vector<GraphId> open;
  const auto enter = [&](NodeId n) {
    program_.ForEachNestedGraph(n, [&](GraphId g) {
      if (g.index < is_inside.size() && !is_inside[g.index]) {
        is_inside[g.index] = true;
        open.push_back(g);
      }
    });
  };
  for (uint32_t i = 0; i < program_.num_nodes(); ++i) {
    const Node& node = program_.node(NodeId(i));
    if (node.in_graph && node.op.valid() &&
        program_.context().op(node.op).name == name) {
      enter(NodeId(i));
    }
  }
  if (open.empty()) return;
  in_autocast_.assign(program_.num_nodes(), false);
  while (!open.empty()) {
    const GraphId g = open.back();
    open.pop_back();
    if (program_.graph(g).is_erased) continue;
    for (const NodeId n : program_.nodes(g)) {
      in_autocast_[n.index] = true;
      enter(n);
    }
  }
}

const TypeInference::OpRule& TypeInference::RuleOf(OpId op) {
  if (op.index >= by_op_.size()) by_op_.resize(op.index + 1);
  OpRule& entry = by_op_[op.index];
  if (entry.is_known) return entry;
  entry.is_known = true;
  const OpInfo& info = program_.context().op(op);
  if (info.schema == nullptr) return entry;
  if (const InferRow* row = FindRow(program_.context().op_name(op))) {
    entry.rule = row->rule;
    entry.parameter = row->parameter;
  } else if (ReturnsWhatItWrites(*info.schema)) {
    entry.rule = WrittenArgument;
  }
  return entry;
}

std::span<const InferredType> TypeInference::Infer(NodeId n) {
  BoundArgs bound;
  if (binder_.Bind(n, &bound)) return Infer(n, bound);
  results_.Clear();
  const Node& node = program_.node(n);
  if (node.kind == NodeKind::kOp && node.op.valid() &&
      program_.context().op(node.op).is_python_function) {
    InferScalarFunction(program_, n, &results_);
  }
  return results_.all();
}

std::span<const InferredType> TypeInference::Infer(NodeId n,
                                                   const BoundArgs& bound) {
  results_.Clear();
  if (IsInAutocast(n)) return results_.all();
  const OpRule& entry = RuleOf(program_.node(n).op);
  if (entry.rule != nullptr) {
    InferCall call(program_, n, bound, &results_);
    entry.rule(call, entry.parameter);
  }
  return results_.all();
}

}  // namespace tenon
