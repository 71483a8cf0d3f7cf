#include "verify/alike.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace tenon {
namespace {

// Enough for the different calls of a large model, and no more than the first
// level of a cache holds.
constexpr size_t kMinSlots = 16;
constexpr size_t kMaxSlots = 4096;

// Kind, tag of a list, passing and name are an argument's first eight bytes,
// its literal the others.
static_assert(sizeof(Arg) == 16 && std::is_trivially_copyable_v<Arg>);
constexpr size_t kLiteralOffset = 8;

uint64_t Word(const Arg& a, size_t offset) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const char*>(&a) + offset, sizeof word);
  return word;
}

uint64_t Mix(uint64_t hash, uint64_t word) {
  return std::rotl(hash ^ word, 29) * 0x9E3779B97F4A7C15ull;
}

}  // namespace

AlikeNodes::AlikeNodes(const Program& program)
    : program_(program),
      slots_(std::bit_ceil(
          std::clamp(program.num_nodes(), kMinSlots, kMaxSlots))) {}

bool AlikeNodes::Contains(NodeId n) {
  slot_ = (Hash(n) >> 32) & (slots_.size() - 1);
  return slots_[slot_].valid() && IsAlike(slots_[slot_], n);
}

uint64_t AlikeNodes::Content(const Arg& a) const {
  if (a.is_value()) return program_.value(a.v.value).type.index;
  return a.has_items() ? a.list.count : Word(a, kLiteralOffset);
}

uint64_t AlikeNodes::Hash(NodeId n) const {
  const Node& node = program_.node(n);
  uint64_t hash = HashArgs(node.args, node.op.index);
  for (uint32_t i = 0; i < node.results.count; ++i) {
    hash = Mix(hash, program_.value(node.results[i]).type.index);
  }
  return hash;
}

uint64_t AlikeNodes::HashArgs(ArgRange range, uint64_t hash) const {
  for (const Arg& a : program_.args(range)) {
    hash = Mix(hash, Word(a, 0) + Content(a));
    if (a.has_items()) hash = HashArgs(a.list, hash);
  }
  return hash;
}

bool AlikeNodes::IsAlike(NodeId a, NodeId b) const {
  const Node &x = program_.node(a), &y = program_.node(b);
  if (x.op != y.op || x.form != y.form || x.kind != y.kind ||
      x.results.count != y.results.count) {
    return false;
  }
  for (uint32_t i = 0; i < x.results.count; ++i) {
    if (program_.value(x.results[i]).type !=
        program_.value(y.results[i]).type) {
      return false;
    }
  }
  return AreArgsAlike(x.args, y.args);
}

bool AlikeNodes::AreArgsAlike(ArgRange a, ArgRange b) const {
  if (a.count != b.count) return false;
  for (uint32_t i = 0; i < a.count; ++i) {
    const Arg &x = program_.arg(a[i]), &y = program_.arg(b[i]);
    if (Word(x, 0) != Word(y, 0) || Content(x) != Content(y)) return false;
    if (x.has_items() && !AreArgsAlike(x.list, y.list)) return false;
  }
  return true;
}

}  // namespace tenon
