#include "kernels/kernel.h"

#include <unistd.h>

#include <algorithm>

#include "kernels/elements.h"
#include "kernels/registry.h"

namespace tenon {
namespace {

std::vector<KernelEntry> JoinFamilies() {
  std::vector<KernelEntry> all;
  for (const auto family : {PointwiseKernels(),
                            ReductionKernels(),
                            ShapeViewKernels(),
                            ShapeDimsKernels(),
                            ShapeSliceKernels(),
                            ShapeCopyKernels(),
                            ShapeJoinKernels(),
                            ShapeRearrangeKernels(),
                            ShapePadKernels(),
                            FactoryKernels(),
                            IndexingKernels(),
                            IndexingDimKernels(),
                            IndexingMaskKernels(),
                            IndexingEmbeddingKernels(),
                            IndexingSearchKernels(),
                            MatmulKernels(),
                            AttentionKernels(),
                            SoftmaxKernels(),
                            BatchNormKernels(),
                            LayerNormKernels(),
                            DropoutKernels(),
                            MarginLossKernels(),
                            LinalgSolveKernels(),
                            GradientKernels(),
                            LinalgTriangularKernels(),
                            FourierKernels(),
                            QuantizedDecomposedKernels(),
                            QuantizedEmbeddingKernels(),
                            QuantizedAffineKernels(),
                            QuantizedMatmulKernels(),
                            ConvolutionKernels(),
                            PoolingKernels(),
                            AdaptivePoolingKernels(),
                            UpsampleKernels(),
                            UnfoldKernels(),
                            LossKernels(),
                            DistanceKernels(),
                            RecurrentKernels(),
                            GridSamplerKernels(),
                            EinsumKernels(),
                            InplaceKernels(),
                            ScalarKernels()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  // Stable: of two kernels for one operator the earlier family's is found.
  const auto by_name = [](const KernelEntry& a, const KernelEntry& b) {
    return a.name < b.name;
  };
  std::stable_sort(all.begin(), all.end(), by_name);
  const std::vector<KernelEntry> derived = DerivedKernels(all);
  all.insert(all.end(), derived.begin(), derived.end());
  std::stable_sort(all.begin(), all.end(), by_name);
  return all;
}

const std::vector<KernelEntry>& Table() {
  static const auto* table = new std::vector<KernelEntry>(JoinFamilies());
  return *table;
}

template <typename T>
RuntimeValue ListOf(const std::vector<T>& items) {
  RuntimeValue::List list;
  for (const T item : items) list.emplace_back(item);
  return list;
}

// A default that is a name (float32, strided, Mean) by the slot's kind.
RuntimeValue NamedDefault(SchemaType type, const std::string& name) {
  switch (type) {
    case SchemaType::kDtype:
      if (const auto dtype = FindDType(name)) return *dtype;
      break;
    case SchemaType::kLayout:
      if (const auto layout = FindLayout(name)) return *layout;
      break;
    case SchemaType::kMemoryFormat:
      if (const auto format = FindMemoryFormat(name)) return *format;
      break;
    case SchemaType::kInt:
      // ATen's Reduction enum.
      if (name == "Mean") return int64_t{1};
      if (name == "Sum") return int64_t{2};
      break;
    case SchemaType::kTensor:
    case SchemaType::kFloat:
    case SchemaType::kBool:
    case SchemaType::kScalar:
    case SchemaType::kString:
    case SchemaType::kDevice:
    case SchemaType::kGenerator:
    case SchemaType::kOther:
      break;
  }
  return name;
}

// A default that is a number of c10's enums (dtype=4 is int64).
RuntimeValue NumberedDefault(SchemaType type, int64_t number) {
  // By PyTorch's ScalarType, up to the last that a declaration names; numbers
  // of dtypes that tensors here can't have (qint8, qint32, bits) stay numbers.
  constexpr DType kNone = DType::kUnknown;
  constexpr DType kDTypes[] = {DType::kUInt8,
                               DType::kInt8,
                               DType::kInt16,
                               DType::kInt32,
                               DType::kInt64,
                               DType::kFloat16,
                               DType::kFloat32,
                               DType::kFloat64,
                               DType::kComplex32,
                               DType::kComplex64,
                               DType::kComplex128,
                               DType::kBool,
                               kNone,
                               kNone,
                               kNone,
                               DType::kBFloat16,
                               kNone,
                               kNone,
                               kNone,
                               kNone,
                               kNone,
                               kNone,
                               kNone,
                               DType::kFloat8E5M2,
                               DType::kFloat8E4M3FN};
  constexpr MemoryFormat kFormats[] = {
      MemoryFormat::kContiguous, MemoryFormat::kPreserve,
      MemoryFormat::kChannelsLast, MemoryFormat::kChannelsLast3d};
  const auto at = static_cast<size_t>(number);
  if (type == SchemaType::kDtype && at < std::size(kDTypes) &&
      kDTypes[at] != kNone) {
    return kDTypes[at];
  }
  if (type == SchemaType::kMemoryFormat && at < std::size(kFormats)) {
    return kFormats[at];
  }
  return number;
}

RuntimeValue DefaultValue(const SchemaArg& arg) {
  struct Visitor {
    const SchemaArg& arg;
    RuntimeValue operator()(std::monostate) const { return {}; }
    RuntimeValue operator()(int64_t i) const {
      return NumberedDefault(arg.type, i);
    }
    RuntimeValue operator()(double f) const { return f; }
    RuntimeValue operator()(bool b) const { return b; }
    RuntimeValue operator()(const std::string& s) const {
      return arg.default_value.is_name ? NamedDefault(arg.type, s)
                                       : RuntimeValue(s);
    }
    RuntimeValue operator()(const std::vector<int64_t>& v) const {
      return ListOf(v);
    }
    RuntimeValue operator()(const std::vector<double>& v) const {
      return ListOf(v);
    }
  };
  return std::visit(Visitor{arg}, arg.default_value.value);
}

bool IsOneElement(const RuntimeValue& value) {
  return value.is_tensor() && value.tensor().defined() &&
         value.tensor().numel() == 1;
}

// Whether a value may stand where one element of `type` is meant.
bool FitsElement(SchemaType type, const RuntimeValue& value) {
  switch (type) {
    case SchemaType::kTensor:
      return (value.is_tensor() && value.tensor().defined()) ||
             value.is_scalar();
    case SchemaType::kInt:
    case SchemaType::kBool:
      return value.is_int() || value.is_bool() ||
             (IsOneElement(value) && !IsFloating(value.tensor().dtype()) &&
              !IsComplex(value.tensor().dtype()));
    case SchemaType::kFloat:
      return value.is_int() || value.is_bool() || value.is_float() ||
             (IsOneElement(value) && !IsComplex(value.tensor().dtype()));
    case SchemaType::kScalar:
      return value.is_scalar() || IsOneElement(value);
    case SchemaType::kString:
      return value.is_string();
    case SchemaType::kDtype:
      return value.is_dtype();
    case SchemaType::kLayout:
      return value.is_layout();
    case SchemaType::kDevice:
      return value.is_device() || value.is_string();
    case SchemaType::kMemoryFormat:
      return value.is_memory_format();
    case SchemaType::kGenerator:
      return value.is_none();
    case SchemaType::kOther:
      return true;
  }
  return false;
}

// Kernels hold operands in compute types of up to 16 bytes per element. What
// the machine can't hold so (an expanded view shows any number of elements)
// is refused before a kernel tries.
int64_t MaxElements() {
  static const int64_t limit = [] {
    const int64_t pages = sysconf(_SC_PHYS_PAGES);
    const int64_t page = sysconf(_SC_PAGE_SIZE);
    return pages > 0 && page > 0 ? pages * page / 16 : INT64_MAX;
  }();
  return limit;
}

bool IsTooLarge(const RuntimeValue& value) {
  if (value.is_tensor()) return value.tensor().numel() > MaxElements();
  return value.is_list() &&
         std::any_of(value.list().begin(), value.list().end(), IsTooLarge);
}

bool FitsArg(const SchemaArg& arg, const RuntimeValue& value) {
  if (value.is_none() && arg.is_optional) return true;
  if (!arg.is_list) return FitsElement(arg.type, value);
  if (!value.is_list()) {
    return arg.fixed_size > 0 && FitsElement(arg.type, value);
  }
  return std::all_of(value.list().begin(), value.list().end(),
                     [&](const RuntimeValue& item) {
                       return (arg.element_optional && item.is_none()) ||
                              FitsElement(arg.type, item);
                     });
}

int64_t IntOf(const RuntimeValue& value) {
  return value.is_tensor() ? ReadOne<int64_t>(value.tensor())
                           : ScalarAs<int64_t>(value);
}

double FloatOf(const RuntimeValue& value) {
  return value.is_tensor() ? ReadOne<double>(value.tensor())
                           : ScalarAs<double>(value);
}

}  // namespace

KernelCall::KernelCall(const OpSchema& schema, std::vector<RuntimeValue> args)
    : schema_(schema), args_(std::move(args)), is_number_(args_.size()) {
  for (size_t i = 0; i < args_.size() && i < schema_.args.size(); ++i) {
    const SchemaArg& arg = schema_.args[i];
    if (arg.type == SchemaType::kTensor && !arg.is_list &&
        args_[i].is_scalar()) {
      args_[i] = ScalarTensor(args_[i]);
      is_number_[i] = true;
    }
  }
}

int64_t KernelCall::Int(size_t i) const { return IntOf(args_[i]); }
double KernelCall::Float(size_t i) const { return FloatOf(args_[i]); }
bool KernelCall::Bool(size_t i) const { return IntOf(args_[i]) != 0; }

RuntimeValue KernelCall::Scalar(size_t i) const {
  return args_[i].is_tensor() ? ItemOf(args_[i].tensor()) : args_[i];
}

std::vector<int64_t> KernelCall::Ints(size_t i) const {
  if (is_none(i)) return {};
  if (!args_[i].is_list()) return {IntOf(args_[i])};
  std::vector<int64_t> ints;
  for (const RuntimeValue& item : args_[i].list()) ints.push_back(IntOf(item));
  return ints;
}

std::vector<double> KernelCall::Floats(size_t i) const {
  if (is_none(i)) return {};
  if (!args_[i].is_list()) return {FloatOf(args_[i])};
  std::vector<double> floats;
  for (const RuntimeValue& item : args_[i].list()) {
    floats.push_back(FloatOf(item));
  }
  return floats;
}

std::vector<Tensor> KernelCall::Tensors(size_t i) const {
  std::vector<Tensor> tensors;
  if (is_none(i)) return tensors;
  if (args_[i].is_tensor()) return {args_[i].tensor()};
  for (const RuntimeValue& item : args_[i].list()) {
    tensors.push_back(item.is_tensor()   ? item.tensor()
                      : item.is_scalar() ? ScalarTensor(item)
                                         : Tensor());
  }
  return tensors;
}

std::vector<Tensor> KernelCall::OptionalTensors(size_t i) const {
  return Tensors(i);
}

Kernel FindKernel(std::string_view name) {
  const auto& table = Table();
  const auto at = std::lower_bound(
      table.begin(), table.end(), name,
      [](const KernelEntry& e, std::string_view n) { return e.name < n; });
  return at != table.end() && at->name == name ? at->kernel : nullptr;
}

std::vector<std::string_view> AllKernelNames() {
  std::vector<std::string_view> names;
  for (const KernelEntry& entry : Table()) {
    if (names.empty() || names.back() != entry.name) {
      names.push_back(entry.name);
    }
  }
  return names;
}

bool CompleteArgs(const OpSchema& schema, std::vector<RuntimeValue>* given,
                  const std::vector<bool>& present, std::string* error) {
  given->resize(schema.args.size());
  for (size_t i = 0; i < schema.args.size(); ++i) {
    const SchemaArg& arg = schema.args[i];
    if (i >= present.size() || !present[i]) {
      if (!arg.has_default) {
        *error = schema.name + ": argument '" + arg.name + "' is missing";
        return false;
      }
      (*given)[i] = DefaultValue(arg);
      continue;
    }
    if (IsTooLarge((*given)[i])) {
      *error = schema.name + ": argument '" + arg.name +
               "' has more elements than memory holds";
      return false;
    }
    if (!FitsArg(arg, (*given)[i])) {
      *error = schema.name + ": argument '" + arg.name +
               "' isn't of the kind that the schema asks for";
      return false;
    }
  }
  return true;
}

}  // namespace tenon
