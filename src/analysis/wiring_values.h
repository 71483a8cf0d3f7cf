// What each value is while the wiring digest is computed: its hash, the storage
// that it lives in, and what was last written there.
//
// The same value read before and after a write in place is two things, so a
// storage has a version: the digest of its last write, zero before the first.
#pragma once

#include <utility>
#include <vector>

#include "analysis/wiring_tags.h"
#include "ir/program.h"
#include "support/hash.h"

namespace tenon {

// A class of values that share storage.
using AliasId = uint32_t;
inline constexpr AliasId kNoAlias = 0xFFFFFFFFu;

// An input or state entry that values can be, before or after writes to it.
using BaseId = uint32_t;
inline constexpr BaseId kNoBase = 0;

class WiringValues {
 public:
  explicit WiringValues(size_t num_values)
      : digests_(num_values),
        aliases_(num_values, kNoAlias),
        bases_(num_values, kNoBase),
        is_state_(num_values, false) {}

  // --- defining ---

  AliasId NewAlias() { return num_aliases_++; }
  BaseId NewBase(const Digest& digest) {
    base_digests_.push_back(digest);
    return static_cast<BaseId>(base_digests_.size() - 1);
  }
  void Define(ValueId v, const Digest& digest, AliasId alias,
              BaseId base = kNoBase) {
    digests_[v.index] = digest;
    aliases_[v.index] = alias;
    bases_[v.index] = base;
    is_state_[v.index] = false;
  }
  // A state entry: its identity is its digest and its base.
  void DefineState(ValueId v, const Digest& identity, AliasId alias) {
    Define(v, identity, alias, NewBase(identity));
    is_state_[v.index] = true;
  }
  // `to` is `from`, under another id.
  void Pass(ValueId to, ValueId from) {
    Define(to, digests_[from.index], aliases_[from.index], bases_[from.index]);
    is_state_[to.index] = is_state_[from.index];
  }
  // `to` is what `from` is, after a write.
  void KeepBase(ValueId to, ValueId from) {
    bases_[to.index] = bases_[from.index];
  }
  void SetAlias(ValueId v, AliasId alias) { aliases_[v.index] = alias; }

  // --- asking ---

  const Digest& digest(ValueId v) const { return digests_[v.index]; }
  AliasId alias(ValueId v) const { return aliases_[v.index]; }
  // Zero for a value that is neither an input nor state.
  const Digest& base(ValueId v) const { return base_digests_[bases_[v.index]]; }
  // Whether the value is a state entry, not a result of writing to one.
  bool IsState(ValueId v) const { return v.valid() && is_state_[v.index]; }

  // What reading the value gives now: after a write to its storage, that too.
  Digest Read(ValueId v) const {
    const AliasId alias = aliases_[v.index];
    if (Version(alias) == Digest()) return digests_[v.index];
    Hasher h;
    h.Add(uint64_t{kTagVersion});
    h.Add(digests_[v.index]);
    h.Add(Version(alias));
    return h.Finish();
  }

  std::vector<Digest> TakeDigests() { return std::move(digests_); }

  // --- versions of storages ---

  // Zero when nothing wrote it.
  Digest Version(AliasId alias) const {
    return alias < versions_.size() ? versions_[alias] : Digest();
  }
  void SetVersion(AliasId alias, const Digest& version) {
    if (alias >= versions_.size()) versions_.resize(num_aliases_);
    if (is_nested_) journal_.emplace_back(alias, versions_[alias]);
    versions_[alias] = version;
  }

  // A nested graph writes to storages of the graphs around it as part of the
  // node that holds it: when it ends, their versions are as before.
  struct Nesting {
    size_t journal_start;
    AliasId num_outer;
    bool was_nested;
  };
  Nesting BeginNested() {
    return {journal_.size(), num_aliases_, std::exchange(is_nested_, true)};
  }
  // Undoes the writes to outer storages since `nesting` began, last first;
  // `visit(alias)` is called before each is undone.
  template <typename Visit>
  void EndNested(const Nesting& nesting, Visit visit) {
    for (size_t i = journal_.size(); i-- > nesting.journal_start;) {
      const auto [alias, before] = journal_[i];
      if (alias >= nesting.num_outer) continue;
      visit(alias);
      versions_[alias] = before;
    }
    journal_.resize(nesting.journal_start);
    is_nested_ = nesting.was_nested;
  }

 private:
  // By value.
  std::vector<Digest> digests_;
  std::vector<AliasId> aliases_;
  std::vector<BaseId> bases_;  // kNoBase for what is no input or state
  std::vector<bool> is_state_;

  std::vector<Digest> base_digests_ = {Digest()};  // by base; kNoBase is zero
  AliasId num_aliases_ = 0;
  std::vector<Digest> versions_;  // by alias; as long as writes needed so far
  // Inside nested graphs: versions as they were before each write.
  bool is_nested_ = false;
  std::vector<std::pair<AliasId, Digest>> journal_;
};

}  // namespace tenon
