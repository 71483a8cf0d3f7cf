#include "tensor/tensor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "support/assert.h"
#include "support/checked.h"
#include "tensor/strided_loop.h"

namespace tenon {
namespace {

constexpr size_t kAlignment = 64;

// More than the machine's memory would be granted by the system and then kill
// the process when it is touched.
size_t MaxAllocation() {
  static const size_t limit = [] {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGE_SIZE);
    if (pages <= 0 || page <= 0) return std::numeric_limits<size_t>::max() / 2;
    return static_cast<size_t>(pages) * static_cast<size_t>(page);
  }();
  return limit;
}

std::byte* AllocateBytes(size_t size_bytes, bool zero) {
  if (size_bytes > MaxAllocation()) return nullptr;
  const size_t rounded =
      std::max(kAlignment, (size_bytes + kAlignment - 1) & ~(kAlignment - 1));
  void* data = std::aligned_alloc(kAlignment, rounded);
  if (data != nullptr && zero) std::memset(data, 0, rounded);
  return static_cast<std::byte*>(data);
}

// Number of elements from the first to the last one touched; none when the
// view is empty or the arithmetic overflows.
std::optional<int64_t> Extent(const Sizes& sizes, const Sizes& strides) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto step = CheckedMul(sizes[d] - 1, strides[d]);
    if (!step || *step < 0) return std::nullopt;
    const auto sum = CheckedAdd(last, *step);
    if (!sum) return std::nullopt;
    last = *sum;
  }
  return CheckedAdd(last, 1);
}

// A fresh tensor; undefined when the bytes can't be had.
Tensor Create(DType dtype, Sizes sizes, Sizes strides, bool zero) {
  const auto extent = Extent(sizes, strides);
  if (!extent || std::any_of(sizes.begin(), sizes.end(),
                             [](int64_t s) { return s < 0; })) {
    return Tensor();
  }
  const auto bytes =
      CheckedMul(*extent, static_cast<int64_t>(SizeBytes(dtype)));
  if (!bytes) return Tensor();
  auto storage = Storage::Allocate(static_cast<size_t>(*bytes), zero);
  if (storage == nullptr) return Tensor();
  return Tensor(std::move(storage), dtype, std::move(sizes), std::move(strides),
                0);
}

void CopyRun(std::byte* to, int64_t to_step, const std::byte* from,
             int64_t from_step, int64_t count, size_t item) {
  if (to_step == 1 && from_step == 1) {
    std::memmove(to, from, static_cast<size_t>(count) * item);
    return;
  }
  const int64_t bytes = static_cast<int64_t>(item);
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_step * bytes, from + i * from_step * bytes, item);
  }
}

}  // namespace

std::shared_ptr<Storage> Storage::Allocate(size_t size_bytes, bool zero) {
  // First what owns the bytes: making it can fail, too.
  std::shared_ptr<Storage> storage(new Storage());
  storage->data_ = AllocateBytes(size_bytes, zero);
  if (storage->data_ == nullptr) return nullptr;
  storage->size_bytes_ = size_bytes;
  storage->owned_ = true;
  storage->writable_ = true;
  return storage;
}

std::shared_ptr<Storage> Storage::Borrow(
    void* data, size_t size_bytes, std::shared_ptr<const void> keep_alive) {
  std::shared_ptr<Storage> storage(new Storage());
  storage->data_ = static_cast<std::byte*>(data);
  storage->size_bytes_ = size_bytes;
  storage->writable_ = true;
  storage->keep_alive_ = std::move(keep_alive);
  return storage;
}

std::shared_ptr<Storage> Storage::BorrowConst(
    Bytes bytes, std::shared_ptr<const void> keep_alive) {
  std::shared_ptr<Storage> storage(new Storage());
  // Never written through: writable_ stays false until MakeWritable copied.
  storage->data_ = const_cast<std::byte*>(bytes.data());
  storage->size_bytes_ = bytes.size();
  storage->keep_alive_ = std::move(keep_alive);
  return storage;
}

Storage::~Storage() {
  if (owned_) std::free(data_);
}

std::byte* Storage::mutable_data() {
  TENON_ASSERT(writable_,
               "a read-only storage was copied before it is written");
  return data_;
}

bool Storage::MakeWritable() {
  if (writable_) return true;
  std::byte* copy = AllocateBytes(size_bytes_, false);
  if (copy == nullptr) return false;
  if (size_bytes_ > 0) std::memcpy(copy, data_, size_bytes_);
  data_ = copy;
  owned_ = true;
  writable_ = true;
  keep_alive_.reset();
  return true;
}

int64_t NumElements(const Sizes& sizes) {
  int64_t count = 1;
  bool overflow = false;
  for (const int64_t size : sizes) {
    if (size == 0) return 0;
    const auto product = CheckedMul(count, size);
    if (!product) overflow = true;
    count = product.value_or(1);
  }
  return overflow ? std::numeric_limits<int64_t>::max() : count;
}

Sizes ContiguousStrides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  int64_t next = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = next;
    next = CheckedMul(next, std::max<int64_t>(sizes[d], 1))
               .value_or(std::numeric_limits<int64_t>::max());
  }
  return strides;
}

Tensor::Tensor(std::shared_ptr<Storage> storage, DType dtype, Sizes sizes,
               Sizes strides, int64_t offset)
    : storage_(std::move(storage)),
      dtype_(dtype),
      sizes_(std::move(sizes)),
      strides_(std::move(strides)),
      offset_(offset),
      numel_(NumElements(sizes_)) {}

Tensor Tensor::Empty(DType dtype, Sizes sizes) {
  Sizes strides = ContiguousStrides(sizes);
  return Create(dtype, std::move(sizes), std::move(strides), false);
}

Tensor Tensor::Zeros(DType dtype, Sizes sizes) {
  Sizes strides = ContiguousStrides(sizes);
  return Create(dtype, std::move(sizes), std::move(strides), true);
}

Tensor Tensor::EmptyStrided(DType dtype, Sizes sizes, Sizes strides) {
  return Create(dtype, std::move(sizes), std::move(strides), false);
}

bool Tensor::is_contiguous() const {
  if (numel_ == 0) return true;
  int64_t expected = 1;
  for (size_t d = sizes_.size(); d-- > 0;) {
    if (sizes_[d] == 1) continue;
    if (strides_[d] != expected) return false;
    expected *= sizes_[d];
  }
  return true;
}

bool Tensor::is_dense() const {
  if (is_contiguous()) return true;
  if (numel_ == 0) return true;  // as contiguous
  std::vector<size_t> order(sizes_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    // Dimensions of size below 2 hold whatever stride they like: last.
    if (sizes_[a] < 2 || sizes_[b] < 2) return sizes_[a] >= 2 && sizes_[b] < 2;
    return strides_[a] < strides_[b];
  });
  int64_t expected = 1;
  for (const size_t d : order) {
    if (sizes_[d] < 2) break;
    if (strides_[d] != expected) return false;
    expected *= sizes_[d];
  }
  return true;
}

Tensor Tensor::View(Sizes sizes, Sizes strides, int64_t offset) const {
  return Tensor(storage_, dtype_, std::move(sizes), std::move(strides), offset);
}

bool Tensor::FitsStorage() const {
  if (storage_ == nullptr || sizes_.size() != strides_.size() || offset_ < 0) {
    return false;
  }
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (sizes_[d] < 0 || strides_[d] < 0) return false;
  }
  if (numel_ == 0) return true;
  const auto extent = Extent(sizes_, strides_);
  if (!extent) return false;
  const auto end = CheckedAdd(*extent, offset_);
  if (!end) return false;
  const auto bytes = CheckedMul(*end, static_cast<int64_t>(SizeBytes(dtype_)));
  return bytes && static_cast<uint64_t>(*bytes) <= storage_->size_bytes();
}

Tensor Tensor::Contiguous() const {
  if (is_contiguous()) return *this;
  Tensor copy = Empty(dtype_, sizes_);
  if (copy.defined()) copy.CopyFrom(*this);
  return copy;
}

Tensor Tensor::Clone() const {
  Tensor copy = is_dense() ? EmptyStrided(dtype_, sizes_, strides_)
                           : Empty(dtype_, sizes_);
  if (copy.defined()) copy.CopyFrom(*this);
  return copy;
}

void Tensor::CopyFrom(const Tensor& source) {
  TENON_ASSERT(source.dtype() == dtype_ && source.sizes() == sizes_,
               "a copy keeps dtype and sizes");
  if (numel_ == 0) return;
  const size_t item = SizeBytes(dtype_);
  const int64_t bytes = static_cast<int64_t>(item);
  std::byte* to = mutable_raw();
  const std::byte* from = source.raw();
  StridedLoop loop(sizes_, {strides_, source.strides()},
                   StridedLoop::Order::kAny);
  while (loop.Next()) {
    CopyRun(to + loop.offset(0) * bytes, loop.step(0),
            from + loop.offset(1) * bytes, loop.step(1), loop.run(), item);
  }
}

std::string Tensor::ToString() const {
  if (!defined()) return "undefined";
  std::string text(ShortName(dtype_));
  text += '[';
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (d > 0) text += ", ";
    text += std::to_string(sizes_[d]);
  }
  return text + ']';
}

}  // namespace tenon
