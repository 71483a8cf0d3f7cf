#include "weights/replace_weights.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "formats/pt2/stripped.h"
#include "ir/reach.h"
#include "support/mapped_pages.h"
#include "support/scratch_file.h"
#include "tensor/row_major.h"
#include "weights/read_sharing.h"
#include "weights/state_digest.h"
#include "weights/state_tensor.h"

namespace tenon {
namespace {

using Item = WeightsFile::Item;

// Smaller storages are assembled on the heap.
constexpr uint64_t kScratchBytes = uint64_t{1} << 20;

// Which tensor of the file each entry of the program gets.
class Matching {
 public:
  Matching(const WeightsFile& file, const Program& program)
      : file_(file), program_(program), item_of_(num_entries(), nullptr) {
    for (const bool in_state_dict : {true, false}) {
      for (size_t i = 0; i < num_entries(); ++i) {
        const StateEntry& entry = program.state.entries[i];
        if (entry.in_state_dict() != in_state_dict) continue;
        if (!IsPlainTensor(program, entry)) continue;
        entry_of_.emplace(program.view(entry.fqn), i);
      }
    }
    for (const auto& [name, i] : entry_of_) item_of_[i] = file.Find(name);
    for (const auto& [name, kept] : file.metadata()) {
      const auto at = entry_of_.find(name);
      if (at == entry_of_.end() || item_of_[at->second] != nullptr) continue;
      item_of_[at->second] = file.Find(kept);
      if (item_of_[at->second] != nullptr) used_as_other_.insert(kept);
    }
  }

  // Null: the file has none for this entry.
  const Item* item_of(size_t entry) const { return item_of_[entry]; }
  size_t num_entries() const { return program_.state.entries.size(); }
  // Names of the file that no entry has, in the file's order.
  std::vector<std::string> UnknownNames() const {
    std::vector<std::string> out;
    for (const Item& item : file_.items()) {
      if (entry_of_.count(item.tensor.name) == 0 &&
          used_as_other_.count(item.tensor.name) == 0) {
        out.push_back(item.tensor.name);
      }
    }
    return out;
  }

 private:
  const WeightsFile& file_;
  const Program& program_;
  std::unordered_map<std::string_view, size_t> entry_of_;  // by FQN
  std::vector<const Item*> item_of_;
  // Tensors that stand for other names than their own.
  std::unordered_set<std::string> used_as_other_;
};

// What tells views of one storage apart.
using ViewKey = std::tuple<DType, int64_t, Sizes, std::vector<int64_t>>;

ViewKey KeyOf(const Type& type) {
  std::vector<int64_t> strides;
  for (const SymInt& stride : type.strides) strides.push_back(stride.value);
  return {type.dtype, type.storage_offset.value, LiteralSizes(type), strides};
}

// "f32[2, 3]".
std::string ShapeText(DType dtype, const Sizes& sizes) {
  return Tensor(Storage::BorrowConst(Bytes(), nullptr), dtype, sizes, {}, 0)
      .ToString();
}

class Replacer {
 public:
  Replacer(const WeightsFile& file, const ReplaceWeightsOptions& options,
           Program* program, Diagnostics& diags)
      : file_(file),
        options_(options),
        program_(*program),
        diags_(diags),
        matching_(file, *program),
        users_(program->state.storages.size()) {
    for (size_t i = 0; i < matching_.num_entries(); ++i) {
      const StateEntry& entry = program->state.entries[i];
      if (IsPlainTensor(*program, entry)) {
        users_[entry.storage.index].push_back(i);
      }
    }
  }

  Expected<ReplaceWeightsReport> Run() {
    const size_t errors_before = diags_.num_errors();
    CheckUnknown();
    for (size_t i = 0; i < matching_.num_entries(); ++i) CheckItem(i);
    for (size_t s = 0; s < users_.size(); ++s) CheckMissing(s);
    if (diags_.num_errors() > errors_before) return Failure{};
    TENON_TRY(CompareSharing());
    std::vector<StorageRecord> storages = program_.state.storages;
    for (size_t s = 0; s < users_.size(); ++s) {
      if (IsGiven(s)) TENON_TRY(Fill(s, &storages[s]));
    }
    program_.state.storages.swap(storages);
    if (!IsStripped(program_)) return std::move(report_);
    if (!FinishStripped()) {
      program_.state.storages.swap(storages);
      return Failure{};
    }
    return std::move(report_);
  }

 private:
  const StateEntry& entry(size_t i) const { return program_.state.entries[i]; }
  const Type& type(size_t i) const { return program_.type(entry(i).type); }
  std::string NameOf(size_t i) const {
    return std::string(program_.view(entry(i).fqn));
  }
  DiagnosticBuilder Error(Rule rule, size_t i) {
    return diags_.Error(rule, Place::Node(NameOf(i)));
  }
  bool IsGiven(size_t storage) const {
    return std::any_of(
        users_[storage].begin(), users_[storage].end(),
        [&](size_t i) { return matching_.item_of(i) != nullptr; });
  }

  // WGT-01: the program has each tensor of the file.
  void CheckUnknown() {
    const std::vector<std::string> unknown = matching_.UnknownNames();
    report_.num_unknown = unknown.size();
    if (options_.allow_unknown) return;
    for (const std::string& name : unknown) {
      diags_.Error(Rule::kWeights01, Place::File(file_.path()))
          << "tensor '" << name << "' is none of the program's";
    }
  }

  // WGT-02: dtype and sizes are those of the entry.
  void CheckItem(size_t i) {
    const Item* item = matching_.item_of(i);
    if (item == nullptr) return;
    const SafetensorsItem& tensor = item->tensor;
    if (tensor.dtype == type(i).dtype &&
        tensor.sizes == LiteralSizes(type(i))) {
      ++report_.num_replaced;
      report_.bytes += tensor.bytes.size();
      return;
    }
    Error(Rule::kWeights02, i)
        << "the file has " << ShapeText(tensor.dtype, tensor.sizes)
        << ", the program " << ShapeText(type(i).dtype, LiteralSizes(type(i)));
  }

  // WGT-01: the file has each tensor that it must have.
  void CheckMissing(size_t storage) {
    const bool is_weightless = program_.state.storages[storage].is_weightless;
    const bool is_given = IsGiven(storage);
    std::map<ViewKey, size_t> given;
    size_t filling = SIZE_MAX;  // an entry that fills the storage
    for (const size_t i : users_[storage]) {
      if (matching_.item_of(i) == nullptr) continue;
      given.emplace(KeyOf(type(i)), i);
      if (Fills(i, StorageBytes(storage))) filling = i;
    }
    for (const size_t i : users_[storage]) {
      if (matching_.item_of(i) != nullptr) continue;
      const auto same = given.find(KeyOf(type(i)));
      const size_t source = same != given.end() ? same->second : filling;
      if (source != SIZE_MAX) {
        report_.notes.push_back("'" + NameOf(i) +
                                "' isn't in the file: it changes with '" +
                                NameOf(source) + "', whose storage it shares");
        continue;
      }
      if (!entry(i).in_state_dict() && !is_weightless) continue;
      ++report_.num_missing;
      if (!options_.allow_missing) {
        Error(Rule::kWeights01, i) << "the file has no tensor of this name";
      } else if (is_weightless && is_given) {
        Error(Rule::kWeights01, i)
            << "the file has no tensor of this name, but others of its "
               "storage, which has no bytes for it";
      }
    }
  }

  // Whether the entry, written row-major, is the whole storage.
  bool Fills(size_t i, uint64_t storage_bytes) const {
    const Tensor shape(nullptr, type(i).dtype, LiteralSizes(type(i)),
                       std::get<3>(KeyOf(type(i))),
                       type(i).storage_offset.value);
    return shape.offset() == 0 && shape.is_contiguous() &&
           static_cast<uint64_t>(shape.numel()) * SizeBytes(shape.dtype()) ==
               storage_bytes;
  }

  // What the storage has, or, without its bytes, what its entries reach;
  // UINT64_MAX when that overflows.
  uint64_t StorageBytes(size_t storage) const {
    const StorageRecord& record = program_.state.storages[storage];
    if (!record.is_weightless) return record.bytes.size();
    uint64_t bytes = 0;
    for (const size_t i : users_[storage]) {
      bytes = std::max(bytes, ReachBytes(type(i)).value_or(UINT64_MAX));
    }
    return bytes;
  }

  // Says where the file's tensors shared and the program's don't.
  Status CompareSharing() {
    TENON_ASSIGN(const auto groups, ReadSharing(file_, diags_));
    std::unordered_map<std::string_view, StorageId> storage_of;
    for (const StateEntry& e : program_.state.entries) {
      storage_of.emplace(program_.view(e.fqn), e.storage);
    }
    for (const std::vector<std::string>& names : groups) {
      const auto first = storage_of.find(names[0]);
      for (const std::string& name : names) {
        const auto other = storage_of.find(name);
        if (first == storage_of.end() || other == storage_of.end() ||
            first->second == other->second) {
          continue;
        }
        report_.notes.push_back("'" + names[0] + "' and '" + name +
                                "' shared a storage where the file was "
                                "made; the program keeps them apart");
      }
    }
    return {};
  }

  // New bytes for a storage of which at least one entry is given.
  Status Fill(size_t storage, StorageRecord* out) {
    const uint64_t size = StorageBytes(storage);
    const std::vector<size_t>& users = users_[storage];
    const auto whole = std::find_if(users.begin(), users.end(), [&](size_t i) {
      return matching_.item_of(i) != nullptr && Fills(i, size);
    });
    if (whole != users.end()) {
      const Item& item = *matching_.item_of(*whole);
      out->bytes = item.tensor.bytes;
      out->owner = item.owner;
    } else {
      TENON_TRY(Assemble(storage, size, out));
    }
    out->is_weightless = false;
    // WGT-03: each given tensor is what its view of the storage shows.
    for (const size_t i : users) {
      if (matching_.item_of(i) == nullptr) continue;
      const Tensor view = TensorOver(type(i), out->bytes, out->owner);
      TENON_ASSERT(view.defined(), "a filled storage holds its entries");
      const Bytes expected = matching_.item_of(i)->tensor.bytes;
      if (out->bytes.data() == expected.data() && view.is_contiguous())
        continue;
      if (EqualsRowMajor(view, expected)) continue;
      return Error(Rule::kWeights03, i)
             << "the file gives other elements than for what overlaps it in "
                "the program's storage: "
             << OthersGiven(users, i);
    }
    return {};
  }

  // Names of what else the file gives for a storage.
  std::string OthersGiven(const std::vector<size_t>& users, size_t i) const {
    std::string out;
    for (const size_t other : users) {
      if (other == i || matching_.item_of(other) == nullptr) continue;
      out += (out.empty() ? "'" : ", '") + NameOf(other) + "'";
    }
    return out;
  }

  // Copies what the storage has, then each given tensor.
  Status Assemble(size_t storage, uint64_t size, StorageRecord* out) {
    TENON_TRY(CheckSize(storage, size));
    std::shared_ptr<const void> owner;
    std::span<std::byte> room;
    TENON_TRY(MakeRoom(size, &room, &owner));
    CopyBytes(program_.state.storages[storage].bytes, room);
    const auto target = Storage::Borrow(room.data(), room.size(), owner);
    for (const size_t i : users_[storage]) {
      const Item* item = matching_.item_of(i);
      if (item == nullptr) continue;
      const SafetensorsItem& from = item->tensor;
      Tensor view(target, from.dtype, from.sizes, std::get<3>(KeyOf(type(i))),
                  type(i).storage_offset.value);
      view.CopyFrom(Tensor(Storage::BorrowConst(from.bytes, item->owner),
                           from.dtype, from.sizes,
                           ContiguousStrides(from.sizes), 0));
      ReleasePages(from.bytes);
      ReleasePages(room);
    }
    out->bytes = room;
    out->owner = std::move(owner);
    return {};
  }

  // A stripped program of few bytes could ask for a storage of any size.
  Status CheckSize(size_t storage, uint64_t size) {
    constexpr uint64_t kAlwaysBytes = uint64_t{1} << 30;
    uint64_t given = 0;
    for (const size_t i : users_[storage]) {
      const Item* item = matching_.item_of(i);
      if (item != nullptr) given += item->tensor.bytes.size();
    }
    const bool is_weightless = program_.state.storages[storage].is_weightless;
    if (!is_weightless ||
        size <= std::max(kAlwaysBytes, given * kMaxExpansion)) {
      return {};
    }
    return Error(Rule::kUnsupported, users_[storage].front())
           << "its storage of " << size << " bytes can't be restored from "
           << given << " bytes";
  }

  Status MakeRoom(uint64_t size, std::span<std::byte>* room,
                  std::shared_ptr<const void>* owner) {
    if (size < kScratchBytes) {
      const auto heap = std::make_shared<std::vector<std::byte>>(size);
      *room = *heap;
      *owner = heap;
      return {};
    }
    std::string error;
    const auto scratch =
        ScratchFile::Create(options_.scratch_folder, size, &error);
    if (scratch == nullptr) {
      return diags_.Error(Rule::kIo, Place::File(options_.scratch_folder))
             << "no room for " << size << " bytes: " << error;
    }
    *room = scratch->bytes();
    *owner = scratch;
    return {};
  }

  static void CopyBytes(Bytes from, std::span<std::byte> to) {
    while (!from.empty()) {
      const size_t size = std::min(from.size(), kRowMajorBlockBytes);
      std::memcpy(to.data(), from.data(), size);
      ReleasePages(from.first(size));
      ReleasePages(to.first(size));
      from = from.subspan(size);
      to = to.subspan(size);
    }
  }

  Status FinishStripped() {
    const auto& storages = program_.state.storages;
    if (std::any_of(storages.begin(), storages.end(),
                    [](const StorageRecord& s) { return s.is_weightless; })) {
      report_.stripped = ReplaceWeightsReport::Stripped::kStillStripped;
      return {};
    }
    TENON_ASSIGN(const StrippedRecord record,
                 GetStrippedRecord(program_, diags_));
    report_.stripped = StateDigest(program_) == record.state
                           ? ReplaceWeightsReport::Stripped::kSame
                           : ReplaceWeightsReport::Stripped::kOther;
    RemoveStrippedRecord(&program_);
    return {};
  }

  const WeightsFile& file_;
  const ReplaceWeightsOptions& options_;
  Program& program_;
  Diagnostics& diags_;
  const Matching matching_;
  std::vector<std::vector<size_t>> users_;  // entries of each storage
  ReplaceWeightsReport report_;
};

}  // namespace

Expected<ReplaceWeightsReport> ReplaceWeights(
    const WeightsFile& file, const ReplaceWeightsOptions& options,
    Program* program, Diagnostics& diags) {
  return Replacer(file, options, program, diags).Run();
}

}  // namespace tenon
