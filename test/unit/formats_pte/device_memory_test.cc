// K6-17: arenas come from the allocators of their devices.
#include "formats/pte/device_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <utility>

namespace tenon {
namespace {

class FakeAllocator final : public DeviceAllocator {
 public:
  explicit FakeAllocator(uint64_t bytes) : left_(bytes) {}
  void* Allocate(uint64_t bytes, uint64_t, int index) override {
    if (bytes > left_) return nullptr;
    left_ -= bytes;
    asked.push_back({bytes, index});
    return buffer_ + num_allocated++;
  }
  void Free(void*, int) override { --num_allocated; }

  std::vector<std::pair<uint64_t, int>> asked;
  int num_allocated = 0;

 private:
  uint64_t left_;
  char buffer_[8] = {};
};

// 1 KiB on the CPU, 2 KiB on CUDA.
PtePlan TwoDevices() {
  PtePlan plan;
  plan.name = "forward";
  plan.arena_bytes = {0, 1024, 2048};
  plan.arena_devices = {{2, PteDevice::kCuda, 1}};
  return plan;
}

TEST(DeviceMemory, K6_17_EachDeviceIsAskedForItsBytes) {
  DeviceAllocators allocators;
  const auto cuda = std::make_shared<FakeAllocator>(4096);
  allocators.Register(PteDevice::kCuda, cuda);
  Diagnostics diags;
  {
    auto memory = PlanMemory::Allocate(TwoDevices(), allocators, diags);
    ASSERT_TRUE(memory) << diags.ToString();
    ASSERT_EQ(cuda->asked.size(), 1u);
    EXPECT_EQ(cuda->asked[0], (std::pair<uint64_t, int>(2048, 1)));
    EXPECT_EQ(memory->arena(0), nullptr);
    std::memset(memory->arena(1), 1, 1024);
    const PlanMemory moved = std::move(*memory);
    EXPECT_EQ(cuda->num_allocated, 1);
  }
  EXPECT_EQ(cuda->num_allocated, 0);
}

TEST(DeviceMemory, V_PTE_30_NoAllocatorForTheDevice) {
  Diagnostics diags;
  EXPECT_FALSE(PlanMemory::Allocate(TwoDevices(), DeviceAllocators(), diags));
  ASSERT_EQ(diags.num_errors(), 1u);
  EXPECT_EQ(diags.all()[0].rule, Rule::kPte30);
  EXPECT_EQ(diags.FirstError(),
            "arena 2 of 2048 bytes is on cuda:1, and no allocator is "
            "registered for that device");
}

TEST(DeviceMemory, V_PTE_30_NoMemoryLeft) {
  DeviceAllocators allocators;
  const auto cuda = std::make_shared<FakeAllocator>(3000);
  allocators.Register(PteDevice::kCuda, cuda);
  PtePlan plan = TwoDevices();
  plan.arena_bytes.push_back(2048);
  plan.arena_devices.push_back({3, PteDevice::kCuda, 0});
  Diagnostics diags;
  EXPECT_FALSE(PlanMemory::Allocate(plan, allocators, diags));
  EXPECT_EQ(diags.FirstError(), "arena 3: cuda:0 has no 2048 bytes left");
  EXPECT_EQ(cuda->num_allocated, 0);
}

}  // namespace
}  // namespace tenon
