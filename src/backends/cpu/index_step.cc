#include "backends/cpu/index_step.h"

#include <cstring>
#include <string>

namespace tenon::cpu {
namespace {

void CopyItems(std::byte* to, int64_t to_step, const std::byte* from,
               int64_t from_step, int64_t count, size_t item) {
  const auto item_step = static_cast<int64_t>(item);
  if (to_step == item_step && from_step == item_step) {
    std::memcpy(to, from, static_cast<size_t>(count) * item);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_step, from + i * from_step, item);
  }
}

}  // namespace

bool IndexStep::Run(Frame& frame) {
  std::byte* self = frame.at<std::byte>(s_.self);
  std::byte* other = frame.at<std::byte>(s_.other);
  const int64_t run_bytes = s_.run_length * static_cast<int64_t>(s_.item_bytes);
  const int64_t block_bytes =
      run_bytes * static_cast<int64_t>(s_.run_bytes.size());
  for (int64_t p = 0; p < s_.count; ++p) {
    int64_t offset = 0;
    if (!OffsetOf(frame, p, &offset)) return false;
    for (size_t o = 0; o < s_.outer_bytes.size(); ++o) {
      std::byte* block = self + offset + s_.outer_bytes[o];
      std::byte* run =
          other + (static_cast<int64_t>(o) * s_.count + p) * block_bytes;
      for (const int64_t at : s_.run_bytes) {
        if (s_.is_saved && frame.undo_log != nullptr) {
          frame.undo_log->Save(block + at, s_.run_length, s_.run_step_bytes,
                               s_.item_bytes);
        }
        CopyRun(block + at, run);
        run += run_bytes;
      }
    }
  }
  return true;
}

bool IndexStep::OffsetOf(Frame& frame, int64_t p, int64_t* offset) const {
  for (const IndexedDim& dim : s_.dims) {
    int64_t index = frame.at<int64_t>(dim.indices)[p];
    if (index < 0 && s_.allows_negative) index += dim.size;
    if (index < 0 || index >= dim.size) {
      return frame.Fail("index " +
                        std::to_string(frame.at<int64_t>(dim.indices)[p]) +
                        " is out of bounds for a dimension of size " +
                        std::to_string(dim.size));
    }
    *offset += index * dim.stride_bytes;
  }
  return true;
}

void IndexStep::CopyRun(std::byte* indexed, std::byte* other) const {
  const auto item = static_cast<int64_t>(s_.item_bytes);
  switch (mode_) {
    case Mode::kTake:
      CopyItems(other, item, indexed, s_.run_step_bytes, s_.run_length,
                s_.item_bytes);
      return;
    case Mode::kPut:
      CopyItems(indexed, s_.run_step_bytes, other, item, s_.run_length,
                s_.item_bytes);
      return;
    case Mode::kAccumulate:
      for (int64_t i = 0; i < s_.run_length; ++i) {
        *reinterpret_cast<float*>(indexed + i * s_.run_step_bytes) +=
            reinterpret_cast<float*>(other)[i];
      }
      return;
  }
}

}  // namespace tenon::cpu
