// Puts members into the records of a JSON text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

struct JsonInsertion {
  std::string path;  // of the record, as JsonPath spells it: "$.a.b[3]"
  std::string member;
  std::string json;  // the member's value
};

// The text, spelled as by AppendJsonElement, with each member at the end of its
// record, in order. `is_done` gets for each whether its path led to a record
// that lacks the member. Text or values that aren't JSON stay as they are.
std::string InsertJsonMembers(std::string_view text,
                              std::span<const JsonInsertion> insertions,
                              std::vector<bool>* is_done);

}  // namespace tenon
