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

namespace {

struct Supported {
  const Loops* sets[4] = {&baseline::kLoops, nullptr, nullptr, nullptr};
  int count = 1;

  Supported() {
#ifdef TENON_CPU_X86
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
      return;
    }
    sets[count++] = &avx2::kLoops;
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl")) {
      sets[count++] = &avx512::kLoops;
    }
#endif
  }
};

// Constant from the first call on.
const Supported& Find() {
  static const Supported supported;
  return supported;
}

}  // namespace

const Loops* const* SupportedLoops() { return Find().sets; }

const Loops& BestLoops() { return *Find().sets[Find().count - 1]; }

}  // namespace tenon::cpu
