// The C interface, over the C++ one. No exception leaves it.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/model.h"
#include "tenon/runner.h"
#include "tenon/tenon.h"

struct tenon_errors {
  tenon::Errors all;
  std::string text;
};

struct tenon_names {
  std::vector<std::string> all;
};

struct tenon_model {
  explicit tenon_model(tenon::Model m)
      : model(std::move(m)),
        signature(model.signature()),
        returns(model.returns()),
        digest(model.digest()),
        inputs(model.inputs()),
        outputs(model.outputs()) {}

  tenon::Model model;
  std::string signature, returns, digest;
  std::vector<tenon::ModelLeaf> inputs, outputs;
};

struct tenon_runner {
  explicit tenon_runner(tenon::Runner r) : runner(std::move(r)) {}

  tenon::Runner runner;
  std::map<size_t, tenon::TensorView> buffers;  // by output
  std::vector<tenon::CallValue> results;
};

namespace {

using tenon::CallValue;
using tenon::Errors;
using tenon::Result;

// When there is no memory for saying that there is no memory.
tenon_errors* OutOfMemory() {
  static auto* errors = [] {
    auto* made = new tenon_errors;
    made->all.push_back({"T-IO", "", "out of memory"});
    made->text = "out of memory [T-IO]\n";
    return made;
  }();
  return errors;
}

// Made while there is memory.
const tenon_errors* const kOutOfMemory = OutOfMemory();

tenon_status Fail(Errors found, tenon_errors** errors) {
  if (errors == nullptr) return TENON_FAILED;
  auto made = std::make_unique<tenon_errors>();
  for (const tenon::Error& e : found) {
    if (!e.place.empty()) made->text += e.place + ": ";
    made->text += e.message + " [" + e.rule + "]\n";
  }
  made->all = std::move(found);
  *errors = made.release();
  return TENON_FAILED;
}

tenon_status FailUsage(std::string message, tenon_errors** errors) {
  return Fail({{"T-USAGE", "", std::move(message)}}, errors);
}

template <typename Work>
tenon_status Guarded(tenon_errors** errors, Work&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    if (errors != nullptr) *errors = OutOfMemory();
    return TENON_FAILED;
  }
}

// --- DLPack ---

struct DTypeCode {
  std::string_view name;
  uint8_t code, bits;
};

constexpr DTypeCode kDTypeCodes[] = {
    {"uint8", kDLUInt, 8},           {"int8", kDLInt, 8},
    {"int16", kDLInt, 16},           {"int32", kDLInt, 32},
    {"int64", kDLInt, 64},           {"uint16", kDLUInt, 16},
    {"uint32", kDLUInt, 32},         {"uint64", kDLUInt, 64},
    {"float16", kDLFloat, 16},       {"float32", kDLFloat, 32},
    {"float64", kDLFloat, 64},       {"bfloat16", kDLBfloat, 16},
    {"complex32", kDLComplex, 32},   {"complex64", kDLComplex, 64},
    {"complex128", kDLComplex, 128}, {"bool", kDLBool, 8},
};

DLDataType CodeOf(std::string_view dtype) {
  for (const DTypeCode& c : kDTypeCodes) {
    if (c.name == dtype) return {c.code, c.bits, 1};
  }
  return {0, 0, 0};
}

Result<tenon::TensorView> ViewOf(const DLTensor& tensor) {
  const auto fail = [](const char* message) {
    return Errors{{"S-5", "", message}};
  };
  if (tensor.device.device_type != kDLCPU) {
    return fail("the tensor isn't in the CPU's memory");
  }
  tenon::TensorView view;
  for (const DTypeCode& c : kDTypeCodes) {
    if (c.code == tensor.dtype.code && c.bits == tensor.dtype.bits &&
        tensor.dtype.lanes == 1) {
      view.dtype = c.name;
    }
  }
  if (view.dtype.empty()) return fail("DLPack's dtype isn't one of PyTorch's");
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    return fail("the tensor has no shape");
  }
  const auto rank = static_cast<size_t>(tensor.ndim);
  if (rank > 0) view.sizes.assign(tensor.shape, tensor.shape + rank);
  if (rank > 0 && tensor.strides != nullptr) {
    view.strides.assign(tensor.strides, tensor.strides + rank);
  }
  if (tensor.data != nullptr) {
    view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  }
  return view;
}

// An input that belongs to the runner, once it was set.
struct Taken {
  Taken() = default;
  ~Taken() {
    if (tensor != nullptr && tensor->deleter != nullptr) {
      tensor->deleter(tensor);
    }
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  DLManagedTensor* tensor = nullptr;
};

// A result on its way out.
struct Exported {
  DLManagedTensor managed;
  tenon::OwnedTensor tensor;
};

void DeleteExported(DLManagedTensor* self) {
  delete static_cast<Exported*>(self->manager_ctx);
}

tenon_kind KindOf(tenon::LeafKind kind) {
  switch (kind) {
    case tenon::LeafKind::kTensor:
      return TENON_TENSOR;
    case tenon::LeafKind::kInt:
      return TENON_INT;
    case tenon::LeafKind::kFloat:
      return TENON_FLOAT;
    case tenon::LeafKind::kBool:
      return TENON_BOOL;
    case tenon::LeafKind::kString:
      return TENON_STRING;
    case tenon::LeafKind::kNone:
      return TENON_NONE;
    case tenon::LeafKind::kObject:
      return TENON_OBJECT;
  }
  return TENON_OBJECT;
}

tenon_status Describe(const std::vector<tenon::ModelLeaf>& leaves, size_t i,
                      tenon_leaf* out, size_t leaf_bytes) {
  if (i >= leaves.size()) return TENON_FAILED;
  const tenon::ModelLeaf& leaf = leaves[i];
  tenon_leaf made = {};
  made.path = leaf.path.c_str();
  made.type = leaf.type.c_str();
  made.kind = KindOf(leaf.kind);
  made.is_fixed = leaf.is_fixed ? 1 : 0;
  made.dtype = leaf.dtype.c_str();
  made.dl_dtype = CodeOf(leaf.dtype);
  made.ndim = static_cast<int32_t>(leaf.sizes.size());
  made.sizes = leaf.sizes.data();
  std::memcpy(out, &made, std::min(leaf_bytes, sizeof made));
  return TENON_OK;
}

tenon_status Names(Result<std::vector<std::string>> names, tenon_names** out,
                   tenon_errors** errors) {
  if (!names) return Fail(names.errors(), errors);
  auto made = std::make_unique<tenon_names>();
  made->all = std::move(*names);
  *out = made.release();
  return TENON_OK;
}

tenon_status MakeModel(Result<tenon::Model> model, tenon_model** out,
                       tenon_errors** errors) {
  if (!model) return Fail(model.errors(), errors);
  *out = new tenon_model(std::move(*model));
  return TENON_OK;
}

tenon_status SetInput(tenon_runner* runner, const char* address,
                      CallValue value, tenon_errors** errors) {
  if (address == nullptr) return FailUsage("no address is given", errors);
  const Result<bool> done = runner->runner.Set(address, std::move(value));
  return done ? TENON_OK : Fail(done.errors(), errors);
}

const CallValue* ResultOf(const tenon_runner* runner, size_t i) {
  return i < runner->results.size() ? &runner->results[i] : nullptr;
}

}  // namespace

extern "C" {

const char* tenon_version(void) { return TENON_VERSION; }
int32_t tenon_c_api_version(void) { return TENON_C_API_VERSION; }

size_t tenon_errors_count(const tenon_errors* errors) {
  return errors == nullptr ? 0 : errors->all.size();
}
const char* tenon_errors_rule(const tenon_errors* errors, size_t i) {
  return i < tenon_errors_count(errors) ? errors->all[i].rule.c_str() : "";
}
const char* tenon_errors_place(const tenon_errors* errors, size_t i) {
  return i < tenon_errors_count(errors) ? errors->all[i].place.c_str() : "";
}
const char* tenon_errors_message(const tenon_errors* errors, size_t i) {
  return i < tenon_errors_count(errors) ? errors->all[i].message.c_str() : "";
}
const char* tenon_errors_text(const tenon_errors* errors) {
  return errors == nullptr ? "" : errors->text.c_str();
}
void tenon_errors_free(tenon_errors* errors) {
  if (errors != kOutOfMemory) delete errors;
}

size_t tenon_names_count(const tenon_names* names) {
  return names == nullptr ? 0 : names->all.size();
}
const char* tenon_names_get(const tenon_names* names, size_t i) {
  return i < tenon_names_count(names) ? names->all[i].c_str() : "";
}
void tenon_names_free(tenon_names* names) { delete names; }

tenon_status tenon_methods(const char* path, tenon_names** out,
                           tenon_errors** errors) {
  *out = nullptr;
  return Guarded(errors, [&] {
    if (path == nullptr) return FailUsage("no path is given", errors);
    return Names(tenon::Model::Methods(path), out, errors);
  });
}

tenon_status tenon_backends(tenon_names** out, tenon_errors** errors) {
  *out = nullptr;
  return Guarded(errors,
                 [&] { return Names(tenon::BackendNames(), out, errors); });
}

tenon_status tenon_model_open(const char* path, const char* method,
                              tenon_model** out, tenon_errors** errors) {
  *out = nullptr;
  return Guarded(errors, [&] {
    if (path == nullptr) return FailUsage("no path is given", errors);
    return MakeModel(tenon::Model::Open(path, method == nullptr ? "" : method),
                     out, errors);
  });
}

void tenon_model_free(tenon_model* model) { delete model; }

const char* tenon_model_signature(const tenon_model* model) {
  return model->signature.c_str();
}
const char* tenon_model_returns(const tenon_model* model) {
  return model->returns.c_str();
}
const char* tenon_model_digest(const tenon_model* model) {
  return model->digest.c_str();
}

size_t tenon_model_num_inputs(const tenon_model* model) {
  return model->inputs.size();
}
size_t tenon_model_num_outputs(const tenon_model* model) {
  return model->outputs.size();
}
tenon_status tenon_model_input(const tenon_model* model, size_t i,
                               tenon_leaf* out, size_t leaf_bytes) {
  return Describe(model->inputs, i, out, leaf_bytes);
}
tenon_status tenon_model_output(const tenon_model* model, size_t i,
                                tenon_leaf* out, size_t leaf_bytes) {
  return Describe(model->outputs, i, out, leaf_bytes);
}

tenon_status tenon_model_export(const tenon_model* model,
                                const char* const* backends,
                                size_t num_backends, tenon_model** out,
                                tenon_errors** errors) {
  *out = nullptr;
  return Guarded(errors, [&] {
    const std::vector<std::string> names(backends, backends + num_backends);
    return MakeModel(model->model.Export(names), out, errors);
  });
}

tenon_status tenon_model_save(const tenon_model* model, const char* path,
                              tenon_errors** errors) {
  return Guarded(errors, [&] {
    if (path == nullptr) return FailUsage("no path is given", errors);
    const Result<bool> saved = model->model.Save(path);
    return saved ? TENON_OK : Fail(saved.errors(), errors);
  });
}

tenon_status tenon_runner_load(const tenon_model* model, int32_t num_threads,
                               tenon_runner** out, tenon_errors** errors) {
  *out = nullptr;
  return Guarded(errors, [&] {
    tenon::RunnerOptions options;
    options.num_threads = num_threads;
    auto runner = tenon::Runner::Load(model->model, options);
    if (!runner) return Fail(runner.errors(), errors);
    *out = new tenon_runner(std::move(*runner));
    return TENON_OK;
  });
}

void tenon_runner_free(tenon_runner* runner) { delete runner; }

tenon_status tenon_runner_set(tenon_runner* runner, const char* address,
                              DLManagedTensor* tensor, tenon_errors** errors) {
  return Guarded(errors, [&] {
    auto view = ViewOf(tensor->dl_tensor);
    if (!view) return Fail(view.errors(), errors);
    const auto taken = std::make_shared<Taken>();
    const tenon_status status = SetInput(
        runner, address, tenon::OwnedTensor{std::move(*view), taken}, errors);
    // Until it is set, it is the caller's.
    if (status == TENON_OK) taken->tensor = tensor;
    return status;
  });
}

tenon_status tenon_runner_set_view(tenon_runner* runner, const char* address,
                                   const DLTensor* tensor,
                                   tenon_errors** errors) {
  return Guarded(errors, [&] {
    auto view = ViewOf(*tensor);
    if (!view) return Fail(view.errors(), errors);
    return SetInput(runner, address, std::move(*view), errors);
  });
}

tenon_status tenon_runner_set_int(tenon_runner* runner, const char* address,
                                  int64_t value, tenon_errors** errors) {
  return Guarded(errors,
                 [&] { return SetInput(runner, address, value, errors); });
}

tenon_status tenon_runner_set_float(tenon_runner* runner, const char* address,
                                    double value, tenon_errors** errors) {
  return Guarded(errors,
                 [&] { return SetInput(runner, address, value, errors); });
}

tenon_status tenon_runner_set_bool(tenon_runner* runner, const char* address,
                                   int32_t value, tenon_errors** errors) {
  return Guarded(errors,
                 [&] { return SetInput(runner, address, value != 0, errors); });
}

tenon_status tenon_runner_set_string(tenon_runner* runner, const char* address,
                                     const char* value, tenon_errors** errors) {
  return Guarded(errors, [&] {
    if (value == nullptr) return FailUsage("no text is given", errors);
    return SetInput(runner, address, value, errors);
  });
}

tenon_status tenon_runner_set_none(tenon_runner* runner, const char* address,
                                   tenon_errors** errors) {
  return Guarded(
      errors, [&] { return SetInput(runner, address, CallValue(), errors); });
}

void tenon_runner_clear_inputs(tenon_runner* runner) {
  runner->runner.ClearInputs();
}

tenon_status tenon_runner_set_output(tenon_runner* runner, size_t output,
                                     const DLTensor* buffer,
                                     tenon_errors** errors) {
  return Guarded(errors, [&] {
    if (buffer == nullptr) {
      runner->buffers.erase(output);
      return TENON_OK;
    }
    auto view = ViewOf(*buffer);
    if (!view) return Fail(view.errors(), errors);
    runner->buffers[output] = std::move(*view);
    return TENON_OK;
  });
}

tenon_status tenon_runner_run(tenon_runner* runner, tenon_errors** errors) {
  return Guarded(errors, [&] {
    auto results = runner->runner.Run(
        {}, {runner->buffers.begin(), runner->buffers.end()});
    if (!results) return Fail(results.errors(), errors);
    runner->results = std::move(*results);
    return TENON_OK;
  });
}

size_t tenon_runner_num_results(const tenon_runner* runner) {
  return runner->results.size();
}

tenon_kind tenon_runner_result_kind(const tenon_runner* runner, size_t i) {
  const CallValue* v = ResultOf(runner, i);
  if (v == nullptr || v->is_none()) return TENON_NONE;
  if (v->is_tensor()) return TENON_TENSOR;
  if (v->is_int()) return TENON_INT;
  if (v->is_float()) return TENON_FLOAT;
  return v->is_bool() ? TENON_BOOL : TENON_STRING;
}

tenon_status tenon_runner_result(const tenon_runner* runner, size_t i,
                                 DLManagedTensor** out, tenon_errors** errors) {
  *out = nullptr;
  return Guarded(errors, [&] {
    const CallValue* v = ResultOf(runner, i);
    if (v == nullptr || !v->is_tensor()) {
      return FailUsage("result " + std::to_string(i) + " is no tensor", errors);
    }
    auto made = std::make_unique<Exported>();
    made->tensor = v->owned_tensor();
    tenon::TensorView& view = made->tensor.view;
    DLTensor& tensor = made->managed.dl_tensor;
    tensor = {};
    tensor.data = view.data;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(view.sizes.size());
    tensor.dtype = CodeOf(view.dtype);
    tensor.shape = view.sizes.data();
    tensor.strides = view.strides.data();
    if (tensor.dtype.bits == 0) {
      return Fail(
          {{"T-UNSUPPORTED", "", "DLPack has no code for " + view.dtype}},
          errors);
    }
    made->managed.manager_ctx = made.get();
    made->managed.deleter = DeleteExported;
    *out = &made.release()->managed;
    return TENON_OK;
  });
}

int64_t tenon_runner_result_int(const tenon_runner* runner, size_t i) {
  const CallValue* v = ResultOf(runner, i);
  return v != nullptr && v->is_int() ? v->int_value() : 0;
}
double tenon_runner_result_float(const tenon_runner* runner, size_t i) {
  const CallValue* v = ResultOf(runner, i);
  return v != nullptr && v->is_float() ? v->float_value() : 0;
}
int32_t tenon_runner_result_bool(const tenon_runner* runner, size_t i) {
  const CallValue* v = ResultOf(runner, i);
  return v != nullptr && v->is_bool() && v->bool_value() ? 1 : 0;
}
const char* tenon_runner_result_string(const tenon_runner* runner, size_t i) {
  const CallValue* v = ResultOf(runner, i);
  return v != nullptr && v->is_string() ? v->string().c_str() : "";
}

void tenon_runner_reset_state(tenon_runner* runner) {
  runner->runner.ResetState();
}

}  // extern "C"
