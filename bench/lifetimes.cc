#include "lifetimes.h"

#include <algorithm>
#include <random>

namespace tenon::bench {

std::vector<Lifetime> DrawLifetimes(LifetimePattern pattern, int64_t count) {
  std::mt19937 random(1);
  const auto n = static_cast<uint32_t>(count);
  std::vector<Lifetime> out(n);
  for (uint32_t i = 0; i < n; ++i) {
    Lifetime& life = out[i];
    life.size_bytes = 64 * (1 + random() % 1000);
    life.first = i;
    switch (pattern) {
      case LifetimePattern::kNetwork:
        life.last = i + 1 + random() % 3;
        break;
      case LifetimePattern::kResiduals:
        life.last = i + 1 + random() % (random() % 10 == 0 ? 200 : 3);
        break;
      case LifetimePattern::kUniform: {
        const uint32_t a = random() % n, b = random() % n;
        life.first = std::min(a, b);
        life.last = std::max(a, b);
        break;
      }
    }
  }
  return out;
}

}  // namespace tenon::bench
