#include "analysis/infer.h"

#include <unordered_map>

#include "analysis/infer_call.h"

namespace tenon {
namespace {

const InferRow* FindRow(std::string_view op) {
  static const auto* const kByName = [] {
    auto* rows = new std::unordered_map<std::string_view, const InferRow*>;
    for (const auto table :
         {PointwiseRows(), ReductionRows(), MatmulRows(), ViewRows(),
          FactoryRows(), NeuralRows(), IndexRows()}) {
      for (const InferRow& row : table) rows->emplace(row.op, &row);
    }
    return rows;
  }();
  const auto it = kByName->find(op);
  return it == kByName->end() ? nullptr : it->second;
}

// An operator that returns what it wrote: x.add_(y) has the type of x.
void WrittenArgument(InferCall& call, uint32_t) {
  for (const SchemaReturn& r : call.schema().returns) {
    const Type* written = nullptr;
    for (size_t i = 0; r.is_written && i < call.num_parameters(); ++i) {
      const SchemaArg& a = call.schema().args[i];
      if (a.is_written && a.alias_set == r.alias_set) written = call.Tensor(i);
    }
    if (written != nullptr) {
      call.AddLike(*written);
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

std::optional<int64_t> IntDefault(const SchemaArg& arg) {
  if (!arg.has_default) return std::nullopt;
  const auto* i = std::get_if<int64_t>(&arg.default_value.value);
  return i == nullptr ? std::nullopt : std::optional<int64_t>(*i);
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

std::optional<int64_t> InferCall::Int(size_t i) const {
  const Arg* a = Get(i);
  if (a == nullptr) {
    return i < num_parameters() ? IntDefault(schema().args[i]) : std::nullopt;
  }
  if (a->kind != ArgKind::kInt) return std::nullopt;
  return a->i;
}

std::optional<bool> InferCall::Bool(size_t i) const {
  const Arg* a = Get(i);
  if (a != nullptr) {
    if (a->kind != ArgKind::kBool) return std::nullopt;
    return a->i != 0;
  }
  if (i >= num_parameters() || !schema().args[i].has_default) {
    return std::nullopt;
  }
  const auto* b = std::get_if<bool>(&schema().args[i].default_value.value);
  return b == nullptr ? std::nullopt : std::optional<bool>(*b);
}

std::optional<DType> InferCall::Dtype(size_t i) const {
  const Arg* a = Get(i);
  if (a == nullptr || a->kind != ArgKind::kDtype) return std::nullopt;
  return a->dtype();
}

InferredSize InferCall::Size(const Arg& a) const {
  if (a.kind == ArgKind::kInt) return InferredSize::Literal(a.i);
  if (!a.is_value()) return InferredSize::Unknown();
  const Type& t = program_.type(a.v.value);
  if (t.kind != TypeKind::kSymInt) return InferredSize::Unknown();
  return InferredSize::Of(t.sym);
}

bool InferCall::AddTo(Promotion* promotion, const Arg* a) const {
  if (a == nullptr) return true;
  switch (a->kind) {
    case ArgKind::kNone:
      return true;
    case ArgKind::kBool:
      promotion->AddNumber(DType::kBool);
      return true;
    case ArgKind::kInt:
      promotion->AddNumber(DType::kInt64);
      return true;
    case ArgKind::kFloat:
      promotion->AddNumber(DType::kFloat32);
      return true;
    case ArgKind::kComplex:
      promotion->AddNumber(DType::kComplex64);
      return true;
    case ArgKind::kValue:
      break;
    default:
      return false;
  }
  const Type& t = program_.type(a->v.value);
  switch (t.kind) {
    case TypeKind::kTensor:
      promotion->AddTensor(t.dtype, t.rank() > 0);
      return t.dtype != DType::kUnknown;
    case TypeKind::kSymInt:
    case TypeKind::kInt:
      promotion->AddNumber(DType::kInt64);
      return true;
    case TypeKind::kSymFloat:
    case TypeKind::kFloat:
      promotion->AddNumber(DType::kFloat32);
      return true;
    case TypeKind::kSymBool:
    case TypeKind::kBool:
      promotion->AddNumber(DType::kBool);
      return true;
    case TypeKind::kNone:
      return true;
    case TypeKind::kObject:
    case TypeKind::kString:
      return false;
  }
  return false;
}

InferredType& InferCall::AddTensor(DType dtype, int rank) {
  InferredType& out = results_.Add();
  out.has_kind = true;
  out.kind = TypeKind::kTensor;
  out.dtype = dtype;
  out.rank = rank <= InferredType::kMaxRank ? rank : -1;
  for (int d = 0; d < out.rank; ++d) out.sizes[d] = InferredSize::Unknown();
  return out;
}

InferredType& InferCall::AddLike(const Type& type, DType dtype) {
  InferredType& out = AddTensor(dtype, static_cast<int>(type.rank()));
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = InferredSize::Of(type.sizes[d]);
  }
  return out;
}

InferredType& InferCall::AddLike(const Type& type) {
  return AddLike(type, type.dtype);
}

InferredType& InferCall::AddKind(TypeKind kind) {
  InferredType& out = results_.Add();
  out.has_kind = true;
  out.kind = kind;
  return out;
}

InferredType& InferCall::AddUnknown() { return results_.Add(); }

std::optional<int> WrapDim(int64_t dim, int64_t rank) {
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= rank) return std::nullopt;
  return static_cast<int>(dim);
}

void BroadcastInto(const Type& type, InferredType* out) {
  if (out->rank < 0 || type.rank() > InferredType::kMaxRank) {
    out->rank = -1;
    return;
  }
  const int rank = static_cast<int>(type.rank());
  if (out->rank == 0) {
    out->rank = rank;
    for (int d = 0; d < rank; ++d) {
      out->sizes[d] = InferredSize::Of(type.sizes[d]);
    }
    return;
  }
  if (rank > out->rank) {
    const int added = rank - out->rank;
    for (int d = rank - 1; d >= added; --d) {
      out->sizes[d] = out->sizes[d - added];
    }
    for (int d = 0; d < added; ++d) out->sizes[d] = InferredSize::Literal(1);
    out->rank = rank;
  }
  const int offset = out->rank - rank;
  for (int d = 0; d < rank; ++d) {
    InferredSize& size = out->sizes[offset + d];
    size = BroadcastSize(size, InferredSize::Of(type.sizes[d]));
  }
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
