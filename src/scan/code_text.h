// Texts of a model that loaders hand to Python's eval, and what in them isn't
// what they are meant to be.
//
// No grammar is parsed: an expression does something only through a call, an
// attribute or a string that is evaluated in turn, so those are looked for
// token by token, each against a list of what belongs there. Text that is no
// expression at all fails to load, which is harmless, but a string without an
// end is looked into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

struct CodeFound {
  enum class Level : uint8_t { kNothing, kUnknown, kCode };
  Level level = Level::kNothing;
  std::string what;  // a phrase: "calls '__import__'"
};

// A size, a range's key: read by sympy's parser, which evaluates the text as
// Python and evaluates strings among its arguments again.
CodeFound FindCodeInExpression(std::string_view text);

// A guard: compiled as Python over the inputs, L['x'].size()[0] <= 4.
CodeFound FindCodeInGuard(std::string_view text);

// A text that an input was fixed to: loaders put it between quotes into a
// guard, as it is. Where it ends the quotes, the rest is code; where that is no
// Python, the guard fails to compile.
CodeFound FindCodeInFixedText(std::string_view text);

// A call's target: torch.ops.NAMESPACE.NAME.OVERLOAD, or a function of scalars.
// Others are looked up as attributes of Python's modules.
CodeFound FindCodeInTarget(std::string_view target);

// An operator that reads or writes files when it runs: "reads a file". "" for
// all others.
std::string_view FileAccessOf(std::string_view target);

// Whether loaders can put the name into the code that they generate. Keywords
// are let pass: they break that code, and are names of parameters ("from").
bool LooksLikeIdentifier(std::string_view name);

}  // namespace tenon
