#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace tenon {
namespace {

// 0, 1, 2, ... in row-major order.
Tensor Counting(Sizes sizes) {
  Tensor tensor = Tensor::Empty(DType::kInt32, std::move(sizes));
  std::iota(tensor.mutable_data<int32_t>(),
            tensor.mutable_data<int32_t>() + tensor.numel(), 0);
  return tensor;
}

std::vector<int32_t> Values(const Tensor& tensor) {
  const Tensor dense = tensor.Contiguous();
  return {dense.data<int32_t>(), dense.data<int32_t>() + dense.numel()};
}

TEST(StorageTest, BorrowedBytesAreCopiedBeforeTheyAreWritten) {
  const int32_t original[] = {1, 2};
  auto storage =
      Storage::BorrowConst(std::as_bytes(std::span(original)), nullptr);
  Tensor a(storage, DType::kInt32, {2}, {1}, 0);
  const Tensor b = a.View({1}, {1}, 1);
  EXPECT_FALSE(storage->writable());
  ASSERT_TRUE(storage->MakeWritable());
  a.mutable_data<int32_t>()[1] = 7;
  EXPECT_EQ(original[1], 2);
  EXPECT_EQ(*b.data<int32_t>(), 7) << "views of one storage see the write";
}

TEST(StorageTest, KeepsAliveWhatItBorrows) {
  auto owner = std::make_shared<std::vector<int32_t>>(4, 5);
  std::weak_ptr<std::vector<int32_t>> watch = owner;
  auto storage = Storage::BorrowConst(std::as_bytes(std::span(*owner)), owner);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  ASSERT_TRUE(storage->MakeWritable());
  EXPECT_TRUE(watch.expired()) << "after the copy nothing is borrowed";
}

TEST(StorageTest, RefusesMoreThanTheMachineHas) {
  EXPECT_EQ(Storage::Allocate(size_t{1} << 60, false), nullptr);
}

TEST(TensorTest, SizesThatOverflowGiveAnUndefinedTensor) {
  constexpr int64_t kBig = int64_t{1} << 40;
  EXPECT_FALSE(Tensor::Empty(DType::kFloat32, {kBig, kBig}).defined());
  EXPECT_FALSE(Tensor::Empty(DType::kFloat64, {kBig}).defined());
  EXPECT_FALSE(Tensor::Empty(DType::kFloat32, {-1}).defined());
  EXPECT_TRUE(Tensor::Empty(DType::kFloat32, {kBig, 0, kBig}).defined());
}

TEST(TensorTest, ElementCountsSaturate) {
  constexpr int64_t kBig = int64_t{1} << 62;
  EXPECT_EQ(NumElements({kBig, 4}), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(NumElements({kBig, 4, 0}), 0);
  EXPECT_EQ(NumElements({}), 1);
}

TEST(TensorTest, ContiguousStridesTreatSizeZeroAsOne) {
  EXPECT_EQ(ContiguousStrides({2, 0, 3}), (Sizes{3, 3, 1}));
  EXPECT_EQ(ContiguousStrides({}), Sizes{});
}

TEST(TensorTest, FitsStorageLooksAtTheLastElement) {
  const Tensor t = Counting({6});
  EXPECT_TRUE(t.View({2, 3}, {3, 1}, 0).FitsStorage());
  EXPECT_TRUE(t.View({2, 2}, {3, 2}, 0).FitsStorage());
  EXPECT_FALSE(t.View({2, 3}, {3, 1}, 1).FitsStorage());
  EXPECT_FALSE(t.View({2}, {int64_t{1} << 62}, 0).FitsStorage());
  EXPECT_FALSE(t.View({2}, {-1}, 1).FitsStorage());
  EXPECT_FALSE(t.View({2}, {1}, -1).FitsStorage());
  EXPECT_TRUE(t.View({1000}, {0}, 5).FitsStorage());
}

TEST(TensorTest, ContiguousIgnoresStridesOfSizeOne) {
  const Tensor t = Counting({6});
  EXPECT_TRUE(t.View({1, 6}, {99, 1}, 0).is_contiguous());
  EXPECT_FALSE(t.View({3, 2}, {1, 3}, 0).is_contiguous());
  EXPECT_TRUE(t.View({3, 2}, {1, 3}, 0).is_dense());
  EXPECT_FALSE(t.View({3}, {2}, 0).is_dense());
  EXPECT_FALSE(t.View({3, 2}, {0, 1}, 0).is_dense());
}

TEST(TensorTest, CloneKeepsTheStridesOfDenseTensorsOnly) {
  const Tensor t = Counting({2, 3});
  const Tensor transposed = t.View({3, 2}, {1, 3}, 0);
  EXPECT_EQ(transposed.Clone().strides(), (Sizes{1, 3}));
  EXPECT_EQ(Values(transposed.Clone()),
            (std::vector<int32_t>{0, 3, 1, 4, 2, 5}));
  const Tensor expanded = t.View({2, 3}, {0, 1}, 0);
  EXPECT_EQ(expanded.Clone().strides(), (Sizes{3, 1}));
  EXPECT_EQ(Values(expanded.Clone()), (std::vector<int32_t>{0, 1, 2, 0, 1, 2}));
}

TEST(TensorTest, CopyFromFollowsBothStrides) {
  const Tensor source = Counting({2, 3, 4});
  // Every permutation of the destination, written through a view with gaps.
  const Sizes orders[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const Sizes& order : orders) {
    Sizes strides(3);
    int64_t next = 2;
    for (size_t i = 3; i-- > 0;) {
      strides[static_cast<size_t>(order[i])] = next;
      next *= source.size(order[i]);
    }
    Tensor backing = Tensor::Zeros(DType::kInt32, {48});
    Tensor target = backing.View({2, 3, 4}, strides, 1);
    target.CopyFrom(source);
    EXPECT_EQ(Values(target), Values(source));
    for (int64_t i = 0; i < 48; i += 2) {
      EXPECT_EQ(backing.data<int32_t>()[i], 0) << "a gap was written";
    }
  }
}

TEST(TensorTest, NamesItself) {
  EXPECT_EQ(Tensor::Empty(DType::kFloat32, {2, 3}).ToString(), "f32[2, 3]");
  EXPECT_EQ(Tensor().ToString(), "undefined");
}

}  // namespace
}  // namespace tenon
