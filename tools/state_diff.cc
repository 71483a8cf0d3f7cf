#include "state_diff.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "support/checked.h"
#include "text/text.h"

namespace tenon::tools {
namespace {

// One tensor of a state table as a strided window of its bytes.
struct Window {
  const std::byte* data = nullptr;
  size_t element_bytes = 0;
  std::vector<int64_t> sizes, strides;  // strides in elements
};

// nullopt where there are no bytes to compare, or the table is broken.
std::optional<Window> OpenWindow(const Program& program,
                                 const StateEntry& entry) {
  if (!entry.storage.valid() || !entry.type.valid() ||
      entry.storage.index >= program.state.storages.size()) {
    return std::nullopt;
  }
  const StorageRecord& storage = program.state.storage(entry.storage);
  const Type& type = program.type(entry.type);
  if (storage.is_weightless || !type.is_tensor()) return std::nullopt;
  Window w;
  w.element_bytes = SizeBytes(type.dtype);
  std::optional<int64_t> last = type.storage_offset.value;
  for (size_t i = 0; i < type.sizes.size(); ++i) {
    const int64_t size = type.sizes[i].value;
    const int64_t stride = type.strides[i].value;
    if (size < 0 || stride < 0) return std::nullopt;
    w.sizes.push_back(size);
    w.strides.push_back(stride);
    const auto reach = CheckedMul(size > 0 ? size - 1 : 0, stride);
    if (!last || !reach) return std::nullopt;
    last = CheckedAdd(*last, *reach);
  }
  const size_t available =
      w.element_bytes == 0 ? 0 : storage.bytes.size() / w.element_bytes;
  if (!last || *last < 0 || type.storage_offset.value < 0) return std::nullopt;
  const bool is_empty =
      std::find(w.sizes.begin(), w.sizes.end(), 0) != w.sizes.end();
  if (!is_empty && static_cast<uint64_t>(*last) >= available) {
    return std::nullopt;
  }
  w.data = storage.bytes.data() +
           (is_empty ? 0
                     : static_cast<size_t>(type.storage_offset.value) *
                           w.element_bytes);
  return w;
}

bool EqualFrom(const Window& a, const Window& b, size_t dim, const std::byte* x,
               const std::byte* y) {
  if (dim == a.sizes.size()) return std::memcmp(x, y, a.element_bytes) == 0;
  const bool is_row =
      dim + 1 == a.sizes.size() && a.strides[dim] == 1 && b.strides[dim] == 1;
  const size_t count = static_cast<size_t>(a.sizes[dim]);
  if (is_row) return std::memcmp(x, y, count * a.element_bytes) == 0;
  const size_t step_x = static_cast<size_t>(a.strides[dim]) * a.element_bytes;
  const size_t step_y = static_cast<size_t>(b.strides[dim]) * b.element_bytes;
  for (size_t i = 0; i < count; ++i) {
    if (!EqualFrom(a, b, dim + 1, x + i * step_x, y + i * step_y)) return false;
  }
  return true;
}

bool HaveEqualBytes(const Window& a, const Window& b) {
  for (const int64_t size : a.sizes) {
    if (size == 0) return true;
  }
  return EqualFrom(a, b, 0, a.data, b.data);
}

bool HaveEqualPayload(const Program& a, const StateEntry& x, const Program& b,
                      const StateEntry& y) {
  const auto u = OpenWindow(a, x), v = OpenWindow(b, y);
  if (u && v) return HaveEqualBytes(*u, *v);
  // Opaque objects: whole records.
  if (!x.storage.valid() || !y.storage.valid()) {
    return x.storage.valid() == y.storage.valid();
  }
  const StorageRecord& p = a.state.storage(x.storage);
  const StorageRecord& q = b.state.storage(y.storage);
  if (p.is_weightless || q.is_weightless) return true;
  return AsText(p.bytes) == AsText(q.bytes);
}

std::string TypeText(const Program& program, const StateEntry& entry) {
  return entry.type.valid() ? PrintType(program, entry.type) : "no type";
}

// The FQN, and how many entries before bear it too.
using Key = std::pair<std::string_view, size_t>;

std::vector<Key> Keys(const Program& program) {
  std::map<std::string_view, size_t> seen;
  std::vector<Key> keys;
  for (const StateEntry& entry : program.state.entries) {
    const std::string_view fqn = program.view(entry.fqn);
    keys.emplace_back(fqn, seen[fqn]++);
  }
  return keys;
}

}  // namespace

std::vector<StateDifference> CompareState(const Program& a, const Program& b) {
  const std::vector<Key> keys_a = Keys(a), keys_b = Keys(b);
  std::map<Key, size_t> index_b;
  for (size_t i = 0; i < keys_b.size(); ++i) index_b[keys_b[i]] = i;
  std::vector<StateDifference> out;
  std::vector<bool> is_matched(keys_b.size(), false);
  for (size_t i = 0; i < keys_a.size(); ++i) {
    const StateEntry& x = a.state.entries[i];
    const std::string fqn(keys_a[i].first);
    const auto it = index_b.find(keys_a[i]);
    if (it == index_b.end()) {
      out.push_back({fqn, "only in A", TypeText(a, x), ""});
      continue;
    }
    is_matched[it->second] = true;
    const StateEntry& y = b.state.entries[it->second];
    if (x.kind != y.kind) {
      out.push_back(
          {fqn, "kind", std::string(Name(x.kind)), std::string(Name(y.kind))});
    } else if (TypeText(a, x) != TypeText(b, y)) {
      out.push_back({fqn, "type", TypeText(a, x), TypeText(b, y)});
    } else if (!HaveEqualPayload(a, x, b, y)) {
      out.push_back({fqn, "bytes", TypeText(a, x), TypeText(b, y)});
    }
  }
  for (size_t i = 0; i < keys_b.size(); ++i) {
    if (is_matched[i]) continue;
    out.push_back({std::string(keys_b[i].first), "only in B", "",
                   TypeText(b, b.state.entries[i])});
  }
  return out;
}

}  // namespace tenon::tools
