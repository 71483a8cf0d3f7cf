// Symbolic sizes, in both notations.
#include "fuzz/target.h"
#include "ir/context.h"

namespace tenon::fuzz {

void FuzzExpression(Bytes bytes) {
  Context context;
  ExprPool& pool = context.exprs;
  SymbolScope scope;
  std::string error;
  size_t at = 0;
  const auto id = pool.Parse(AsText(bytes), &scope, &error, &at);
  if (!id) {
    Expect(!error.empty() && at <= bytes.size(), "a refusal says what, where");
    return;
  }
  for (const std::string& text : {pool.PrintInfix(*id), pool.PrintSrepr(*id)}) {
    const auto again = pool.Parse(text, &scope, &error, &at);
    Expect(again.has_value(), "what was printed parses", text + "\n" + error);
    Expect(*again == *id, "a printed expression is the same", text);
  }
  pool.Evaluate(*id, [](ExprId symbol) { return int64_t{symbol.index} - 2; });
  std::vector<ExprId> symbols;
  pool.CollectSymbols(*id, &symbols);
}

}  // namespace tenon::fuzz
