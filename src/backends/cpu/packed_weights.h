// Weights in the layout that oneDNN likes best, reordered once where that can
// be proven right: a storage that is read only can't change (Storage hands out
// no mutable pointer to it, and copies its bytes before it ever becomes
// writable), so as long as a run brings the same read-only storage, the packed
// copy is of the same weights. Constants of a plan never change. Other weights
// are reordered in each run.
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
  };

  PackedWeight(const dnnl::memory::desc& from, const dnnl::memory::desc& to,
               Ref weight, const WeightSource& source,
               const std::atomic<bool>* is_shared);

  // The packed copy of the weight of this run; null when oneDNN failed or
  // memory ran out. `held` belongs to the step and keeps the copy for it.
  void* Get(const Frame& frame, dnnl::stream& stream,
            std::shared_ptr<Copy>* held);

 private:
  friend class PackedWeights;
  bool IsUpToDate(const Copy& copy, const Frame& frame) const;

  const dnnl::memory::desc from_, to_;
  const Ref weight_;
  const WeightSource source_;
  const std::atomic<bool>* is_shared_;
  std::mutex mutex_;  // of what follows
  PrimitiveCall reorder_;
  std::shared_ptr<Copy> copy_;
};

// The packed copies of a region: plans for several geometries share them, and
// so do forks of an executable. Outlives the plans.
class PackedWeights {
 public:
  // Null when there is no memory for a copy.
  std::shared_ptr<PackedWeight> Find(const dnnl::memory::desc& from,
                                     const dnnl::memory::desc& to, Ref weight,
                                     const WeightSource& source);
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
