#include "backends/cpu/pointwise_step.h"

#include <algorithm>
#include <cstring>

namespace tenon::cpu {
namespace {

constexpr size_t kMaxDims = 16;
constexpr size_t kTileBytes = kTileElements * 8;

template <typename T>
void FillRun(std::byte* to, const std::byte* from, int64_t stride_bytes,
             int64_t count) {
  T* out = reinterpret_cast<T*>(to);
  if (stride_bytes == 0) {
    const T value = *reinterpret_cast<const T*>(from);
    for (int64_t i = 0; i < count; ++i) out[i] = value;
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    out[i] = *reinterpret_cast<const T*>(from + i * stride_bytes);
  }
}

void GatherRun(std::byte* to, const std::byte* from, int64_t stride_bytes,
               int64_t count, uint8_t item) {
  if (stride_bytes == item) {
    std::memcpy(to, from, static_cast<size_t>(count) * item);
  } else if (item == 4) {
    FillRun<uint32_t>(to, from, stride_bytes, count);
  } else if (item == 8) {
    FillRun<uint64_t>(to, from, stride_bytes, count);
  } else if (item == 2) {
    FillRun<uint16_t>(to, from, stride_bytes, count);
  } else {
    FillRun<uint8_t>(to, from, stride_bytes, count);
  }
}

template <typename T>
void SpreadRun(std::byte* to, const std::byte* from, int64_t stride_bytes,
               int64_t count) {
  const T* in = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<T*>(to + i * stride_bytes) = in[i];
  }
}

void ScatterRun(std::byte* to, const std::byte* from, int64_t stride_bytes,
                int64_t count, uint8_t item) {
  if (stride_bytes == item) {
    std::memcpy(to, from, static_cast<size_t>(count) * item);
  } else if (item == 4) {
    SpreadRun<uint32_t>(to, from, stride_bytes, count);
  } else if (item == 8) {
    SpreadRun<uint64_t>(to, from, stride_bytes, count);
  } else if (item == 2) {
    SpreadRun<uint16_t>(to, from, stride_bytes, count);
  } else {
    SpreadRun<uint8_t>(to, from, stride_bytes, count);
  }
}

// Walks a strided operand in the order of the linear index.
class Walker {
 public:
  void Start(const TileAccess& access, std::byte* base) {
    dims_ = &access.dims;
    item_ = access.item_bytes;
    at_ = base;
    std::fill_n(index_, dims_->size(), 0);
  }

  template <typename Run>
  void Walk(int64_t count, Run&& run) {
    const StridedDim& inner = dims_->back();
    int64_t& inner_index = index_[dims_->size() - 1];
    while (count > 0) {
      const int64_t length = std::min(count, inner.size - inner_index);
      run(at_, inner.stride_bytes, length);
      count -= length;
      inner_index += length;
      at_ += length * inner.stride_bytes;
      if (inner_index == inner.size) Carry();
    }
  }

  void Gather(std::byte* to, int64_t count) {
    Walk(count, [&](std::byte* from, int64_t stride, int64_t length) {
      GatherRun(to, from, stride, length, item_);
      to += length * item_;
    });
  }

  void Scatter(const std::byte* from, int64_t count) {
    Walk(count, [&](std::byte* to, int64_t stride, int64_t length) {
      ScatterRun(to, from, stride, length, item_);
      from += length * item_;
    });
  }

 private:
  void Carry() {
    for (size_t d = dims_->size(); d-- > 0;) {
      const StridedDim& dim = (*dims_)[d];
      if (index_[d] < dim.size) return;
      at_ -= index_[d] * dim.stride_bytes;
      index_[d] = 0;
      if (d == 0) return;
      ++index_[d - 1];
      at_ += (*dims_)[d - 1].stride_bytes;
    }
  }

  const std::vector<StridedDim>* dims_ = nullptr;
  uint8_t item_ = 4;
  std::byte* at_ = nullptr;
  int64_t index_[kMaxDims];
};

bool SamePlace(const TileAccess& a, const TileAccess& b) {
  return a.kind == TileAccess::Kind::kLinear &&
         b.kind == TileAccess::Kind::kLinear && a.ref == b.ref &&
         a.item_bytes == b.item_bytes;
}

}  // namespace

bool operator==(const TileAccess& a, const TileAccess& b) {
  return a.kind == b.kind && a.item_bytes == b.item_bytes && a.ref == b.ref &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [](const StridedDim& x, const StridedDim& y) {
                      return x.size == y.size &&
                             x.stride_bytes == y.stride_bytes;
                    });
}

bool PointwiseStep::Run(Frame& frame) {
  using Kind = TileAccess::Kind;
  alignas(64) std::byte scratch[kMaxInputs + kMaxInstructions + 1][kTileBytes];
  const std::byte* in[kMaxInputs];
  int64_t in_step[kMaxInputs];
  Walker walkers[kMaxInputs];
  Walker out_walker;
  const size_t num_inputs = program_.inputs.size();
  const int64_t first = std::min(kTileElements, program_.count);
  for (size_t k = 0; k < num_inputs; ++k) {
    const TileAccess& access = program_.inputs[k];
    std::byte* base = frame.at<std::byte>(access.ref);
    in[k] = access.kind == Kind::kLinear || access.kind == Kind::kBlock
                ? base
                : scratch[k];
    in_step[k] = access.kind == Kind::kLinear ? access.item_bytes : 0;
    if (access.kind == Kind::kSplat) {
      GatherRun(scratch[k], base, 0, first, access.item_bytes);
    } else if (access.kind == Kind::kStrided) {
      walkers[k].Start(access, base);
    }
  }
  const TileAccess& output = program_.output;
  std::byte* out = frame.at<std::byte>(output.ref);
  const bool is_linear = output.kind == Kind::kLinear;
  if (!is_linear) out_walker.Start(output, out);

  const size_t num_code = program_.code.size();
  std::byte* results[kMaxInstructions];
  for (size_t c = 0; c < num_code; ++c) results[c] = scratch[kMaxInputs + c];
  const size_t last =
      program_.result < 0 ? static_cast<size_t>(~program_.result) : num_code;
  for (int64_t i = 0; i < program_.count; i += kTileElements) {
    const int64_t count = std::min(kTileElements, program_.count - i);
    for (size_t k = 0; k < num_inputs; ++k) {
      if (program_.inputs[k].kind != Kind::kStrided) continue;
      // What is only copied goes to its destination at once.
      std::byte* to = is_linear && num_code == 0 ? out : scratch[k];
      walkers[k].Gather(to, count);
    }
    if (is_linear && last < num_code) results[last] = out;
    for (size_t c = 0; c < num_code; ++c) {
      const TileInstruction& code = program_.code[c];
      const void* operands[3];
      for (uint8_t o = 0; o < code.num_inputs; ++o) {
        const TileRegister r = code.inputs[o];
        operands[o] = r >= 0 ? in[r] : results[~r];
      }
      code.run(results[c], operands, code.params, count);
    }
    const std::byte* result =
        program_.result >= 0 ? in[program_.result] : results[last];
    if (!is_linear) {
      out_walker.Scatter(result, count);
    } else if (num_code == 0 && program_.inputs[0].kind != Kind::kStrided) {
      std::memmove(out, result, static_cast<size_t>(count) * output.item_bytes);
    }
    out += count * output.item_bytes;
    for (size_t k = 0; k < num_inputs; ++k) in[k] += count * in_step[k];
  }
  return true;
}

bool PointwiseStep::Absorb(const PointwiseStep& producer) {
  const TileProgram& from = producer.program_;
  if (from.count != program_.count || from.code.empty()) return false;
  if (from.output.kind != TileAccess::Kind::kLinear) return false;
  for (const TileAccess& access : from.inputs) {
    // What is written tile by tile can be read only in step.
    if (access.ref.buffer == program_.output.ref.buffer &&
        !SamePlace(access, program_.output)) {
      return false;
    }
  }
  TileProgram merged;
  merged.count = program_.count;
  merged.output = program_.output;
  merged.inputs = from.inputs;
  merged.code = from.code;
  // Where this program's inputs went, in the merged program's registers.
  std::vector<TileRegister> moved;
  for (const TileAccess& access : program_.inputs) {
    if (access.ref.buffer == from.output.ref.buffer) {
      if (!SamePlace(access, from.output)) return false;
      moved.push_back(from.result);
      continue;
    }
    const auto at =
        std::find(merged.inputs.begin(), merged.inputs.end(), access);
    moved.push_back(static_cast<TileRegister>(at - merged.inputs.begin()));
    if (at == merged.inputs.end()) merged.inputs.push_back(access);
  }
  const TileRegister shift = static_cast<TileRegister>(from.code.size());
  const auto map = [&](TileRegister r) {
    return r >= 0 ? moved[static_cast<size_t>(r)] : ~(~r + shift);
  };
  for (TileInstruction code : program_.code) {
    for (uint8_t o = 0; o < code.num_inputs; ++o) {
      code.inputs[o] = map(code.inputs[o]);
    }
    merged.code.push_back(code);
  }
  merged.result = map(program_.result);
  Simplify(&merged);
  if (merged.inputs.size() > kMaxInputs ||
      merged.code.size() > kMaxInstructions) {
    return false;
  }
  program_ = std::move(merged);
  return true;
}

}  // namespace tenon::cpu
