// TENON_ASSERT(condition, "sentence"): a bug of ours, never bad input.
#pragma once

namespace tenon {

[[noreturn]] void AssertionFailed(const char* condition, const char* sentence,
                                  const char* file, int line);

}  // namespace tenon

#define TENON_ASSERT(condition, sentence)                                 \
  do {                                                                    \
    if (!(condition)) [[unlikely]] {                                      \
      ::tenon::AssertionFailed(#condition, sentence, __FILE__, __LINE__); \
    }                                                                     \
  } while (false)

#define TENON_UNREACHABLE(sentence) \
  ::tenon::AssertionFailed("unreachable", sentence, __FILE__, __LINE__)
