// Replays recorded calls of a program in a session.
#pragma once

#include <memory>
#include <string>

#include "conformance/pt2/manifest.h"
#include "diag/diagnostics.h"
#include "formats/tensor/safetensors.h"
#include "ir/program.h"

namespace tenon::conformance {

struct ReplayResult {
  std::string difference;  // "" when all is as recorded
  // The program can't be executed for something that isn't implemented;
  // `difference` says what.
  bool is_unsupported = false;
};

// Each recorded call starts from the state that the file holds. Compared are
// the outputs, containers and keys included, the state afterwards, changed or
// not, and the inputs afterwards.
ReplayResult Replay(std::shared_ptr<const Program> program,
                    const CorpusProgram& entry, const Safetensors& recording);

// Names of the operators that the reference executor lacks, each once.
std::string FindUnsupported(const Program& program);

}  // namespace tenon::conformance
