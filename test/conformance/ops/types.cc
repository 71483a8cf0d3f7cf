#include "conformance/ops/types.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "analysis/infer.h"
#include "conformance/ops/call_program.h"
#include "conformance/ops/records.h"
#include "ir/program.h"

namespace tenon {
namespace {

using simdjson::dom::element;

// The recorded results, lists taken apart.
void Flatten(element value, std::vector<element>* out) {
  simdjson::dom::array items;
  if (value["list"].get(items) != simdjson::SUCCESS) {
    out->push_back(value);
    return;
  }
  for (const element item : items) Flatten(item, out);
}

std::vector<int64_t> SizesOf(element value) {
  std::vector<int64_t> out;
  simdjson::dom::array sizes;
  if (value["size"].get(sizes) != simdjson::SUCCESS) return out;
  for (const element size : sizes) out.push_back(int64_t(size));
  return out;
}

// The number that is said of a size; nullopt when none is.
std::optional<int64_t> NumberOf(const InferredSize& size,
                                const ExprPool& exprs) {
  if (size.is_literal()) return size.value;
  if (size.kind != InferredSize::Kind::kExpr) return std::nullopt;
  return std::atoll(exprs.PrintInfix(size.expr).c_str() + 1);
}

// "" or how the type differs; what isn't said agrees.
std::string Differs(const InferredType& said, element value,
                    const ExprPool& exprs, bool* complete, bool* any) {
  std::string_view dtype;
  if (value["dtype"].get(dtype) != simdjson::SUCCESS) {
    *complete = *complete && said.has_kind;
    *any = *any || said.has_kind;
    const bool is_wrong = said.has_kind && said.kind == TypeKind::kTensor;
    return is_wrong ? "a tensor, but the call gave another value" : "";
  }
  if (said.has_kind && said.kind != TypeKind::kTensor) {
    return "no tensor, but the call gave one";
  }
  if (said.dtype == DType::kUnknown) {
    *complete = false;
  } else {
    *any = true;
    if (Name(said.dtype) != dtype) {
      return std::string(Name(said.dtype)) + ", want " + std::string(dtype);
    }
  }
  const std::vector<int64_t> sizes = SizesOf(value);
  if (said.rank < 0) {
    *complete = false;
    return "";
  }
  *any = true;
  if (said.rank != static_cast<int>(sizes.size())) {
    return "rank " + std::to_string(said.rank) + ", want " +
           std::to_string(sizes.size());
  }
  for (size_t d = 0; d < sizes.size() && d < InferredType::kMaxRank; ++d) {
    const auto size = NumberOf(said.sizes[d], exprs);
    if (!size) {
      *complete = false;
    } else if (*size != sizes[d]) {
      return "size " + std::to_string(*size) + " of dimension " +
             std::to_string(d) + ", want " + std::to_string(sizes[d]);
    }
  }
  return "";
}

// "" or what is said and isn't so.
std::string CheckAs(Sizing sizing, const OpSchema& schema,
                    const std::vector<RuntimeValue>& args,
                    const std::vector<bool>& present,
                    const std::vector<element>& results, bool* complete,
                    bool* any) {
  CallProgram call(sizing);
  const NodeId n =
      call.Build(schema, args, present, static_cast<uint32_t>(results.size()));
  const std::vector<InferredType> said = InferTypes(call.program(), n);
  if (said.size() > results.size()) {
    return "types of " + std::to_string(said.size()) + " results, want " +
           std::to_string(results.size());
  }
  *complete = said.size() == results.size();
  for (size_t i = 0; i < said.size(); ++i) {
    const std::string why = Differs(
        said[i], results[i], call.program().context().exprs, complete, any);
    if (!why.empty()) {
      return "type of result " + std::to_string(i) + ": " + why;
    }
  }
  return "";
}

}  // namespace

std::string CheckTypes(const OpSchema& schema,
                       const std::vector<RuntimeValue>& args,
                       const std::vector<bool>& present, element record,
                       TypeCounts* counts) {
  element out;
  if (record["out"].get(out) != simdjson::SUCCESS) return "";
  std::vector<element> results;
  if (!schema.returns.empty()) Flatten(out, &results);
  bool complete = false, any = false;
  std::string why = CheckAs(Sizing::kSymbols, schema, args, present, results,
                            &complete, &any);
  if (!why.empty()) return "with symbolic sizes: " + why;
  any = false;
  why = CheckAs(Sizing::kNumbers, schema, args, present, results, &complete,
                &any);
  if (!why.empty()) return why;
  ++(!any && !results.empty() ? counts->open
     : complete               ? counts->complete
                              : counts->partial);
  return "";
}

}  // namespace tenon
