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
constexpr std::string_view kLayoutA = "test/data/pt2/counter@2.6.pt2";
constexpr std::string_view kLayoutB = "test/data/pt2/counter@2.8.pt2";
constexpr std::string_view kLayoutC = "test/data/pt2/kwargs_order.pt2";
constexpr std::string_view kDeflated = "test/fuzz/corpus/zip/kwargs_order";
// The graph, and the tensors beside it.
constexpr std::string_view kHybrid = "test/data/hybrid/write_counter.json";
constexpr std::string_view kHybridStem = "test/data/hybrid/write_counter";

Errors Open(std::string_view path) {
  return Model::Open(std::string(path)).errors();
}

Errors ExportTo(const std::string& path,
                const std::vector<std::string>& backends) {
  const auto model = Model::Open(std::string(kLayoutC));
  if (!model) return model.errors();
  const auto hybrid = model->Export(backends);
  return hybrid ? hybrid->Save(path).errors() : hybrid.errors();
}

Errors Load() {
  const auto model = Model::Open("test/data/pt2/counter.pt2");
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

Errors Join(const std::string& path) {
  return Below([&](Diagnostics& diags) {
    auto program = ReadHybrid(std::string(kHybrid), std::make_shared<Context>(),
                              HybridReadOptions(), diags);
    return program && JoinProgram(&*program, JoinProgramOptions(), diags) &&
           WriteProved(*program, path, Pt2WriteOptions(), diags);
  });
}

Errors PrintAndParse() {
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

Errors WriteTensors(const std::string& path) {
  return Below([&](Diagnostics& diags) {
    Safetensors tensors;
    tensors.tensors.push_back({"w", Tensor::Zeros(DType::kFloat32, {2, 2})});
    return WriteSafetensors(path, tensors, diags).ok();
  });
}

Errors WriteArray(const std::string& path) {
  return Below([&](Diagnostics& diags) {
    return WriteNpy(path, Tensor::Zeros(DType::kFloat32, {300, 300}), diags)
        .ok();
  });
}

Errors WriteSide(const std::string& path) {
  return Below([&](Diagnostics& diags) {
    const std::string payload(300'000, 'p');
    const Digest digest = HashBytes(payload.data(), payload.size());
    return WriteSideFile(path, {{digest, AsBytes(payload)}}, diags).ok();
  });
}

constexpr Scene kScenes[] = {
    {"open_A", kLayoutA, "", [](const std::string&) { return Open(kLayoutA); }},
    {"open_B", kLayoutB, "", [](const std::string&) { return Open(kLayoutB); }},
    {"open_C", kLayoutC, "", [](const std::string&) { return Open(kLayoutC); }},
    {"open_deflated", kDeflated, "",
     [](const std::string&) { return Open(kDeflated); }},
    {"load", "test/data/pt2/counter.pt2", "",
     [](const std::string&) { return Load(); }},
    {"export_none", kLayoutC, "out.pt2",
     [](const std::string& f) { return ExportTo(f + "/out.pt2", {}); }},
    {"export_echo", kLayoutC, "out.pt2",
     [](const std::string& f) { return ExportTo(f + "/out.pt2", {"echo"}); }},
    {"join", kHybridStem, "out.pt2",
     [](const std::string& f) { return Join(f + "/out.pt2"); }},
    {"text", "", "", [](const std::string&) { return PrintAndParse(); }},
    {"safetensors", "", "out.safetensors",
     [](const std::string& f) { return WriteTensors(f + "/out.safetensors"); }},
    {"npy", "", "out.npy",
     [](const std::string& f) { return WriteArray(f + "/out.npy"); }},
    {"side_file", "", "out.bin",
     [](const std::string& f) { return WriteSide(f + "/out.bin"); }},
};

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteOldContent(const Scene& scene, const std::string& folder) {
  if (scene.writes.empty()) return;
  std::ofstream(folder + "/" + std::string(scene.writes)) << kOldContent;
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

Traces Observe(const Scene& scene, const std::string& folder) {
  Traces out;
  out.num_descriptors = CountDescriptors();
  out.num_mappings = CountMappings(folder);
  for (const auto& entry : fs::directory_iterator(folder)) {
    out.files.push_back(entry.path().filename());
  }
  std::sort(out.files.begin(), out.files.end());
  if (!scene.writes.empty()) {
    out.target = ReadFile(folder + "/" + std::string(scene.writes));
  }
  return out;
}

std::string Prepare(const Scene& scene) {
  const std::string folder = ScratchPath(std::string(scene.name));
  fs::remove_all(folder);
  fs::create_directories(folder);
  const Errors errors = scene.run(folder);
  EXPECT_TRUE(errors.empty()) << errors[0].place << ": " << errors[0].message;
  WriteOldContent(scene, folder);
  return folder;
}

}  // namespace tenon::fault
