#include "lower/rewrite_rules.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tenon::lower {
namespace {

using Table = std::unordered_map<std::string_view, RewriteRule>;

using Family = std::vector<RuleRow> (*)();

Table MakeTable(std::initializer_list<Family> families) {
  Table table;
  for (const Family family : families) {
    for (RuleRow& row : family()) {
      const bool is_new = table.emplace(row.op, std::move(row.rule)).second;
      TENON_ASSERT(is_new, "an operator has one rewrite rule");
    }
  }
  return table;
}

}  // namespace

const RewriteRule* RuleBook::Find(OpId op) const {
  static const Table early =
      MakeTable({RenamingRules, PointwiseRules, ScalarRules, ViewRules,
                 MatmulRules, AttentionRules, NeuralRules, ReductionRules,
                 FactoryRules, IndexRules, CastRules, ActivationRules,
                 RecurrentRules, EmbeddingRules, EinsumRules, AffineRules});
  static const Table late = MakeTable({LateActivationRules, LateAffineRules});
  const std::string_view name = context_.op_name(op);
  const auto look = [&](const Table& table) -> const RewriteRule* {
    const auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
  };
  if (const RewriteRule* rule = look(early)) return rule;
  return stage_ == RuleStage::kLate ? look(late) : nullptr;
}

std::optional<double> AsNumber(const Operand& operand) {
  if (operand.value.valid() || operand.is_list) return std::nullopt;
  switch (operand.literal.kind) {
    case ArgKind::kInt:
    case ArgKind::kBool:
      return static_cast<double>(operand.literal.i);
    case ArgKind::kFloat:
      return operand.literal.f;
    default:
      return std::nullopt;
  }
}

ValueId NodeRewrite::tensor(size_t i) const {
  if (i >= args_.size() || !args_[i].value.valid()) return ValueId();
  return program_->type(args_[i].value).is_tensor() ? args_[i].value
                                                    : ValueId();
}

std::optional<int64_t> NodeRewrite::Int(size_t i) const {
  const Operand& a = arg(i);
  if (a.value.valid() || a.is_list) return std::nullopt;
  if (a.literal.kind == ArgKind::kInt || a.literal.kind == ArgKind::kBool) {
    return a.literal.i;
  }
  return std::nullopt;
}

std::optional<double> NodeRewrite::Number(size_t i) const {
  return AsNumber(arg(i));
}

bool NodeRewrite::Bool(size_t i, bool otherwise) const {
  const auto value = Int(i);
  return value ? *value != 0 : otherwise;
}

std::string_view NodeRewrite::String(size_t i) const {
  const Operand& a = arg(i);
  if (a.value.valid() || a.is_list || a.literal.kind != ArgKind::kString) {
    return {};
  }
  return program_->view(a.literal.text);
}

std::optional<DType> NodeRewrite::Dtype(size_t i) const {
  const Operand& a = arg(i);
  if (a.value.valid() || a.is_list || a.literal.kind != ArgKind::kDtype) {
    return std::nullopt;
  }
  return a.literal.dtype();
}

std::optional<std::vector<int64_t>> NodeRewrite::Ints(size_t i) const {
  if (!arg(i).is_list) return std::nullopt;
  std::vector<int64_t> out;
  for (const Operand& item : arg(i).items) {
    const auto value = item.literal_int();
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

std::optional<std::vector<int64_t>> NodeRewrite::Ints(size_t i,
                                                      size_t count) const {
  if (const auto one = Int(i)) return std::vector<int64_t>(count, *one);
  auto list = Ints(i);
  if (list && list->size() == 1) list->resize(count, list->front());
  return list;
}

std::vector<Operand> NodeRewrite::FirstArgs(size_t count) const {
  const size_t n = std::min(count, args_.size());
  return {args_.begin(), args_.begin() + static_cast<ptrdiff_t>(n)};
}

Rewritten NodeRewrite::Become(std::string_view op,
                              std::vector<Operand> operands,
                              std::initializer_list<NodeBuilder::Named> named) {
  return Done(
      build.Call(op, std::move(operands), named, build.TypeLike(result())));
}

Rewritten NodeRewrite::Become(std::string_view op,
                              std::vector<Operand> operands) {
  if (num_results() == 1 && program_->node(node_).form == FormId()) {
    return Become(op, std::move(operands), {});
  }
  std::vector<TypeId> types;
  for (size_t i = 0; i < num_results(); ++i) {
    types.push_back(build.TypeLike(result(i)));
  }
  const auto values = build.CallMany(op, std::move(operands), types);
  for (size_t i = 0; i < num_results(); ++i) Give(i, values[i]);
  return Rewritten::kDone;
}

Operand NodeRewrite::Copy(const Arg& arg) const {
  if (arg.kind != ArgKind::kList) return arg;
  std::vector<Operand> items;
  for (const Arg& item : program_->args(arg.list)) items.push_back(Copy(item));
  return Operand::List(arg.list_tag, std::move(items));
}

Operand NodeRewrite::DefaultOf(const SchemaArg& parameter) const {
  const auto& value = parameter.default_value.value;
  if (const auto* v = std::get_if<int64_t>(&value)) return Operand::Int(*v);
  if (const auto* v = std::get_if<double>(&value)) return Operand::Float(*v);
  if (const auto* v = std::get_if<bool>(&value)) return Operand::Bool(*v);
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) {
    return Operand::Ints(*v);
  }
  if (const auto* v = std::get_if<std::string>(&value)) {
    if (parameter.type == SchemaType::kString) {
      return Arg::String(program_->context().Intern(*v));
    }
    if (*v == "Mean") return Operand::Int(1);
  }
  return {};
}

}  // namespace tenon::lower
