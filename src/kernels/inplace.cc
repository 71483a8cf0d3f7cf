// Operators that write an argument: the in-place forms (add_, relu_, ...) and
// the out= forms, made from the functional kernels.
//
// aten.add_.Tensor computes aten.add.Tensor and copies its result into self;
// the result has to have self's sizes and a dtype that casts to self's. An
// out= form does the same with its out arguments, which must already have the
// result's sizes.
#include <algorithm>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/promotion.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// "aten.add_.Tensor" -> "aten.add.Tensor"; empty when it isn't such a name.
std::string FunctionalName(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot < 2 || name[dot - 1] != '_' ||
      name[dot - 2] == '_') {
    return "";
  }
  return std::string(name.substr(0, dot - 1)) + std::string(name.substr(dot));
}

// The value as it was given: a number stays a number, which promotes
// differently from a 0-d tensor.
RuntimeValue GivenArg(const KernelCall& call, size_t i) {
  return call.is_number(i) ? call.Scalar(i) : call.arg(i);
}

// Copies a result into the tensor that is written.
bool StoreResult(KernelCall& call, Tensor to, Tensor result) {
  if (result.sizes() != to.sizes()) {
    return call.Fail("the written tensor of sizes " + ToText(to.sizes()) +
                     " doesn't match the result's sizes " +
                     ToText(result.sizes()));
  }
  if (!CanCast(result.dtype(), to.dtype())) {
    return call.Fail("result type " + std::string(Name(result.dtype())) +
                     " can't be cast to the written tensor's type " +
                     std::string(Name(to.dtype())));
  }
  if (!PrepareWrite(call, to)) return false;
  if (result.SharesStorage(to)) result = result.Clone();
  if (!result.defined()) return call.Fail("out of memory");
  CopyCast(&to, result);
  return true;
}

bool IsOutArg(const SchemaArg& arg) {
  return arg.is_written && arg.type == SchemaType::kTensor && !arg.is_list;
}

// Whether each argument of `functional` is one of `writing`, by name and kind.
// An in-place form may order them differently (polygamma_ has self first).
bool TakesArgsOf(const OpSchema& functional, const OpSchema& writing) {
  return std::all_of(
      functional.args.begin(), functional.args.end(),
      [&](const SchemaArg& arg) {
        const int at = writing.FindArg(arg.name);
        return at >= 0 && !arg.is_written &&
               writing.args[static_cast<size_t>(at)].type == arg.type &&
               writing.args[static_cast<size_t>(at)].is_list == arg.is_list;
      });
}

bool IsInPlaceForm(const OpSchema& functional, const OpSchema& in_place) {
  return functional.args.size() == in_place.args.size() &&
         TakesArgsOf(functional, in_place);
}

bool IsOutForm(const OpSchema& functional, const OpSchema& out_form) {
  const auto num_out =
      std::count_if(out_form.args.begin(), out_form.args.end(), IsOutArg);
  return functional.args.size() + static_cast<size_t>(num_out) ==
             out_form.args.size() &&
         functional.returns.size() == out_form.returns.size() &&
         TakesArgsOf(functional, out_form);
}

// The functional counterpart of a writing operator among `names`, which are
// sorted; null when there is none. In-place forms prefer the overload of the
// same name: pow_.Scalar has to settle for pow.Tensor_Scalar.
const OpSchema* FindFunctional(std::span<const std::string_view> names,
                               const OpSchema& writing) {
  std::string name = FunctionalName(writing.name);
  const bool in_place = !name.empty();
  if (!in_place) name = writing.name;
  const auto fits = [&](std::string_view candidate) {
    const OpSchema* schema = FindSchema(candidate);
    if (schema == nullptr) return false;
    return in_place ? IsInPlaceForm(*schema, writing)
                    : IsOutForm(*schema, writing);
  };
  if (in_place &&
      std::binary_search(names.begin(), names.end(), std::string_view(name)) &&
      fits(name)) {
    return FindSchema(name);
  }
  const std::string prefix = name.substr(0, name.rfind('.') + 1);
  for (auto at = std::lower_bound(names.begin(), names.end(),
                                  std::string_view(prefix));
       at != names.end() && at->starts_with(prefix); ++at) {
    if (fits(*at)) return FindSchema(*at);
  }
  return nullptr;
}

// Runs the functional counterpart and stores its results in the written
// arguments, in order.
bool WriteThrough(KernelCall& call) {
  static const auto* names =
      new std::vector<std::string_view>(AllKernelNames());
  const OpSchema* functional = FindFunctional(*names, call.schema());
  if (functional == nullptr) {
    return call.Fail("no functional form of " + call.schema().name);
  }
  std::vector<RuntimeValue> args;
  for (const SchemaArg& arg : functional->args) {
    args.push_back(
        GivenArg(call, static_cast<size_t>(call.schema().FindArg(arg.name))));
  }
  std::vector<RuntimeValue> results;
  if (!CallKernel(call, functional->name, std::move(args), &results)) {
    return false;
  }
  size_t next = 0;
  for (size_t i = 0; i < call.num_args(); ++i) {
    if (!IsOutArg(call.schema().args[i])) continue;
    if (next >= results.size() || !results[next].is_tensor() ||
        !call.arg(i).is_tensor()) {
      return call.Fail(functional->name + " doesn't give what " +
                       call.schema().name + " writes");
    }
    if (!StoreResult(call, call.tensor(i), results[next++].tensor())) {
      return false;
    }
    call.Return(call.tensor(i));
  }
  return true;
}

// Nothing is promoted or cast: zeros are zeros.
bool ZeroInPlace(KernelCall& call) {
  Tensor self = call.tensor(0);
  if (!PrepareWrite(call, self)) return false;
  Fill<int64_t>(&self, 0);
  call.Return(self);
  return true;
}

// New sizes over the same storage. Growing gives the argument a storage of its
// own, as a storage here never moves.
bool ResizeTo(KernelCall& call, const Sizes& sizes, size_t format_arg) {
  Tensor self = call.tensor(0);
  if (!CheckSizes(call, sizes)) return false;
  const auto* given =
      std::get_if<MemoryFormat>(&call.arg(format_arg).variant());
  const MemoryFormat format =
      given != nullptr ? *given : MemoryFormat::kContiguous;
  if (self.sizes() != sizes || given != nullptr) {
    Tensor view = self.View(sizes, StridesFor(sizes, format), self.offset());
    if (!view.FitsStorage()) {
      if (!Allocate(call, self.dtype(), sizes, StridesFor(sizes, format),
                    &view)) {
        return false;
      }
      const Tensor flat = self.Contiguous();
      const int64_t kept = std::min(flat.numel(), view.numel());
      view.View({kept}, {1}, 0).CopyFrom(flat.View({kept}, {1}, flat.offset()));
    }
    self = view;
  }
  call.arg(0) = self;
  call.Return(self);
  return true;
}

bool Resize(KernelCall& call) { return ResizeTo(call, call.Ints(1), 2); }

bool ResizeAs(KernelCall& call) {
  return ResizeTo(call, call.tensor(1).sizes(), 2);
}

constexpr KernelEntry kEntries[] = {
    {"aten.zero_.default", ZeroInPlace},
    {"aten.resize_.default", Resize},
    {"aten.resize_as_.default", ResizeAs},
};

}  // namespace

std::span<const KernelEntry> InplaceKernels() { return kEntries; }

std::vector<KernelEntry> DerivedKernels(std::span<const KernelEntry> table) {
  std::vector<std::string_view> names;
  for (const KernelEntry& entry : table) names.push_back(entry.name);
  std::vector<KernelEntry> derived;
  for (std::string_view name : AllSchemaNames()) {
    if (std::binary_search(names.begin(), names.end(), name)) continue;
    const OpSchema* schema = FindSchema(name);
    if (schema == nullptr ||
        std::none_of(schema->args.begin(), schema->args.end(), IsOutArg)) {
      continue;
    }
    if (FindFunctional(names, *schema) != nullptr) {
      derived.push_back({name, WriteThrough});
    }
  }
  return derived;
}

}  // namespace tenon
