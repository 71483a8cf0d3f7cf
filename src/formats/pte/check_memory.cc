// V-PTE-15, V-PTE-16, W-PTE-03: planned memory and its devices.
#include "formats/pte/checks.h"

namespace tenon::pte {
namespace {

class MemoryCheck {
 public:
  explicit MemoryCheck(const PlanCheck& check) : check_(check) {}

  bool Check() {
    CheckArenas();
    FindDevices();
    for (size_t i = 0; i < check_.plan.values.size(); ++i) {
      const PteTensor* tensor = check_.plan.values[i].tensor();
      if (tensor != nullptr && tensor->allocation) CheckTensor(i, *tensor);
    }
    return holds_;
  }

 private:
  DiagnosticBuilder Error(Rule rule, const Place& place) {
    holds_ = false;
    return check_.diags.Error(rule, place);
  }

  void CheckArenas() {
    const auto& sizes = check_.plan.arena_bytes;
    for (size_t id = 0; id < sizes.size(); ++id) {
      if (sizes[id] < 0) {
        Error(Rule::kPte15, check_.Here())
            << "arena " << id << " has the negative size " << sizes[id];
      }
    }
    if (check_.options.lint && !sizes.empty() && sizes[0] > 0) {
      check_.diags.Warning(Rule::kLintPte03, check_.Here())
          << "entry 0 of the arenas' sizes is " << sizes[0]
          << ", which runtimes ignore";
    }
  }

  void FindDevices() {
    const size_t num_arenas = check_.plan.arena_bytes.size();
    devices_.resize(num_arenas);
    std::vector<bool> has_device(num_arenas);
    for (const PteArenaDevice& d : check_.plan.arena_devices) {
      if (d.arena < 1 || static_cast<size_t>(d.arena) >= num_arenas) {
        Error(Rule::kPte16, check_.Here())
            << "a device for arena " << d.arena << ", which doesn't exist";
      } else if (has_device[d.arena]) {
        Error(Rule::kPte16, check_.Here())
            << "two devices for arena " << d.arena;
      } else {
        has_device[d.arena] = true;
        devices_[d.arena] = d;
      }
    }
  }

  void CheckTensor(size_t value, const PteTensor& tensor) {
    const PteAllocation& at = *tensor.allocation;
    const Place place = check_.ValuePlace(value);
    const auto& sizes = check_.plan.arena_bytes;
    if (at.memory_id == 0) {
      Error(Rule::kPte15, place) << "arena 0 is reserved";
      return;
    }
    if (at.memory_id >= sizes.size()) {
      Error(Rule::kPte15, place)
          << "arena " << at.memory_id << " doesn't exist";
      return;
    }
    CheckDevice(tensor, devices_[at.memory_id], place);
    const auto bytes = TensorBytes(tensor.type, tensor.sizes);
    if (!bytes || sizes[at.memory_id] < 0) return;  // reported
    const uint64_t arena_bytes = static_cast<uint64_t>(sizes[at.memory_id]);
    if (at.offset > arena_bytes || *bytes > arena_bytes - at.offset) {
      Error(Rule::kPte15, place)
          << *bytes << " bytes at " << at.offset << " reach past arena "
          << at.memory_id << " of " << arena_bytes << " bytes";
    }
    if (at.offset % SizeBytes(tensor.type) != 0) {
      Error(Rule::kPte15, place)
          << "offset " << at.offset << " is not aligned to the element size "
          << SizeBytes(tensor.type);
    }
  }

  // V-PTE-16
  void CheckDevice(const PteTensor& tensor, const PteArenaDevice& arena,
                   const Place& place) {
    const PteTensorExtra extra = tensor.extra.value_or(PteTensorExtra());
    if (extra.device == arena.device &&
        extra.device_index == arena.device_index) {
      return;
    }
    Error(Rule::kPte16, place)
        << "is on " << Name(extra.device) << ":" << int{extra.device_index}
        << " in arena " << tensor.allocation->memory_id << ", which is on "
        << Name(arena.device) << ":" << int{arena.device_index};
  }

  const PlanCheck& check_;
  std::vector<PteArenaDevice> devices_;  // by arena
  bool holds_ = true;
};

}  // namespace

bool CheckMemory(const PlanCheck& check) { return MemoryCheck(check).Check(); }

}  // namespace tenon::pte
