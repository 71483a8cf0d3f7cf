// Writes TensorMeta, SymInt, SymFloat, SymBool, Device.
#pragma once

#include <string>
#include <unordered_map>

#include "ir/context.h"

namespace tenon {

class TypeWriter {
 public:
  explicit TypeWriter(const Context* context) : context_(*context) {}

  void Tensor(const Type& type, std::string* out);
  void AppendSymInt(const SymInt& value, std::string* out);
  // The SymInt, SymFloat or SymBool record of a symbolic scalar's type.
  void SymScalar(const Type& type, std::string* out);
  void AppendDevice(StringId type, int32_t index, std::string* out);

 private:
  // {"as_expr": {"expr_str": ..., "hint": hint}}
  void AppendExpr(ExprId expr, const std::string& hint, std::string* out);

  const Context& context_;
  std::unordered_map<ExprId, std::string> printed_;  // as JSON strings
};

}  // namespace tenon
