// Types, sizes and expressions as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "text/defaults.h"

namespace tenon {

class TypePrinter {
 public:
  // For messages: types of any context, without hints.
  explicit TypePrinter(Context* context);
  // For text that is read back: gathers the program's symbols, their hints,
  // and which of them can be mentioned by their bare name.
  explicit TypePrinter(const Program& program);

  // "f32[s77, 4] requires_grad". Kept, so that asking again is cheap.
  const std::string& Text(TypeId type);
  const std::string& Text(ExprId expr);

  // In order of first mention; each has a name of its own.
  const std::vector<ExprId>& symbols() const { return symbols_; }
  HintTable& hints() { return hints_; }

 private:
  void Gather(const Program& program);
  void GatherType(TypeId type);
  void GatherExpr(ExprId expr);
  void AddSymbol(ExprId symbol);
  // Whether its bare name means this symbol.
  bool IsDeclared(ExprId symbol) const;
  bool AreSymbolsDeclared(ExprId expr) const;

  void AppendType(const Type& type, std::string* out);
  void AppendTensor(const Type& type, std::string* out);
  // Its strides are those that the text form leaves out.
  bool IsContiguous(const Type& type);
  void AppendDims(const std::vector<SymInt>& dims, std::string* out);
  void AppendSymInt(const SymInt& s, std::string* out);
  std::string ChooseText(ExprId expr);

  Context& context_;
  HintTable hints_;
  bool is_for_messages_;
  std::vector<ExprId> symbols_;
  SymbolScope scope_;  // symbols_ by name
  std::vector<bool> seen_types_, seen_exprs_;
  std::vector<std::string> type_texts_, expr_texts_;
};

}  // namespace tenon
