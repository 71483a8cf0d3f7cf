#include "backends/cpu/dnnl_primitive.h"

namespace tenon::cpu {

using dnnl::memory;

dnnl::engine& DnnlEngine() {
  static auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::primitive_attr ScratchInArena() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

PrimitiveCall::PrimitiveCall(
    dnnl::primitive primitive,
    const std::vector<std::pair<int, memory::desc>>& arguments)
    : primitive_(std::move(primitive)) {
  for (const auto& [name, desc] : arguments) {
    memories_.push_back(memory(desc, DnnlEngine(), nullptr));
    arguments_.push_back({name, memories_.back().get()});
  }
}

bool PrimitiveCall::Run(dnnl::stream& stream, std::span<void* const> pointers) {
  size_t i = 0;
  for (void* p : pointers) {
    if (dnnl_memory_set_data_handle(arguments_[i++].memory, p) !=
        dnnl_success) {
      return false;
    }
  }
  return dnnl_primitive_execute(primitive_.get(), stream.get(),
                                static_cast<int>(i),
                                arguments_.data()) == dnnl_success;
}

PrimitiveCall Reorder(const memory::desc& from, const memory::desc& to) {
  const dnnl::reorder::primitive_desc desc(DnnlEngine(), from, DnnlEngine(),
                                           to);
  return PrimitiveCall(dnnl::reorder(desc),
                       {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

}  // namespace tenon::cpu
