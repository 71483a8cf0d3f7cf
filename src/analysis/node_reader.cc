#include "analysis/node_reader.h"

#include <variant>

namespace tenon {

std::string PlainName(std::string_view op) {
  constexpr std::string_view kCopy = "_copy.";
  const size_t at = op.find(kCopy);
  // "aten._to_copy" is no form of another.
  if (at == std::string_view::npos || op.starts_with("aten._")) {
    return std::string(op);
  }
  return std::string(op.substr(0, at)) +
         std::string(op.substr(at + kCopy.size() - 1));
}

std::optional<std::vector<int64_t>> LiteralSizes(const Program& program,
                                                 ValueId v) {
  const Type& type = program.type(v);
  if (!type.is_tensor() || !type.has_static_sizes()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const SymInt& s : type.sizes) sizes.push_back(s.value);
  return sizes;
}

std::optional<std::vector<int64_t>> SeenSizes(const Program& program,
                                              ValueId v) {
  const Type& type = program.type(v);
  if (!type.is_tensor()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const SymInt& s : type.sizes) {
    if (!s.is_literal() && s.value <= 0) return std::nullopt;
    sizes.push_back(s.value);
  }
  return sizes;
}

ValueId NodeReader::value(std::string_view parameter) const {
  const Arg* arg = program_.FindArg(node_, parameter);
  return arg != nullptr && arg->is_value() ? arg->value() : ValueId();
}

std::vector<ValueId> NodeReader::values(std::string_view parameter) const {
  std::vector<ValueId> out;
  const Arg* arg = program_.FindArg(node_, parameter);
  if (arg == nullptr || !arg->has_items()) return out;
  for (const Arg& item : program_.args(arg->list)) {
    out.push_back(item.is_value() ? item.value() : ValueId());
  }
  return out;
}

const SchemaDefault* NodeReader::DefaultOf(std::string_view parameter) const {
  if (schema_ == nullptr) return nullptr;
  const int at = schema_->FindArg(parameter);
  if (at < 0) return nullptr;
  const SchemaArg& arg = schema_->args[static_cast<size_t>(at)];
  return arg.has_default ? &arg.default_value : nullptr;
}

bool NodeReader::IsNone(std::string_view parameter) const {
  if (const Arg* arg = program_.FindArg(node_, parameter)) {
    return arg->kind == ArgKind::kNone;
  }
  const SchemaDefault* otherwise = DefaultOf(parameter);
  return otherwise == nullptr ||
         std::holds_alternative<std::monostate>(otherwise->value);
}

std::optional<int64_t> NodeReader::Int(std::string_view parameter) const {
  if (const Arg* arg = program_.FindArg(node_, parameter)) {
    if (arg->kind != ArgKind::kInt) return std::nullopt;
    return arg->i;
  }
  const SchemaDefault* otherwise = DefaultOf(parameter);
  const auto* i =
      otherwise == nullptr ? nullptr : std::get_if<int64_t>(&otherwise->value);
  return i == nullptr ? std::nullopt : std::optional(*i);
}

std::optional<double> NodeReader::Number(std::string_view parameter) const {
  if (const Arg* arg = program_.FindArg(node_, parameter)) {
    if (arg->kind == ArgKind::kInt) return static_cast<double>(arg->i);
    if (arg->kind == ArgKind::kFloat) return arg->f;
    return std::nullopt;
  }
  const SchemaDefault* otherwise = DefaultOf(parameter);
  if (otherwise == nullptr) return std::nullopt;
  if (const auto* f = std::get_if<double>(&otherwise->value)) return *f;
  if (const auto* i = std::get_if<int64_t>(&otherwise->value)) {
    return static_cast<double>(*i);
  }
  return std::nullopt;
}

std::optional<std::vector<double>> NodeReader::Numbers(
    std::string_view parameter) const {
  const Arg* arg = program_.FindArg(node_, parameter);
  if (arg == nullptr || arg->kind != ArgKind::kList) return std::nullopt;
  std::vector<double> out;
  for (const Arg& item : program_.args(arg->list)) {
    if (item.kind == ArgKind::kFloat) {
      out.push_back(item.f);
    } else if (item.kind == ArgKind::kInt) {
      out.push_back(static_cast<double>(item.i));
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<bool> NodeReader::Bool(std::string_view parameter) const {
  if (const Arg* arg = program_.FindArg(node_, parameter)) {
    if (arg->kind != ArgKind::kBool) return std::nullopt;
    return arg->i != 0;
  }
  const SchemaDefault* otherwise = DefaultOf(parameter);
  const auto* b =
      otherwise == nullptr ? nullptr : std::get_if<bool>(&otherwise->value);
  return b == nullptr ? std::nullopt : std::optional(*b);
}

std::optional<std::vector<int64_t>> NodeReader::Ints(
    std::string_view parameter) const {
  if (const Arg* arg = program_.FindArg(node_, parameter)) {
    if (arg->kind == ArgKind::kInt) return std::vector<int64_t>{arg->i};
    if (arg->kind != ArgKind::kList) return std::nullopt;
    std::vector<int64_t> out;
    for (const Arg& item : program_.args(arg->list)) {
      if (item.kind != ArgKind::kInt) return std::nullopt;
      out.push_back(item.i);
    }
    return out;
  }
  const SchemaDefault* otherwise = DefaultOf(parameter);
  if (otherwise == nullptr) return std::nullopt;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&otherwise->value)) {
    return *list;
  }
  if (const auto* i = std::get_if<int64_t>(&otherwise->value)) {
    return std::vector<int64_t>{*i};
  }
  return std::nullopt;
}

}  // namespace tenon
