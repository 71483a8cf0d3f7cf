// What the plan builder does once all nodes are lowered: drop steps that
// nobody reads, merge elementwise chains, give buffers their places.
#include <algorithm>
#include <numeric>
#include <utility>

#include "backends/cpu/plan_builder.h"
#include "memory/memory_plan.h"

namespace tenon::cpu {
namespace {

bool Contains(const std::vector<uint32_t>& list, uint32_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

void PlanBuilder::DropUnusedSteps() {
  std::vector<bool> is_needed(buffers_.size());
  for (size_t b = 0; b < buffers_.size(); ++b) {
    is_needed[b] = buffers_[b].kind == BufferKind::kOutput ||
                   buffers_[b].kind == BufferKind::kInput;
  }
  std::vector<PlannedStep> kept;
  for (size_t s = steps_.size(); s-- > 0;) {
    PlannedStep& step = steps_[s];
    // A step that writes nothing checks something.
    const bool is_kept = step.writes.empty() ||
                         std::any_of(step.writes.begin(), step.writes.end(),
                                     [&](uint32_t b) { return is_needed[b]; });
    if (!is_kept) continue;
    for (const uint32_t b : step.reads) is_needed[b] = true;
    kept.push_back(std::move(step));
  }
  std::reverse(kept.begin(), kept.end());
  steps_ = std::move(kept);
}

bool PlanBuilder::WritesBetween(uint32_t buffer, size_t first,
                                size_t last) const {
  // Inputs may alias each other, so a write to one may be a write to any.
  const bool is_input = buffers_[buffer].kind == BufferKind::kInput;
  if (is_input && request_.written_inputs.empty()) return false;
  if (is_input) {
    for (size_t s = first + 1; s <= last; ++s) {
      for (const uint32_t b : steps_[s].writes) {
        if (buffers_[b].kind == BufferKind::kInput) return true;
      }
    }
    return false;
  }
  for (const size_t s : touches_[buffer]) {
    if (s > first && s <= last && Contains(steps_[s].writes, buffer)) {
      return true;
    }
  }
  return false;
}

bool PlanBuilder::TryMerge(size_t producer, size_t consumer) {
  PlannedStep& from = steps_[producer];
  PlannedStep& to = steps_[consumer];
  // What the producer reads must still be there, unchanged, and the consumer
  // must not overwrite it while it is read.
  for (const uint32_t b : from.reads) {
    if (WritesBetween(b, producer, consumer)) return false;
  }
  if (!to.pointwise->Absorb(*from.pointwise)) return false;
  const uint32_t gone = from.writes[0];
  std::erase(to.reads, gone);
  std::erase_if(to.bytes_read, [&](const auto& r) { return r.first == gone; });
  to.bytes_read.insert(to.bytes_read.end(), from.bytes_read.begin(),
                       from.bytes_read.end());
  to.nodes.insert(to.nodes.begin(), from.nodes.begin(), from.nodes.end());
  touches_[gone].clear();
  for (const uint32_t b : from.reads) {
    std::vector<size_t>& touches = touches_[b];
    std::erase(touches, producer);
    if (Contains(to.reads, b)) continue;
    to.reads.push_back(b);
    touches.insert(std::lower_bound(touches.begin(), touches.end(), consumer),
                   consumer);
  }
  from = PlannedStep();
  return true;
}

void PlanBuilder::FindTouches() {
  touches_.assign(buffers_.size(), {});
  for (size_t s = 0; s < steps_.size(); ++s) {
    const auto touch = [&](uint32_t b) {
      if (touches_[b].empty() || touches_[b].back() != s) {
        touches_[b].push_back(s);
      }
    };
    for (const uint32_t b : steps_[s].reads) touch(b);
    for (const uint32_t b : steps_[s].writes) touch(b);
  }
}

void PlanBuilder::MergePointwiseSteps() {
  FindTouches();
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].pointwise == nullptr) continue;
    for (bool changed = true; changed;) {
      changed = false;
      for (const uint32_t b : steps_[s].reads) {
        const std::vector<size_t>& touches = touches_[b];
        if (buffers_[b].kind != BufferKind::kArena || touches.size() != 2 ||
            touches[1] != s) {
          continue;
        }
        const PlannedStep& producer = steps_[touches[0]];
        if (producer.pointwise == nullptr || producer.writes[0] != b) continue;
        if (TryMerge(touches[0], s)) {
          changed = true;
          break;  // `reads` has changed
        }
      }
    }
  }
  std::erase_if(steps_, [](const PlannedStep& s) { return s.step == nullptr; });
}

Status PlanBuilder::PlaceBuffers(Diagnostics& diags) {
  const size_t count = buffers_.size();
  constexpr uint32_t kNever = ~0u;
  std::vector<uint32_t> first(count, kNever), last(count, 0);
  for (uint32_t s = 0; s < steps_.size(); ++s) {
    const auto touch = [&](uint32_t b) {
      first[b] = std::min(first[b], s);
      last[b] = s;
    };
    for (const uint32_t b : steps_[s].reads) touch(b);
    for (const uint32_t b : steps_[s].writes) touch(b);
  }
  group_of_buffer_.resize(count);
  std::iota(group_of_buffer_.begin(), group_of_buffer_.end(), 0u);
  const auto is_shared = [&](uint32_t b) {
    return buffers_[b].kind == BufferKind::kArena && first[b] != kNever;
  };
  // An elementwise step may write over an operand that it reads last, if it
  // reads each element before it writes the one in its place.
  for (uint32_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].convolution != nullptr) {
      const FusedConvolutionShape& shape = steps_[s].convolution->shape();
      for (const ConvolutionPostOp& op : shape.post_ops) {
        // The pass that asked for the sum saw to it that this may be.
        if (op.kind == ConvolutionPostOp::Kind::kSum) {
          group_of_buffer_[shape.out.buffer] =
              group_of_buffer_[op.operand.buffer];
        }
      }
    }
    if (steps_[s].pointwise == nullptr) continue;
    const TileProgram& program = steps_[s].pointwise->program();
    const TileAccess& out = program.output;
    const uint32_t o = out.ref.buffer;
    if (!is_shared(o) || first[o] != s ||
        out.kind != TileAccess::Kind::kLinear) {
      continue;
    }
    for (const TileAccess& in : program.inputs) {
      const uint32_t b = in.ref.buffer;
      if (!is_shared(b) || last[b] != s || group_of_buffer_[b] == o ||
          buffers_[b].size_bytes != buffers_[o].size_bytes) {
        continue;
      }
      const bool is_in_step =
          std::all_of(program.inputs.begin(), program.inputs.end(),
                      [&](const TileAccess& a) {
                        return a.ref.buffer != b ||
                               (a.kind == TileAccess::Kind::kLinear &&
                                a.item_bytes == out.item_bytes &&
                                a.ref.offset_bytes == out.ref.offset_bytes);
                      });
      if (!is_in_step) continue;
      group_of_buffer_[o] = group_of_buffer_[b];
      break;
    }
  }
  std::vector<Lifetime> lifetimes(count);
  for (uint32_t b = 0; b < count; ++b) {
    if (!is_shared(b)) continue;
    sizes_.unshared_bytes += (buffers_[b].size_bytes + 63) & ~size_t{63};
    Lifetime& life = lifetimes[group_of_buffer_[b]];
    if (life.size_bytes == 0) {
      life = {buffers_[b].size_bytes, first[b], last[b]};
    } else {
      life.first = std::min(life.first, first[b]);
      life.last = std::max(life.last, last[b]);
    }
  }
  TENON_ASSIGN(const MemoryPlan layout, PlanMemory(lifetimes, {}, diags));
  for (uint32_t b = 0; b < count; ++b) {
    buffers_[b].first_step = first[b];
    buffers_[b].last_step = last[b];
    buffers_[b].arena_offset = layout.offsets[group_of_buffer_[b]];
  }
  sizes_.arena_bytes = layout.size_bytes;
  sizes_.peak_live_bytes = layout.bound_bytes;
  sizes_.num_steps = steps_.size();
  return {};
}

std::unique_ptr<Plan> PlanBuilder::Finish() {
  auto plan = std::make_unique<Plan>();
  for (PlannedStep& step : steps_) {
    ListedStep listed;
    listed.is_copy = step.is_copy || (step.pointwise != nullptr &&
                                      step.pointwise->program().code.empty());
    plan->steps_.push_back(std::move(step.step));
    std::sort(step.nodes.begin(), step.nodes.end());
    for (const NodeId n : step.nodes) {
      listed.ops.emplace_back(request_.region->op_name(n));
    }
    // A buffer that is read twice comes from memory once.
    std::sort(step.bytes_read.begin(), step.bytes_read.end());
    for (size_t i = 0; i < step.bytes_read.size(); ++i) {
      const bool is_last =
          i + 1 == step.bytes_read.size() ||
          step.bytes_read[i + 1].first != step.bytes_read[i].first;
      if (is_last) listed.bytes_read += step.bytes_read[i].second;
    }
    listed.bytes_written = step.bytes_written;
    plan->listed_.push_back(std::move(listed));
  }
  plan->bases_.assign(buffers_.size(), nullptr);
  plan->output_storages_.resize(buffers_.size());
  for (size_t b = 0; b < buffers_.size(); ++b) {
    if (buffers_[b].kind != BufferKind::kConstant) continue;
    // Constants are read only.
    plan->bases_[b] = const_cast<std::byte*>(buffers_[b].storage->data());
  }
  plan->buffers_ = std::move(buffers_);
  plan->outputs_ = std::move(outputs_);
  plan->written_inputs_ = request_.written_inputs;
  plan->kept_values_ = std::move(kept_values_);
  plan->sizes_ = sizes_;
  return plan;
}

}  // namespace tenon::cpu
