// "TenonBackend": Tenon's regions inside of an unmodified ExecuTorch runtime.
//
// Loading this library registers the backend; the host needs nothing else. A
// payload is text and is parsed once, constants are data that the .pte names
// and stay where the host has them. A region's arguments are the tensors and
// numbers of the call, its results are copied to the output tensors, but for
// state that the region changes where it lies.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/log.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon_delegate/tenon_delegate.h"

namespace {

namespace et = executorch::runtime;

// ExecuTorch numbers dtypes as PyTorch does.
std::optional<tenon::DType> ToDType(executorch::aten::ScalarType type) {
  using executorch::aten::ScalarType;
  switch (type) {
    case ScalarType::Byte:
      return tenon::DType::kUInt8;
    case ScalarType::Char:
      return tenon::DType::kInt8;
    case ScalarType::Short:
      return tenon::DType::kInt16;
    case ScalarType::Int:
      return tenon::DType::kInt32;
    case ScalarType::Long:
      return tenon::DType::kInt64;
    case ScalarType::Half:
      return tenon::DType::kFloat16;
    case ScalarType::Float:
      return tenon::DType::kFloat32;
    case ScalarType::Double:
      return tenon::DType::kFloat64;
    case ScalarType::Bool:
      return tenon::DType::kBool;
    case ScalarType::BFloat16:
      return tenon::DType::kBFloat16;
    default:
      return std::nullopt;
  }
}

struct Handle {
  tenon::LoadedDelegate delegate;
  std::vector<tenon::RuntimeValue> inputs;
};

void LogErrors(const tenon::Diagnostics& diags) {
  ET_LOG(Error, "%s", diags.ToString().c_str());
}

// A view of the host's memory.
std::optional<tenon::Tensor> Borrow(const executorch::aten::Tensor& tensor) {
  const auto dtype = ToDType(tensor.scalar_type());
  if (!dtype) return std::nullopt;
  tenon::Sizes sizes(tensor.sizes().begin(), tensor.sizes().end());
  tenon::Sizes strides(tensor.strides().begin(), tensor.strides().end());
  void* const data = const_cast<void*>(tensor.const_data_ptr());
  return tenon::Tensor(tenon::Storage::Borrow(data, tensor.nbytes(), nullptr),
                       *dtype, std::move(sizes), std::move(strides), 0);
}

et::Error Store(const tenon::Tensor& from, executorch::aten::Tensor to) {
  if (ToDType(to.scalar_type()) != from.dtype() ||
      static_cast<int64_t>(to.dim()) != from.dim()) {
    ET_LOG(Error, "TenonBackend: an output is %s, which doesn't fit",
           from.ToString().c_str());
    return et::Error::InvalidArgument;
  }
  std::vector<executorch::aten::SizesType> sizes(from.sizes().begin(),
                                                 from.sizes().end());
  const et::Error resized = et::resize_tensor(to, {sizes.data(), sizes.size()});
  if (resized != et::Error::Ok) return resized;
  auto target = Borrow(to);
  if (!target) return et::Error::InvalidType;
  // A result in an argument's place: the host passes that argument as output.
  const bool is_there = target->raw() == from.raw();
  if (from.is_contiguous() && target->is_contiguous()) {
    if (!is_there) std::memcpy(target->mutable_raw(), from.raw(), to.nbytes());
  } else {
    target->CopyFrom(from);
  }
  return et::Error::Ok;
}

class TenonBackend final : public et::BackendInterface {
 public:
  bool is_available() const override { return true; }

  et::Result<et::DelegateHandle*> init(
      et::BackendInitContext& context, et::FreeableBuffer* processed,
      et::ArrayRef<et::CompileSpec>) const override {
    const auto* named = context.get_named_data_map();
    tenon::Diagnostics diags;
    const auto find = [&](const std::string& key)
        -> tenon::Expected<
            std::pair<tenon::Bytes, std::shared_ptr<const void>>> {
      const auto missing = [&] {
        return diags.Error(tenon::Rule::kFile04)
               << "the file names no data '" << key << "'";
      };
      if (named == nullptr) return missing();
      auto found = named->get_data(key.c_str());
      if (!found.ok()) return missing();
      const auto buffer =
          std::make_shared<et::FreeableBuffer>(std::move(found.get()));
      const tenon::Bytes bytes(static_cast<const std::byte*>(buffer->data()),
                               buffer->size());
      return std::make_pair(bytes, std::shared_ptr<const void>(buffer));
    };
    auto handle = std::make_unique<Handle>();
    auto region = tenon::LoadTenonDelegate(
        {static_cast<const std::byte*>(processed->data()), processed->size()},
        find, tenon::BackendOptions(), diags);
    if (!region) {
      LogErrors(diags);
      return et::Error::DelegateInvalidCompatibility;
    }
    handle->delegate = std::move(*region);
    processed->Free();
    return handle.release();
  }

  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle* opaque,
                    et::Span<et::EValue*> args) const override {
    auto* handle = static_cast<Handle*>(opaque);
    handle->inputs.clear();
    // Inputs, then outputs.
    tenon::Diagnostics diags;
    const size_t num_outputs = handle->delegate.num_outputs;
    if (args.size() < num_outputs) return et::Error::InvalidArgument;
    const size_t num_inputs = args.size() - num_outputs;
    for (size_t i = 0; i < num_inputs; ++i) {
      const et::EValue& value = *args[i];
      if (value.isTensor()) {
        auto tensor = Borrow(value.toTensor());
        if (!tensor) return et::Error::InvalidType;
        handle->inputs.emplace_back(std::move(*tensor));
      } else if (value.isInt()) {
        handle->inputs.emplace_back(value.toInt());
      } else if (value.isDouble()) {
        handle->inputs.emplace_back(value.toDouble());
      } else if (value.isBool()) {
        handle->inputs.emplace_back(value.toBool());
      } else {
        return et::Error::InvalidType;
      }
    }
    auto outputs = handle->delegate.region->Run(handle->inputs, diags);
    handle->inputs.clear();
    if (!outputs || outputs->size() != num_outputs) {
      LogErrors(diags);
      return et::Error::InvalidArgument;
    }
    for (size_t i = 0; i < num_outputs; ++i) {
      et::EValue& value = *args[num_inputs + i];
      if (!value.isTensor() || !(*outputs)[i].is_tensor()) {
        return et::Error::InvalidType;
      }
      const et::Error stored = Store((*outputs)[i].tensor(), value.toTensor());
      if (stored != et::Error::Ok) return stored;
    }
    return et::Error::Ok;
  }

  void destroy(et::DelegateHandle* opaque) const override {
    delete static_cast<Handle*>(opaque);
  }
};

TenonBackend backend;
const et::Error registered = et::register_backend({"TenonBackend", &backend});

}  // namespace
