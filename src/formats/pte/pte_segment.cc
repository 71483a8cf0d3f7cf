#include "formats/pte/pte_segment.h"

#include <algorithm>
#include <array>

namespace tenon {
namespace {

constexpr std::array<std::byte, 4096> kZeros = {};

// A segment's bytes front to back, in runs that lie somewhere in a row.
class Runs {
 public:
  explicit Runs(const PteSegment& segment)
      : segment_(segment), left_(segment.bytes) {
    Refill();
  }

  Bytes Peek() const { return left_; }
  void Skip(size_t count) {
    left_ = left_.subspan(count);
    at_ += count;
    Refill();
  }

 private:
  // Afterwards `left_` is empty at the end only.
  void Refill() {
    while (left_.empty() && next_ < segment_.more.size()) {
      const PtePiece& piece = segment_.more[next_];
      if (piece.offset > at_) {
        left_ = Bytes(kZeros).first(static_cast<size_t>(
            std::min<uint64_t>(piece.offset - at_, kZeros.size())));
      } else {
        left_ = piece.bytes;
        ++next_;
      }
    }
  }

  const PteSegment& segment_;
  size_t next_ = 0;  // of `more`
  uint64_t at_ = 0;  // where `left_` begins
  Bytes left_;
};

}  // namespace

std::string PteSegment::Joined() const {
  std::string out;
  out.reserve(size_bytes());
  for (Runs runs(*this); !runs.Peek().empty();) {
    out += AsText(runs.Peek());
    runs.Skip(runs.Peek().size());
  }
  return out;
}

bool operator==(const PteSegment& a, const PteSegment& b) {
  if (a.size_bytes() != b.size_bytes()) return false;
  Runs x(a), y(b);
  while (!x.Peek().empty()) {
    const size_t count = std::min(x.Peek().size(), y.Peek().size());
    if (AsText(x.Peek().first(count)) != AsText(y.Peek().first(count))) {
      return false;
    }
    x.Skip(count);
    y.Skip(count);
  }
  return true;
}

}  // namespace tenon
