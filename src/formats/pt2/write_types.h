// Writes TensorMeta, SymInt, SymFloat, SymBool, Device. Before schema 8.7,
// members that are null are left out.
#pragma once

#include <string>
#include <unordered_map>

#include "ir/context.h"

namespace tenon {

class TypeWriter {
 public:
  // For schema 8.`minor`.
  TypeWriter(const Context* context, int64_t minor)
      : context_(*context), minor_(minor) {}

  void Tensor(const Type& type, std::string* out);
  void AppendSymInt(const SymInt& value, std::string* out);
  // The SymInt, SymFloat or SymBool record of a symbolic scalar's type.
  void SymScalar(const Type& type, std::string* out);
  void AppendDevice(StringId type, int32_t index, std::string* out);
  void AppendFloat(double value, std::string* out) const;

 private:
  // {"as_expr": {"expr_str": ..., "hint": hint}}
  void AppendExpr(ExprId expr, const std::string& hint, std::string* out);

  const Context& context_;
  const int64_t minor_;
  std::unordered_map<ExprId, std::string> printed_;  // as JSON strings
};

}  // namespace tenon
