// Spells tensors as torch.save of PyTorch 2.6 and later does.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "formats/pickle/pickle_writer.h"
#include "formats/pickle/torch_save.h"

namespace tenon {
namespace {

constexpr std::string_view kUtils = "torch._utils";

class TorchSaveWriter {
 public:
  explicit TorchSaveWriter(const SavedDict& dict)
      : dict_(dict), keys_(dict.storages.size()) {}

  std::string Dict() {
    pickle_.BeginDict(dict_.tensors.size());
    for (const auto& [fqn, tensor] : dict_.tensors) {
      pickle_.DictEntry();
      pickle_.Text(fqn);
      TensorOrReference(tensor);
    }
    pickle_.EndDict();
    return pickle_.Finish();
  }

  std::string BareTensor() {
    Tensor(dict_.tensors.front().second);
    return pickle_.Finish();
  }

  // Indices of storages, by their key in the payload.
  const std::vector<size_t>& storages() const { return order_; }

 private:
  void TensorOrReference(const SavedTensor& tensor) {
    if (tensor.layout != Layout::kStrided) return Tensor(tensor);
    auto& others = written_[{tensor.storage, tensor.storage_offset}];
    for (const auto& [other, slot] : others) {
      if (*other == tensor) return pickle_.Fetch(slot);
    }
    Tensor(tensor);
    others.emplace_back(&tensor, pickle_.last_slot());
  }

  void Tensor(const SavedTensor& tensor) {
    if (!tensor.is_parameter) {
      Data(tensor, tensor.requires_grad);
      return;
    }
    pickle_.Global(kUtils, "_rebuild_parameter");
    pickle_.BeginTuple(3);
    // The data of a parameter is a tensor that asks for no gradient.
    Data(tensor, false);
    pickle_.Bool(tensor.requires_grad);
    Hooks();
    pickle_.EndTuple(3);
    pickle_.Call();
  }

  void Data(const SavedTensor& tensor, bool requires_grad) {
    if (tensor.layout == Layout::kStrided) {
      Strided(tensor, requires_grad);
    } else {
      Sparse(tensor, requires_grad);
    }
  }

  void Strided(const SavedTensor& tensor, bool requires_grad) {
    const bool is_untyped = StorageClassOf(tensor.dtype).empty();
    const size_t num_args = is_untyped ? 7 : 6;
    pickle_.Global(kUtils,
                   is_untyped ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
    pickle_.BeginTuple(num_args);
    Storage(tensor);
    pickle_.Int(tensor.storage_offset);
    Ints(tensor.sizes);
    Ints(tensor.strides);
    pickle_.Bool(requires_grad);
    Hooks();
    if (is_untyped) pickle_.Global("torch", Name(tensor.dtype));
    pickle_.EndTuple(num_args);
    pickle_.Call();
  }

  // (layout, (parts..., size, and of sparse_coo whether it is coalesced))
  void Sparse(const SavedTensor& tensor, bool requires_grad) {
    const bool states_coalesced = tensor.is_coalesced.has_value();
    const size_t num_items = tensor.parts.size() + 1 + states_coalesced;
    pickle_.Global(kUtils, "_rebuild_sparse_tensor");
    pickle_.BeginTuple(2);
    pickle_.Global("torch.serialization", "_get_layout");
    pickle_.BeginTuple(1);
    pickle_.Text("torch." + std::string(Name(tensor.layout)));
    pickle_.EndTuple(1);
    pickle_.Call();
    pickle_.BeginTuple(num_items);
    for (const SavedTensor& part : tensor.parts) {
      const bool is_values = &part == &tensor.parts.back();
      Strided(part, is_values && requires_grad);
    }
    pickle_.Global("torch", "Size");
    pickle_.BeginTuple(1);
    Ints(tensor.sizes);
    pickle_.EndTuple(1);
    pickle_.Call();
    if (states_coalesced) pickle_.Bool(*tensor.is_coalesced);
    pickle_.EndTuple(num_items);
    pickle_.EndTuple(2);
    pickle_.Call();
  }

  // ("storage", class, key, location, number of elements)
  void Storage(const SavedTensor& tensor) {
    const std::string_view storage_class = StorageClassOf(tensor.dtype);
    pickle_.BeginTuple(5);
    pickle_.Text("storage");
    if (storage_class.empty()) {
      pickle_.Global("torch.storage", "UntypedStorage");
    } else {
      pickle_.Global("torch", storage_class);
    }
    std::string& key = keys_[tensor.storage];
    if (key.empty()) {
      key = std::to_string(order_.size());
      order_.push_back(tensor.storage);
    }
    pickle_.Text(key);
    pickle_.Text(tensor.device);
    const size_t element_bytes =
        storage_class.empty() ? 1 : SizeBytes(tensor.dtype);
    pickle_.Int(static_cast<int64_t>(
        dict_.storages[tensor.storage].bytes.size() / element_bytes));
    pickle_.EndTuple(5);
    pickle_.Persistent();
  }

  void Ints(const std::vector<int64_t>& values) {
    pickle_.BeginTuple(values.size());
    for (const int64_t value : values) pickle_.Int(value);
    pickle_.EndTuple(values.size());
  }

  // OrderedDict(): a tensor's backward hooks, of which none are saved.
  void Hooks() {
    pickle_.Global("collections", "OrderedDict");
    pickle_.BeginTuple(0);
    pickle_.EndTuple(0);
    pickle_.Call();
  }

  const SavedDict& dict_;
  PickleWriter pickle_;
  std::vector<std::string> keys_;  // of each storage; "" = not named yet
  std::vector<size_t> order_;
  // The tensors that start at one place of a storage, with their slots.
  std::map<std::pair<size_t, int64_t>,
           std::vector<std::pair<const SavedTensor*, uint32_t>>>
      written_;
};

bool WriteMembers(const SavedDict& dict, const std::string& pickle,
                  const std::vector<size_t>& storages, ZipWriter* zip) {
  if (!zip->Add("data.pkl", AsBytes(pickle))) return false;
  if (!zip->Add("byteorder", AsBytes("little"))) return false;
  for (size_t i = 0; i < storages.size(); ++i) {
    if (!zip->Add("data/" + std::to_string(i),
                  dict.storages[storages[i]].bytes)) {
      return false;
    }
  }
  return zip->Add("version", AsBytes("3\n")) &&
         zip->Add(".data/serialization_id", AsBytes(zip->SerializationId()));
}

}  // namespace

bool WriteTorchSave(const SavedDict& dict, ZipWriter* zip) {
  TorchSaveWriter writer(dict);
  const std::string pickle = writer.Dict();
  return WriteMembers(dict, pickle, writer.storages(), zip);
}

bool WriteSavedTensor(const SavedDict& dict, ZipWriter* zip) {
  TorchSaveWriter writer(dict);
  const std::string pickle = writer.BareTensor();
  return WriteMembers(dict, pickle, writer.storages(), zip);
}

}  // namespace tenon
