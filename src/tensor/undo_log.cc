#include "tensor/undo_log.h"

#include <cstring>

#include "tensor/strided_loop.h"

namespace tenon {

void UndoLog::Save(const std::byte* at, int64_t count, int64_t step_bytes,
                   size_t item_bytes) {
  if (count <= 0 || item_bytes == 0) return;
  // Items without gaps are one.
  if (step_bytes == static_cast<int64_t>(item_bytes)) {
    item_bytes *= static_cast<size_t>(count);
    count = 1;
  }
  const size_t offset = bytes_.size();
  bytes_.resize(offset + static_cast<size_t>(count) * item_bytes);
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(bytes_.data() + offset + static_cast<size_t>(i) * item_bytes,
                at + i * step_bytes, item_bytes);
  }
  // Who saves is about to write there.
  runs_.push_back(
      {const_cast<std::byte*>(at), count, step_bytes, item_bytes, offset});
}

void UndoLog::Save(const Tensor& tensor) {
  if (tensor.numel() == 0) return;
  const auto item = static_cast<int64_t>(SizeBytes(tensor.dtype()));
  for (StridedLoop loop(tensor.sizes(), {tensor.strides()}); loop.Next();) {
    Save(tensor.raw() + loop.offset(0) * item, loop.run(), loop.step(0) * item,
         static_cast<size_t>(item));
  }
}

void UndoLog::Undo() {
  for (size_t r = runs_.size(); r-- > 0;) {
    const Run& run = runs_[r];
    for (int64_t i = 0; i < run.count; ++i) {
      std::memcpy(
          run.at + i * run.step_bytes,
          bytes_.data() + run.offset + static_cast<size_t>(i) * run.item_bytes,
          run.item_bytes);
    }
  }
  Clear();
}

void UndoLog::Clear() {
  runs_.clear();
  bytes_.clear();
}

}  // namespace tenon
