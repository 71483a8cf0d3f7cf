// What delegates are given when a file is loaded: their payloads, and the data
// that those ask for by key.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "diag/diagnostics.h"
#include "executorch/delegate_regions.h"
#include "executorch/device_delegates.h"
#include "executorch/export_pte.h"
#include "executorch/stored_data.h"
#include "executorch/weights.h"
#include "support/expected.h"

namespace tenon::executorch {

// Of all methods of a file; equal payloads are stored once.
class Payloads {
 public:
  // `is_inline`: in the tables, otherwise segments.
  Payloads(bool is_inline, PteProgram* program)
      : is_inline_(is_inline), program_(*program) {}

  // The plan's delegates know their regions by number so far; what regions ask
  // for goes to `weights`.
  Status Add(const std::vector<DelegateRegion>& regions, Weights* weights,
             PtePlan* plan, PteExportReport* report, Diagnostics& diags);

 private:
  PtePayloadRef Place(const std::vector<std::byte>& payload,
                      PteExportReport* report);

  const bool is_inline_;
  PteProgram& program_;
  std::map<ContentKey, PtePayloadRef> known_;
  KeySeparator separator_;
};

}  // namespace tenon::executorch
