// Operator schemas: argument kinds, defaults, aliasing, results.
//
// Schemas come from PyTorch's own declarations (schemas.inc, made by
// scripts/make_schemas.py) and are parsed when first asked for. Operators that
// the table lacks are opaque: they travel with the arguments that they have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenon {

// Element kind of an argument or result, by the schema language's words.
enum class SchemaType : uint8_t {
  kTensor,
  kInt,     // int, SymInt
  kFloat,   // float, SymFloat
  kBool,    // bool, SymBool
  kScalar,  // int, float, bool or complex
  kString,
  kDtype,
  kLayout,
  kDevice,
  kMemoryFormat,
  kGenerator,
  kOther,
};

// A default as the schema writes it.
struct SchemaDefault {
  // monostate = None.
  std::variant<std::monostate, int64_t, double, bool, std::string,
               std::vector<int64_t>, std::vector<double>>
      value;
  // The text was a name: Mean, contiguous_format, strided, float32.
  bool is_name = false;
};

struct SchemaArg {
  std::string name;
  SchemaType type = SchemaType::kOther;
  bool symbolic = false;          // SymInt and friends
  bool is_list = false;           // T[]
  int fixed_size = 0;             // T[2]: a single T may stand for the list
  bool is_optional = false;       // T?, T[]?
  bool element_optional = false;  // T?[]
  bool keyword_only = false;
  bool has_default = false;
  SchemaDefault default_value;
  // Alias set letters of the argument: "a" in Tensor(a!), "" when none.
  std::string alias_set;
  bool is_written = false;  // the ! of the alias annotation
};

struct SchemaReturn {
  std::string name;
  SchemaType type = SchemaType::kOther;
  bool is_list = false;
  std::string alias_set;  // set letters that the result may alias
  bool is_written = false;
};

struct OpSchema {
  std::string name;  // "aten.add.Tensor"
  std::vector<SchemaArg> args;
  std::vector<SchemaReturn> returns;
  bool is_core = false;                // tagged core ATen
  bool nondeterministic = false;       // draws random numbers
  bool data_dependent_output = false;  // result sizes depend on values

  // An argument is written.
  bool is_mutating() const;
  // A result may share storage with an argument without being written.
  bool is_view() const;
  // Index of the argument, or -1.
  int FindArg(std::string_view arg_name) const;
};

// `name` is namespace.operator.overload ("aten.add.Tensor",
// "prims.abs.default"). Null when the table has no such operator. The result
// lives forever. Thread-safe.
const OpSchema* FindSchema(std::string_view name);

// Parses one declaration, "aten::add.Tensor(Tensor self, ...) -> Tensor".
// False on text that the schema language doesn't allow.
bool ParseSchema(std::string_view declaration, OpSchema* out);

// All operator names of the table, sorted.
std::vector<std::string_view> AllSchemaNames();

}  // namespace tenon
