// What `tenon info` says about the archive around a program: who laid it out,
// and what lies beside the program.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/byte_cursor.h"

namespace tenon::tools {

struct ArchiveSummary {
  char layout = 0;  // 'A', 'B' or 'C' (docs/formats/pt2.md); 0 = no archive
  std::vector<std::string> methods;
  uint64_t num_members = 0;
  uint64_t example_input_bytes = 0;  // a pickle; 0 when there are none
  bool has_delegates = false;        // members that Tenon alone writes
  // Names and sizes.
  std::vector<std::pair<std::string, uint64_t>> extra_files;
};

// Of an archive that a program was read from.
ArchiveSummary SummariseArchive(Bytes bytes);

// "C (torch >= 2.9)".
std::string LayoutText(char layout);

}  // namespace tenon::tools
