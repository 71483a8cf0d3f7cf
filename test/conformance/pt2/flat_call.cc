#include "conformance/pt2/flat_call.h"

#include <algorithm>
#include <utility>

#include "conformance/pt2/corpus_value.h"

namespace tenon::conformance {
namespace {

template <typename T>
Tensor ScalarTensor(DType dtype, T value) {
  Tensor t = Tensor::Zeros(dtype, {});
  *t.mutable_data<T>() = value;
  return t;
}

}  // namespace

Tensor AsArray(const RuntimeValue& value) {
  if (value.is_tensor()) return value.tensor().Clone().Contiguous();
  if (value.is_int()) {
    return ScalarTensor<int64_t>(DType::kInt64, value.int_value());
  }
  if (value.is_bool()) {
    return ScalarTensor<bool>(DType::kBool, value.bool_value());
  }
  if (value.is_float()) {
    return ScalarTensor<double>(DType::kFloat64, value.float_value());
  }
  if (value.is_string()) {
    const std::string_view text = value.string();
    Tensor t =
        Tensor::Zeros(DType::kUInt8, {static_cast<int64_t>(text.size())});
    std::copy(text.begin(), text.end(),
              reinterpret_cast<char*>(t.mutable_raw()));
    return t;
  }
  return Tensor();
}

void AddArrays(const std::vector<RuntimeValue>& values,
               const std::string& prefix, Safetensors* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    Tensor array = AsArray(values[i]);
    if (!array.defined()) continue;
    out->tensors.push_back({prefix + std::to_string(i), std::move(array)});
  }
}

std::vector<RuntimeValue> Copies(const std::vector<RuntimeValue>& values) {
  std::vector<RuntimeValue> out;
  for (const RuntimeValue& v : values) {
    out.push_back(v.is_tensor() ? RuntimeValue(v.tensor().Clone()) : v);
  }
  return out;
}

std::optional<std::vector<RuntimeValue>> FlatInputs(
    const Program& program, const RecordedRun& run,
    const Safetensors& recording, std::string* error) {
  CorpusValue args, kwargs;
  if (!DecodeCorpusValue(run.args, recording, &args, error) ||
      !DecodeCorpusValue(run.kwargs, recording, &kwargs, error)) {
    return std::nullopt;
  }
  std::vector<RuntimeValue> leaves;
  CollectLeaves(args, &leaves);
  if (!program.in_spec || kwargs.items.empty()) {
    CollectLeaves(kwargs, &leaves);
    return leaves;
  }
  for (const std::string& key : program.in_spec->children[1].Keys()) {
    for (size_t i = 0; i < kwargs.items.size(); ++i) {
      if (kwargs.keys[i] == key || kwargs.keys[i] == "\"" + key + "\"") {
        CollectLeaves(kwargs.items[i], &leaves);
      }
    }
  }
  return leaves;
}

}  // namespace tenon::conformance
