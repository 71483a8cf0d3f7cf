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
  const std::string text = pool.PrintSrepr(*id);
  const auto again = pool.Parse(text, &scope, &error, &at);
  Expect(again.has_value(), "what was printed parses", text + "\n" + error);
  Expect(*again == *id, "a printed expression is the same", text);
  // Infix drops assumptions, so that symbols with one name look alike.
  pool.Parse(pool.PrintInfix(*id), &scope, &error, &at);
  pool.Evaluate(*id, [](ExprId symbol) { return int64_t{symbol.index} - 2; });
  std::vector<ExprId> symbols;
  pool.CollectSymbols(*id, &symbols);
}

}  // namespace tenon::fuzz
