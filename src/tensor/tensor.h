// Tensors at run time: a strided view of a counted storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/kinds.h"
#include "support/byte_cursor.h"

namespace tenon {

// Bytes that tensors view. Owned, or borrowed from whatever `keep_alive` holds
// (a mapped file, a caller's buffer).
class Storage {
 public:
  // 64-byte aligned, zeroed when `zero`. Throws nothing; null when the size
  // can't be allocated.
  static std::shared_ptr<Storage> Allocate(size_t size_bytes, bool zero);
  // Borrowed and writable.
  static std::shared_ptr<Storage> Borrow(
      void* data, size_t size_bytes, std::shared_ptr<const void> keep_alive);
  // Borrowed and read only: a mutable pointer is handed out only after
  // MakeWritable copied it.
  static std::shared_ptr<Storage> BorrowConst(
      Bytes bytes, std::shared_ptr<const void> keep_alive);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  const std::byte* data() const { return data_; }
  // The storage must be writable.
  std::byte* mutable_data();
  size_t size_bytes() const { return size_bytes_; }
  bool writable() const { return writable_; }
  // Copies borrowed read-only bytes into owned ones, for every tensor that
  // views this storage. False when memory runs out.
  bool MakeWritable();

 private:
  Storage() = default;

  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
  bool owned_ = false;
  bool writable_ = false;
  std::shared_ptr<const void> keep_alive_;
};

using Sizes = std::vector<int64_t>;

// Product of sizes, the largest int64 when it overflows; sizes are never
// negative.
int64_t NumElements(const Sizes& sizes);
// Row-major strides; PyTorch's convention for sizes of 0 (max(size, 1)).
Sizes ContiguousStrides(const Sizes& sizes);

// Offsets and strides are in elements. Copying a Tensor copies the view, not
// the bytes. A default-constructed Tensor is undefined.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<Storage> storage, DType dtype, Sizes sizes,
         Sizes strides, int64_t offset);

  // Contiguous; uninitialised or zeroed.
  // Undefined when the sizes are negative, overflow or exceed the memory.
  static Tensor Empty(DType dtype, Sizes sizes);
  static Tensor Zeros(DType dtype, Sizes sizes);
  static Tensor EmptyStrided(DType dtype, Sizes sizes, Sizes strides);

  bool defined() const { return storage_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Sizes& sizes() const { return sizes_; }
  const Sizes& strides() const { return strides_; }
  int64_t size(int64_t dim) const { return sizes_[dim]; }
  int64_t stride(int64_t dim) const { return strides_[dim]; }
  int64_t offset() const { return offset_; }
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t numel() const { return numel_; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  // First element; only for the tensor's own dtype.
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(raw());
  }
  template <typename T>
  T* mutable_data() {
    return reinterpret_cast<T*>(mutable_raw());
  }
  const std::byte* raw() const {
    return storage_->data() + offset_ * static_cast<int64_t>(SizeBytes(dtype_));
  }
  std::byte* mutable_raw() {
    return storage_->mutable_data() +
           offset_ * static_cast<int64_t>(SizeBytes(dtype_));
  }

  bool is_contiguous() const;
  // Every element of a gapless range exactly once, in any order of dimensions.
  bool is_dense() const;
  bool SharesStorage(const Tensor& other) const {
    return storage_ != nullptr && storage_ == other.storage_;
  }
  // Another view of the same storage. No bounds check: see FitsStorage.
  Tensor View(Sizes sizes, Sizes strides, int64_t offset) const;
  // Whether every element lies inside the storage.
  bool FitsStorage() const;

  // Copies of the bytes: contiguous, or with this tensor's strides kept when
  // it is dense (PyTorch's preserve_format).
  Tensor Contiguous() const;  // *this when it already is
  Tensor Clone() const;
  // Element by element from `source`: same dtype and sizes, any strides. The
  // two may share storage if they don't overlap.
  void CopyFrom(const Tensor& source);

  // "f32[2, 3]".
  std::string ToString() const;

 private:
  std::shared_ptr<Storage> storage_;
  DType dtype_ = DType::kUnknown;
  Sizes sizes_, strides_;
  int64_t offset_ = 0;
  int64_t numel_ = 0;
};

}  // namespace tenon
