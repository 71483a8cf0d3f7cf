#include "formats/zip/zip_names.h"

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tenon {
namespace {

constexpr size_t kMinSlots = 16;

uint64_t Hash(std::string_view name) {
  return XXH3_64bits(name.data(), name.size());
}

}  // namespace

void ZipNames::Reserve(size_t count) {
  names_.reserve(count);
  const size_t size = std::bit_ceil(2 * count + kMinSlots);
  if (size <= slots_.size()) return;
  slots_.assign(size, Slot());
  for (uint32_t i = 0; i < names_.size(); ++i) {
    const uint64_t hash = Hash(names_[i]);
    slots_[Probe(names_[i], hash)] = {i, static_cast<uint32_t>(hash >> 32)};
  }
}

size_t ZipNames::Probe(std::string_view name, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (
      slots_[at].position != kNone &&
      !(slots_[at].hash == hash >> 32 && names_[slots_[at].position] == name)) {
    at = (at + 1) & mask;
  }
  return at;
}

bool ZipNames::Add(std::string_view name) {
  if (2 * names_.size() >= slots_.size()) Reserve(2 * names_.size() + 1);
  const uint64_t hash = Hash(name);
  Slot& slot = slots_[Probe(name, hash)];
  if (slot.position != kNone) return false;
  slot = {static_cast<uint32_t>(names_.size()),
          static_cast<uint32_t>(hash >> 32)};
  names_.push_back(name);
  return true;
}

uint32_t ZipNames::Find(std::string_view name) const {
  if (slots_.empty()) return kNone;
  return slots_[Probe(name, Hash(name))].position;
}

}  // namespace tenon
