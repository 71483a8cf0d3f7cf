// ExecuTorch programs: read, checked, written and read again.
#pragma once

#include <string>

#include "conformance/pt2/run.h"

namespace tenon::conformance {

// PATH is a manifest {"entries": [{"name", "pte", "data": [..]}, ..]}; programs
// in a folder "handmade" beside it belong to it. Each program must hold all
// rules, with its data files; written and read again it must be the same, and
// written once more the same bytes. With `keep`, the written files stay in that
// folder, laid out as the manifest's. Payloads inside the tables that are
// larger than `inline_limit_bytes` become segments. Prints as RunPt2 does.
int RunPte(const std::string& manifest, const std::string& keep,
           uint64_t inline_limit_bytes, const RunOptions& options);

// One damaged file. `must` says what a good reader does: accepts it ("accept
// .."), accepts it with a warning (".. (warn)", ".. (report, not refuse)"), or
// refuses it.
CheckResult CheckBrokenPte(const std::string& name, const std::string& path,
                           const std::string& must);

}  // namespace tenon::conformance
