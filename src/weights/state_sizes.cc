#include "weights/state_sizes.h"

#include <algorithm>
#include <map>

#include "ir/reach.h"
#include "support/hash.h"
#include "weights/state_digest.h"
#include "weights/state_tensor.h"

namespace tenon {
namespace {

// As much of a storage as decides whether all of it is worth reading.
constexpr size_t kBeginningBytes = 4096;

std::string ModuleOf(std::string_view fqn, size_t depth) {
  const size_t last = fqn.rfind('.');
  if (last == std::string_view::npos) return "";
  const std::string_view module = fqn.substr(0, last);
  size_t end = 0;
  for (size_t i = 0; i < depth; ++i) {
    end = module.find('.', end + (i > 0 ? 1 : 0));
    if (end == std::string_view::npos) return std::string(module);
  }
  return std::string(module.substr(0, depth == 0 ? module.size() : end));
}

class Table {
 public:
  void Add(const std::string& name, uint64_t bytes) {
    SizeRow& row = rows_[name];
    row.name = name;
    row.bytes += bytes;
    ++row.count;
  }
  std::vector<SizeRow> Take() const {
    std::vector<SizeRow> rows;
    for (const auto& [name, row] : rows_) rows.push_back(row);
    SortBySize(&rows);
    return rows;
  }

 private:
  std::map<std::string, SizeRow> rows_;
};

class Sizer {
 public:
  Sizer(const Program& program, size_t depth)
      : program_(program),
        depth_(depth),
        names_(program.state.storages.size()),
        bytes_(program.state.storages.size()) {}

  StateSizes Compute() {
    for (const StateEntry& entry : program_.state.entries) Measure(entry);
    Table modules, kinds, dtypes;
    for (const StateEntry& entry : program_.state.entries) {
      const uint64_t bytes = Claim(entry);
      const Type& type = program_.type(entry.type);
      modules.Add(ModuleOf(program_.view(entry.fqn), depth_), bytes);
      kinds.Add(std::string(Name(entry.kind)), bytes);
      dtypes.Add(type.is_tensor() ? std::string(Name(type.dtype)) : "object",
                 bytes);
      out_.bytes += bytes;
      ++out_.num_entries;
    }
    out_.modules = modules.Take();
    out_.kinds = kinds.Take();
    out_.dtypes = dtypes.Take();
    FindShared();
    FindDuplicates();
    return std::move(out_);
  }

 private:
  // The size of the entry's storage, as far as this entry tells.
  void Measure(const StateEntry& entry) {
    if (!entry.storage.valid()) return;
    const StorageRecord& record = program_.state.storage(entry.storage);
    uint64_t& bytes = bytes_[entry.storage.index];
    if (!record.is_weightless) {
      bytes = record.bytes.size();
    } else if (IsPlainTensor(program_, entry)) {
      bytes =
          std::max(bytes, ReachBytes(program_.type(entry.type)).value_or(0));
    }
  }

  // The bytes of a storage for the first entry that has it, else 0.
  uint64_t Claim(const StateEntry& entry) {
    if (!entry.storage.valid()) return 0;
    std::vector<std::string>& names = names_[entry.storage.index];
    names.emplace_back(program_.view(entry.fqn));
    return names.size() == 1 ? bytes_[entry.storage.index] : 0;
  }

  void FindShared() {
    for (size_t s = 0; s < names_.size(); ++s) {
      if (names_[s].size() > 1) out_.shared.push_back({bytes_[s], names_[s]});
    }
  }

  void FindDuplicates() {
    std::map<std::pair<uint64_t, Digest>, std::vector<size_t>> alike;
    for (size_t s = 0; s < names_.size(); ++s) {
      const Bytes bytes = program_.state.storages[s].bytes;
      if (names_[s].empty() || bytes.empty()) continue;
      const size_t beginning = std::min(bytes.size(), kBeginningBytes);
      alike[{bytes.size(), HashBytes(bytes.data(), beginning)}].push_back(s);
    }
    for (const auto& [size_and_beginning, storages] : alike) {
      if (storages.size() > 1) SplitByContent(storages);
    }
    std::stable_sort(
        out_.duplicates.begin(), out_.duplicates.end(),
        [](const auto& a, const auto& b) { return Waste(a) > Waste(b); });
    for (const StateSizes::Group& group : out_.duplicates) {
      out_.duplicate_bytes += Waste(group);
    }
  }

  static uint64_t Waste(const StateSizes::Group& group) {
    return group.bytes * (group.names.size() - 1);
  }

  void SplitByContent(const std::vector<size_t>& storages) {
    std::map<Digest, StateSizes::Group> groups;
    for (const size_t s : storages) {
      const Bytes bytes = program_.state.storages[s].bytes;
      StateSizes::Group& group = groups[DigestOfBytes(bytes)];
      group.bytes = bytes.size();
      group.names.push_back(names_[s][0]);
    }
    for (auto& [digest, group] : groups) {
      if (group.names.size() > 1) out_.duplicates.push_back(std::move(group));
    }
  }

  const Program& program_;
  const size_t depth_;
  std::vector<std::vector<std::string>> names_;  // of each storage's entries
  std::vector<uint64_t> bytes_;                  // of each storage
  StateSizes out_;
};

}  // namespace

StateSizes ComputeStateSizes(const Program& program, size_t depth) {
  return Sizer(program, depth).Compute();
}

}  // namespace tenon
