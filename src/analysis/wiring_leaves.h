// Digests of what a program says without wiring: names, types, literals, specs
// and ranges. Equal things of two programs have equal digests, whatever their
// ids.
#pragma once

#include <array>
#include <vector>

#include "ir/program.h"
#include "support/hash.h"

namespace tenon {

// Remembers what it hashed; the program must outlive it and not change.
class WiringLeaves {
 public:
  explicit WiringLeaves(const Program& program)
      : program_(program), context_(program.context()) {}

  // Of a name. The reference holds until the next call.
  const Digest& Text(StringId id) {
    KnownText& known = texts_[id.index % texts_.size()];
    if (known.id != id || !id.valid()) {
      const std::string_view text = context_.view(id);
      known = {id, HashBytes(text.data(), text.size())};
    }
    return known.digest;
  }

  // Zero for an invalid id.
  Digest Type(TypeId id) {
    if (id.index < types_.size() && !(types_[id.index] == Digest())) {
      return types_[id.index];
    }
    return NewType(id);
  }

  // Of an argument that is neither a value nor a list, dict or graph.
  Digest Literal(const Arg& arg);

  void AddSymInt(const SymInt& s, Hasher* h) const;
  static void AddSpec(const TreeSpec& spec, Hasher* h);
  // The ranges of all symbols, in an order of their own.
  void AddRanges(Hasher* h) const;

 private:
  struct KnownText {
    StringId id;
    Digest digest;
  };

  Digest NewType(TypeId id);

  const Program& program_;
  const Context& context_;
  // By the low bits of the string's id: names of operators and parameters are
  // again and again the same few.
  std::array<KnownText, 256> texts_;
  std::vector<Digest> types_;  // by type, zero = not computed
};

}  // namespace tenon
