// libFuzzer's entry points. `fuzz --target=NAME [FLAG]... [FOLDER]...`
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "fuzz/json_mutator.h"
#include "fuzz/target.h"

namespace {

using tenon::fuzz::Target;

constexpr std::string_view kFlag = "--target=";
const Target* chosen = nullptr;

}  // namespace

extern "C" {

size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const std::string_view word = (*argv)[i];
    if (!word.starts_with(kFlag)) continue;
    chosen = tenon::fuzz::FindTarget(word.substr(kFlag.size()));
  }
  if (chosen != nullptr) return 0;
  std::fputs("usage: fuzz --target=NAME [FLAG]... [FOLDER]...\ntargets:",
             stderr);
  for (const Target& target : tenon::fuzz::AllTargets()) {
    std::fprintf(stderr, " %.*s", static_cast<int>(target.name.size()),
                 target.name.data());
  }
  std::fputs("\n", stderr);
  std::exit(2);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  chosen->run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                               unsigned int seed) {
  std::minstd_rand random(seed);
  if (!chosen->is_json || random() % 2 == 0) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  const std::string out = tenon::fuzz::MutateJson(
      {reinterpret_cast<const char*>(data), size}, &random);
  if (out.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

}  // extern "C"
