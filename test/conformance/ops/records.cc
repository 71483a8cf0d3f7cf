#include "conformance/ops/records.h"

#include <cmath>
#include <limits>

namespace tenon {
namespace {

using simdjson::dom::element;

constexpr std::string_view kKinds[] = {
    "t", "i",    "f",     "c",      "b",      "s",
    "n", "list", "dtype", "layout", "device", "memory_format"};

std::optional<double> DecodeNumber(element value) {
  double number = 0;
  if (value.get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return std::nullopt;
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

std::optional<Sizes> DecodeSizes(element value) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return std::nullopt;
  Sizes sizes;
  for (const element item : array) {
    int64_t size = 0;
    if (item.get(size) != simdjson::SUCCESS || size < 0) return std::nullopt;
    sizes.push_back(size);
  }
  return sizes;
}

std::optional<RuntimeValue> DecodeList(element value,
                                       const Safetensors& storages) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return std::nullopt;
  RuntimeValue::List list;
  for (const element item : array) {
    auto decoded = DecodeValue(item, storages);
    if (!decoded) return std::nullopt;
    list.push_back(std::move(*decoded));
  }
  return RuntimeValue(std::move(list));
}

std::optional<RuntimeValue> DecodeComplex(element value) {
  simdjson::dom::array parts;
  if (value.get(parts) != simdjson::SUCCESS || parts.size() != 2) {
    return std::nullopt;
  }
  const auto real = DecodeNumber(parts.at(0).value_unsafe());
  const auto imag = DecodeNumber(parts.at(1).value_unsafe());
  if (!real || !imag) return std::nullopt;
  return RuntimeValue(std::complex<double>(*real, *imag));
}

template <typename T>
std::optional<RuntimeValue> Wrap(std::optional<T> value) {
  if (!value) return std::nullopt;
  return RuntimeValue(*value);
}

std::optional<RuntimeValue> DecodeText(std::string_view kind,
                                       std::string_view text) {
  if (kind == "s") return RuntimeValue(std::string(text));
  if (kind == "dtype") return Wrap(FindDType(text));
  if (kind == "layout") return Wrap(FindLayout(text));
  if (kind == "memory_format") return Wrap(FindMemoryFormat(text));
  return RuntimeValue(DeviceValue{std::string(text), -1});
}

}  // namespace

std::string_view ValueKind(element value) {
  for (const std::string_view kind : kKinds) {
    if (value[kind].error() == simdjson::SUCCESS) return kind;
  }
  return {};
}

std::optional<RecordedTensor> DecodeTensor(element value,
                                           const Safetensors& storages) {
  std::string_view dtype_name;
  int64_t offset = 0;
  element size, stride, key;
  if (value["dtype"].get(dtype_name) != simdjson::SUCCESS ||
      value["offset"].get(offset) != simdjson::SUCCESS ||
      value["size"].get(size) != simdjson::SUCCESS ||
      value["stride"].get(stride) != simdjson::SUCCESS ||
      value["t"].get(key) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  const auto dtype = FindDType(dtype_name);
  const auto sizes = DecodeSizes(size);
  const auto strides = DecodeSizes(stride);
  if (!dtype || !sizes || !strides || sizes->size() != strides->size()) {
    return std::nullopt;
  }
  RecordedTensor out;
  std::string_view text;
  int64_t position = 0;
  if (value["alias"].get(text) == simdjson::SUCCESS) {
    out.alias = text;
  } else if (value["alias"].get(position) == simdjson::SUCCESS) {
    out.alias = std::to_string(position);
  }
  if (key.is_null()) {
    out.has_values = false;
    out.tensor =
        Tensor(Storage::Allocate(0, false), *dtype, *sizes, *strides, offset);
    return out;
  }
  if (key.get(text) != simdjson::SUCCESS) return std::nullopt;
  const Tensor* storage = storages.Find(text);
  if (storage == nullptr) return std::nullopt;
  const size_t bytes =
      static_cast<size_t>(storage->numel()) * SizeBytes(storage->dtype());
  auto copy = Storage::Allocate(bytes, false);
  if (copy == nullptr) return std::nullopt;
  if (bytes > 0) std::memcpy(copy->mutable_data(), storage->raw(), bytes);
  out.tensor = Tensor(std::move(copy), *dtype, *sizes, *strides, offset);
  if (!out.tensor.FitsStorage()) return std::nullopt;
  return out;
}

std::optional<RuntimeValue> DecodeValue(element value,
                                        const Safetensors& storages) {
  const std::string_view kind = ValueKind(value);
  if (kind.empty()) return std::nullopt;
  const element content = value[kind].value_unsafe();
  if (kind == "t") {
    auto recorded = DecodeTensor(value, storages);
    if (!recorded) return std::nullopt;
    return RuntimeValue(std::move(recorded->tensor));
  }
  if (kind == "n") return RuntimeValue();
  if (kind == "list") return DecodeList(content, storages);
  if (kind == "f") return Wrap(DecodeNumber(content));
  if (kind == "c") return DecodeComplex(content);
  int64_t integer = 0;
  if (kind == "i" && content.get(integer) == simdjson::SUCCESS) return integer;
  bool truth = false;
  if (kind == "b" && content.get(truth) == simdjson::SUCCESS) return truth;
  std::string_view text;
  if (content.get(text) != simdjson::SUCCESS) return std::nullopt;
  return DecodeText(kind, text);
}

}  // namespace tenon
