#include "tensor/undo_log.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

namespace tenon {
namespace {

Tensor Counted(Sizes sizes) {
  Tensor t = Tensor::Empty(DType::kInt32, std::move(sizes));
  std::iota(t.mutable_data<int32_t>(), t.mutable_data<int32_t>() + t.numel(),
            0);
  return t;
}

void Fill(Tensor t, int32_t value) {
  for (int64_t i = 0; i < t.size(0); ++i) {
    for (int64_t j = 0; j < t.size(1); ++j) {
      t.mutable_data<int32_t>()[i * t.stride(0) + j * t.stride(1)] = value;
    }
  }
}

TEST(UndoLog, PutsBackWhatWasThereFirst) {
  const Tensor all = Counted({4, 6});
  const Tensor before = all.Clone();
  const Tensor columns = all.View({4, 2}, {6, 3}, 1);
  const Tensor rows = all.View({2, 6}, {6, 1}, 6);
  UndoLog log;
  log.Save(columns);
  Fill(columns, -1);
  log.Save(rows);
  Fill(rows, -2);
  log.Save(columns);
  Fill(columns, -3);
  EXPECT_EQ(log.size_bytes(), (8u + 12u + 8u) * sizeof(int32_t));
  log.Undo();
  EXPECT_EQ(log.size_bytes(), 0u);
  for (int64_t i = 0; i < all.numel(); ++i) {
    EXPECT_EQ(all.data<int32_t>()[i], before.data<int32_t>()[i]) << i;
  }
}

TEST(UndoLog, ForgetsWhatIsKept) {
  const Tensor all = Counted({1, 3});
  UndoLog log;
  log.Save(all);
  Fill(all, 7);
  log.Clear();
  log.Undo();
  EXPECT_EQ(all.data<int32_t>()[1], 7);
}

TEST(UndoLog, NothingIsSavedOfNothing) {
  UndoLog log;
  log.Save(Tensor::Empty(DType::kFloat32, {0, 3}));
  log.Save(nullptr, 0, 4, 4);
  EXPECT_EQ(log.size_bytes(), 0u);
  log.Undo();
}

}  // namespace
}  // namespace tenon
