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
//
// Executables of one region share the copies, also when they run in several
// threads: then a copy that a step holds is never written again, and weights
// that changed are packed into a new one.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
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
  // A packed copy, and what it is of.
  struct Copy {
    std::shared_ptr<Storage> bytes;
    std::weak_ptr<Storage> source;
    const void* source_bytes = nullptr;
    std::vector<float> scale;  // empty without
  };

  PackedWeight(const dnnl::memory::desc& from, const dnnl::memory::desc& to,
               Ref weight, const WeightSource& source, size_t num_scales,
               int use, const std::atomic<bool>* is_shared);

  // The packed copy of the weight of this run; null when oneDNN failed or
  // memory ran out. `held` belongs to the step and keeps the copy for it.
  // `scale` has a value per output channel, or is null where the copy was
  // asked for without.
  void* Get(const Frame& frame, dnnl::stream& stream,
            std::shared_ptr<Copy>* held, const float* scale = nullptr);

 private:
  friend class PackedWeights;
  bool IsUpToDate(const Copy& copy, const Frame& frame,
                  const float* scale) const;
  // The weight times a value per output channel, in its own order.
  std::shared_ptr<Storage> Scaled(const float* weight,
                                  const std::vector<float>& scale) const;

  const dnnl::memory::desc from_, to_;
  const Ref weight_;
  const WeightSource source_;
  const size_t num_scales_;
  const int use_;
  const std::atomic<bool>* is_shared_;
  std::mutex mutex_;  // of what follows
  PrimitiveCall reorder_;
  std::shared_ptr<Copy> copy_;
};

// The packed copies of a region: plans for several geometries share them, and
// so do forks of an executable. Outlives the plans.
class PackedWeights {
 public:
  // Null when there is no memory for a copy. A copy that is multiplied by a
  // scale has as many as the weight has output channels, else none. `use`
  // numbers the uses of one weight within a plan: their scales may differ.
  std::shared_ptr<PackedWeight> Find(const dnnl::memory::desc& from,
                                     const dnnl::memory::desc& to, Ref weight,
                                     const WeightSource& source,
                                     size_t num_scales = 0, int use = 0);
  // From now on there are several users, perhaps in several threads.
  void Share() { is_shared_ = true; }
  // Of all copies.
  size_t size_bytes();

 private:
  std::atomic<bool> is_shared_ = false;
  std::mutex mutex_;  // of what follows
  std::vector<std::weak_ptr<PackedWeight>> weights_;
};

}  // namespace tenon::cpu
