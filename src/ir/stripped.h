// The mark of a program whose weights were taken out: a member that it carries
// (formats/pt2/stripped.h says what is in it).
#pragma once

#include <string_view>

#include "ir/program.h"

namespace tenon {

constexpr std::string_view kStrippedMember = "data/tenon/stripped.json";

// Of the program's members, or null: it wasn't stripped.
const FileInfo::Member* FindStrippedMember(const Program& program);
inline bool IsStripped(const Program& program) {
  return FindStrippedMember(program) != nullptr;
}

}  // namespace tenon
