// Operators whose results the type rules don't say whole, and why.
//
// The list makes the rules' reach a checked number: a rule that says less than
// before, or more than the list admits, fails the run.
#pragma once

#include <map>
#include <string>

#include "conformance/ops/types.h"

namespace tenon {

struct TypeGap {
  int partial = 0;  // recorded calls said in part
  int open = 0;     // and not at all
  std::string reason;
};

// By operator.
using TypeGaps = std::map<std::string, TypeGap>;

// Lines "OPERATOR<tab>IN PART<tab>NOT AT ALL<tab>REASON"; '#' begins a comment
// line. False when the file can't be read or a line has another form.
bool ReadTypeGaps(const std::string& path, TypeGaps* gaps);

// "" when the recorded calls of the operator are said as the list has it;
// otherwise what is said and what is listed.
std::string CompareGaps(const std::string& name, const TypeCounts& counts,
                        const TypeGaps& gaps);

}  // namespace tenon
