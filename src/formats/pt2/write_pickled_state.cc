#include "formats/pt2/write_pickled_state.h"

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "formats/pickle/torch_save.h"
#include "formats/pt2/lost_sharing.h"
#include "formats/pt2/read_state.h"

namespace tenon {
namespace {

constexpr std::string_view kPayloadRoot = "archive";

std::vector<int64_t> Values(const std::vector<SymInt>& literals) {
  std::vector<int64_t> out;
  out.reserve(literals.size());
  for (const SymInt& literal : literals) out.push_back(literal.value);
  return out;
}

class PickledStateWriter {
 public:
  PickledStateWriter(const Program& program, ZipWriter* zip,
                     Pt2WriteReport* report, Diagnostics& diags)
      : program_(program),
        zip_(*zip),
        report_(*report),
        sharing_(&program, &report->notes),
        diags_(diags) {}

  Status Write(const std::string& member, bool is_weights) {
    TENON_ASSIGN(const SavedDict dict, Collect(is_weights));
    const bool is_written =
        dict.tensors.empty()
            ? zip_.Add(member, Bytes())
            : zip_.AddContainer(member, std::string(kPayloadRoot),
                                [&dict](ZipWriter* payload) {
                                  return WriteTorchSave(dict, payload);
                                });
    if (!is_written) {
      return diags_.Error(Rule::kIo, Place::File(member)) << zip_.error();
    }
    for (const SavedStorage& storage : dict.storages) {
      report_.weight_bytes += storage.bytes.size();
    }
    return {};
  }

 private:
  DiagnosticBuilder Error(Rule rule, const StateEntry& entry) {
    DiagnosticBuilder error = diags_.Error(rule, Place::File(program_.name));
    error << "state entry '" << program_.view(entry.fqn) << "' ";
    return error;
  }

  Expected<SavedDict> Collect(bool is_weights) {
    SavedDict dict;
    storages_.clear();
    std::unordered_set<StringId> names;
    for (const StateEntry& entry : program_.state.entries) {
      if (entry.in_state_dict() != is_weights) continue;
      if (!names.insert(entry.fqn).second) {
        return Error(Rule::kFile08, entry) << "is there twice";
      }
      const Type& type = program_.type(entry.type);
      if (!type.is_tensor()) {
        return Error(Rule::kFile11, entry)
               << "is an object, which only layout C can hold (torch 2.9)";
      }
      if (!entry.storage.valid()) {
        return Error(Rule::kFile08, entry) << "has no bytes";
      }
      SavedTensor tensor;
      if (entry.is_pickled) {
        TENON_ASSIGN(tensor, Unpack(entry, &dict));
      } else {
        TENON_ASSIGN(tensor, Plain(entry, type, &dict));
      }
      dict.tensors.emplace_back(program_.view(entry.fqn), std::move(tensor));
    }
    return dict;
  }

  Expected<SavedTensor> Plain(const StateEntry& entry, const Type& type,
                              SavedDict* dict) {
    const StorageRecord& storage = program_.state.storage(entry.storage);
    if (storage.is_weightless) {
      return Error(Rule::kFile11, entry)
             << "has no values, which only layout C can say (torch 2.9)";
    }
    const std::string problem =
        CheckStoredTensor(type, storage.bytes.size(), false);
    if (!problem.empty()) {
      return Error(Rule::kFile08, entry) << "can't be written: " << problem;
    }
    SavedTensor tensor;
    tensor.dtype = type.dtype;
    tensor.sizes = Values(type.sizes);
    tensor.strides = Values(type.strides);
    tensor.storage_offset = type.storage_offset.value;
    tensor.requires_grad = type.requires_grad;
    tensor.is_parameter = entry.is_param;
    tensor.device = program_.view(type.device.type);
    if (type.device.index >= 0) {
      tensor.device += ':' + std::to_string(type.device.index);
    }
    // PyTorch knows one dtype of a storage.
    const auto [at, is_new] = storages_.emplace(
        std::make_pair(entry.storage, type.dtype), dict->storages.size());
    tensor.storage = at->second;
    if (is_new) {
      dict->storages.push_back({storage.bytes, storage.owner});
      sharing_.NoteNewRecord(entry);
    }
    return tensor;
  }

  // What layout C keeps as a payload of its own is a part of the dict's here.
  Expected<SavedTensor> Unpack(const StateEntry& entry, SavedDict* dict) {
    const StorageRecord& record = program_.state.storage(entry.storage);
    Diagnostics reasons;
    const std::string name(program_.view(entry.fqn));
    auto payload = ReadSavedTensor(record.bytes, record.owner, name, reasons);
    if (!payload) {
      return Error(Rule::kFile11, entry)
             << "is a pickled object, which only layout C can hold as it is "
                "(torch 2.9): "
             << reasons.FirstError();
    }
    SavedTensor tensor = std::move(payload->tensors.front().second);
    const size_t first = dict->storages.size();
    tensor.storage += first;
    for (SavedTensor& part : tensor.parts) part.storage += first;
    for (SavedStorage& storage : payload->storages) {
      dict->storages.push_back(std::move(storage));
    }
    return tensor;
  }

  const Program& program_;
  ZipWriter& zip_;
  Pt2WriteReport& report_;
  LostSharing sharing_;
  Diagnostics& diags_;
  // Of the section at hand: positions in the dict.
  std::map<std::pair<StorageId, DType>, size_t> storages_;
};

}  // namespace

Status WritePickledState(const Program& program, const std::string& weights,
                         const std::string& constants, ZipWriter* zip,
                         Pt2WriteReport* report, Diagnostics& diags) {
  PickledStateWriter writer(program, zip, report, diags);
  TENON_TRY(writer.Write(weights, /*is_weights=*/true));
  return writer.Write(constants, /*is_weights=*/false);
}

}  // namespace tenon
