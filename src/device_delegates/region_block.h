// A region as the block of bytes that builders of engines and executors on
// devices are handed (region_blob/region_blob.h).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

// The device that regions are compiled for.
struct DeviceTarget {
  int8_t cuda_device = 0;
  // Largest values of size symbols, beside the program's own ranges.
  std::map<std::string, int64_t> bounds;
};

// What the header line of a block's program names (backends/region_payload.h):
// the region's text form as it is, for whoever compiles it.
constexpr std::string_view kBlockProgram = "device";

// `region` with all of `constants` inside. `writes` are by position among the
// region's inputs; none may be a constant. Errors: a number at the boundary,
// since delegates on devices take tensors alone (D-5); a dimension without an
// upper bound, by the input's name; a dtype that the delegates lack.
Expected<std::vector<std::byte>> MakeRegionBlock(
    const Program& region, std::span<const RegionConstant> constants,
    std::span<const DeclaredWrite> writes, Bytes program,
    const DeviceTarget& target, Diagnostics& diags);

// The same region with labels that tell nothing: equal regions of a program
// give equal bytes (D-6).
Program WithoutLabels(const Program& region);

}  // namespace tenon
