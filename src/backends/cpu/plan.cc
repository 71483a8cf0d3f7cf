#include "backends/cpu/plan.h"

#include <utility>

#include "backends/cpu/kept_values.h"

namespace tenon::cpu {

Plan::Plan() = default;
Plan::~Plan() = default;

bool Plan::Bind(std::span<const RuntimeValue> inputs, std::byte* arena,
                std::string* error) {
  for (const uint32_t i : written_inputs_) {
    if (!inputs[i].tensor().storage()->MakeWritable()) {
      *error = "out of memory while copying a read-only input that is written";
      return false;
    }
  }
  for (size_t b = 0; b < buffers_.size(); ++b) {
    const Buffer& buffer = buffers_[b];
    switch (buffer.kind) {
      case BufferKind::kArena:
        bases_[b] = arena + buffer.arena_offset;
        break;
      case BufferKind::kInput:
        // Written only where MakeWritable made sure that it may be.
        bases_[b] =
            const_cast<std::byte*>(inputs[buffer.input].tensor().raw()) -
            buffer.elements_before *
                static_cast<int64_t>(
                    SizeBytes(inputs[buffer.input].tensor().dtype()));
        break;
      case BufferKind::kOutput:
        output_storages_[b] = Storage::Allocate(buffer.size_bytes, false);
        if (output_storages_[b] == nullptr) {
          *error = "out of memory for an output of " +
                   std::to_string(buffer.size_bytes) + " bytes";
          return false;
        }
        bases_[b] = output_storages_[b]->mutable_data();
        break;
      case BufferKind::kConstant:
      case BufferKind::kKept:
        break;
    }
  }
  for (const auto& values : kept_values_) {
    if (!values->Bind(inputs, &bases_)) {
      *error = "out of memory for values that are kept between runs";
      return false;
    }
  }
  return true;
}

bool Plan::RunSteps() {
  if (observer_ == nullptr) {
    for (const auto& step : steps_) {
      if (!step->Run(frame_)) return false;
    }
    return true;
  }
  for (size_t s = 0; s < steps_.size(); ++s) {
    const auto start = std::chrono::steady_clock::now();
    if (!steps_[s]->Run(frame_)) return false;
    observer_->OnStep(s, std::chrono::steady_clock::now() - start);
  }
  return true;
}

bool Plan::Run(std::span<const RuntimeValue> inputs, std::byte* arena,
               std::vector<RuntimeValue>* outputs, std::string* error) {
  if (!Bind(inputs, arena, error)) return false;
  frame_.bases = bases_.data();
  frame_.inputs = inputs;
  if (!RunSteps()) {
    *error = std::move(frame_.error);
    return false;
  }
  for (const auto& values : kept_values_) values->SetComputed();
  outputs->reserve(outputs_.size());
  for (const PlannedOutput& planned : outputs_) {
    if (!planned.value.is_tensor()) {
      outputs->push_back(planned.value);
      continue;
    }
    const Tensor& shape = planned.value.tensor();
    const Buffer& buffer = buffers_[planned.buffer];
    if (buffer.kind == BufferKind::kInput) {
      const Tensor& input = inputs[buffer.input].tensor();
      outputs->push_back(
          input.View(shape.sizes(), shape.strides(),
                     input.offset() + shape.offset() - buffer.elements_before));
    } else {
      outputs->push_back(Tensor(output_storages_[planned.buffer], shape.dtype(),
                                shape.sizes(), shape.strides(),
                                shape.offset()));
    }
  }
  // The outputs are the caller's alone from here on.
  for (auto& storage : output_storages_) storage.reset();
  frame_.inputs = {};
  return true;
}

std::string Plan::ToString() const {
  std::string text;
  for (const auto& step : steps_) {
    text += step->name();
    text += '\n';
  }
  return text;
}

PlanListing Plan::Listing() const {
  PlanListing out;
  out.steps = listed_;
  for (size_t s = 0; s < steps_.size(); ++s) {
    out.steps[s].name = steps_[s]->name();
  }
  for (const Buffer& buffer : buffers_) {
    if (buffer.kind == BufferKind::kConstant ||
        buffer.kind == BufferKind::kKept) {
      out.constant_bytes += buffer.size_bytes;
    }
    if (buffer.kind != BufferKind::kArena || buffer.size_bytes == 0 ||
        buffer.first_step > buffer.last_step) {
      continue;
    }
    out.buffers.push_back({buffer.arena_offset, buffer.size_bytes,
                           buffer.first_step, buffer.last_step});
  }
  out.arena_bytes = sizes_.arena_bytes;
  out.peak_live_bytes = sizes_.peak_live_bytes;
  out.unshared_bytes = sizes_.unshared_bytes;
  return out;
}

}  // namespace tenon::cpu
