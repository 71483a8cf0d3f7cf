// The members of a zip as hostile as it may be.
//
// `formats/zip` refuses archives that could mean two things. Here they are what
// is looked for: every entry that any reader may find is listed, and what is
// odd about it is said.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/byte_cursor.h"

namespace tenon {

struct FoundMember {
  std::string_view name;  // as in the directory
  Bytes stored;           // empty when it lies outside the file
  bool is_deflated = false;
  uint64_t size_bytes = 0;  // of the content, as the directory says
  // What is wrong with it; "" when nothing is.
  std::string lies;     // readers of this archive may disagree about it
  std::string escapes;  // unpacking it touches another place
  std::string unread;   // why its content can't be had
};

struct FoundMembers {
  std::vector<FoundMember> members;
  // Of the archive as a whole, as `FoundMember::lies`.
  std::vector<std::string> lies;
  // Why there is no directory; then nothing else is filled.
  std::string problem;
};

FoundMembers FindMembers(Bytes bytes);

}  // namespace tenon
