// What a plan computes from weights alone, kept between runs.
//
// A convolution's weights may come as int8 with scales, or as bfloat16: they
// are computed by elementwise steps from inputs that are read only, which give
// the same result in each run. So those steps run once, into memory that
// belongs to the plan, and again only when a run brings other storages. As in
// packed_weights.h, read-only storages can't change. Values that are computed
// anew get fresh memory: whoever holds something made of the old ones sees it
// by the address.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/plan.h"

namespace tenon::cpu {

// The buffers that one row of steps fills.
class KeptValues {
 public:
  struct Value {
    uint32_t buffer = 0;
    size_t size_bytes = 0;
  };
  // `inputs`: the region inputs that the steps read.
  KeptValues(std::vector<Value> values, std::vector<uint32_t> inputs)
      : values_(std::move(values)), inputs_(std::move(inputs)) {}

  // Before the steps of a run: says where the values are, by buffer. False when
  // memory ran out.
  bool Bind(std::span<const RuntimeValue> inputs,
            std::vector<std::byte*>* bases);
  // After the steps of a run that succeeded.
  void SetComputed() { is_due_ = false; }
  // Whether the steps of this run have to compute the values.
  bool is_due() const { return is_due_; }

 private:
  struct Source {
    std::weak_ptr<Storage> storage;
    const std::byte* data = nullptr;
  };
  bool IsUpToDate(std::span<const RuntimeValue> inputs) const;

  const std::vector<Value> values_;
  const std::vector<uint32_t> inputs_;
  std::vector<Source> sources_;  // of the values, by `inputs_`
  std::vector<std::shared_ptr<Storage>> storages_;  // by `values_`
  bool is_due_ = true;
};

// A step that fills such buffers.
class KeptStep : public Step {
 public:
  // `values` outlives this.
  KeptStep(std::unique_ptr<Step> step, const KeptValues* values)
      : step_(std::move(step)), values_(values) {}
  bool Run(Frame& frame) override {
    return !values_->is_due() || step_->Run(frame);
  }
  std::string_view name() const override { return "weights_once"; }

 private:
  const std::unique_ptr<Step> step_;
  const KeptValues* values_;
};

}  // namespace tenon::cpu
