#include "backends/cpu/loops/loops.h"

namespace tenon::cpu {

namespace baseline {
extern const Loops kLoops;
}
#ifdef TENON_CPU_X86
namespace avx2 {
extern const Loops kLoops;
}
namespace avx512 {
extern const Loops kLoops;
}
#endif

const Loops& BestLoops() {
  static const Loops* best = [] {
#ifdef TENON_CPU_X86
    __builtin_cpu_init();
    const bool has_avx2 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_avx2 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl")) {
      return &avx512::kLoops;
    }
    if (has_avx2) return &avx2::kLoops;
#endif
    return &baseline::kLoops;
  }();
  return *best;
}

}  // namespace tenon::cpu
