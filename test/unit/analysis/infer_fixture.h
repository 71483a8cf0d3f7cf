// Calls of single operators, and what is inferred of them as text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/infer.h"
#include "builder.h"

namespace tenon {

using Item = Builder::Item;
using List = std::vector<Item>;

// "f32[2, 3]": what is inferred of the first result; '?' for what isn't known.
inline std::string Infer(const Builder& b, NodeId n, size_t i = 0) {
  const auto types = InferTypes(b.program, n);
  if (i >= types.size() || !types[i].has_kind) return "?";
  const InferredType& t = types[i];
  if (t.kind == TypeKind::kSymInt) return "symint";
  if (t.kind == TypeKind::kSymFloat) return "symfloat";
  if (t.kind == TypeKind::kSymBool) return "symbool";
  if (t.kind == TypeKind::kNone) return "none";
  std::string out(t.dtype == DType::kUnknown ? "?" : ShortName(t.dtype));
  if (t.rank < 0) return out + "[...]";
  out += '[';
  for (int d = 0; d < t.rank; ++d) {
    if (d > 0) out += ", ";
    switch (t.sizes[d].kind) {
      case InferredSize::Kind::kUnknown:
        out += '?';
        break;
      case InferredSize::Kind::kLiteral:
        out += std::to_string(t.sizes[d].value);
        break;
      case InferredSize::Kind::kExpr:
        out += b.context->exprs.PrintInfix(t.sizes[d].expr);
        break;
    }
  }
  return out + "]";
}

class InferTest : public testing::Test, public Builder {
 protected:
  // The results of a call that gives `count`, one after the other.
  std::string All(std::string_view op, const std::vector<Item>& args,
                  size_t count) {
    const NodeId n = Op(op, args, std::vector<TypeId>(count, F32({})));
    std::string out;
    for (size_t i = 0; i < InferTypes(program, n).size(); ++i) {
      out += (i > 0 ? " " : "") + Infer(*this, n, i);
    }
    return out;
  }
  // The arguments of a call that takes one list.
  static std::vector<Item> One(List items) {
    std::vector<Item> out;
    out.emplace_back(std::move(items));
    return out;
  }
  Item Text(std::string_view text) {
    return Arg::String(context->Intern(text));
  }
  // What is inferred for a call of `op`; the stated result plays no part.
  std::string Of(std::string_view op, const std::vector<Item>& args,
                 size_t results = 1, size_t which = 0) {
    const NodeId n = Op(op, args, std::vector<TypeId>(results, F32({})));
    return Infer(*this, n, which);
  }
};

}  // namespace tenon
