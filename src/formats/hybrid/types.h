// Types of a hybrid document: the `val` of a node, sizes over named symbols.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/json/json_input.h"

namespace tenon::hybrid {

// "cpu", "cuda:1"
Expected<Device> ReadDevice(const JsonInput& json, const JsonElement& e,
                            const JsonPath& path, Context* context);

class Types {
 public:
  Types(const JsonInput& json, Program* program)
      : json_(json), program_(*program) {}

  // Tensor types that a `val` may name by position; each is read when it is
  // first named.
  Status SetTable(const JsonElement& table, const JsonPath& path);
  // What `val` stands for: its entry of the table when it is an integer.
  // Null when there is none.
  const JsonElement* Resolve(const JsonElement& val) const;

  // {symbol: {label, min, max}} to symbols and ranges.
  Status ReadSymbols(const JsonElement& dims, const JsonPath& path);

  // The value of a symbol in the example call; hints of sizes follow from it.
  void SetHint(ExprId symbol, int64_t value) { hints_.emplace(symbol, value); }

  // Of one value. Not of structures.
  Expected<TypeId> Read(const JsonElement& val, const JsonPath& path);
  // Of a tensor or symbolic scalar, for the example call's sake.
  Expected<SymInt> ReadSize(const JsonElement& e, const JsonPath& path);

  static Type Contiguous(Program* program, DType dtype,
                         std::vector<SymInt> sizes);

 private:
  struct Entry {
    JsonElement stated;
    TypeId type;  // invalid until it was read
  };

  Expected<TypeId> ReadNamed(const JsonElement& position, const JsonPath& path);
  Expected<TypeId> ReadTensor(const JsonElement& val, const JsonPath& path);
  Expected<TypeId> ReadScalar(const JsonElement& val, const JsonPath& path);
  Expected<TypeId> ReadConstant(const JsonElement& val, const JsonPath& path);

  const JsonInput& json_;
  Program& program_;
  std::vector<Entry> table_;
  SymbolScope scope_;
  std::unordered_map<ExprId, int64_t> hints_;
};

}  // namespace tenon::hybrid
