// Replays recorded calls of a program in a session.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "conformance/pt2/manifest.h"
#include "diag/diagnostics.h"
#include "formats/tensor/safetensors.h"
#include "ir/program.h"
#include "tensor/value.h"

namespace tenon::conformance {

struct ReplayResult {
  std::string difference;  // "" when all is as recorded
  // The program can't be executed for something that isn't implemented;
  // `difference` says what.
  bool is_unsupported = false;
};

// Sees each output leaf of each call beside the recorded one.
using OutputObserver =
    std::function<void(size_t call, size_t leaf, const RuntimeValue& got,
                       const RuntimeValue& want)>;

// Each recorded call starts from the state that the file holds. Compared are
// the outputs, containers and keys included, the state afterwards, changed or
// not, and the inputs afterwards. Behind the last call, the memory plan of no
// delegate is more than one percent larger than what is alive at once.
ReplayResult Replay(std::shared_ptr<const Program> program,
                    const CorpusProgram& entry, const Safetensors& recording,
                    const OutputObserver& observer = nullptr);

// Names of the operators that the reference executor lacks, each once.
std::string FindUnsupported(const Program& program);

}  // namespace tenon::conformance
