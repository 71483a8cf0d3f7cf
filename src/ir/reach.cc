#include "ir/reach.h"

#include "support/checked.h"

namespace tenon {

std::optional<uint64_t> ReachBytes(const Type& type) {
  if (type.storage_offset.value < 0) return std::nullopt;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (type.sizes[d].value < 0 || type.strides[d].value < 0) {
      return std::nullopt;
    }
  }
  for (const SymInt& size : type.sizes) {
    if (size.value == 0) return 0;
  }
  std::optional<int64_t> last = type.storage_offset.value;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    const auto step =
        CheckedMul(type.sizes[d].value - 1, type.strides[d].value);
    if (!step) return std::nullopt;
    last = CheckedAdd(*last, *step);
    if (!last) return std::nullopt;
  }
  const auto count = CheckedAdd(*last, 1);
  const auto bytes =
      count ? CheckedMul(*count, static_cast<int64_t>(SizeBytes(type.dtype)))
            : std::nullopt;
  if (!bytes) return std::nullopt;
  return static_cast<uint64_t>(*bytes);
}

}  // namespace tenon
