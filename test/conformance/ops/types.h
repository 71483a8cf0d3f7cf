// What the type rules of operators say of recorded calls.
#pragma once

#include <simdjson.h>

#include <string>
#include <vector>

#include "ops/schema.h"
#include "tensor/value.h"

namespace tenon {

struct TypeCounts {
  int complete = 0;  // dtype and all sizes of each tensor are said
  int partial = 0;
  int open = 0;  // nothing is said

  void Add(const TypeCounts& other) {
    complete += other.complete;
    partial += other.partial;
    open += other.open;
  }
};

// Makes a node of the call and infers the types of its results, once with the
// recorded sizes and once with symbols for them. "" when what is said is what
// the record has, otherwise the first difference; `counts` are of the former.
// `args` and `present` are in schema order.
std::string CheckTypes(const OpSchema& schema,
                       const std::vector<RuntimeValue>& args,
                       const std::vector<bool>& present,
                       simdjson::dom::element record, TypeCounts* counts);

}  // namespace tenon
