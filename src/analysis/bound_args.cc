#include "analysis/bound_args.h"

namespace tenon {

const ArgBinder::Names& ArgBinder::NamesOf(OpId op) {
  if (op.index >= by_op_.size()) by_op_.resize(op.index + 1);
  Names& names = by_op_[op.index];
  if (names.is_known) return names;
  names.is_known = true;
  const OpSchema* schema = program_.context().op(op).schema;
  if (schema == nullptr || schema->args.size() > kMaxBoundParameters) {
    return names;
  }
  names.has_schema = true;
  for (const SchemaArg& arg : schema->args) {
    names.ids.push_back(program_.context().Intern(arg.name));
  }
  return names;
}

bool ArgBinder::Bind(NodeId n, BoundArgs* out, BindError* error) {
  const Node& node = program_.node(n);
  if (node.kind != NodeKind::kOp || !node.op.valid()) return false;
  const Names& names = NamesOf(node.op);
  if (!names.has_schema) return false;
  const size_t num_parameters = names.ids.size();
  out->schema = program_.context().op(node.op).schema;
  for (size_t i = 0; i < num_parameters; ++i) out->args[i] = nullptr;

  const std::span<const Arg> args = program_.args(node.args);
  const auto fail = [&](BindError::Kind kind, size_t arg) {
    if (error == nullptr || error->kind != BindError::Kind::kNone) return;
    *error = {kind, static_cast<uint32_t>(arg)};
  };
  for (size_t i = 0; i < args.size(); ++i) {
    const StringId name = args[i].name;
    size_t at = i;
    const bool is_unnamed = !name.valid() || program_.view(name).empty();
    if (is_unnamed) {
      if (at >= num_parameters) {
        fail(BindError::Kind::kTooMany, i);
        continue;
      }
    } else if (at >= num_parameters || names.ids[at] != name) {
      for (at = 0; at < num_parameters && names.ids[at] != name;) ++at;
      if (at == num_parameters) {
        fail(BindError::Kind::kUnknownName, i);
        continue;
      }
    }
    if (out->args[at] != nullptr) {
      fail(BindError::Kind::kTwice, i);
      continue;
    }
    out->args[at] = &args[i];
  }
  return true;
}

}  // namespace tenon
