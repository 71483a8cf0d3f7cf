// What programs share: interned strings, expressions, types, operator names.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/expr.h"
#include "ir/ids.h"
#include "ir/type.h"
#include "ops/schema.h"
#include "support/string_pool.h"

namespace tenon {

// An operator by name. Names are PyTorch's: "aten.add.Tensor",
// "higher_order.cond", "_operator.mul", "math.trunc", "torch.sym_max".
struct OpInfo {
  StringId name;
  const OpSchema* schema = nullptr;  // null: opaque or a Python function
  bool is_higher_order = false;      // higher_order.*
  bool is_python_function = false;   // _operator.*, math.*, torch.*
  // Operators of the schema table take no graphs.
  bool may_hold_graphs() const { return is_higher_order || schema == nullptr; }
};

// Structure of a node's results: one entry per return. Results are flat in
// the IR; an entry says which of them make up that return.
struct FormItem {
  enum class Kind : uint8_t { kValue, kNone, kList } kind = Kind::kValue;
  uint32_t list_size = 0;  // kList: that many values, in order
  friend bool operator==(const FormItem&, const FormItem&) = default;
};
using Form = std::vector<FormItem>;

// Key and text pairs of a node's metadata, in file order.
using Metadata = std::vector<std::pair<StringId, StringId>>;

// Append-only, shared by a program and its clones; not thread-safe.
class Context {
 public:
  Context();
  Context& operator=(const Context&) = delete;
  // All of it by the same ids, for work beside those who read this one.
  std::shared_ptr<Context> Clone() const;

  StringPool strings;
  ExprPool exprs{&strings};
  TypePool types;

  StringId Intern(std::string_view text) { return strings.Intern(text); }
  std::string_view view(StringId id) const { return strings.view(id); }

  OpId InternOp(std::string_view name);
  const OpInfo& op(OpId id) const { return ops_[id.index]; }
  size_t num_ops() const { return ops_.size(); }
  std::string_view op_name(OpId id) const { return view(ops_[id.index].name); }

  // The form whose every return is one value is not stored: it is FormId().
  FormId InternForm(Form form);
  const Form& form(FormId id) const { return forms_[id.index]; }
  size_t num_forms() const { return forms_.size(); }

  // Empty metadata is MetadataId().
  MetadataId InternMetadata(Metadata metadata);
  const Metadata& metadata(MetadataId id) const { return metadata_[id.index]; }
  size_t num_metadata() const { return metadata_.size(); }

  TypeId none_type() const { return none_type_; }

 private:
  Context(const Context& other);

  std::deque<OpInfo> ops_;
  std::unordered_map<StringId, OpId> op_by_name_;
  std::deque<Form> forms_;
  std::unordered_multimap<uint64_t, FormId> form_by_hash_;
  std::deque<Metadata> metadata_;
  std::unordered_multimap<uint64_t, MetadataId> metadata_by_hash_;
  TypeId none_type_;
};

// The string of `op` in a .pt2's target, and back. "aten.add.Tensor" is
// "torch.ops.aten.add.Tensor" there; Python functions are the same. Any other
// text is kept behind an '@'.
std::string Pt2Target(std::string_view op_name);
std::string OpNameOfPt2Target(std::string_view target);

}  // namespace tenon
