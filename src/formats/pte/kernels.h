// The kernels that the stock runtime registers (ExecuTorch 1.5.1: portable,
// optimized and quantized ones, and its own primitives), with their schemas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/pte/pte_program.h"
#include "ops/schema.h"

namespace tenon {

// "aten::add.out": the name under which a runtime looks for a kernel.
std::string KernelName(const PteOperator& op);
// The longest name that a runtime takes, in bytes.
constexpr size_t kMaxKernelNameBytes = 99;

struct PteKernel {
  std::string_view name;
  std::string_view library;  // "kernels", "quantized", "runtime", "library"
  // The operator of PyTorch whose result it writes, "aten.add.Tensor"; may be
  // empty.
  std::string_view functional;
  OpSchema schema;

  // Behind the schema's arguments a call names the result once more; two
  // primitives don't want it.
  bool repeats_result() const;
  size_t num_args() const { return schema.args.size() + repeats_result(); }
  // The result is a number that the kernel puts in the place of its last
  // argument.
  bool returns_scalar() const;
};

// Null when no stock kernel has that name. The result lives forever.
// Thread-safe.
const PteKernel* FindPteKernel(std::string_view name);
// The one that writes what an operator of PyTorch returns, "aten.add.Tensor";
// null when there is none. The same holds of it.
const PteKernel* FindPteKernelOf(std::string_view functional);

}  // namespace tenon
