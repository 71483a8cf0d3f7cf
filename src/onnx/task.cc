#include "onnx/task.h"

#include <unordered_map>

#include "support/assert.h"

namespace tenon::onnx {
namespace {

DType DtypeOfLiteral(const Arg& arg) {
  switch (arg.kind) {
    case ArgKind::kFloat:
      return DType::kFloat64;
    case ArgKind::kBool:
      return DType::kBool;
    default:
      return DType::kInt64;
  }
}

// What a schema has as its default.
Arg ArgOfDefault(const SchemaDefault& d) {
  if (const auto* i = std::get_if<int64_t>(&d.value)) return Arg::Int(*i);
  if (const auto* f = std::get_if<double>(&d.value)) return Arg::Float(*f);
  if (const auto* b = std::get_if<bool>(&d.value)) return Arg::Bool(*b);
  return Arg();
}

}  // namespace

DType DtypeOfType(const Type& type) {
  switch (type.kind) {
    case TypeKind::kTensor:
      return type.dtype;
    case TypeKind::kSymFloat:
    case TypeKind::kFloat:
      return DType::kFloat64;
    case TypeKind::kSymBool:
    case TypeKind::kBool:
      return DType::kBool;
    case TypeKind::kSymInt:
    case TypeKind::kInt:
      return DType::kInt64;
    case TypeKind::kObject:
    case TypeKind::kNone:
    case TypeKind::kString:
      return DType::kUnknown;
  }
  return DType::kUnknown;
}

DType WideDtype(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? DType::kFloat32
                                                               : dtype;
}

std::optional<int64_t> LiteralSize(const Type& type, int64_t dim) {
  const SymInt& size = type.sizes[static_cast<size_t>(dim)];
  if (!size.is_literal()) return std::nullopt;
  return size.value;
}

DType Task::DtypeOf(ValueId v) const { return DtypeOfType(program.type(v)); }

DType Task::DtypeOf(std::string_view parameter) const {
  const Arg* a = arg(parameter);
  if (a == nullptr) return DType::kUnknown;
  return a->is_value() ? DtypeOf(a->value()) : DtypeOfLiteral(*a);
}

std::string Task::ToName(const Arg& a) const {
  return a.is_value() ? build.Get(a.value()) : ToName(a, DtypeOfLiteral(a));
}

std::string Task::ToName(const Arg& a, DType dtype) const {
  if (a.is_value()) return build.Cast(build.Get(a.value()), dtype);
  if (a.kind != ArgKind::kFloat) return build.Number(dtype, a.i);
  if (IsFloating(dtype)) return build.Number(dtype, a.f);
  // As PyTorch converts a Python number for an integer tensor.
  return build.Number(dtype, dtype == DType::kBool
                                 ? static_cast<int64_t>(a.f != 0)
                                 : static_cast<int64_t>(a.f));
}

std::string Task::In(std::string_view parameter) const {
  return ToName(*arg(parameter));
}

std::string Task::In(std::string_view parameter, DType dtype) const {
  if (const Arg* a = arg(parameter)) return ToName(*a, dtype);
  const OpSchema* schema = program.schema(node);
  TENON_ASSERT(schema != nullptr, "an operator has the parameter asked for");
  const auto at = static_cast<size_t>(schema->FindArg(parameter));
  return ToName(ArgOfDefault(schema->args[at].default_value), dtype);
}

int64_t Task::Dim(std::string_view parameter, int64_t of_rank) const {
  const int64_t dim = read.Int(parameter).value_or(0);
  return dim < 0 ? dim + std::max<int64_t>(of_rank, 1) : dim;
}

std::optional<std::vector<int64_t>> Task::Dims(std::string_view parameter,
                                               int64_t of_rank) const {
  auto dims = read.Ints(parameter);
  if (!dims) return std::nullopt;
  for (int64_t& d : *dims) {
    if (d < 0) d += std::max<int64_t>(of_rank, 1);
  }
  return dims;
}

std::vector<Arg> Task::Items(std::string_view parameter) const {
  const Arg* a = arg(parameter);
  if (a == nullptr || a->kind == ArgKind::kNone) return {};
  if (!a->has_items()) return {*a};
  const auto items = program.args(a->list);
  return {items.begin(), items.end()};
}

std::string Task::Int1d(const Arg& a) const {
  if (!a.is_value()) return build.Ints({a.i});
  return build.Reshape(ToName(a, DType::kInt64), {1});
}

std::string Task::IntList(std::string_view parameter) const {
  const std::vector<Arg> items = Items(parameter);
  std::vector<std::string> parts;
  std::vector<int64_t> literals;
  const auto flush = [&] {
    if (literals.empty()) return;
    parts.push_back(build.Ints(literals));
    literals.clear();
  };
  for (const Arg& a : items) {
    if (!a.is_value()) {
      literals.push_back(a.i);
      continue;
    }
    flush();
    parts.push_back(Int1d(a));
  }
  flush();
  if (parts.empty()) return build.Ints({});
  if (parts.size() == 1) return parts[0];
  return build.Add("Concat", parts, {IntAttribute("axis", 0)});
}

const Translation* FindTranslation(std::string_view op) {
  static const auto* table = [] {
    auto* all = new std::unordered_map<std::string_view, const Translation*>;
    for (const auto family :
         {PointwiseTranslations(), ArithmeticTranslations(),
          ComparisonTranslations(), ReductionTranslations(),
          MatmulTranslations(), ConvolutionTranslations(),
          PoolingTranslations(), NormTranslations(), ViewTranslations(),
          JoinTranslations(), IndexTranslations(), ScatterTranslations(),
          FactoryTranslations(), ResizeTranslations(), ScalarTranslations(),
          QuantizedTranslations(), ControlTranslations()}) {
      for (const Translation& t : family) all->emplace(t.op, &t);
    }
    return all;
  }();
  const auto at = table->find(op);
  return at == table->end() ? nullptr : at->second;
}

namespace {

// What holds for all operators.
WhyNot WhyNoValue(const Program& program, ValueId v) {
  const Type& type = program.type(v);
  if (type.is_tensor()) {
    if (type.layout != Layout::kStrided) {
      return "a tensor of layout " + std::string(tenon::Name(type.layout));
    }
    if (ElementTypeOf(type.dtype) == ElementType::kUndefined) {
      return "a tensor of dtype " + std::string(tenon::Name(type.dtype));
    }
    return {};
  }
  if (DtypeOfType(type) == DType::kUnknown) {
    return "a value that is neither a tensor nor a number";
  }
  return {};
}

WhyNot TranslateNode(GraphBuilder& build, NodeId n,
                     std::vector<Untranslated>* untranslated) {
  const Program& program = build.program();
  if (program.node(n).kind != tenon::NodeKind::kOp) {
    return "a call of a child, a delegate or unlifted state";
  }
  WhyNot why;
  program.ForEachOperand(n, [&](ValueId v) {
    if (!why) why = WhyNoValue(program, v);
    if (!why && !build.Has(v)) why = "it reads what couldn't be translated";
  });
  for (uint32_t i = 0; i < program.node(n).results.count && !why; ++i) {
    why = WhyNoValue(program, program.node(n).results[i]);
  }
  if (why) return why;
  const Translation* t = FindTranslation(PlainName(program.op_name(n)));
  if (t == nullptr) return "the operator has no translation";
  Task task(build, n, untranslated);
  return t->translate(task, t->onnx);
}

}  // namespace

bool TranslateNodes(GraphBuilder& build, GraphId graph,
                    std::vector<Untranslated>* untranslated) {
  bool all = true;
  for (const NodeId n : build.program().nodes(graph)) {
    if (build.program().node(n).kind == tenon::NodeKind::kOutput) continue;
    WhyNot why = TranslateNode(build, n, untranslated);
    if (!why) continue;
    all = false;
    untranslated->push_back({graph, n, std::move(*why)});
  }
  return all;
}

}  // namespace tenon::onnx
