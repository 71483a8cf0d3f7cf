#include "fuzz/target.h"

#include <cstdio>
#include <cstdlib>

namespace tenon::fuzz {
namespace {

constexpr bool kJson = true;
constexpr Target kTargets[] = {
    {"engine", FuzzEngine},
    {"expression", FuzzExpression},
    {"generated", FuzzGenerated},
    {"guard", FuzzGuard},
    {"hybrid", FuzzHybrid, kJson},
    {"model", FuzzModel, kJson},
    {"npy", FuzzNpy},
    {"pickle", FuzzPickle},
    {"pt2", FuzzPt2, kJson},
    {"pte", FuzzPte},
    {"safetensors", FuzzSafetensors},
    {"text", FuzzText},
    {"zip", FuzzZip},
};

}  // namespace

std::span<const Target> AllTargets() { return kTargets; }

const Target* FindTarget(std::string_view name) {
  for (const Target& target : kTargets) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

void Expect(bool condition, std::string_view sentence,
            std::string_view details) {
  if (condition) return;
  std::fprintf(stderr, "property: %.*s\n%.*s\n",
               static_cast<int>(sentence.size()), sentence.data(),
               static_cast<int>(details.size()), details.data());
  std::abort();
}

}  // namespace tenon::fuzz
