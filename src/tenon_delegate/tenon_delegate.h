// Tenon's own delegate for ExecuTorch: regions that backend `cpu` runs, inside
// of a host that knows nothing of Tenon (executorch/tenon_backend.cc).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "backends/backend.h"

namespace tenon {

// Takes what backend `cpu` takes, and makes payloads of it
// (delegate_payload.h).
class TenonDelegate : public Backend {
 public:
  std::string_view name() const override { return "tenon"; }
  std::optional<Refusal> Refuses(const Program& program,
                                 NodeId node) const override;
  Expected<CompiledRegion> Compile(const Program& region,
                                   const BackendOptions& options,
                                   Diagnostics& diags) const override;
  // Without data that a file would name: an error for a payload that asks for
  // some.
  Expected<std::unique_ptr<Executable>> Load(Bytes payload,
                                             std::shared_ptr<const void> owner,
                                             const BackendOptions& options,
                                             Diagnostics& diags) const override;
};

// The bytes of that name, and who keeps them; an error when there are none.
using NamedDataSource =
    std::function<Expected<std::pair<Bytes, std::shared_ptr<const void>>>(
        const std::string& key)>;

struct LoadedDelegate {
  // Takes the inputs that aren't constants, in order. What it needs of the
  // payload it has copied; constants stay where they are.
  std::unique_ptr<Executable> region;
  uint32_t num_outputs = 0;  // as the payload says
};

Expected<LoadedDelegate> LoadTenonDelegate(Bytes payload,
                                           const NamedDataSource& data,
                                           const BackendOptions& options,
                                           Diagnostics& diags);

}  // namespace tenon
