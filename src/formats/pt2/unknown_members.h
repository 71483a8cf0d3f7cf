// Puts back what a newer schema added and the reader didn't know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace tenon {

// A JSON document of the program with the members that its reader didn't know,
// where their records are still there; each is told in `notes`. `prefix` tells
// the documents apart as in FileInfo::unknown_members. Before schema 8.14,
// whose readers refuse what they don't know, they are left out.
std::string WithUnknownMembers(const Program& program, std::string_view prefix,
                               int64_t minor, std::string text,
                               std::vector<std::string>* notes);

}  // namespace tenon
