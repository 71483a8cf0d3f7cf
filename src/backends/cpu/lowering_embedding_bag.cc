// Bags of rows of a table, reduced: embedding_bag.
#include <algorithm>
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/narrow_types.h"
#include "backends/cpu/plan_chain.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

enum BagMode : int64_t { kSum, kMean, kMax };

struct BagShape {
  int64_t mode = kSum;
  int64_t rows = 0, width = 0;  // of the table
  int64_t row_step = 0, column_step = 0;
  int64_t num_indices = 0, num_offsets = 0, num_bags = 0;
  int64_t padding_idx = -1;
  bool has_scale = false;
  bool is_double = false;
  // All contiguous: int64 indices and offsets, and scales like the table.
  Ref table, indices, offsets, scale;
  Ref out;  // [num_bags, width]
  // Of the indices and of the bags; the last is [num_bags, width].
  Ref bag_of, sizes, max_indices;
};

class BagStep : public Step {
 public:
  explicit BagStep(const BagShape& shape) : s_(shape) {}

  bool Run(Frame& frame) override {
    return CheckIndices(frame) && CheckOffsets(frame) &&
           (s_.is_double ? Reduce<double>(frame) : Reduce<float>(frame));
  }
  std::string_view name() const override { return "embedding_bag"; }

 private:
  bool CheckIndices(Frame& frame) const {
    const int64_t* indices = frame.at<int64_t>(s_.indices);
    for (int64_t i = 0; i < s_.num_indices; ++i) {
      if (indices[i] < 0 || indices[i] >= s_.rows) {
        return frame.Fail("index " + std::to_string(indices[i]) +
                          " is out of range for " + std::to_string(s_.rows) +
                          " rows");
      }
    }
    return true;
  }

  bool CheckOffsets(Frame& frame) const {
    const int64_t* offsets = frame.at<int64_t>(s_.offsets);
    int64_t least = 0;
    for (int64_t i = 0; i < s_.num_offsets; ++i) {
      if ((i == 0 && offsets[0] != 0) || offsets[i] < least ||
          offsets[i] > s_.num_indices) {
        return frame.Fail(
            "offsets must start at 0, ascend, and not exceed the number of "
            "indices");
      }
      least = offsets[i];
    }
    return true;
  }

  template <typename T>
  bool Reduce(Frame& frame) const {
    const int64_t* offsets = frame.at<int64_t>(s_.offsets);
    int64_t* sizes = frame.at<int64_t>(s_.sizes);
    std::fill_n(frame.at<int64_t>(s_.bag_of), s_.num_indices, 0);
    for (int64_t bag = 0; bag < s_.num_bags; ++bag) {
      // The last bag takes whatever is left.
      const int64_t end =
          bag + 1 < s_.num_bags ? offsets[bag + 1] : s_.num_indices;
      sizes[bag] = ReduceBag<T>(frame, bag, offsets[bag], end);
    }
    return true;
  }

  // How many rows count.
  template <typename T>
  int64_t ReduceBag(Frame& frame, int64_t bag, int64_t begin,
                    int64_t end) const {
    const int64_t* indices = frame.at<int64_t>(s_.indices);
    const T* scale = s_.has_scale ? frame.at<T>(s_.scale) : nullptr;
    T* out = frame.at<T>(s_.out) + bag * s_.width;
    int64_t* places = frame.at<int64_t>(s_.max_indices) + bag * s_.width;
    int64_t* bag_of = frame.at<int64_t>(s_.bag_of);
    std::fill_n(out, s_.width, T(0));
    if (s_.mode == kMax) std::fill_n(places, s_.width, 0);
    int64_t size = 0;
    for (int64_t i = begin; i < end; ++i) {
      bag_of[i] = bag;
      if (indices[i] == s_.padding_idx) continue;
      const T* row = frame.at<T>(s_.table) + indices[i] * s_.row_step;
      if (s_.mode == kMax) {
        TakeLargest(row, size == 0, indices[i], out, places);
      } else {
        const T factor = scale == nullptr ? T(1) : scale[i];
        for (int64_t k = 0; k < s_.width; ++k) {
          out[k] += row[k * s_.column_step] * factor;
        }
      }
      ++size;
    }
    if (s_.mode == kMean) {
      const T count = static_cast<T>(std::max<int64_t>(size, 1));
      for (int64_t k = 0; k < s_.width; ++k) out[k] /= count;
    }
    return size;
  }

  template <typename T>
  void TakeLargest(const T* row, bool is_first, int64_t index, T* out,
                   int64_t* places) const {
    for (int64_t k = 0; k < s_.width; ++k) {
      const T value = row[k * s_.column_step];
      if (!is_first && !(value > out[k])) continue;
      out[k] = value;
      places[k] = index;
    }
  }

  const BagShape s_;
};

// PyTorch's fast path for sums doesn't say which bag an index belongs to.
bool HasFastSum(const Tensor& weight, const Tensor& scale,
                int64_t padding_idx) {
  return weight.dtype() != DType::kFloat64 && weight.stride(1) == 1 &&
         padding_idx < 0 && (!scale.defined() || scale.stride(0) == 1);
}

struct BagTensors {
  Tensor weight, indices, offsets, scale;
};

bool CheckBags(KernelCall& call, const BagTensors& t, int64_t mode,
               bool include_last) {
  if (t.weight.dim() != 2 || t.indices.dim() != 1 || t.offsets.dim() != 1 ||
      !IsIndex(t.indices) || !IsIndex(t.offsets)) {
    return call.Fail("expected a matrix and 1-d indices and offsets");
  }
  if (mode < kSum || mode > kMax) {
    return call.Fail("unknown mode " + std::to_string(mode));
  }
  if (t.scale.defined() &&
      (mode != kSum || t.scale.sizes() != t.indices.sizes() ||
       t.scale.dtype() != t.weight.dtype())) {
    return call.Fail(
        "per_sample_weights need mode sum, the weight's dtype and the indices' "
        "sizes");
  }
  if (include_last && t.offsets.numel() == 0) {
    return call.Fail("include_last_offset needs an offset");
  }
  return true;
}

// Half precision: the rows that are asked for, widened.
Tensor TableFor(PlanChain& chain, BagTensors* t) {
  if (!IsHalf(t->weight.dtype())) return t->weight;
  const Tensor rows =
      chain("aten.index_select.default", {t->weight, int64_t{0}, t->indices});
  const Tensor wide = chain.To(rows, DType::kFloat32);
  if (t->scale.defined()) t->scale = chain.To(t->scale, DType::kFloat32);
  return wide;
}

// Zeros, or what the step wrote.
Tensor Tally(PlanBuilder& b, PlanChain& chain, const Tensor& written,
             DType dtype, const Sizes& sizes) {
  if (written.defined()) return chain.To(written, dtype);
  const Tensor zeros = b.NewTensor(dtype, sizes);
  if (!zeros.defined()) return zeros;
  PointwiseBuilder e(&b, zeros);
  const TileValue zero = e.Load(ConstantOf(int64_t{0}, dtype));
  return e.Emit(e.Apply(TileOp::kCopy, {zero})) ? zeros : Tensor();
}

// `forward_only`: without include_last_offset's cut in what only a gradient
// would need.
bool ReturnBags(PlanBuilder& b, KernelCall& call, bool forward_only,
                int64_t padding_idx) {
  BagTensors t = {call.tensor(0), call.tensor(1), call.tensor(2),
                  call.OptionalTensor(6)};
  BagShape s;
  s.mode = call.Int(4);
  const bool include_last = call.Bool(7);
  if (!CheckBags(call, t, s.mode, include_last)) return false;
  const bool is_fast =
      s.mode == kSum && HasFastSum(t.weight, t.scale, padding_idx);
  const DType index_dtype =
      t.indices.dtype() == DType::kInt64 ? DType::kInt64 : t.offsets.dtype();
  const DType dtype = t.weight.dtype();
  PlanChain chain(b, call);
  if (IsHalf(dtype) && padding_idx >= 0) {
    return call.Fail("a padding index of half precision");
  }
  const Tensor table = TableFor(chain, &t);
  const auto contiguous = [&](const Tensor& tensor) {
    return chain.ok() ? b.Contiguous(chain.To(tensor, DType::kInt64))
                      : Tensor();
  };
  Tensor indices = contiguous(t.indices);
  const Tensor offsets = contiguous(t.offsets);
  if (!chain.ok()) return false;
  const Tensor scale = t.scale.defined() ? b.Contiguous(t.scale) : Tensor();
  s.num_indices = t.indices.numel();
  s.num_offsets = t.offsets.numel();
  s.num_bags = s.num_offsets - (include_last ? 1 : 0);
  s.width = t.weight.size(1);
  const int64_t counts =
      forward_only && s.mode == kSum ? s.num_offsets : s.num_bags;
  const Tensor out = b.NewTensor(table.dtype(), {s.num_bags, s.width});
  const Tensor bag_of = b.NewTensor(DType::kInt64, {s.num_indices});
  const Tensor sizes = b.NewTensor(DType::kInt64, {s.num_bags});
  const Tensor places = b.NewTensor(
      DType::kInt64, {s.num_bags, s.mode == kMax ? s.width : int64_t{0}});
  if (!out.defined() || !bag_of.defined() || !places.defined()) {
    return call.Fail("the result is too large");
  }
  s.rows = table.size(0);
  s.row_step = table.stride(0);
  s.column_step = table.stride(1);
  s.padding_idx = padding_idx;
  s.has_scale = scale.defined();
  s.is_double = table.dtype() == DType::kFloat64;
  s.table = b.RefOf(table);
  if (IsHalf(dtype)) {
    indices = Tensor::Empty(DType::kInt64, {s.num_indices});
    if (!indices.defined()) return call.Fail("too many indices");
    for (int64_t i = 0; i < s.num_indices; ++i) {
      indices.mutable_data<int64_t>()[i] = i;
    }
  }
  s.indices = b.RefOf(indices);
  s.offsets = b.RefOf(offsets);
  if (s.has_scale) s.scale = b.RefOf(scale);
  s.out = b.RefOf(out);
  s.bag_of = b.RefOf(bag_of);
  s.sizes = b.RefOf(sizes);
  s.max_indices = b.RefOf(places);
  const Tensor reads[] = {table, indices, offsets, scale};
  const Tensor writes[] = {out, bag_of, sizes, places};
  b.Emit(std::make_unique<BagStep>(s), reads, writes);
  const Tensor none;
  std::vector<Tensor> results = {chain.To(out, dtype)};
  results.push_back(is_fast ? b.NewTensor(index_dtype, {0})
                            : chain.To(bag_of, index_dtype));
  results.push_back(
      Tally(b, chain, s.mode == kSum ? none : sizes, index_dtype, {counts}));
  results.push_back(s.mode == kMax ? chain.To(places, index_dtype)
                    : s.mode == kMean
                        ? chain.To(sizes, index_dtype)
                        : Tally(b, chain, none, index_dtype, {counts}));
  return chain.Return(results);
}

template <bool kForwardOnly>
bool EmbeddingBagInner(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ReturnBags(b, call, kForwardOnly, call.Int(8));
}

// padding_idx may be None or negative.
bool EmbeddingBag(PlanBuilder& b, KernelCall& call, const Lowering&) {
  int64_t padding_idx = -1;
  if (call.num_args() > 8 && !call.is_none(8)) {
    const int64_t rows = call.tensor(0).dim() > 0 ? call.tensor(0).size(0) : 0;
    padding_idx = call.Int(8);
    if (padding_idx < -rows || padding_idx >= rows) {
      return call.Fail("padding_idx is out of range");
    }
    if (padding_idx < 0) padding_idx += rows;
  }
  return ReturnBags(b, call, true, padding_idx);
}

// Rows of half precision are picked and widened before they are reduced, when
// neither the padding nor the place of a maximum is known any more.
std::optional<Refusal> RefuseHalf(const Program& program, NodeId node) {
  const Arg* weight = program.FindArg(node, "weight");
  if (weight == nullptr || !weight->is_value() ||
      !IsHalf(program.type(weight->value()).dtype)) {
    return std::nullopt;
  }
  const Arg* padding = program.FindArg(node, "padding_idx");
  const Arg* mode = program.FindArg(node, "mode");
  // -1 is the last row to the public operator, no row to the inner ones.
  const bool is_inner = !program.op_name(node).ends_with(".padding_idx");
  const bool has_padding =
      padding != nullptr && padding->kind != ArgKind::kNone &&
      !(is_inner && padding->kind == ArgKind::kInt && padding->i == -1);
  if (!has_padding &&
      (mode == nullptr || (mode->kind == ArgKind::kInt && mode->i != kMax))) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kDtype,
                 std::string(Name(program.type(weight->value()).dtype))};
}

constexpr Lowering Op(std::string_view name, LowerFn lower) {
  return {name,          LoweringKind::kPure, lower, DTypeRule::kFloating,
          TileOp::kCopy, RefuseHalf};
}

constexpr Lowering kLowerings[] = {
    Op("aten._embedding_bag.default", EmbeddingBagInner<false>),
    Op("aten._embedding_bag_forward_only.default", EmbeddingBagInner<true>),
    Op("aten.embedding_bag.default", EmbeddingBag),
    Op("aten.embedding_bag.padding_idx", EmbeddingBag),
};

}  // namespace

std::span<const Lowering> EmbeddingBagLowerings() { return kLowerings; }

}  // namespace tenon::cpu
