#include "conformance/ops/types.h"

#include <algorithm>
#include <memory>

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

// "" or how the type differs; what isn't said agrees.
std::string Differs(const InferredType& said, element value, bool* complete,
                    bool* any) {
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
    if (!said.sizes[d].is_literal()) {
      *complete = false;
    } else if (said.sizes[d].value != sizes[d]) {
      return "size " + std::to_string(said.sizes[d].value) + " of dimension " +
             std::to_string(d) + ", want " + std::to_string(sizes[d]);
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
  CallProgram call;
  const NodeId n =
      call.Build(schema, args, present, static_cast<uint32_t>(results.size()));
  const std::vector<InferredType> said = InferTypes(call.program(), n);
  bool complete = said.size() >= results.size(), any = false;
  for (size_t i = 0; i < std::min(said.size(), results.size()); ++i) {
    const std::string why = Differs(said[i], results[i], &complete, &any);
    if (!why.empty()) {
      return "type of result " + std::to_string(i) + ": " + why;
    }
  }
  ++(!any && !results.empty() ? counts->open
     : complete               ? counts->complete
                              : counts->partial);
  return "";
}

}  // namespace tenon
