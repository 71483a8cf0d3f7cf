// What a delegate's payload says of the call's arguments: of the TensorRT
// delegate, by its container, and of the CUDA delegate, where the data that it
// names is a region's block.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/pte/pte_program.h"
#include "ir/delegate.h"
#include "support/expected.h"

namespace tenon::pte {

struct DelegateBinding {
  std::string name;                   // "" where bindings have none
  std::optional<PteScalarType> type;  // nothing: not stated
  bool has_sizes = false;
  // Where `has_sizes`: each dimension lies in [min, max]; -1 to -1 varies
  // without a bound that is stated.
  std::vector<int64_t> min, max;
};

struct DelegateBoundary {
  std::vector<DelegateBinding> inputs, outputs;
  std::vector<DeclaredWrite> writes;
  // Host tensors are refused, not only where they are aliased.
  bool takes_device_tensors_only = false;
};

// Nothing for other backends, and for payloads of other exporters that don't
// say. TRT-03, TRT-04, V-PTE-29 and V-PTE-36 for payloads that can't be right.
Expected<std::optional<DelegateBoundary>> ReadDelegateBoundary(
    const PteProgram& program, const PteDelegate& delegate, const Place& place,
    Diagnostics& diags);

// "input_0: f32[1..6, 4]", "output_1: f32[2, 4], is input 0 (user)", a line
// each; none where the payload doesn't say.
std::vector<std::string> BoundaryLines(const PteProgram& program,
                                       const PteDelegate& delegate);

// The payload's bytes; empty when they aren't there.
Bytes PayloadOf(const PteProgram& program, const PteDelegate& delegate);

}  // namespace tenon::pte
