// The memory that a method's plan asks for, from allocators by device.
//
// A runtime that takes all of a plan's arenas from the host runs into trouble
// later: a copy that fails, a delegate that refuses a host pointer. Here each
// arena comes from the allocator of its own device, with exactly the bytes that
// the plan states, or loading fails and says which device has none.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/pte/pte_program.h"
#include "support/expected.h"

namespace tenon {

// Memory of one kind of device. Must outlive what it allocated.
class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;
  // Null when there is no such memory left. `index` is the device's; -1 is the
  // current one.
  virtual void* Allocate(uint64_t bytes, uint64_t alignment, int index) = 0;
  virtual void Free(void* memory, int index) = 0;
};

// One allocator per kind of device; the host's is there from the start.
class DeviceAllocators {
 public:
  DeviceAllocators();
  // Replaces what was registered.
  void Register(PteDevice device, std::shared_ptr<DeviceAllocator> allocator);
  // Null when none is registered.
  const std::shared_ptr<DeviceAllocator>& Find(PteDevice device) const;

 private:
  static constexpr size_t kNumDevices = 2;
  std::array<std::shared_ptr<DeviceAllocator>, kNumDevices> by_device_;
};

// Where the arenas of a plan lie, by the plan itself.
struct PteArena {
  int64_t bytes = 0;
  PteDevice device = PteDevice::kCpu;
  int device_index = 0;
};
// Entry 0 is the reserved one.
std::vector<PteArena> ArenasOf(const PtePlan& plan);

// The arenas of one loaded method. Frees them when it goes.
class PlanMemory {
 public:
  // The plan must hold the rules (VerifyPte). V-PTE-30 when a device has no
  // allocator or no memory left; nothing stays allocated then.
  static Expected<PlanMemory> Allocate(const PtePlan& plan,
                                       const DeviceAllocators& allocators,
                                       Diagnostics& diags);
  ~PlanMemory() { Free(); }
  PlanMemory(PlanMemory&& other) noexcept
      : blocks_(std::exchange(other.blocks_, {})) {}
  PlanMemory& operator=(PlanMemory&& other) noexcept {
    Free();
    blocks_ = std::exchange(other.blocks_, {});
    return *this;
  }

  // Null for the reserved one and for empty ones.
  void* arena(uint32_t memory_id) const { return blocks_[memory_id].memory; }

 private:
  struct Block {
    std::shared_ptr<DeviceAllocator> allocator;
    void* memory = nullptr;
    int device_index = 0;
  };

  PlanMemory() = default;
  void Free();

  std::vector<Block> blocks_;  // by memory id
};

}  // namespace tenon
