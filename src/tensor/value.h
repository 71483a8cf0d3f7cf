// What flows through a running program: tensors, scalars, lists, None.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/kinds.h"
#include "tensor/tensor.h"

namespace tenon {

struct DeviceValue {
  std::string type = "cpu";
  int32_t index = -1;  // -1 = none given
  friend bool operator==(const DeviceValue&, const DeviceValue&) = default;
};

// One argument or result of an operator, by PyTorch's argument kinds. An
// `int`, `float` or `bool` alternative keeps the type that Python passed.
class RuntimeValue {
 public:
  using List = std::vector<RuntimeValue>;
  struct None {
    friend bool operator==(None, None) { return true; }
  };

  RuntimeValue() = default;                              // None
  RuntimeValue(Tensor t) : value_(std::move(t)) {}       // NOLINT
  RuntimeValue(int64_t i) : value_(i) {}                 // NOLINT
  RuntimeValue(double f) : value_(f) {}                  // NOLINT
  RuntimeValue(bool b) : value_(b) {}                    // NOLINT
  RuntimeValue(std::complex<double> c) : value_(c) {}    // NOLINT
  RuntimeValue(std::string s) : value_(std::move(s)) {}  // NOLINT
  RuntimeValue(DType d) : value_(d) {}                   // NOLINT
  RuntimeValue(Layout l) : value_(l) {}                  // NOLINT
  RuntimeValue(MemoryFormat m) : value_(m) {}            // NOLINT
  RuntimeValue(DeviceValue d) : value_(std::move(d)) {}  // NOLINT
  RuntimeValue(List l) : value_(std::move(l)) {}         // NOLINT
  RuntimeValue(const char*) = delete;                    // would become a bool

  bool is_none() const { return std::holds_alternative<None>(value_); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_); }
  bool is_float() const { return std::holds_alternative<double>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_complex() const {
    return std::holds_alternative<std::complex<double>>(value_);
  }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_dtype() const { return std::holds_alternative<DType>(value_); }
  bool is_layout() const { return std::holds_alternative<Layout>(value_); }
  bool is_memory_format() const {
    return std::holds_alternative<MemoryFormat>(value_);
  }
  bool is_device() const { return std::holds_alternative<DeviceValue>(value_); }
  bool is_list() const { return std::holds_alternative<List>(value_); }
  // int, float, bool or complex: PyTorch's Scalar.
  bool is_scalar() const {
    return is_int() || is_float() || is_bool() || is_complex();
  }

  // Each only for its own kind.
  const Tensor& tensor() const { return std::get<Tensor>(value_); }
  Tensor& tensor() { return std::get<Tensor>(value_); }
  int64_t int_value() const { return std::get<int64_t>(value_); }
  double float_value() const { return std::get<double>(value_); }
  bool bool_value() const { return std::get<bool>(value_); }
  std::complex<double> complex_value() const {
    return std::get<std::complex<double>>(value_);
  }
  const std::string& string() const { return std::get<std::string>(value_); }
  DType dtype() const { return std::get<DType>(value_); }
  Layout layout() const { return std::get<Layout>(value_); }
  MemoryFormat memory_format() const { return std::get<MemoryFormat>(value_); }
  const DeviceValue& device() const { return std::get<DeviceValue>(value_); }
  const List& list() const { return std::get<List>(value_); }
  List& list() { return std::get<List>(value_); }

  const auto& variant() const { return value_; }

 private:
  std::variant<None, Tensor, int64_t, double, bool, std::complex<double>,
               std::string, DType, Layout, MemoryFormat, DeviceValue, List>
      value_;
};

}  // namespace tenon
