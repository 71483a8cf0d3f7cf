#include "formats/pt2/write_state.h"

#include <map>
#include <unordered_map>

#include "formats/json/json_output.h"
#include "formats/pt2/lost_sharing.h"
#include "formats/pt2/read_state.h"
#include "formats/pt2/unknown_members.h"
#include "formats/pt2/write_types.h"

namespace tenon {
namespace {

class StateWriter {
 public:
  StateWriter(const Program& program,
              const std::unordered_set<std::string>& taken, ZipWriter* zip,
              Pt2WriteReport* report, Diagnostics& diags)
      : program_(program),
        taken_(taken),
        zip_(*zip),
        report_(*report),
        sharing_(&program, &report->notes),
        diags_(diags),
        types_(&program.context(), schema_minor::kRawRecords) {}

  Status Write() {
    TENON_TRY(WriteSection(/*weights=*/true));
    return WriteSection(/*weights=*/false);
  }

 private:
  Status WriteSection(bool weights) {
    const std::string folder = weights ? "weights" : "constants";
    folder_ = "data/" + folder + "/";
    records_.clear();
    counters_.clear();
    std::string config;
    JsonObjectOut root(&config);
    JsonObjectOut entries(root.Key("config"));
    std::unordered_set<StringId> names;
    for (const StateEntry& entry : program_.state.entries) {
      if (entry.in_state_dict() != weights) continue;
      if (!names.insert(entry.fqn).second) {
        return Error(entry) << "is there twice";
      }
      TENON_ASSIGN(const std::string path_name, WriteRecord(entry, weights));
      JsonObjectOut o(entries.Key(program_.view(entry.fqn)));
      o.Text("path_name", path_name);
      o.Bool("is_param", entry.is_param);
      o.Bool("use_pickle", entry.is_pickled);
      const Type& type = program_.type(entry.type);
      if (type.is_tensor()) {
        types_.Tensor(type, o.Key("tensor_meta"));
      } else {
        *o.Key("tensor_meta") += "null";
      }
      o.Close();
    }
    entries.Close();
    root.Close();
    config =
        WithUnknownMembers(program_, folder + ":", schema_minor::kRawRecords,
                           std::move(config), &report_.notes);
    const std::string name =
        folder_ + program_.name + "_" + folder + "_config.json";
    TENON_TRY(CheckJsonText(config, Place::File(name), diags_));
    return Add(name, AsBytes(config));
  }

  DiagnosticBuilder Error(const StateEntry& entry) {
    DiagnosticBuilder error =
        diags_.Error(Rule::kFile08, Place::File(program_.name));
    error << "state entry '" << program_.view(entry.fqn) << "' ";
    return error;
  }

  Status Add(const std::string& name, Bytes bytes) {
    if (zip_.Add(name, bytes)) return {};
    return diags_.Error(Rule::kIo, Place::File(name)) << zip_.error();
  }

  // Writes the entry's storage, unless it was written for an entry before, and
  // returns its record's name.
  Expected<std::string> WriteRecord(const StateEntry& entry, bool weights) {
    const Type& type = program_.type(entry.type);
    if (!entry.storage.valid()) return Error(entry) << "has no bytes";
    const StorageRecord& storage = program_.state.storage(entry.storage);
    const bool is_object = !weights && !type.is_tensor();
    DType dtype = DType::kUnknown;
    if (!is_object && !entry.is_pickled) {
      dtype = type.dtype;
      const std::string problem = CheckStoredTensor(
          type, storage.is_weightless ? 0 : storage.bytes.size());
      if (!problem.empty())
        return Error(entry) << "can't be written: " << problem;
    }
    // PyTorch reads a record by the dtype of its first entry: a storage that
    // is seen as several dtypes needs a record for each.
    const auto key = std::make_pair(entry.storage, dtype);
    const auto it = records_.find(key);
    if (it != records_.end()) {
      NoteBorrowedGradient(entry, *it->second.first);
      return it->second.name;
    }
    sharing_.NoteNewRecord(entry);
    const std::string name = NewName(entry, is_object, weights);
    TENON_TRY(
        Add(folder_ + name, storage.is_weightless ? Bytes() : storage.bytes));
    report_.weight_bytes += storage.bytes.size();
    records_.emplace(key, Record{name, &entry});
    return name;
  }

  // PyTorch takes all views of a record to require gradients when the first
  // does; parameters say it for themselves.
  void NoteBorrowedGradient(const StateEntry& entry, const StateEntry& first) {
    const Type& type = program_.type(entry.type);
    const Type& first_type = program_.type(first.type);
    if (entry.is_param || entry.is_pickled || !type.is_tensor() ||
        !first_type.is_tensor() ||
        type.requires_grad == first_type.requires_grad) {
      return;
    }
    report_.notes.push_back(
        "PyTorch will take '" + std::string(program_.view(entry.fqn)) +
        (first_type.requires_grad ? "' to require" : "' not to require") +
        " gradients, like '" + std::string(program_.view(first.fqn)) +
        "', which shares its storage");
  }

  std::string NewName(const StateEntry& entry, bool is_object, bool weights) {
    std::string prefix = weights ? "weight_" : "tensor_";
    if (is_object) {
      // TorchScript objects are zip containers, others bare pickles.
      const Bytes bytes = program_.state.storage(entry.storage).bytes;
      prefix =
          AsText(bytes).substr(0, 2) == "PK" ? "custom_obj_" : "opaque_obj_";
    }
    while (true) {
      std::string name = prefix + std::to_string(counters_[prefix]++);
      if (!taken_.contains(folder_ + name)) return name;
    }
  }

  const Program& program_;
  const std::unordered_set<std::string>& taken_;
  ZipWriter& zip_;
  Pt2WriteReport& report_;
  LostSharing sharing_;
  Diagnostics& diags_;
  TypeWriter types_;
  std::string folder_;
  struct Record {
    std::string name;
    const StateEntry* first;  // the entry that it was written for
  };
  std::map<std::pair<StorageId, DType>, Record> records_;
  std::unordered_map<std::string, uint64_t> counters_;
};

}  // namespace

Status WriteState(const Program& program,
                  const std::unordered_set<std::string>& taken, ZipWriter* zip,
                  Pt2WriteReport* report, Diagnostics& diags) {
  return StateWriter(program, taken, zip, report, diags).Write();
}

}  // namespace tenon
