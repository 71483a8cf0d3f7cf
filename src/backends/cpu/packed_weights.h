// Weights in the layout that oneDNN likes best, reordered once where that can
// be proven right: a storage that is read only can't change (Storage hands out
// no mutable pointer to it, and copies its bytes before it ever becomes
// writable), so as long as a run brings the same read-only storage, the packed
// copy is of the same weights. Constants of a plan never change. Other weights
// are reordered in each run.
//
// A weight may be packed multiplied by a scale per output channel, its first
// dimension. The scale is part of what the copy is of: a run that brings other
// values packs again.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "backends/cpu/dnnl_primitive.h"
#include "backends/cpu/plan.h"

namespace tenon::cpu {

// Where a weight of a plan comes from.
struct WeightSource {
  // The region input that it lies in, or -1.
  int64_t input = -1;
  // A constant of the plan.
  bool is_constant = false;
  // Whether a packed copy will serve later runs, as far as planning can tell.
  bool is_fixed = false;
};

class PackedWeight {
 public:
  PackedWeight(const dnnl::memory::desc& from, const dnnl::memory::desc& to,
               Ref weight, const WeightSource& source, size_t num_scales,
               int use);

  // The packed copy of the weight of this run; null when oneDNN failed or
  // memory ran out. `scale` has a value per output channel, or is null where
  // the copy was asked for without.
  void* Get(const Frame& frame, dnnl::stream& stream,
            const float* scale = nullptr);

 private:
  friend class PackedWeights;
  bool IsUpToDate(const Frame& frame, const float* scale) const;
  // The weight times packed_scale_, in its own order.
  std::shared_ptr<Storage> Scaled(const float* weight) const;

  const dnnl::memory::desc from_, to_;
  const Ref weight_;
  const WeightSource source_;
  const int use_;
  PrimitiveCall reorder_;
  std::shared_ptr<Storage> copy_;
  // What the copy is of.
  std::weak_ptr<Storage> packed_storage_;
  const void* packed_bytes_ = nullptr;
  std::vector<float> packed_scale_;  // empty without scale
};

// The packed copies of an executable: plans for several geometries of one
// region share them.
class PackedWeights {
 public:
  // Null when there is no memory for a copy. A copy that is multiplied by a
  // scale has as many as the weight has output channels, else none. `use`
  // numbers the uses of one weight within a plan: their scales may differ.
  std::shared_ptr<PackedWeight> Find(const dnnl::memory::desc& from,
                                     const dnnl::memory::desc& to, Ref weight,
                                     const WeightSource& source,
                                     size_t num_scales = 0, int use = 0);

 private:
  std::vector<std::weak_ptr<PackedWeight>> weights_;
};

}  // namespace tenon::cpu
