// The arguments of operator calls, by the parameters of their schemas.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace tenon {

// More parameters than any operator of the table has.
constexpr size_t kMaxBoundParameters = 32;

// args[i] is what the call passes for schema parameter i; null when it passes
// nothing there.
struct BoundArgs {
  const OpSchema* schema = nullptr;
  std::array<const Arg*, kMaxBoundParameters> args;

  const Arg* operator[](size_t i) const { return args[i]; }
};

// What is wrong with a call whose arguments can't all be bound.
struct BindError {
  enum class Kind : uint8_t {
    kNone,
    kUnknownName,
    kTwice,
    kTooMany
  } kind = Kind::kNone;
  uint32_t arg = 0;  // position among the node's direct arguments
};

// Binds by comparing interned names; the schemas' names are looked up once per
// operator. An argument without a name stands at its own position.
class ArgBinder {
 public:
  explicit ArgBinder(const Program& program) : program_(program) {}

  // False when the operator has no schema, or one with too many parameters.
  // Arguments that bind nothing are left out and the first is told in `error`.
  bool Bind(NodeId n, BoundArgs* out, BindError* error = nullptr);

 private:
  struct Names {
    bool is_known = false;
    bool has_schema = false;
    std::vector<StringId> ids;
  };
  const Names& NamesOf(OpId op);

  const Program& program_;
  std::vector<Names> by_op_;
};

}  // namespace tenon
