// What goes into a program and what comes out of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenon {

// A strided tensor over memory that somebody else owns. Strides are in
// elements; none means row-major.
struct TensorView {
  std::string dtype;  // PyTorch's name: "float32", "int64", "bool", ...
  std::vector<int64_t> sizes, strides;
  void* data = nullptr;
};

// A tensor and what keeps its bytes alive; null where the bytes are the
// caller's.
struct OwnedTensor {
  TensorView view;
  std::shared_ptr<const void> owner;
};

// A tensor, a scalar, a text or None. Copying one copies no elements.
class CallValue {
 public:
  CallValue() = default;      // None
  CallValue(TensorView view)  // NOLINT: implicit
      : content_(OwnedTensor{std::move(view), nullptr}) {}
  CallValue(OwnedTensor tensor) : content_(std::move(tensor)) {}  // NOLINT
  CallValue(bool b) : content_(b) {}                              // NOLINT
  CallValue(int i) : content_(int64_t{i}) {}                      // NOLINT
  CallValue(int64_t i) : content_(i) {}                           // NOLINT
  CallValue(double f) : content_(f) {}                            // NOLINT
  CallValue(std::string text) : content_(std::move(text)) {}      // NOLINT
  CallValue(const char* text) : content_(std::string(text)) {}    // NOLINT

  bool is_none() const { return content_.index() == 0; }
  bool is_tensor() const { return content_.index() == 1; }
  bool is_int() const { return content_.index() == 2; }
  bool is_float() const { return content_.index() == 3; }
  bool is_bool() const { return content_.index() == 4; }
  bool is_string() const { return content_.index() == 5; }

  // Each only for its own kind.
  const TensorView& tensor() const { return std::get<1>(content_).view; }
  const OwnedTensor& owned_tensor() const { return std::get<1>(content_); }
  int64_t int_value() const { return std::get<2>(content_); }
  double float_value() const { return std::get<3>(content_); }
  bool bool_value() const { return std::get<4>(content_); }
  const std::string& string() const { return std::get<5>(content_); }

 private:
  std::variant<std::monostate, OwnedTensor, int64_t, double, bool, std::string>
      content_;
};

}  // namespace tenon
