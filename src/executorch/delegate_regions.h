// Parts of a lowered program that delegates run.
//
// Whatever a backend takes is cut into regions as for any export (partition,
// link/outline.h) and compiled with the state that no call changes; what is
// left are calls of delegates and operators with kernels.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "diag/diagnostics.h"
#include "executorch/plan_draft.h"
#include "ir/program.h"
#include "partition/partition.h"
#include "support/expected.h"

namespace tenon::executorch {

// A backend whose payloads ExecuTorch runs, by the name that --backend knows;
// null when there is none, or when it has to be made with what it needs
// (device_delegates).
const Backend* FindDelegateBackend(std::string_view name);
// What the runtime calls it: "XnnpackBackend".
std::string_view RuntimeNameOf(std::string_view backend);

// In the order of the program's delegates.
struct DelegateRegion {
  std::string name;  // "region_0"
  std::string runtime_name;
  uint32_t num_nodes = 0;
  // Where its arguments have to lie: MemoryBlock::kHost, or a CUDA device.
  int8_t device = MemoryBlock::kHost;
  CompiledRegion compiled;

  bool Absorbs(uint32_t input) const;
};

struct CutOptions {
  std::vector<const Backend*> backends;  // the first is preferred
  // What each may take, by its name; without an entry, all that it takes.
  std::map<std::string, BackendRequest, std::less<>> requests;
  int8_t cuda_device = 0;  // of delegates on devices
};

// A region that its backend doesn't compile is for the next one that takes all
// of it, and stays as it was when there is none; notes say why.
Expected<std::vector<DelegateRegion>> CutForDelegates(
    Program* lowered, const CutOptions& options,
    std::vector<std::string>* notes, Diagnostics& diags);

// By value: whether the only readers are delegates that have it in their
// payloads, so that the file needs no tensor for it.
std::vector<bool> FindAbsorbed(const Program& lowered,
                               const std::vector<DelegateRegion>& regions);

}  // namespace tenon::executorch
