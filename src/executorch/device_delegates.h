// What delegates on devices need of a file, beside their arguments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "executorch/delegate_regions.h"
#include "formats/pte/pte_program.h"

namespace tenon::executorch {

// Copies between host and device that one call of a method makes.
struct DeviceTraffic {
  uint32_t num_to_device = 0, num_to_host = 0;
  uint64_t bytes_to_device = 0, bytes_to_host = 0;  // at the largest sizes
  // Of buffers that stay on the device, at the first call alone.
  uint64_t initial_bytes = 0;
};
// `fills` are the instructions that the first call alone runs.
struct InstructionRange {
  uint32_t begin = 0, end = 0;
};
DeviceTraffic TrafficOf(const PtePlan& plan, InstructionRange fills);

// A buffer that stays on a device from call to call and is written there.
struct DeviceState {
  std::string fqn;
  uint64_t size_bytes = 0;
  int8_t device = 0;
};

// The compile specs that the stock exporter gives such a delegate: the device
// and the method. Nothing for delegates on the host.
void AddDeviceSpecs(const DelegateRegion& region, const std::string& method,
                    PteDelegate* delegate);

// Whether the key is that of the code that the region brings: it belongs into
// the program, where verify and scan see it.
bool IsLibraryOf(const DelegateRegion& region, const CompiledRegion& compiled,
                 std::string_view key);

// The stock CUDA delegate writes the library of each delegate to a file that it
// names by the library's key, and two delegates of one key overwrite each
// other's: so a region that is called by several gets a library key for each,
// all for the same bytes.
class KeySeparator {
 public:
  // The region with another library key; nothing where its own is free.
  std::optional<CompiledRegion> Separate(const DelegateRegion& region);

 private:
  std::map<std::string, uint32_t> num_seen_;  // by library key
};

}  // namespace tenon::executorch
