// How a call of the library fails: with everything that is wrong, by rule.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenon {

// One thing that is wrong.
struct Error {
  std::string rule;   // "V-SIG-03"; `tenon rule ID` explains it
  std::string place;  // file, JSON path, or graph and node; may be empty
  std::string message;
};
using Errors = std::vector<Error>;

// A value, or at least one error. The library throws nothing of its own.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}         // NOLINT: implicit
  Result(Errors errors) : content_(std::move(errors)) {}  // NOLINT: implicit

  explicit operator bool() const { return ok(); }
  bool ok() const { return content_.index() == 0; }

  // Only when ok().
  T& operator*() { return std::get<0>(content_); }
  const T& operator*() const { return std::get<0>(content_); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }
  // Empty when ok().
  Errors errors() const { return ok() ? Errors() : std::get<1>(content_); }

 private:
  std::variant<T, Errors> content_;
};

}  // namespace tenon
