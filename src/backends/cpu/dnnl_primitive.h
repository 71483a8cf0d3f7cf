// Primitives of oneDNN as steps call them: arguments laid out once, so that a
// run only sets pointers.
//
// dnnl_primitive_execute itself builds a table of its arguments on each call: a
// handful of allocations, some hundred bytes in all. Buffers are never
// allocated there: primitives are made with ScratchInArena(), so that a plan
// places their scratch memory.
#pragma once

#include <initializer_list>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <utility>
#include <vector>

namespace tenon::cpu {

dnnl::engine& DnnlEngine();

dnnl::primitive_attr ScratchInArena();

class PrimitiveCall {
 public:
  PrimitiveCall() = default;
  PrimitiveCall(
      dnnl::primitive primitive,
      const std::vector<std::pair<int, dnnl::memory::desc>>& arguments);

  bool is_set() const { return !arguments_.empty(); }

  // One pointer per argument, in the order of the constructor's. False when
  // oneDNN failed.
  bool Run(dnnl::stream& stream, std::span<void* const> pointers);
  bool Run(dnnl::stream& stream, std::initializer_list<void*> pointers) {
    return Run(stream,
               std::span<void* const>(pointers.begin(), pointers.size()));
  }

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

PrimitiveCall Reorder(const dnnl::memory::desc& from,
                      const dnnl::memory::desc& to);

}  // namespace tenon::cpu
