// Conversions of dtype, device and layout.
//
// The to.* family gives back its input when there is nothing to convert and
// no copy was asked for; _to_copy always copies.
#include "kernels/broadcast.h"
#include "kernels/elements.h"
#include "kernels/pointwise.h"
#include "kernels/views.h"

namespace tenon {
namespace {

struct Target {
  DType dtype;
  MemoryFormat format = MemoryFormat::kPreserve;
  bool copy = false;
};

bool CheckDevice(KernelCall& call, const RuntimeValue& device) {
  if (device.is_none()) return true;
  const std::string& type =
      device.is_string() ? device.string() : device.device().type;
  if (type == "cpu") return true;
  return call.Fail("no device '" + type + "', only cpu");
}

bool CheckLayout(KernelCall& call, const RuntimeValue& layout) {
  if (layout.is_none() || layout.layout() == Layout::kStrided) return true;
  return call.Fail("no layout '" + std::string(Name(layout.layout())) +
                   "', only strided");
}

MemoryFormat FormatOf(const RuntimeValue& format) {
  return format.is_none() ? MemoryFormat::kPreserve : format.memory_format();
}

DType DTypeOr(const RuntimeValue& dtype, DType otherwise) {
  return dtype.is_none() ? otherwise : dtype.dtype();
}

bool CheckFormat(KernelCall& call, const Tensor& self, MemoryFormat format) {
  if ((format == MemoryFormat::kChannelsLast && self.dim() != 4) ||
      (format == MemoryFormat::kChannelsLast3d && self.dim() != 5)) {
    return call.Fail(std::string(Name(format)) + " doesn't fit a tensor of " +
                     std::to_string(self.dim()) + " dimensions");
  }
  return true;
}

bool Convert(KernelCall& call, const Target& target) {
  const Tensor& self = call.tensor(0);
  if (!CheckFormat(call, self, target.format)) return false;
  const bool format_fits = target.format == MemoryFormat::kPreserve ||
                           SuggestedFormat(self) == target.format;
  if (!target.copy && target.dtype == self.dtype() && format_fits) {
    call.Return(self);
    return true;
  }
  const Sizes strides = target.format == MemoryFormat::kPreserve
                            ? LikeStrides(self)
                            : StridesFor(self.sizes(), target.format);
  Tensor out;
  if (!Allocate(call, target.dtype, self.sizes(), strides, &out)) return false;
  CopyCast(&out, self);
  call.Return(out);
  return true;
}

// _to_copy(self, *, dtype, layout, device, pin_memory, non_blocking, format)
bool ToCopy(KernelCall& call) {
  return CheckLayout(call, call.arg(2)) && CheckDevice(call, call.arg(3)) &&
         Convert(call, {DTypeOr(call.arg(1), call.tensor(0).dtype()),
                        FormatOf(call.arg(6)), true});
}

// to.dtype(self, dtype, non_blocking, copy, format)
bool ToDType(KernelCall& call) {
  return Convert(call,
                 {call.arg(1).dtype(), FormatOf(call.arg(4)), call.Bool(3)});
}

// to.dtype_layout(self, *, dtype, layout, device, pin, non_blocking, copy,
// format)
bool ToDTypeLayout(KernelCall& call) {
  return CheckLayout(call, call.arg(2)) && CheckDevice(call, call.arg(3)) &&
         Convert(call, {DTypeOr(call.arg(1), call.tensor(0).dtype()),
                        FormatOf(call.arg(7)), call.Bool(6)});
}

// to.device(self, device, dtype, non_blocking, copy, format)
bool ToDevice(KernelCall& call) {
  return CheckDevice(call, call.arg(1)) &&
         Convert(call,
                 {call.arg(2).dtype(), FormatOf(call.arg(5)), call.Bool(4)});
}

// to.other(self, other, non_blocking, copy, format)
bool ToOther(KernelCall& call) {
  return Convert(call,
                 {call.tensor(1).dtype(), FormatOf(call.arg(4)), call.Bool(3)});
}

bool TypeAs(KernelCall& call) {
  return Convert(call,
                 {call.tensor(1).dtype(), MemoryFormat::kPreserve, false});
}

bool ConvertElementType(KernelCall& call) {
  return Convert(call, {call.arg(1).dtype(), MemoryFormat::kPreserve, false});
}

// chalf(self, *, format)
bool Chalf(KernelCall& call) {
  return Convert(call, {DType::kComplex32, FormatOf(call.arg(1)), false});
}

constexpr KernelEntry kEntries[] = {
    {"aten._to_copy.default", ToCopy},
    {"aten.to.dtype", ToDType},
    {"aten.to.dtype_layout", ToDTypeLayout},
    {"aten.to.device", ToDevice},
    {"aten.to.other", ToOther},
    {"aten.type_as.default", TypeAs},
    {"aten.chalf.default", Chalf},
    {"prims.convert_element_type.default", ConvertElementType},
};

}  // namespace

std::span<const KernelEntry> CastKernels() { return kEntries; }

}  // namespace tenon
