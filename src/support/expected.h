// A result or a reported failure.
//
// The library neither throws nor prints: a function that can fail on bad input
// takes a `Diagnostics` sink, reports there what is wrong, and returns
// `Failure{}`. The caller only needs to know that it failed.
#pragma once

#include <cstdlib>
#include <optional>
#include <utility>

namespace tenon {

// Says that the reason for the failure was already reported.
struct Failure {};

template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected(Failure) {}  // NOLINT: implicit on purpose, as is the next
  Expected(T value) : value_(std::move(value)) {}

  explicit operator bool() const { return value_.has_value(); }
  bool ok() const { return value_.has_value(); }

  // Only after a check that the value is there.
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
};

template <>
class [[nodiscard]] Expected<void> {
 public:
  Expected(Failure) : ok_(false) {}  // NOLINT: implicit on purpose
  Expected() : ok_(true) {}

  explicit operator bool() const { return ok_; }
  bool ok() const { return ok_; }

 private:
  bool ok_;
};

using Status = Expected<void>;

}  // namespace tenon

// Leaves the function with Failure when `expr` failed. For Status.
#define TENON_TRY(expr)                              \
  do {                                               \
    if (auto tenon_status = (expr); !tenon_status) { \
      return ::tenon::Failure{};                     \
    }                                                \
  } while (false)

#define TENON_CONCAT_(a, b) a##b
#define TENON_CONCAT(a, b) TENON_CONCAT_(a, b)

// `TENON_ASSIGN(auto x, F())`: x is F's value, or the function fails too.
#define TENON_ASSIGN(declaration, expr)                  \
  auto TENON_CONCAT(tenon_expected_, __LINE__) = (expr); \
  if (!TENON_CONCAT(tenon_expected_, __LINE__)) {        \
    return ::tenon::Failure{};                           \
  }                                                      \
  declaration = std::move(*TENON_CONCAT(tenon_expected_, __LINE__))
