// Programs cut for delegates on a device: which copies a file makes, where
// state lies, what engines are refused. What the stock delegates make of such
// files is test/stock's affair.
#include <gtest/gtest.h>

#include <functional>

#include "../executorch/made.h"
#include "device_delegates/cuda_backend.h"
#include "device_delegates/tensorrt_delegate.h"
#include "formats/tensorrt/engine_container.h"
#include "region_blob/region_blob.h"

namespace tenon {
namespace {

constexpr char kTwoRegions[] = R"(
in_spec ((*,), {})
out_spec *
graph @main(%x : f32[4, 3]) {
  %a : f32[4, 3] = aten.relu.default(%x)
  %b : f32[4, 3] = aten.erf.default(%a)
  %c : f32[4, 3] = aten.relu.default(%b)
  return (%c)
}
)";

constexpr char kCache[] = R"(
storage @0 = 128 bytes zeros
buffer "k" : f32[1, 2, 4, 4] = @0
in_spec ((*, *), {})
out_spec *
graph @main(%k : f32[1, 2, 4, 4] = buffer "k", %x : f32[1, 2, 1, 4],
    %at : i64[1]) {
  %new : f32[1, 2, 4, 4] = aten.index_copy.default(%k, 2, %at, %x)
  %y : f32[1, 2, 4, 4] = aten.mul.Tensor(%new, 2)
  return (%new as buffer_mutation "k", %y)
}
)";

// A container around the request, as a builder makes one that does all writes.
Expected<std::vector<std::byte>> Echo(const EngineRequest& request,
                                      Diagnostics& diags) {
  TENON_ASSIGN(const RegionBlob blob, ReadRegionBlob(request.block, diags));
  EngineContainer c;
  for (size_t i = 0; i < blob.inputs.size(); ++i) {
    c.inputs.push_back({InputBindingName(i), "", {}});
  }
  for (size_t j = 0; j < blob.outputs.size(); ++j) {
    c.outputs.push_back({OutputBindingName(j), "", {}});
  }
  for (const DeclaredWrite& w : blob.writes) {
    c.aliases.push_back(
        {OutputBindingName(w.output), InputBindingName(w.input), w.kind});
  }
  c.engine = request.block;
  return WriteEngineContainer(c, Place::Node("engine"), diags);
}

using ChangeFunction = std::function<void(EngineContainer*)>;
// The same with a change to what the container says.
EngineSource Changed(ChangeFunction change) {
  return [change](const EngineRequest& request,
                  Diagnostics& diags) -> Expected<std::vector<std::byte>> {
    TENON_ASSIGN(const auto bytes, Echo(request, diags));
    TENON_ASSIGN(EngineContainer c,
                 ReadEngineContainer(bytes, Place::Node("engine"), diags));
    change(&c);
    return WriteEngineContainer(c, Place::Node("engine"), diags);
  };
}

const std::vector<std::byte> kLibrary(100, std::byte{1});

struct Backends {
  explicit Backends(EngineSource source = Echo)
      : cuda(kLibrary, DeviceTarget()),
        tensorrt(std::move(source), DeviceTarget()) {}
  PteExportOptions With(std::vector<const Backend*> list) const {
    PteExportOptions options;
    options.backends = std::move(list);
    return options;
  }

  CudaBackend cuda;
  TensorrtDelegate tensorrt;
};

PteExportOptions Deny(PteExportOptions options, const Backend& backend,
                      const std::string& op) {
  options.requests[std::string(backend.name())].deny.push_back(op);
  return options;
}

TEST(DeviceExport, NeighboursPassTensorsOnTheDevice) {
  const Backends b;
  PteExportReport report;
  Made(kTwoRegions, &report,
       Deny(b.With({&b.tensorrt, &b.cuda}), b.tensorrt, "aten.erf"));
  ASSERT_EQ(report.methods[0].regions.size(), 3u);
  EXPECT_EQ(report.methods[0].regions[1].backend, "CudaBackend");
  EXPECT_EQ(report.methods[0].traffic.num_to_device, 1u);
  EXPECT_EQ(report.methods[0].traffic.bytes_to_device, 48u);
  EXPECT_EQ(report.methods[0].traffic.num_to_host, 1u);
}

TEST(DeviceExport, KernelsBetweenThemWantCopies) {
  const Backends b;
  PteExportReport report;
  const std::string text =
      Made(kTwoRegions, &report, Deny(b.With({&b.cuda}), b.cuda, "aten.erf"));
  EXPECT_EQ(report.methods[0].regions.size(), 2u);
  EXPECT_EQ(report.methods[0].traffic.num_to_device, 2u);
  EXPECT_EQ(report.methods[0].traffic.num_to_host, 2u);
  ExpectHas(text, "arena 2 on cuda:0");
}

// D-6: equal regions share library and block; D-2: each its own library key, as
// the stock delegate names a file by it.
TEST(DeviceExport, D_6_EqualRegionsAreStoredOnce) {
  const Backends b;
  Diagnostics diags;
  PteExportReport report;
  const auto made =
      MakePte(Parse(kTwoRegions), Deny(b.With({&b.cuda}), b.cuda, "aten.erf"),
              &report, diags);
  ASSERT_TRUE(made) << diags.ToString();
  ASSERT_EQ(made->named_data.size(), 3u);
  EXPECT_NE(made->named_data[0].key, made->named_data[2].key);
  EXPECT_EQ(made->named_data[0].segment, made->named_data[2].segment);
  EXPECT_NE(made->plans[0].delegates[0].payload.index,
            made->plans[0].delegates[1].payload.index);
  const auto engines = MakePte(
      Parse(kTwoRegions), Deny(b.With({&b.tensorrt}), b.tensorrt, "aten.erf"),
      &report, diags);
  ASSERT_TRUE(engines) << diags.ToString();
  EXPECT_EQ(engines->plans[0].delegates[0].payload.index,
            engines->plans[0].delegates[1].payload.index);
}

TEST(DeviceExport, CodeStaysInTheProgramWhenDataLeavesIt) {
  const Backends b;
  const Program program = Parse(kTwoRegions);
  const PteMethod method = {"forward", &program, b.With({&b.cuda})};
  PteFileOptions file;
  file.weights = PteWeightPlace::kDataFile;
  file.data_path = "unused.ptd";
  PteExportReport report;
  Diagnostics diags;
  const auto made = MakePte(std::span(&method, 1), file, &report, diags);
  ASSERT_TRUE(made) << diags.ToString();
  ASSERT_EQ(made->program.named_data.size(), 1u);
  const uint32_t segment = made->program.named_data[0].segment;
  EXPECT_EQ(AsText(made->program.segments[segment].bytes), AsText(kLibrary));
  ASSERT_TRUE(made->data);
  EXPECT_EQ(made->data->entries.size(), 1u);  // the region's block
}

TEST(DeviceExport, M_2_ACacheStaysOnTheDevice) {
  const Backends b;
  for (const Backend* backend : {static_cast<const Backend*>(&b.tensorrt),
                                 static_cast<const Backend*>(&b.cuda)}) {
    PteExportReport report;
    const std::string text = Made(kCache, &report, b.With({backend}));
    ASSERT_EQ(report.methods[0].device_state.size(), 1u);
    EXPECT_EQ(report.methods[0].device_state[0].fqn, "k");
    EXPECT_EQ(report.methods[0].device_state[0].size_bytes, 128u);
    EXPECT_EQ(report.methods[0].num_in_place, 1u);
    EXPECT_EQ(report.methods[0].copied_bytes(), 0u);
    EXPECT_EQ(report.methods[0].traffic.bytes_to_device, 32u + 8u);
    EXPECT_EQ(report.methods[0].traffic.bytes_to_host, 128u);
    EXPECT_EQ(report.methods[0].traffic.initial_bytes, 128u);
  }
}

TEST(DeviceExport, M_3_WithoutAnAliasItIsCopiedBack) {
  const Backends b(Changed([](EngineContainer* c) { c->aliases.clear(); }));
  PteExportReport report;
  Made(kCache, &report, b.With({&b.tensorrt}));
  EXPECT_TRUE(report.methods[0].device_state.empty());
  ASSERT_EQ(report.methods[0].copies.size(), 1u);
  EXPECT_EQ(report.methods[0].copied_bytes(), 128u);
}

// The note says why; the kernels run the region (D-7).
void ExpectStays(const ChangeFunction& change, std::string_view reason,
                 std::string_view program = kCache) {
  const Backends b(Changed(change));
  PteExportReport report;
  Made(program, &report, b.With({&b.tensorrt}));
  EXPECT_TRUE(report.methods[0].regions.empty());
  ASSERT_FALSE(report.methods[0].notes.empty());
  std::string notes;
  for (const std::string& note : report.methods[0].notes) notes += note + "\n";
  ExpectHas(notes, reason);
}

TEST(DeviceExport, D_2_EnginesOfOtherRegions) {
  ExpectStays(
      [](EngineContainer* c) {
        c->inputs.pop_back();
        c->aliases = {};
      },
      "binds 2 inputs, the region has 3");
  ExpectStays([](EngineContainer* c) { std::swap(c->inputs[1], c->inputs[2]); },
              "bindings are out of order");
  ExpectStays([](EngineContainer* c) { c->inputs[1].dtype = "float16"; },
              "is float16 in the engine and float32 in the region");
  ExpectStays(
      [](EngineContainer* c) {
        c->inputs[1].shape = {2, 1};
      },
      "has 2 dimensions in the engine");
  ExpectStays(
      [](EngineContainer* c) {
        c->inputs[1].shape = {1, 2, 1, 5};
      },
      "has size 5 in dimension 3");
  ExpectStays([](EngineContainer* c) { c->device_id = 1; }, "built for cuda:1");
}

TEST(DeviceExport, D_4_AliasesThatTheRegionDoesNotHave) {
  ExpectStays(
      [](EngineContainer* c) { c->aliases[0].output = OutputBindingName(1); },
      "isn't what it replaces");
  ExpectStays(
      [](EngineContainer* c) {
        c->aliases = {
            {OutputBindingName(0), InputBindingName(0), WriteKind::kUser}};
      },
      "isn't what it replaces", kTwoRegions);
}

TEST(DeviceExport, R_4_ProfilesWantBounds) {
  constexpr char kFree[] = R"(
symbol s0 (positive=True, integer=True) hint 4
range s0 in [1, oo]
in_spec ((*,), {})
out_spec *
graph @main(%x : f32[s0, 3]) {
  %a : f32[s0, 3] = aten.relu.default(%x)
  return (%a)
}
)";
  const Backends b;
  const Diagnostics diags = Refused(kFree, b.With({&b.tensorrt}));
  ExpectHas(diags.ToString(), "V-PTE-32");
  ExpectHas(diags.ToString(), "input x");
}

}  // namespace
}  // namespace tenon
