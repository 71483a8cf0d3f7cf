// Operators that give or check scalars: sizes, items, assertions.
#include <algorithm>
#include <vector>

#include "kernels/broadcast.h"
#include "kernels/elements.h"
#include "kernels/python_functions.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

bool SymSize(KernelCall& call) {
  int64_t dim = call.Int(1);
  if (call.tensor(0).dim() == 0) return call.Fail("a 0-d tensor has no sizes");
  if (!WrapDim(call, call.tensor(0).dim(), &dim)) return false;
  call.Return(call.tensor(0).size(dim));
  return true;
}

bool SymStride(KernelCall& call) {
  int64_t dim = call.Int(1);
  if (call.tensor(0).dim() == 0) {
    return call.Fail("a 0-d tensor has no strides");
  }
  if (!WrapDim(call, call.tensor(0).dim(), &dim)) return false;
  call.Return(call.tensor(0).stride(dim));
  return true;
}

bool SymNumel(KernelCall& call) {
  call.Return(call.tensor(0).numel());
  return true;
}

bool SymStorageOffset(KernelCall& call) {
  call.Return(call.tensor(0).offset());
  return true;
}

bool SymIsContiguous(KernelCall& call) {
  const RuntimeValue& format = call.arg(1);
  call.Return(IsContiguousIn(call.tensor(0), format.is_memory_format()
                                                 ? format.memory_format()
                                                 : MemoryFormat::kContiguous));
  return true;
}

bool Item(KernelCall& call) {
  if (call.tensor(0).numel() != 1) {
    return call.Fail("item needs a tensor of one element, found sizes " +
                     ToText(call.tensor(0).sizes()));
  }
  call.Return(ItemOf(call.tensor(0)));
  return true;
}

bool IsTrue(const RuntimeValue& scalar) {
  return ScalarAs<std::complex<double>>(scalar) != std::complex<double>(0);
}

bool IsNonzero(KernelCall& call) {
  if (call.tensor(0).numel() != 1) {
    return call.Fail("is_nonzero needs a tensor of one element");
  }
  call.Return(IsTrue(ItemOf(call.tensor(0))));
  return true;
}

bool IsSameSize(KernelCall& call) {
  call.Return(call.tensor(0).sizes() == call.tensor(1).sizes());
  return true;
}

// --- assertions ---

bool AssertScalar(KernelCall& call) {
  if (IsTrue(call.Scalar(0))) return true;
  return call.Fail("assertion failed: " + call.arg(1).string());
}

bool AssertTensor(KernelCall& call, const std::string& message) {
  if (call.tensor(0).numel() != 1) {
    return call.Fail("an assertion needs a tensor of one element");
  }
  return IsTrue(ItemOf(call.tensor(0))) ||
         call.Fail("assertion failed: " + message);
}

bool AssertAsync(KernelCall& call) {
  return AssertTensor(call, "expected a nonzero value");
}
bool AssertAsyncMessage(KernelCall& call) {
  return AssertTensor(call, call.arg(1).string());
}

// The functional forms pass a token on, a copy of their last argument.
template <bool (*kAssert)(KernelCall&)>
bool WithToken(KernelCall& call) {
  if (!kAssert(call)) return false;
  const Tensor token = call.tensor(call.num_args() - 1).Clone();
  if (!token.defined()) return call.Fail("no memory");
  call.Return(token);
  return true;
}

bool CheckInts(KernelCall& call, size_t arg, const Sizes& found,
               const char* what) {
  if (call.is_none(arg) || call.Ints(arg) == found) return true;
  return call.Fail(std::string("the tensor has ") + what + " " + ToText(found) +
                   ", expected " + ToText(call.Ints(arg)));
}

bool AssertTensorMetadata(KernelCall& call) {
  const Tensor& tensor = call.tensor(0);
  if (!CheckInts(call, 1, tensor.sizes(), "sizes") ||
      !CheckInts(call, 2, tensor.strides(), "strides")) {
    return false;
  }
  if (!call.is_none(3) && call.arg(3).dtype() != tensor.dtype()) {
    return call.Fail("the tensor is " + std::string(Name(tensor.dtype())) +
                     ", expected " + std::string(Name(call.arg(3).dtype())));
  }
  if (!call.is_none(4)) {
    const RuntimeValue& device = call.arg(4);
    const std::string& type =
        device.is_string() ? device.string() : device.device().type;
    if (type != "cpu")
      return call.Fail("the tensor is on cpu, expected " + type);
  }
  if (!call.is_none(5) && call.arg(5).layout() != Layout::kStrided) {
    return call.Fail("the tensor is strided, expected " +
                     std::string(Name(call.arg(5).layout())));
  }
  return true;
}

bool ConstrainRange(KernelCall& call, bool is_size) {
  const RuntimeValue value = call.Scalar(0);
  if (!value.is_int() && !value.is_bool()) {
    return call.Fail("a range constrains integers");
  }
  const int64_t size = ScalarAs<int64_t>(value);
  const bool above = call.is_none(1) || size >= call.Int(1);
  const bool below = call.is_none(2) || size <= call.Int(2);
  if (above && below && (!is_size || size >= 0)) return true;
  return call.Fail("the value " + std::to_string(size) +
                   " lies outside its range");
}
bool SymConstrainRange(KernelCall& call) { return ConstrainRange(call, false); }
bool SymConstrainSize(KernelCall& call) { return ConstrainRange(call, true); }

bool ReturnSelf(KernelCall& call) {
  call.Return(call.arg(0));
  return true;
}

// Unlike item it takes the first of several.
bool LocalScalar(KernelCall& call) {
  if (call.tensor(0).numel() == 0) return call.Fail("the tensor is empty");
  call.Return(ItemOf(call.tensor(0)));
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.sym_size.int", SymSize},
    {"aten.sym_stride.int", SymStride},
    {"aten.sym_numel.default", SymNumel},
    {"aten.sym_storage_offset.default", SymStorageOffset},
    {"aten.sym_is_contiguous.default", SymIsContiguous},
    {"aten.item.default", Item},
    {"aten._local_scalar_dense.default", LocalScalar},
    {"aten.is_nonzero.default", IsNonzero},
    {"aten.is_same_size.default", IsSameSize},
    {"aten._assert_scalar.default", AssertScalar},
    {"aten._functional_assert_scalar.default", WithToken<AssertScalar>},
    {"aten._assert_async.default", AssertAsync},
    {"aten._assert_async.msg", AssertAsyncMessage},
    {"aten._functional_assert_async.msg", WithToken<AssertAsyncMessage>},
    {"aten._assert_tensor_metadata.default", AssertTensorMetadata},
    {"aten.sym_constrain_range.default", SymConstrainRange},
    {"aten.sym_constrain_range_for_size.default", SymConstrainSize},
    {"aten._functional_sym_constrain_range.default",
     WithToken<SymConstrainRange>},
    {"aten._functional_sym_constrain_range_for_size.default",
     WithToken<SymConstrainSize>},
    {"aten.detach_.default", ReturnSelf},
};

}  // namespace

std::span<const KernelEntry> ScalarKernels() {
  static const auto* all = [] {
    const auto functions = PythonFunctionKernels();
    auto* entries =
        new std::vector<KernelEntry>(std::begin(kEntries), std::end(kEntries));
    entries->insert(entries->end(), functions.begin(), functions.end());
    return entries;
  }();
  return *all;
}

}  // namespace tenon
