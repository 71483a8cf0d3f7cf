// Damaged and hostile files: each has to be refused with an error, or read
// where it is odd but legal; never a crash, a hang or a huge allocation.
#pragma once

#include <string>

#include "conformance/pt2/run.h"

namespace tenon::conformance {

// PATH is a manifest {"files": [{"file", "what", "expected"}, ..]}; `expected`
// starts with "accept" for a file that must be readable, and names an
// alternative ("accept or warn: ..", "accept as bytes, or: ..") where refusing
// it is right, too. A file counts as refused when reading or verifying it
// reports an error. Checksums are compared. The few files that PyTorch
// refuses and Tenon accepts on purpose stand in broken.cc with their reason.
// Prints as RunPt2 does.
int RunBroken(const std::string& manifest, const RunOptions& options);

}  // namespace tenon::conformance
