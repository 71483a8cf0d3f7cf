#include "weights/strip_weights.h"

#include <algorithm>

#include "formats/pt2/stripped.h"
#include "weights/state_digest.h"
#include "weights/state_tensor.h"

namespace tenon {
namespace {

constexpr std::string_view kModelsFolder = "models/";
constexpr std::string_view kWeightFolders[] = {"data/weights/",
                                               "data/constants/"};

bool IsWeightMember(const FileInfo::Member& member) {
  return std::any_of(
      std::begin(kWeightFolders), std::end(kWeightFolders),
      [&](std::string_view folder) { return member.name.starts_with(folder); });
}

class Stripper {
 public:
  Stripper(const StripOptions& options, Program* program, Diagnostics& diags)
      : options_(options),
        program_(*program),
        diags_(diags),
        users_(program->state.storages.size()) {}

  Expected<StripReport> Run() {
    TENON_TRY(CheckExpansion(program_, diags_));
    const size_t errors_before = diags_.num_errors();
    CheckMembers();
    for (const StateEntry& entry : program_.state.entries) CheckEntry(entry);
    for (const auto& users : users_) CheckUsers(users);
    if (diags_.num_errors() > errors_before) return Failure{};
    // What was taken out before counts: the digest stays that of all of it.
    if (!IsStripped(program_)) {
      SetStrippedRecord({StateDigest(program_)}, &program_);
    }
    for (size_t s = 0; s < users_.size(); ++s) {
      if (IsTaken(users_[s])) Empty(s);
    }
    DropOrphans();
    if (!program_.delegates.empty()) {
      report_.notes.push_back(
          "payloads of delegates stay: what they were compiled with is in "
          "them");
    }
    return std::move(report_);
  }

 private:
  using Users = std::vector<const StateEntry*>;

  bool IsWanted(const StateEntry& entry) const {
    return entry.in_state_dict() || options_.with_constants;
  }
  bool IsTaken(const Users& users) const {
    return !users.empty() && IsWanted(*users[0]);
  }
  std::string NameOf(const StateEntry& entry) const {
    return std::string(program_.view(entry.fqn));
  }

  void CheckMembers() {
    for (const FileInfo::Member& member : program_.file.members) {
      if (!member.name.starts_with(kModelsFolder)) continue;
      diags_.Error(Rule::kUnsupported, Place::File(member.name))
          << "the file holds this method, too, with weights of its own";
    }
  }

  void CheckEntry(const StateEntry& entry) {
    if (IsPlainTensor(program_, entry)) {
      users_[entry.storage.index].push_back(&entry);
      return;
    }
    if (entry.kind == StateKind::kObject) {
      report_.notes.push_back("object '" + NameOf(entry) + "' stays");
    } else if (IsWanted(entry)) {
      diags_.Error(Rule::kUnsupported, Place::Node(NameOf(entry)))
          << "this tensor is a pickled object, which can't be put back";
    }
  }

  // A storage is empty for all of its entries.
  void CheckUsers(const Users& users) {
    if (options_.with_constants) return;
    const auto weight = std::find_if(users.begin(), users.end(),
                                     [&](auto* e) { return IsWanted(*e); });
    const auto constant = std::find_if(users.begin(), users.end(),
                                       [&](auto* e) { return !IsWanted(*e); });
    if (weight == users.end() || constant == users.end()) return;
    diags_.Error(Rule::kUnsupported, Place::Node(NameOf(**weight)))
        << "its storage is that of " << Name((*constant)->kind) << " '"
        << NameOf(**constant) << "', too, which isn't stripped";
  }

  // Whether the gapless ones among the tensors leave no byte out.
  bool IsFilled(const Users& users, uint64_t size) const {
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (const StateEntry* entry : users) {
      const Tensor tensor = StateTensor(program_, *entry);
      if (!tensor.defined() || !tensor.is_dense()) continue;
      const size_t item = SizeBytes(tensor.dtype());
      const uint64_t begin = static_cast<uint64_t>(tensor.offset()) * item;
      ranges.emplace_back(begin,
                          begin + static_cast<uint64_t>(tensor.numel()) * item);
    }
    std::sort(ranges.begin(), ranges.end());
    uint64_t filled = 0;
    for (const auto& [begin, end] : ranges) {
      if (begin > filled) return false;
      filled = std::max(filled, end);
    }
    return filled == size;
  }

  void Empty(size_t storage) {
    StorageRecord& record = program_.state.storages[storage];
    if (record.is_weightless) return;
    const uint64_t size = record.bytes.size();
    if (size == 0) return;
    if (!IsFilled(users_[storage], size)) {
      report_.notes.push_back("the storage of '" + NameOf(*users_[storage][0]) +
                              "' isn't filled by gapless tensors: bytes that "
                              "none of them reaches can't be put back");
    }
    report_.num_tensors += users_[storage].size();
    report_.bytes += size;
    record = StorageRecord();
    record.is_weightless = true;
  }

  // Records that no entry of the program refers to.
  void DropOrphans() {
    for (const FileInfo::Member& member : program_.file.members) {
      if (!IsWeightMember(member)) continue;
      report_.notes.push_back("member '" + member.name +
                              "', which no tensor refers to, was left out");
    }
    std::erase_if(program_.file.members, IsWeightMember);
  }

  const StripOptions& options_;
  Program& program_;
  Diagnostics& diags_;
  std::vector<Users> users_;  // entries of each storage
  StripReport report_;
};

}  // namespace

Expected<StripReport> StripWeights(const StripOptions& options,
                                   Program* program, Diagnostics& diags) {
  return Stripper(options, program, diags).Run();
}

}  // namespace tenon
