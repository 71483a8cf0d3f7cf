#include "backends/cpu/channels_last.h"

#include <algorithm>

namespace tenon::cpu {
namespace {

// `batch` matrices.
class TransposeStep : public Step {
 public:
  TransposeStep(int64_t batch, int64_t rows, int64_t columns, Ref from, Ref to)
      : batch_(batch), rows_(rows), columns_(columns), from_(from), to_(to) {}

  bool Run(Frame& frame) override {
    const float* from = frame.at<float>(from_);
    float* to = frame.at<float>(to_);
    for (int64_t n = 0; n < batch_; ++n) {
      // Blocks of which both sides stay in the first-level cache.
      for (int64_t i = 0; i < rows_; i += kBlock) {
        for (int64_t j = 0; j < columns_; j += kBlock) {
          Block(from, to, i, std::min(i + kBlock, rows_), j,
                std::min(j + kBlock, columns_));
        }
      }
      from += rows_ * columns_;
      to += rows_ * columns_;
    }
    return true;
  }
  std::string_view name() const override { return "transpose"; }

 private:
  static constexpr int64_t kBlock = 16;

  void Block(const float* from, float* to, int64_t first_row, int64_t end_row,
             int64_t first_column, int64_t end_column) const {
    for (int64_t j = first_column; j < end_column; ++j) {
      float* line = to + j * rows_;
      const float* column = from + j;
      for (int64_t i = first_row; i < end_row; ++i) {
        line[i] = column[i * columns_];
      }
    }
  }

  const int64_t batch_, rows_, columns_;
  const Ref from_, to_;
};

}  // namespace

Sizes StridesWithChannelsLast(const Sizes& sizes) {
  Sizes strides(sizes.size());
  int64_t next = 1;
  const auto place = [&](size_t d) {
    strides[d] = next;
    next *= std::max<int64_t>(sizes[d], 1);
  };
  place(1);
  for (size_t d = sizes.size() - 1; d > 1; --d) place(d);
  place(0);
  return strides;
}

bool HasChannelsLast(const Tensor& tensor) {
  if (tensor.dim() != 3 && tensor.dim() != 4) return false;
  const Sizes expected = StridesWithChannelsLast(tensor.sizes());
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) != 1 && tensor.stride(d) != expected[d]) return false;
  }
  return true;
}

bool DifferInChannelOrder(const Tensor& from, const Tensor& to) {
  if (from.dtype() != DType::kFloat32 || to.dtype() != DType::kFloat32 ||
      from.sizes() != to.sizes() || from.numel() == 0 ||
      from.SharesStorage(to)) {
    return false;
  }
  // What is both needs no more than a copy.
  return (HasChannelsLast(from) && !from.is_contiguous() &&
          to.is_contiguous()) ||
         (from.is_contiguous() && HasChannelsLast(to) && !to.is_contiguous());
}

std::unique_ptr<Step> TransposeChannels(const Tensor& from, Ref from_ref,
                                        Ref to_ref) {
  const int64_t batch = from.size(0), channels = from.size(1);
  const int64_t plane = from.numel() / (batch * channels);
  const bool to_last = from.is_contiguous();
  return std::make_unique<TransposeStep>(batch, to_last ? channels : plane,
                                         to_last ? plane : channels, from_ref,
                                         to_ref);
}

}  // namespace tenon::cpu
