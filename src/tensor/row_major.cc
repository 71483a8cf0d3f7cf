#include "tensor/row_major.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/mapped_pages.h"
#include "tensor/strided_loop.h"

namespace tenon {
namespace {

// `Item` is an integer of the element's size, or a struct of two.
template <typename Item>
void Gather(const std::byte* from, int64_t step, int64_t count, std::byte* to) {
  const int64_t step_bytes = step * static_cast<int64_t>(sizeof(Item));
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * static_cast<int64_t>(sizeof(Item)),
                from + i * step_bytes, sizeof(Item));
  }
}

struct Item16 {
  uint64_t parts[2];
};

using GatherFunction = void (*)(const std::byte*, int64_t, int64_t, std::byte*);

GatherFunction GatherOf(size_t item_bytes) {
  switch (item_bytes) {
    case 1:
      return Gather<uint8_t>;
    case 2:
      return Gather<uint16_t>;
    case 4:
      return Gather<uint32_t>;
    case 8:
      return Gather<uint64_t>;
    default:  // complex128; no element is larger
      return Gather<Item16>;
  }
}

bool VisitInPlace(Bytes all, const std::function<bool(Bytes)>& visit) {
  while (!all.empty()) {
    const Bytes block = all.first(std::min(all.size(), kRowMajorBlockBytes));
    if (!visit(block)) return false;
    ReleasePages(block);
    all = all.subspan(block.size());
  }
  return true;
}

bool VisitGathered(const Tensor& tensor,
                   const std::function<bool(Bytes)>& visit) {
  const auto item = static_cast<int64_t>(SizeBytes(tensor.dtype()));
  const GatherFunction gather = GatherOf(SizeBytes(tensor.dtype()));
  const int64_t capacity = static_cast<int64_t>(kRowMajorBlockBytes) / item;
  std::vector<std::byte> buffer(
      static_cast<size_t>(std::min(capacity, tensor.numel()) * item));
  int64_t used = 0;
  for (StridedLoop loop(tensor.sizes(), {tensor.strides()}); loop.Next();) {
    for (int64_t i = 0; i < loop.run();) {
      const int64_t count = std::min(loop.run() - i, capacity - used);
      gather(tensor.raw() + (loop.offset(0) + i * loop.step(0)) * item,
             loop.step(0), count, buffer.data() + used * item);
      i += count;
      used += count;
      if (used < capacity) continue;
      if (!visit(buffer)) return false;
      used = 0;
    }
  }
  return used == 0 ||
         visit(Bytes(buffer).first(static_cast<size_t>(used * item)));
}

}  // namespace

bool VisitRowMajor(const Tensor& tensor,
                   const std::function<bool(Bytes)>& visit) {
  if (tensor.numel() == 0) return true;
  if (tensor.is_contiguous()) {
    const size_t size =
        static_cast<size_t>(tensor.numel()) * SizeBytes(tensor.dtype());
    return VisitInPlace(Bytes(tensor.raw(), size), visit);
  }
  const bool went_through = VisitGathered(tensor, visit);
  ReleasePages({tensor.storage()->data(), tensor.storage()->size_bytes()});
  return went_through;
}

bool EqualsRowMajor(const Tensor& tensor, Bytes expected) {
  const bool is_prefix = VisitRowMajor(tensor, [&](Bytes block) {
    if (block.size() > expected.size() ||
        std::memcmp(block.data(), expected.data(), block.size()) != 0) {
      return false;
    }
    ReleasePages(expected.first(block.size()));
    expected = expected.subspan(block.size());
    return true;
  });
  return is_prefix && expected.empty();
}

}  // namespace tenon
