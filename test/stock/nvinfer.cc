// A test double of libnvinfer.so.11 for ExecuTorch's TensorRT delegate: its
// "engine" is a region's block, run by backend cpu over the memory of the host
// CUDA double. Never installed, and nothing that is installed knows it.
//
// The delegate reaches TensorRT by one function; the rest are virtual calls on
// three objects, by slot number. Each object is a facade {vtable, object} whose
// object begins with a table of its own. A slot that isn't provided here ends
// the process with its number. What TensorRT refuses is refused: bindings that
// the engine lacks, ranks and sizes outside of the profile, addresses that
// aren't the device's or aren't aligned, an aliased output elsewhere than its
// input.
//
// Input i is binding "input_i", output j "output_j", the boundary's sizes are
// profile 0, and writes of kind kv_cache_update are what the engine reports as
// aliased.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host_cuda.h"
#include "host_region.h"

namespace {

using tenon::BoundaryTensor;
using tenon::stock::DeviceTensor;
using tenon::stock::HostRegion;

// nvinfer1::Dims
struct Dims {
  int32_t rank = -1;
  int64_t sizes[8] = {};
};
enum class Mode : int32_t { kNone, kInput, kOutput };  // TensorIOMode
enum class Select : int32_t { kMin, kOpt, kMax };      // OptProfileSelector

using Slot = void (*)();

struct Facade {
  Slot* table;
  struct Object* object;
};
// What the delegate holds, and what its calls go to.
struct Object {
  Slot* table = nullptr;
  Facade facade = {};
};

struct Binding {
  std::string name;
  const BoundaryTensor* tensor = nullptr;
  bool is_input = false;
  int alias = -1;  // of outputs: the input, by its place among the bindings
  bool reports_alias = false;
};

struct Engine : Object {
  std::vector<std::byte> block;
  std::vector<Binding> bindings;
  size_t num_inputs = 0;

  int Find(std::string_view name) const {
    for (size_t i = 0; i < bindings.size(); ++i) {
      if (bindings[i].name == name) return static_cast<int>(i);
    }
    std::fprintf(stderr, "TensorRT double: no binding '%s'\n",
                 std::string(name).c_str());
    return -1;
  }
  std::unique_ptr<HostRegion> region;
};

struct Context : Object {
  Engine* engine = nullptr;
  std::vector<Dims> shapes;      // by binding; rank -1: not known
  std::vector<void*> addresses;  // by binding
};

constexpr uintptr_t kAlignment = 256;

bool Complain(const std::string& why) {
  std::fprintf(stderr, "TensorRT double: %s\n", why.c_str());
  return false;
}

template <int kSlot>
void NotProvided() {
  std::fprintf(stderr, "TensorRT double: slot %d isn't provided\n", kSlot);
  std::abort();
}
template <int... kSlots>
void Fill(Slot* table, std::integer_sequence<int, kSlots...>) {
  ((table[kSlots] = &NotProvided<kSlots>), ...);
}
template <typename Function>
void Set(Slot* table, int slot, Function function) {
  table[slot] = reinterpret_cast<Slot>(function);
}

Slot facade_of_runtime[2], facade_of_engine[2], facade_of_context[2];
Slot runtime_table[23], engine_table[51], context_table[53];

template <typename T>
void Destroy(Facade* facade) {
  delete static_cast<T*>(facade->object);
}
template <typename T>
Facade* Finish(std::unique_ptr<T> object, Slot* table, Slot* facade) {
  object->table = table;
  object->facade = {facade, object.get()};
  return &object.release()->facade;
}

Dims DimsOf(const std::vector<int64_t>& sizes) {
  Dims out;
  out.rank = static_cast<int32_t>(sizes.size());
  for (size_t d = 0; d < sizes.size() && d < 8; ++d) out.sizes[d] = sizes[d];
  return out;
}

// --- IRuntime ---

Facade* Deserialize(Object*, const void* blob, size_t bytes) {
  auto engine = std::make_unique<Engine>();
  std::string error;
  engine->region =
      HostRegion::Load({static_cast<const std::byte*>(blob), bytes}, &error);
  if (engine->region == nullptr) {
    Complain(error);
    return nullptr;
  }
  const tenon::RegionBlob& region = engine->region->blob();
  engine->num_inputs = region.inputs.size();
  for (size_t i = 0; i < region.inputs.size(); ++i) {
    engine->bindings.push_back(
        {"input_" + std::to_string(i), &region.inputs[i], true});
  }
  for (size_t j = 0; j < region.outputs.size(); ++j) {
    engine->bindings.push_back(
        {"output_" + std::to_string(j), &region.outputs[j], false});
  }
  for (const tenon::DeclaredWrite& write : region.writes) {
    Binding& output = engine->bindings[engine->num_inputs + write.output];
    output.alias = static_cast<int>(write.input);
    output.reports_alias = write.kind == tenon::WriteKind::kKvCacheUpdate;
  }
  return Finish(std::move(engine), engine_table, facade_of_engine);
}

// --- ICudaEngine ---

Facade* CreateContext(Engine* engine, int32_t) {
  auto context = std::make_unique<Context>();
  context->engine = engine;
  context->shapes.resize(engine->bindings.size());
  context->addresses.resize(engine->bindings.size());
  return Finish(std::move(context), context_table, facade_of_context);
}
Dims EngineShape(Engine* engine, const char* name) {
  const int i = engine->Find(name);
  if (i < 0) return {};
  const BoundaryTensor& tensor = *engine->bindings[i].tensor;
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < tensor.rank(); ++d) {
    sizes.push_back(tensor.min[d] == tensor.max[d] ? tensor.max[d] : -1);
  }
  return DimsOf(sizes);
}
bool IsShapeTensor(Engine*, const char*) { return false; }
Mode ModeOf(Engine* engine, const char* name) {
  const int i = engine->Find(name);
  if (i < 0) return Mode::kNone;
  return engine->bindings[i].is_input ? Mode::kInput : Mode::kOutput;
}
Dims ProfileShape(Engine* engine, const char* name, int32_t profile,
                  Select select) {
  const int i = engine->Find(name);
  if (i < 0 || profile != 0 || !engine->bindings[i].is_input) return {};
  const BoundaryTensor& tensor = *engine->bindings[i].tensor;
  return DimsOf(select == Select::kMin ? tensor.min : tensor.max);
}
int32_t NumBindings(Engine* engine) {
  return static_cast<int32_t>(engine->bindings.size());
}
const char* BindingName(Engine* engine, int32_t i) {
  return engine->bindings[static_cast<size_t>(i)].name.c_str();
}
int64_t StreamableBytes(Engine*) { return 0; }
const char* AliasedInput(Engine* engine, const char* name) {
  const int i = engine->Find(name);
  if (i < 0 || !engine->bindings[i].reports_alias) return nullptr;
  return engine->bindings[engine->bindings[i].alias].name.c_str();
}

// --- IExecutionContext ---

bool SetInputShape(Context* context, const char* name, const Dims& dims) {
  const int i = context->engine->Find(name);
  if (i < 0) return false;
  const Binding& binding = context->engine->bindings[i];
  if (!binding.is_input ||
      dims.rank != static_cast<int32_t>(binding.tensor->rank())) {
    return Complain(binding.name + " is no input of rank " +
                    std::to_string(dims.rank));
  }
  for (int32_t d = 0; d < dims.rank; ++d) {
    if (dims.sizes[d] >= binding.tensor->min[d] &&
        dims.sizes[d] <= binding.tensor->max[d]) {
      continue;
    }
    return Complain(binding.name + " has size " +
                    std::to_string(dims.sizes[d]) + " in dimension " +
                    std::to_string(d) + ", outside of profile 0");
  }
  context->shapes[i] = dims;
  return true;
}
Dims ContextShape(Context* context, const char* name) {
  const int i = context->engine->Find(name);
  return i < 0 ? Dims() : context->shapes[i];
}
bool SetAddress(Context* context, const char* name, void* address) {
  const int i = context->engine->Find(name);
  if (i < 0) return false;
  if (reinterpret_cast<uintptr_t>(address) % kAlignment != 0) {
    return Complain("the address of " + std::string(name) +
                    " isn't a multiple of 256");
  }
  if (tenon_host_cuda_bytes(address, 1) == nullptr) {
    return Complain("the address of " + std::string(name) +
                    " isn't the device's");
  }
  context->addresses[i] = address;
  return true;
}

std::vector<int64_t> SizesOf(const Dims& dims) {
  return {dims.sizes, dims.sizes + dims.rank};
}

// How many inputs have no shape yet. Outputs get theirs.
int32_t InferShapes(Context* context, int32_t max_missing,
                    const char** missing) {
  const Engine& engine = *context->engine;
  int32_t count = 0;
  std::vector<std::vector<int64_t>> sizes;
  for (size_t i = 0; i < engine.num_inputs; ++i) {
    Dims& shape = context->shapes[i];
    const BoundaryTensor& tensor = *engine.bindings[i].tensor;
    if (shape.rank < 0 && tensor.min == tensor.max) shape = DimsOf(tensor.max);
    if (shape.rank < 0) {
      if (count < max_missing) missing[count] = engine.bindings[i].name.c_str();
      ++count;
      continue;
    }
    sizes.push_back(SizesOf(shape));
  }
  if (count > 0) return count;
  std::vector<std::vector<int64_t>> results;
  std::string error;
  if (!engine.region->InferSizes(sizes, &results, &error)) {
    Complain(error);
    return -1;
  }
  for (size_t j = 0; j < results.size(); ++j) {
    context->shapes[engine.num_inputs + j] = DimsOf(results[j]);
  }
  return 0;
}

bool Enqueue(Context* context, void*) {
  Engine& engine = *context->engine;
  std::vector<DeviceTensor> inputs, outputs;
  for (size_t i = 0; i < engine.bindings.size(); ++i) {
    const Binding& binding = engine.bindings[i];
    void* const address = context->addresses[i];
    if (address == nullptr || context->shapes[i].rank < 0) {
      return Complain(binding.name + " has no address or no shape");
    }
    if (binding.reports_alias && address != context->addresses[binding.alias]) {
      return Complain(binding.name + " isn't bound where its input is");
    }
    (binding.is_input ? inputs : outputs)
        .push_back({address, SizesOf(context->shapes[i])});
  }
  std::string error;
  if (!engine.region->Run(inputs, &outputs, &error)) return Complain(error);
  return true;
}

bool FillTables() {
  Fill(facade_of_runtime, std::make_integer_sequence<int, 2>{});
  Fill(facade_of_engine, std::make_integer_sequence<int, 2>{});
  Fill(facade_of_context, std::make_integer_sequence<int, 2>{});
  Fill(runtime_table, std::make_integer_sequence<int, 23>{});
  Fill(engine_table, std::make_integer_sequence<int, 51>{});
  Fill(context_table, std::make_integer_sequence<int, 53>{});
  Set(facade_of_runtime, 1, Destroy<Object>);
  Set(facade_of_engine, 1, Destroy<Engine>);
  Set(facade_of_context, 1, Destroy<Context>);
  Set(runtime_table, 3, Deserialize);
  Set(engine_table, 5, CreateContext);
  Set(engine_table, 15, EngineShape);
  Set(engine_table, 18, IsShapeTensor);
  Set(engine_table, 19, ModeOf);
  Set(engine_table, 25, ProfileShape);
  Set(engine_table, 26, NumBindings);
  Set(engine_table, 27, BindingName);
  Set(engine_table, 38, StreamableBytes);
  Set(engine_table, 50, AliasedInput);
  Set(context_table, 20, SetInputShape);
  Set(context_table, 21, ContextShape);
  Set(context_table, 23, SetAddress);
  Set(context_table, 27, InferShapes);
  Set(context_table, 36, Enqueue);
  return true;
}
const bool are_tables_filled = FillTables();

}  // namespace

extern "C" __attribute__((visibility("default"))) void*
createInferRuntime_INTERNAL(void*, int32_t) {
  return Finish(std::make_unique<Object>(), runtime_table, facade_of_runtime);
}
