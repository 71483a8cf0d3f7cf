// Reads TensorMeta, SymInt, SymFloat, SymBool and symbolic expressions.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/json/json_input.h"
#include "ir/context.h"

namespace tenon {

// One per file: mentions of a symbol in any record mean the same symbol.
struct SymbolTable {
  SymbolScope symbols;
  // Expressions repeat in nearly every type.
  std::unordered_map<std::string, ExprId> parsed;
};

class TypeReader {
 public:
  TypeReader(const JsonInput* json, Context* context, SymbolTable* symbols)
      : json_(*json), context_(*context), symbols_(*symbols) {}

  Expected<TypeId> Tensor(const JsonElement& e, const JsonPath& path);
  Expected<TypeId> SymIntType(const JsonElement& e, const JsonPath& path);
  Expected<TypeId> SymFloatType(const JsonElement& e, const JsonPath& path);
  Expected<TypeId> SymBoolType(const JsonElement& e, const JsonPath& path);
  Expected<SymInt> ReadSymInt(const JsonElement& e, const JsonPath& path);
  Expected<ExprId> Expression(std::string_view text, const JsonPath& path);
  Expected<Device> ReadDevice(const JsonElement& e, const JsonPath& path);
  Expected<DType> ReadDType(const JsonElement& e, const JsonPath& path);
  Expected<Layout> ReadLayout(const JsonElement& e, const JsonPath& path);

 private:
  Expected<TypeId> ReadTensor(const JsonElement& e, const JsonPath& path);
  struct SymExpr {
    ExprId expr;
    bool has_hint = false;
    JsonElement hint;  // the value under the expected tag
  };
  // {"expr_str", "hint"}, wanting `tag` in the hint.
  Expected<SymExpr> ReadSymExpr(const JsonElement& e, const JsonPath& path,
                                std::string_view tag);
  Expected<std::vector<SymInt>> ReadSymInts(const JsonElement& e,
                                            const JsonPath& path);

  const JsonInput& json_;
  Context& context_;
  SymbolTable& symbols_;

  // Types of tensors repeat to the byte: the last read of each slot, by the
  // number of their text. 0 is the document, which is none.
  struct Seen {
    uint32_t original = 0;
    TypeId type;
  };
  std::array<Seen, 1024> seen_;
};

}  // namespace tenon
