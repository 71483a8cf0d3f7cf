#include "sequence_diff.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace tenon::tools {
namespace {

using Sequence = std::span<const uint64_t>;

class Script {
 public:
  void Keep() { Push(Edit::Kind::kKeep, 1, 1); }
  void Remove() { Push(Edit::Kind::kRemove, 1, 0); }
  void Add() { Push(Edit::Kind::kAdd, 0, 1); }
  uint32_t a() const { return a_; }
  uint32_t b() const { return b_; }
  std::vector<Edit> Take() { return std::move(edits_); }

 private:
  void Push(Edit::Kind kind, uint32_t da, uint32_t db) {
    edits_.push_back({kind, a_, b_});
    a_ += da;
    b_ += db;
  }

  std::vector<Edit> edits_;
  uint32_t a_ = 0, b_ = 0;
};

// The pairs of kept positions; nullopt when more than `max_edits` differ.
//
// v[k] is the furthest position in `a` that d edits reach on diagonal
// k = (position in a) - (position in b). One copy of it per d suffices to walk
// back.
std::optional<std::vector<std::pair<uint32_t, uint32_t>>> ShortestKeep(
    Sequence a, Sequence b, size_t max_edits) {
  const int64_t n = static_cast<int64_t>(a.size());
  const int64_t m = static_cast<int64_t>(b.size());
  const int64_t limit =
      std::min<int64_t>(n + m, static_cast<int64_t>(max_edits));
  std::vector<std::vector<int64_t>> history;
  std::vector<int64_t> v(2 * limit + 3, 0);
  const auto at = [&](std::vector<int64_t>& row, int64_t k) -> int64_t& {
    return row[k + limit + 1];
  };
  const auto comes_down = [&](std::vector<int64_t>& row, int64_t d, int64_t k) {
    return k == -d || (k != d && at(row, k - 1) < at(row, k + 1));
  };
  int64_t d = 0;
  bool is_done = false;
  for (; d <= limit && !is_done; ++d) {
    history.push_back(v);
    for (int64_t k = -d; k <= d; k += 2) {
      int64_t x = comes_down(v, d, k) ? at(v, k + 1) : at(v, k - 1) + 1;
      while (x < n && x - k < m && x - k >= 0 && a[x] == b[x - k]) ++x;
      at(v, k) = x;
      if (x >= n && x - k >= m) {
        is_done = true;
        break;
      }
    }
  }
  if (!is_done) return std::nullopt;
  std::vector<std::pair<uint32_t, uint32_t>> kept;
  int64_t x = n, y = m;
  for (--d; d >= 0; --d) {
    std::vector<int64_t>& row = history[d];
    const int64_t k = x - y;
    const int64_t from_k = d == 0 ? k : comes_down(row, d, k) ? k + 1 : k - 1;
    const int64_t from_x = d == 0 ? 0 : at(row, from_k);
    const int64_t from_y = d == 0 ? 0 : from_x - from_k;
    while (x > from_x && y > from_y) {
      --x;
      --y;
      kept.emplace_back(static_cast<uint32_t>(x), static_cast<uint32_t>(y));
    }
    x = from_x;
    y = from_y;
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

// Equal items in order, each as early as the pairs before it allow.
std::vector<std::pair<uint32_t, uint32_t>> GreedyKeep(Sequence a, Sequence b) {
  std::unordered_map<uint64_t, std::vector<uint32_t>> positions;
  for (size_t i = 0; i < b.size(); ++i) {
    positions[b[i]].push_back(static_cast<uint32_t>(i));
  }
  std::vector<std::pair<uint32_t, uint32_t>> kept;
  uint32_t next_b = 0;
  // A single early match far ahead would block all that lies before it.
  constexpr uint32_t kMaxSkip = 4096;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto it = positions.find(a[i]);
    if (it == positions.end()) continue;
    const auto pos =
        std::lower_bound(it->second.begin(), it->second.end(), next_b);
    if (pos == it->second.end() || *pos - next_b > kMaxSkip) continue;
    kept.emplace_back(static_cast<uint32_t>(i), *pos);
    next_b = *pos + 1;
  }
  return kept;
}

}  // namespace

std::vector<Edit> DiffSequences(Sequence a, Sequence b, size_t max_edits) {
  size_t prefix = 0;
  while (prefix < a.size() && prefix < b.size() && a[prefix] == b[prefix]) {
    ++prefix;
  }
  size_t suffix = 0;
  while (suffix < a.size() - prefix && suffix < b.size() - prefix &&
         a[a.size() - 1 - suffix] == b[b.size() - 1 - suffix]) {
    ++suffix;
  }
  const Sequence middle_a = a.subspan(prefix, a.size() - prefix - suffix);
  const Sequence middle_b = b.subspan(prefix, b.size() - prefix - suffix);
  auto kept = ShortestKeep(middle_a, middle_b, max_edits);
  if (!kept) kept = GreedyKeep(middle_a, middle_b);

  Script script;
  for (size_t i = 0; i < prefix; ++i) script.Keep();
  for (const auto& [x, y] : *kept) {
    while (script.a() < prefix + x) script.Remove();
    while (script.b() < prefix + y) script.Add();
    script.Keep();
  }
  while (script.a() < a.size() - suffix) script.Remove();
  while (script.b() < b.size() - suffix) script.Add();
  for (size_t i = 0; i < suffix; ++i) script.Keep();
  return script.Take();
}

}  // namespace tenon::tools
