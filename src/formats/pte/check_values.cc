// V-PTE-09 and V-PTE-11 to V-PTE-14: what values say of themselves.
#include <array>
#include <variant>

#include "formats/pte/checks.h"
#include "support/checked.h"

namespace tenon::pte {
namespace {

constexpr size_t kMaxRank = 16;

bool IsPermutation(std::span<const uint8_t> dim_order) {
  std::array<bool, kMaxRank> seen = {};
  for (const uint8_t dim : dim_order) {
    if (dim >= dim_order.size() || seen[dim]) return false;
    seen[dim] = true;
  }
  return true;
}

// Where an entry of constant or mutable data begins, and how much is behind it.
struct StoredEntry {
  std::string_view what;
  uint64_t size_of_data = 0;
  uint64_t offset = 0;
};

class ValueCheck {
 public:
  explicit ValueCheck(const PlanCheck& check) : check_(check) {}

  bool Check() {
    const auto& values = check_.plan.values;
    for (value_ = 0; value_ < values.size(); ++value_) {
      std::visit([&](const auto& v) { CheckOne(v); }, values[value_].content);
    }
    return holds_;
  }

 private:
  DiagnosticBuilder Error(Rule rule) {
    holds_ = false;
    return check_.diags.Error(rule, check_.ValuePlace(value_));
  }

  void CheckOne(const PteNull&) {}
  void CheckOne(const PteInt&) {}
  void CheckOne(const PteBool&) {}
  void CheckOne(const PteDouble&) {}
  void CheckOne(const PteString&) {}
  void CheckOne(const PteDoubleList&) {}
  void CheckOne(const PteBoolList&) {}

  // V-PTE-14
  template <typename Item>
  const PteValue* FindItem(size_t i, Item item) {
    const PteValue* found = check_.Find(item);
    if (found == nullptr) {
      Error(Rule::kPte14) << "item " << i << " is value " << item << " of "
                          << check_.plan.values.size();
    }
    return found;
  }

  void CheckOne(const PteIntList& list) {
    for (size_t i = 0; i < list.items.size(); ++i) {
      const PteValue* item = FindItem(i, list.items[i]);
      if (item == nullptr || std::holds_alternative<PteInt>(item->content)) {
        continue;
      }
      Error(Rule::kPte14) << "item " << i << ", value " << list.items[i]
                          << ", is a " << KindName(*item)
                          << ", expected the index of an Int";
    }
  }

  void CheckTensorItem(size_t i, int32_t item) {
    const PteValue* found = FindItem(i, item);
    if (found == nullptr) return;
    if (found->tensor() == nullptr) {
      Error(Rule::kPte14) << "item " << i << ", value " << item << ", is a "
                          << KindName(*found) << ", expected a Tensor";
    } else if (static_cast<size_t>(item) > value_) {
      Error(Rule::kPte14) << "item " << i << ", value " << item
                          << ", comes behind the list";
    }
  }

  void CheckOne(const PteTensorList& list) {
    for (size_t i = 0; i < list.items.size(); ++i) {
      CheckTensorItem(i, list.items[i]);
    }
  }

  void CheckOne(const PteOptionalTensorList& list) {
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (list.items[i] == PteOptionalTensorList::kNone) continue;
      CheckTensorItem(i, list.items[i]);
    }
  }

  void CheckOne(const PteTensor& tensor) {
    // V-PTE-12
    if (!IsExecutable(tensor.type)) {
      Error(Rule::kPte12) << "no kernel takes dtype " << Name(tensor.type);
    }
    if (tensor.storage_offset != 0) {
      Error(Rule::kPte12) << "storage_offset is " << tensor.storage_offset
                          << ", expected 0";
    }
    if (tensor.shape == PteShape::kUnbounded) {
      Error(Rule::kPte12) << "the shape has no bounds";
    }
    if (!CheckShape(tensor.type, tensor.sizes, tensor.dim_order,
                    check_.ValuePlace(value_), check_.diags)) {
      holds_ = false;
      return;
    }
    if (tensor.is_external()) {
      CheckExternal(tensor);
    } else if (tensor.data_index > 0) {
      CheckStored(tensor);
    }
  }

  // V-PTE-13
  void CheckExternal(const PteTensor& tensor) {
    const std::string& name = tensor.extra->name;
    if (name.empty()) {
      Error(Rule::kPte13) << "an external tensor without a name";
      return;
    }
    const auto found = check_.external.find(name);
    if (found == check_.external.end()) {
      Error(Rule::kPte13) << "weight '" << name
                          << "' isn't among the external data";
      return;
    }
    const PtdEntry* entry = found->second;
    if (!entry->layout) {
      Error(Rule::kPte13) << "weight '" << name
                          << "' is opaque data, expected a tensor";
    } else if (entry->layout->type != tensor.type ||
               entry->layout->sizes != tensor.sizes ||
               entry->layout->dim_order != tensor.dim_order) {
      Error(Rule::kPte13) << "weight '" << name << "' is "
                          << TypeText(entry->layout->type, entry->layout->sizes)
                          << " in the external data, expected "
                          << TypeText(tensor.type, tensor.sizes)
                          << (entry->layout->sizes == tensor.sizes
                                  ? " and the same dim_order"
                                  : "");
    }
  }

  // V-PTE-09
  void CheckStored(const PteTensor& tensor) {
    const auto entry = tensor.is_constant() ? FindConstant(tensor.data_index)
                                            : FindInitial(tensor.data_index);
    if (!entry) return;
    const uint64_t wanted = *TensorBytes(tensor.type, tensor.sizes);
    if (entry->offset > entry->size_of_data) {
      Error(Rule::kPte09) << entry->what << " " << tensor.data_index
                          << " begins at " << entry->offset << " of "
                          << entry->size_of_data << " bytes";
    } else if (wanted > entry->size_of_data - entry->offset) {
      Error(Rule::kPte09) << entry->what << " " << tensor.data_index << " is "
                          << entry->size_of_data - entry->offset
                          << " bytes, the tensor needs " << wanted;
    }
  }

  std::optional<StoredEntry> FindConstant(uint32_t index) {
    const PteProgram& program = check_.program;
    const auto& constants = program.constants;
    if (constants && !constants->offsets.empty()) {
      return FindEntry("constant", *constants, index);
    }
    if (index >= program.inline_constants.size()) {
      Error(Rule::kPte09) << "constant " << index << " of "
                          << program.inline_constants.size();
      return std::nullopt;
    }
    const FlatBlob& data = program.inline_constants[index].data;
    return StoredEntry{"constant", data.bytes.size(), 0};
  }

  // Runtimes look at the first list only.
  std::optional<StoredEntry> FindInitial(uint32_t index) {
    if (check_.program.mutable_data.empty()) {
      Error(Rule::kPte09) << "initial data " << index
                          << " of a program without mutable data";
      return std::nullopt;
    }
    return FindEntry("initial data", check_.program.mutable_data[0], index);
  }

  std::optional<StoredEntry> FindEntry(std::string_view what,
                                       const PteSubsegments& data,
                                       uint32_t index) {
    if (index >= data.offsets.size()) {
      Error(Rule::kPte09) << what << " " << index << " of "
                          << data.offsets.size();
      return std::nullopt;
    }
    // A segment that isn't there has been reported.
    if (data.segment >= check_.program.segments.size()) return std::nullopt;
    return StoredEntry{what, check_.program.segments[data.segment].size_bytes(),
                       data.offsets[index]};
  }

  const PlanCheck& check_;
  size_t value_ = 0;
  bool holds_ = true;
};

}  // namespace

std::optional<uint64_t> TensorBytes(PteScalarType type,
                                    std::span<const int32_t> sizes) {
  std::optional<int64_t> bytes = static_cast<int64_t>(SizeBytes(type));
  bool is_empty = false;
  for (const int32_t size : sizes) {
    if (size < 0) return std::nullopt;
    is_empty |= size == 0;
    // A dimension of 0 makes the tensor empty, whatever the others are; strides
    // are computed as if it were 1.
    if (size > 0 && bytes) bytes = CheckedMul(*bytes, size);
  }
  if (!bytes) return std::nullopt;
  return is_empty ? 0 : static_cast<uint64_t>(*bytes);
}

std::string TypeText(PteScalarType type, std::span<const int32_t> sizes) {
  std::string out(Name(type));
  out += '[';
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(sizes[i]);
  }
  return out + ']';
}

// V-PTE-11
bool CheckShape(PteScalarType type, std::span<const int32_t> sizes,
                std::span<const uint8_t> dim_order, const Place& place,
                Diagnostics& diags) {
  if (sizes.size() > kMaxRank) {
    diags.Error(Rule::kPte11, place)
        << "rank " << sizes.size() << ", expected at most " << kMaxRank;
    return false;
  }
  if (dim_order.size() != sizes.size()) {
    diags.Error(Rule::kPte11, place)
        << "dim_order of " << dim_order.size() << " dimensions, sizes of "
        << sizes.size();
    return false;
  }
  if (!IsPermutation(dim_order)) {
    diags.Error(Rule::kPte11, place) << "dim_order isn't a permutation";
    return false;
  }
  for (const int32_t size : sizes) {
    if (size >= 0) continue;
    diags.Error(Rule::kPte11, place) << "negative size " << size;
    return false;
  }
  if (!TensorBytes(type, sizes)) {
    diags.Error(Rule::kPte11, place)
        << "the size in bytes of " << TypeText(type, sizes)
        << " doesn't fit 63 bits";
    return false;
  }
  return true;
}

bool CheckValues(const PlanCheck& check) { return ValueCheck(check).Check(); }

}  // namespace tenon::pte
