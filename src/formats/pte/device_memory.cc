#include "formats/pte/device_memory.h"

#include <cstdlib>
#include <new>
#include <utility>

namespace tenon {
namespace {

// As large as any allocator of a stock runtime gives.
constexpr uint64_t kArenaAlignment = 256;

class HostAllocator final : public DeviceAllocator {
 public:
  void* Allocate(uint64_t bytes, uint64_t alignment, int) override {
    return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
  }
  void Free(void* memory, int) override {
    ::operator delete(memory, std::align_val_t(kArenaAlignment));
  }
};

}  // namespace

DeviceAllocators::DeviceAllocators() {
  Register(PteDevice::kCpu, std::make_shared<HostAllocator>());
}

void DeviceAllocators::Register(PteDevice device,
                                std::shared_ptr<DeviceAllocator> allocator) {
  by_device_[static_cast<size_t>(device)] = std::move(allocator);
}

const std::shared_ptr<DeviceAllocator>& DeviceAllocators::Find(
    PteDevice device) const {
  return by_device_[static_cast<size_t>(device)];
}

std::vector<PteArena> ArenasOf(const PtePlan& plan) {
  std::vector<PteArena> arenas;
  for (const int64_t bytes : plan.arena_bytes) arenas.push_back({bytes});
  for (const PteArenaDevice& d : plan.arena_devices) {
    if (d.arena < 0 || static_cast<size_t>(d.arena) >= arenas.size()) continue;
    arenas[d.arena].device = d.device;
    arenas[d.arena].device_index = d.device_index;
  }
  return arenas;
}

Expected<PlanMemory> PlanMemory::Allocate(const PtePlan& plan,
                                          const DeviceAllocators& allocators,
                                          Diagnostics& diags) {
  PlanMemory memory;
  const std::vector<PteArena> arenas = ArenasOf(plan);
  memory.blocks_.resize(arenas.size());
  for (size_t id = 1; id < arenas.size(); ++id) {
    const PteArena& arena = arenas[id];
    if (arena.bytes <= 0) continue;
    Block& block = memory.blocks_[id];
    block.device_index = arena.device_index;
    block.allocator = allocators.Find(arena.device);
    // V-PTE-30
    const auto error = [&] {
      return diags.Error(Rule::kPte30, Place::Node(plan.name));
    };
    if (block.allocator == nullptr) {
      return error() << "arena " << id << " of " << arena.bytes
                     << " bytes is on " << Name(arena.device) << ":"
                     << arena.device_index
                     << ", and no allocator is registered for that device";
    }
    block.memory =
        block.allocator->Allocate(static_cast<uint64_t>(arena.bytes),
                                  kArenaAlignment, arena.device_index);
    if (block.memory == nullptr) {
      return error() << "arena " << id << ": " << Name(arena.device) << ":"
                     << arena.device_index << " has no " << arena.bytes
                     << " bytes left";
    }
  }
  return memory;
}

void PlanMemory::Free() {
  for (Block& block : blocks_) {
    if (block.memory != nullptr) {
      block.allocator->Free(block.memory, block.device_index);
    }
  }
  blocks_.clear();
}

}  // namespace tenon
