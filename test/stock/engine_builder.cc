// Builds "engines" for the double of TensorRT: what `tenon export
// --engine-builder` runs in tests. Never installed.
//
//   engine_builder REQUEST ENGINE
//
// The plan is the request's block itself, which does all writes that the
// request allows; the container says so. Environment variables make engines
// that must be refused, or must give other results:
//   TENON_STOCK_ENGINE = plain          a plan without a container
//                      = swapped_names  bindings in another order
//                      = wrong_alias    output 0 aliases input 0
//                      = kind_user, kind_cache   of all aliases
//                      = silent_alias   an engine that doesn't report them
//                      = arity          one output more
//                      = narrow_profile sizes up to one less
//                      = none           no engine at all
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensorrt/engine_container.h"
#include "region_blob/region_blob.h"

namespace {

using namespace tenon;  // NOLINT: a small program of its own

std::string_view Variant() {
  const char* const variant = std::getenv("TENON_STOCK_ENGINE");
  return variant == nullptr ? "" : variant;
}

std::vector<std::byte> ReadFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)),
                         std::istreambuf_iterator<char>());
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

EngineBinding BindingOf(const std::string& name, const BoundaryTensor& tensor) {
  EngineBinding out;
  out.name = name;
  out.dtype = Name(tensor.dtype);
  for (size_t d = 0; d < tensor.rank(); ++d) {
    out.shape.push_back(tensor.min[d] == tensor.max[d] ? tensor.max[d] : -1);
  }
  return out;
}

EngineContainer Describe(const RegionBlob& blob) {
  EngineContainer out;
  for (size_t i = 0; i < blob.inputs.size(); ++i) {
    out.inputs.push_back(BindingOf(InputBindingName(i), blob.inputs[i]));
  }
  for (size_t j = 0; j < blob.outputs.size(); ++j) {
    out.outputs.push_back(BindingOf(OutputBindingName(j), blob.outputs[j]));
  }
  for (const DeclaredWrite& write : blob.writes) {
    out.aliases.push_back({OutputBindingName(write.output),
                           InputBindingName(write.input), write.kind});
  }
  out.target_platform = "linux_x86_64";
  return out;
}

// Changes what the container says, not the engine.
void Misdescribe(std::string_view variant, EngineContainer* c) {
  if (variant == "swapped_names") std::swap(c->inputs[0], c->inputs[1]);
  if (variant == "wrong_alias") {
    c->aliases = {
        {OutputBindingName(0), InputBindingName(0), WriteKind::kUser}};
  }
  for (EngineAlias& alias : c->aliases) {
    if (variant == "kind_user") alias.kind = WriteKind::kUser;
    if (variant == "kind_cache") alias.kind = WriteKind::kKvCacheUpdate;
  }
  if (variant == "arity") {
    c->outputs.push_back(c->outputs[0]);
    c->outputs.back().name = OutputBindingName(c->outputs.size() - 1);
  }
}

Expected<std::vector<std::byte>> Build(Bytes request, Diagnostics& diags) {
  TENON_ASSIGN(RegionBlob blob, ReadRegionBlob(request, diags));
  const std::string_view variant = Variant();
  EngineContainer container = Describe(blob);
  Misdescribe(variant, &container);
  if (variant == "narrow_profile") {
    for (BoundaryTensor& input : blob.inputs) {
      for (int64_t& max : input.max) max -= max > 1 ? 1 : 0;
      input.min.assign(input.min.size(), 1);
    }
    blob.writes.clear();
  }
  if (variant == "silent_alias") {
    for (DeclaredWrite& write : blob.writes) write.kind = WriteKind::kUser;
  }
  if (variant == "plain") blob.writes.clear();
  const std::vector<std::byte> plan = WriteRegionBlob(blob);
  if (variant == "plain") return plan;
  container.engine = plan;
  return WriteEngineContainer(container, Place::File("engine"), diags);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || Variant() == "none") {
    std::fprintf(stderr, "usage: engine_builder REQUEST ENGINE\n");
    return 1;
  }
  const std::vector<std::byte> request = ReadFile(argv[1]);
  Diagnostics diags;
  const auto engine = Build(request, diags);
  if (!engine) {
    std::fprintf(stderr, "%s\n", diags.ToString().c_str());
    return 1;
  }
  std::ofstream out(argv[2], std::ios::binary);
  out.write(reinterpret_cast<const char*>(engine->data()),
            static_cast<std::streamsize>(engine->size()));
  return out.good() ? 0 : 1;
}
