// Reads weights and constants: the payload configs and raw records of layout C,
// the pickles of layouts A and B (V-FILE-07, V-FILE-08).
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "formats/json/json_input.h"
#include "formats/pickle/torch_save.h"
#include "formats/pt2/archive.h"
#include "formats/pt2/read_types.h"
#include "ir/program.h"

namespace tenon {

// State entries by FQN.
class StateByName {
 public:
  // False when the name is there already.
  bool Add(StringId name, StateId state) {
    if (name.index >= states_.size()) {
      states_.resize(std::max<size_t>(name.index + 1, 2 * states_.size()));
    }
    if (states_[name.index].valid()) return false;
    states_[name.index] = state;
    return true;
  }
  // Invalid when there is none of that name.
  StateId Find(StringId name) const {
    return name.valid() && name.index < states_.size() ? states_[name.index]
                                                       : StateId();
  }

 private:
  std::vector<StateId> states_;  // names are interned one after the other
};

// Per section: a name may stand in both.
struct StateNames {
  StateByName weights, constants;
};

// "data/weights/" and "data/constants/" of one method.
class StateReader {
 public:
  StateReader(const Pt2Archive* archive, const std::string& method,
              const Pt2ReadOptions* options, Program* program,
              SymbolTable* symbols, Diagnostics* diags)
      : archive_(*archive),
        method_(method),
        options_(*options),
        program_(*program),
        symbols_(*symbols),
        diags_(*diags),
        used_members_(archive->members().size()),
        storages_(archive->members().size()) {}

  // Weights, then constants, each in file order. Kinds are those that an
  // entry has without a signature; the signature's reader refines them.
  Status Read();

  const StateNames& names() const { return names_; }
  // Which members were read, by position, for whoever carries the others.
  const std::vector<bool>& used_members() const { return used_members_; }

 private:
  enum class Section { kWeights, kConstants };

  Status ReadSection(Section section);
  Status ReadConfig(Section section, const std::string& name);
  Status ReadPickle(Section section, const std::string& member);
  StorageId AddStorage(const SavedStorage& saved);
  Expected<StorageId> AddPayload(const SavedDict& dict, SavedTensor tensor,
                                 const std::string& member);
  Status AddEntry(Section section, const StateEntry& entry, const Place& place);
  // Adds it; false when there is one of its name.
  bool Insert(Section section, const StateEntry& entry);
  Status ReadEntry(Section section, std::string_view fqn, const JsonElement& e,
                   const JsonPath& path, const JsonInput& json,
                   TypeReader* types);
  Expected<StorageId> ReadStorage(Section section, std::string_view path_name,
                                  bool is_raw, const JsonPath& path,
                                  const JsonInput& json);
  Status CheckView(const Type& type, StorageId storage, const JsonPath& path,
                   const JsonInput& json);

  const Pt2Archive& archive_;
  const std::string& method_;
  const Pt2ReadOptions& options_;
  Program& program_;
  SymbolTable& symbols_;
  Diagnostics& diags_;
  StateNames names_;
  std::vector<bool> used_members_;   // by position in the archive
  std::vector<StorageId> storages_;  // the same
  std::string member_;               // scratch
  std::vector<DType> dtypes_;        // of each storage, by its first entry
};

// Whether a tensor of this type lies inside `storage_bytes`; else what is
// wrong, as a phrase.
std::string CheckStoredTensor(const Type& type, uint64_t storage_bytes,
                              bool allow_weightless = true);

}  // namespace tenon
