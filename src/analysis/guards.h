// Guards: relations between a program's inputs that stand only as Python
// expressions in its file, "3*L['x'].size()[0] <= 20" (rule R-1).
//
// Comparisons of integer expressions over the inputs' sizes, strides, offsets
// and values are understood; nothing is evaluated as code:
//
//   guard  = comparison { "and" comparison }
//   compare: expr ("==" | "!=" | "<" | "<=" | ">" | ">=") expr
//   expr   = sums, products, "//", "%", "-", parentheses, integers, atoms
//   atom   = L['name'] { [0] | ['key'] } [ .size()[d] | .stride()[d]
//            | .storage_offset() ]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace tenon {

class Guard {
 public:
  enum class Property : uint8_t { kValue, kSize, kStride, kOffset };
  // What a guard asks of a user input (numbered as in_spec's leaves are);
  // nullopt when the input has no such property.
  using Resolver = std::function<std::optional<int64_t>(
      uint32_t leaf, Property property, uint32_t dim)>;

  // nullopt with `error` when the text isn't of that form, or names no input.
  static std::optional<Guard> Parse(const Program& program,
                                    std::string_view text, std::string* error);

  // nullopt when a property is missing, or on overflow or division by zero.
  std::optional<bool> Holds(const Resolver& resolve) const;

  // "E != 0", "E != 1", "E >= 2" and the like. PyTorch traces as if such sizes
  // didn't occur and notes that, also where the program's ranges include them;
  // the ranges are what was declared (bug K4-08).
  bool ExcludesSpecialSizes() const;

  const std::string& text() const { return text_; }
  // The inputs that it mentions, each once.
  std::vector<uint32_t> Leaves() const;

 private:
  friend class GuardParser;
  enum class Op : uint8_t {
    kInteger,
    kAtom,
    kAdd,
    kSub,
    kMul,
    kFloorDiv,
    kMod,
    kNeg,
    kEq,
    kNe,
    kLt,
    kLe,
    kGt,
    kGe,
    kAnd,
  };
  // Operands come before the term that uses them.
  struct Term {
    Op op = Op::kInteger;
    int64_t value = 0;
    uint32_t a = 0, b = 0;
    uint32_t leaf = 0, dim = 0;
    Property property = Property::kValue;
  };

  std::string text_;
  std::vector<Term> terms_;  // the last is the guard
};

}  // namespace tenon
