#include "fault/scenes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "api/errors.h"
#include "export/export.h"
#include "export/join_program.h"
#include "formats/hybrid/hybrid.h"
#include "formats/tensor/npy.h"
#include "scratch.h"
#include "tenon/model.h"
#include "tenon/runner.h"
#include "testing/generator.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon::fault {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOldContent = "what was there before";
constexpr std::string_view kLayoutC = "test/data/pt2/kwargs_order.pt2";
constexpr std::string_view kWithState = "test/data/pt2/counter.pt2";
// The graph, and the tensors beside it.
constexpr std::string_view kHybrid = "test/data/hybrid/write_counter";

Errors Open(const Places& places) {
  return Model::Open(places.source).errors();
}

Errors ExportTo(const Places& places,
                const std::vector<std::string>& backends) {
  const auto model = Model::Open(places.source);
  if (!model) return model.errors();
  const auto hybrid = model->Export(backends);
  return hybrid ? hybrid->Save(places.target).errors() : hybrid.errors();
}

Errors ExportToNone(const Places& places) { return ExportTo(places, {}); }

Errors ExportToEcho(const Places& places) {
  static const std::vector<std::string> echo = {"echo"};
  return ExportTo(places, echo);
}

Errors Load(const Places& places) {
  const auto model = Model::Open(places.source);
  if (!model) return model.errors();
  return Runner::Load(*model).errors();
}

// Work below the public interface, made to end as its calls do.
template <typename Work>
Errors Below(Work&& work) {
  return api::WithinMemory<bool>([&]() -> Result<bool> {
           Diagnostics diags;
           if (work(diags)) return true;
           return api::ErrorsOf(diags);
         })
      .errors();
}

Errors Join(const Places& places) {
  return Below([&](Diagnostics& diags) {
    auto program =
        ReadHybrid(places.source + ".json", std::make_shared<Context>(),
                   HybridReadOptions(), diags);
    return program && JoinProgram(&*program, JoinProgramOptions(), diags) &&
           WriteProved(*program, places.target, Pt2WriteOptions(), diags);
  });
}

Errors PrintAndParse(const Places&) {
  return Below([&](Diagnostics& diags) {
    testing::GeneratorOptions options;
    options.shape = testing::ProgramShape::kRandom;
    options.num_nodes = 5;
    const Program program =
        testing::GenerateProgram(options, std::make_shared<Context>());
    PrintOptions print;
    print.inline_limit_bytes = SIZE_MAX;
    return ParseProgram(PrintProgram(program, print), "text",
                        std::make_shared<Context>(), {}, diags)
        .ok();
  });
}

Errors WriteTensors(const Places& places) {
  return Below([&](Diagnostics& diags) {
    Safetensors tensors;
    tensors.tensors.push_back({"w", Tensor::Zeros(DType::kFloat32, {2, 2})});
    return WriteSafetensors(places.target, tensors, diags).ok();
  });
}

Errors WriteArray(const Places& places) {
  return Below([&](Diagnostics& diags) {
    const Tensor tensor = Tensor::Zeros(DType::kFloat32, {300, 300});
    return WriteNpy(places.target, tensor, diags).ok();
  });
}

Errors WriteSide(const Places& places) {
  return Below([&](Diagnostics& diags) {
    const std::string payload(300'000, 'p');
    const Digest digest = HashBytes(payload.data(), payload.size());
    return WriteSideFile(places.target, {{digest, AsBytes(payload)}}, diags)
        .ok();
  });
}

constexpr Scene kScenes[] = {
    {"open_A", "test/data/pt2/counter@2.6.pt2", "", Open},
    {"open_B", "test/data/pt2/counter@2.8.pt2", "", Open},
    {"open_C", kLayoutC, "", Open},
    {"open_deflated", "test/fuzz/corpus/zip/kwargs_order", "", Open},
    {"load", kWithState, "", Load},
    {"export_none", kLayoutC, "out.pt2", ExportToNone},
    {"export_echo", kLayoutC, "out.pt2", ExportToEcho},
    {"join", kHybrid, "out.pt2", Join},
    {"text", "", "", PrintAndParse},
    {"safetensors", "", "out.safetensors", WriteTensors},
    {"npy", "", "out.npy", WriteArray},
    {"side_file", "", "out.bin", WriteSide},
};

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t CountDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       fs::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

size_t CountMappings(const std::string& folder) {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    const bool is_ours = line.find("test/data/") != std::string::npos ||
                         line.find("test/fuzz/corpus") != std::string::npos ||
                         line.find(folder) != std::string::npos;
    if (is_ours) ++count;
  }
  return count;
}

}  // namespace

std::span<const Scene> AllScenes() { return kScenes; }

const Scene& GetScene(std::string_view name) {
  return *std::find_if(std::begin(kScenes), std::end(kScenes),
                       [&](const Scene& s) { return s.name == name; });
}

Traces Observe(const Places& places) {
  Traces out;
  out.num_descriptors = CountDescriptors();
  out.num_mappings = CountMappings(places.folder);
  for (const auto& entry : fs::directory_iterator(places.folder)) {
    out.files.push_back(entry.path().filename());
  }
  std::sort(out.files.begin(), out.files.end());
  out.target = ReadFile(places.target);
  return out;
}

Places Prepare(const Scene& scene) {
  Places places;
  places.source = scene.reads;
  places.folder = ScratchPath(std::string(scene.name));
  if (!scene.writes.empty()) {
    places.target = places.folder + "/" + std::string(scene.writes);
  }
  fs::remove_all(places.folder);
  fs::create_directories(places.folder);
  const Errors errors = scene.run(places);
  EXPECT_TRUE(errors.empty()) << errors[0].place << ": " << errors[0].message;
  places.result = ReadFile(places.target);
  if (!scene.writes.empty()) std::ofstream(places.target) << kOldContent;
  return places;
}

}  // namespace tenon::fault
