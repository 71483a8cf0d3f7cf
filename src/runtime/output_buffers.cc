#include "runtime/output_buffers.h"

#include <algorithm>
#include <string>

namespace tenon {
namespace {

// [first byte, behind the last one) of a tensor's elements.
struct ByteRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  bool Meets(const ByteRange& other) const {
    return begin < other.end && other.begin < end;
  }
};

ByteRange RangeOf(const Tensor& t) {
  if (t.numel() == 0) return {};
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  return {t.raw(),
          t.raw() + (last + 1) * static_cast<int64_t>(SizeBytes(t.dtype()))};
}

bool IsGiven(std::span<const Tensor> buffers, size_t i) {
  return i < buffers.size() && buffers[i].defined();
}

}  // namespace

// S-5
Status CheckOutputBuffers(std::span<const Tensor> buffers,
                          std::span<const RuntimeValue> results,
                          Diagnostics& diags) {
  const auto error = [&](size_t i) {
    return diags.Error(Rule::kS5, Place::Node("output " + std::to_string(i)));
  };
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!IsGiven(buffers, i)) continue;
    if (i >= results.size()) {
      return error(i) << "there are only " << results.size() << " outputs";
    }
    const Tensor& buffer = buffers[i];
    if (!results[i].is_tensor()) {
      return error(i) << "a buffer is given for an output that isn't a tensor";
    }
    const Tensor& result = results[i].tensor();
    if (buffer.dtype() != result.dtype() || buffer.sizes() != result.sizes()) {
      return error(i) << "the buffer is " << buffer.ToString()
                      << ", the result " << result.ToString();
    }
    if (!buffer.FitsStorage() || !buffer.storage()->writable() ||
        !buffer.is_dense()) {
      return error(i) << "the buffer can't be written element by element";
    }
    for (size_t k = 0; k < i; ++k) {
      if (!IsGiven(buffers, k)) continue;
      if (RangeOf(buffers[k]).Meets(RangeOf(buffer))) {
        return error(i) << "the buffer shares memory with that of output " << k;
      }
    }
  }
  return {};
}

void FillOutputBuffers(std::span<const Tensor> buffers,
                       std::vector<RuntimeValue>* results) {
  // Results that a buffer is about to overwrite, its own included.
  for (size_t r = 0; r < results->size(); ++r) {
    RuntimeValue& result = (*results)[r];
    if (!result.is_tensor()) continue;
    const ByteRange range = RangeOf(result.tensor());
    const bool is_overwritten =
        std::any_of(buffers.begin(), buffers.end(), [&](const Tensor& b) {
          return b.defined() && range.Meets(RangeOf(b));
        });
    if (is_overwritten) result = result.tensor().Clone();
  }
  for (size_t i = 0; i < results->size(); ++i) {
    if (!IsGiven(buffers, i)) continue;
    Tensor buffer = buffers[i];
    buffer.CopyFrom((*results)[i].tensor());
    (*results)[i] = std::move(buffer);
  }
}

}  // namespace tenon
