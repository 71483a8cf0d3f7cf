// Parts of a lowered program that delegates run.
//
// Whatever a backend takes is cut into regions as for any export (partition,
// link/outline.h) and compiled with the state that no call changes; what is
// left are calls of delegates and operators with kernels.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon::executorch {

// A backend whose payloads ExecuTorch runs, by the name that --backend knows;
// null when there is none.
const Backend* FindDelegateBackend(std::string_view name);
// What the runtime calls it: "XnnpackBackend".
std::string_view RuntimeNameOf(std::string_view backend);

// In the order of the program's delegates.
struct DelegateRegion {
  std::string runtime_name;
  uint32_t num_nodes = 0;
  CompiledRegion compiled;

  bool Absorbs(uint32_t input) const;
};

// The first backend is preferred. A region that its backend doesn't compile
// stays as it was, with a note.
Expected<std::vector<DelegateRegion>> CutForDelegates(
    Program* lowered, std::span<const Backend* const> backends,
    std::vector<std::string>* notes, Diagnostics& diags);

// By value: whether the only readers are delegates that have it in their
// payloads, so that the file needs no tensor for it.
std::vector<bool> FindAbsorbed(const Program& lowered,
                               const std::vector<DelegateRegion>& regions);

}  // namespace tenon::executorch
