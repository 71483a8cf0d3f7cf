#include "ir/type.h"

#include <algorithm>
#include <cstring>

namespace tenon {
namespace {

constexpr uint32_t kFree = TypeId::kNone;

uint64_t Bits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

class Mixer {
 public:
  void Add(uint64_t v) {
    h_ = (h_ ^ v) * 0x9E3779B97F4A7C15ull;
    h_ ^= h_ >> 32;
  }
  void Add(const SymInt& s) {
    Add(static_cast<uint64_t>(s.value));
    Add(static_cast<uint64_t>(s.expr.index) << 1 | s.has_hint);
  }
  uint64_t hash() const { return h_; }

 private:
  uint64_t h_ = 0x243F6A8885A308D3ull;
};

uint64_t HashType(const Type& t) {
  Mixer m;
  m.Add(static_cast<uint64_t>(t.kind) | static_cast<uint64_t>(t.dtype) << 8 |
        static_cast<uint64_t>(t.layout) << 16 |
        static_cast<uint64_t>(t.requires_grad) << 24 |
        static_cast<uint64_t>(t.sizes.size()) << 32);
  m.Add(static_cast<uint64_t>(t.device.type.index) << 32 |
        static_cast<uint32_t>(t.device.index));
  for (const SymInt& s : t.sizes) m.Add(s);
  for (const SymInt& s : t.strides) m.Add(s);
  m.Add(t.storage_offset);
  m.Add(t.sym);
  m.Add(Bits(t.real));
  m.Add(t.text.index);
  return m.hash();
}

}  // namespace

bool Type::has_static_sizes() const {
  return std::all_of(sizes.begin(), sizes.end(),
                     [](const SymInt& s) { return s.is_literal(); });
}

bool operator==(const Type& a, const Type& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.layout == b.layout &&
         a.requires_grad == b.requires_grad && a.device == b.device &&
         a.sizes == b.sizes && a.strides == b.strides &&
         a.storage_offset == b.storage_offset && a.sym == b.sym &&
         Bits(a.real) == Bits(b.real) && a.text == b.text;
}

TypePool::TypePool() : slots_(64, kFree) {}

TypeId TypePool::Intern(Type type) {
  const uint64_t hash = HashType(type);
  size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot] != kFree) {
    const uint32_t i = slots_[slot];
    if (hashes_[i] == hash && types_[i] == type) return TypeId(i);
    slot = (slot + 1) & mask;
  }
  if (2 * (types_.size() + 1) > slots_.size()) {
    Grow();
    mask = slots_.size() - 1;
    slot = hash & mask;
    while (slots_[slot] != kFree) slot = (slot + 1) & mask;
  }
  const uint32_t index = static_cast<uint32_t>(types_.size());
  slots_[slot] = index;
  types_.push_back(std::move(type));
  hashes_.push_back(hash);
  return TypeId(index);
}

void TypePool::Grow() {
  slots_.assign(slots_.size() * 2, kFree);
  const size_t mask = slots_.size() - 1;
  for (uint32_t i = 0; i < types_.size(); ++i) {
    size_t slot = hashes_[i] & mask;
    while (slots_[slot] != kFree) slot = (slot + 1) & mask;
    slots_[slot] = i;
  }
}

}  // namespace tenon
