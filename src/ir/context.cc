#include "ir/context.h"

#include <algorithm>

namespace tenon {
namespace {

constexpr std::string_view kOpsPrefix = "torch.ops.";

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Names that are no operators although they would lack the prefix.
bool IsPythonFunctionName(std::string_view name) {
  return StartsWith(name, "_operator.") || StartsWith(name, "math.") ||
         StartsWith(name, "torch.") || StartsWith(name, "builtins.") ||
         StartsWith(name, "#") || StartsWith(name, "@");
}

}  // namespace

Context::Context() {
  Type none;
  none.kind = TypeKind::kNone;
  none_type_ = types.Intern(none);
}

Context::Context(const Context& other)
    : strings(other.strings),
      exprs(other.exprs, &strings),
      types(other.types),
      ops_(other.ops_),
      op_by_name_(other.op_by_name_),
      forms_(other.forms_),
      form_by_hash_(other.form_by_hash_),
      metadata_(other.metadata_),
      metadata_by_hash_(other.metadata_by_hash_),
      none_type_(other.none_type_) {}

std::shared_ptr<Context> Context::Clone() const {
  return std::shared_ptr<Context>(new Context(*this));
}

OpId Context::InternOp(std::string_view name) {
  const StringId text = Intern(name);
  const auto it = op_by_name_.find(text);
  if (it != op_by_name_.end()) return it->second;
  OpInfo info;
  info.name = text;
  info.schema = FindSchema(name);
  info.is_higher_order = StartsWith(name, "higher_order.");
  info.is_python_function = IsPythonFunctionName(name);
  // In this order, an entry without a name is the worst that lack of memory
  // leaves behind.
  const OpId id(ops_.size());
  ops_.push_back(info);
  op_by_name_.emplace(text, id);
  return id;
}

FormId Context::InternForm(Form form) {
  const bool plain = std::all_of(form.begin(), form.end(), [](const auto& i) {
    return i.kind == FormItem::Kind::kValue;
  });
  if (plain) return FormId();
  uint64_t hash = form.size();
  for (const FormItem& item : form) {
    hash = (hash ^ static_cast<uint64_t>(item.kind)) * 0x9E3779B97F4A7C15ull;
    hash = (hash ^ item.list_size) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
  }
  const auto [begin, end] = form_by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (forms_[it->second.index] == form) return it->second;
  }
  const FormId id(forms_.size());
  forms_.push_back(std::move(form));
  form_by_hash_.emplace(hash, id);
  return id;
}

MetadataId Context::InternMetadata(Metadata metadata) {
  if (metadata.empty()) return MetadataId();
  uint64_t hash = metadata.size();
  for (const auto& [key, text] : metadata) {
    hash = (hash ^ key.index) * 0x9E3779B97F4A7C15ull;
    hash = (hash ^ text.index) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
  }
  const auto [begin, end] = metadata_by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (metadata_[it->second.index] == metadata) return it->second;
  }
  const MetadataId id(metadata_.size());
  metadata_.push_back(std::move(metadata));
  metadata_by_hash_.emplace(hash, id);
  return id;
}

std::string Pt2Target(std::string_view op_name) {
  if (StartsWith(op_name, "@")) return std::string(op_name.substr(1));
  if (IsPythonFunctionName(op_name)) return std::string(op_name);
  return std::string(kOpsPrefix) += op_name;
}

std::string OpNameOfPt2Target(std::string_view target) {
  if (StartsWith(target, kOpsPrefix)) {
    const std::string_view rest = target.substr(kOpsPrefix.size());
    if (!IsPythonFunctionName(rest)) return std::string(rest);
  }
  if (IsPythonFunctionName(target) && !StartsWith(target, "@")) {
    return std::string(target);
  }
  // A target outside torch.ops that no prefix tells apart.
  return std::string("@") += target;
}

}  // namespace tenon
