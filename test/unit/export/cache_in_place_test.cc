// A cache that a program updates stays where it is, and a step copies no more
// of it than it changes: however the update is spelled, and only where nobody
// would notice.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "export/export.h"
#include "runtime/session.h"
#include "text/text.h"

namespace tenon {
namespace {

// Two heads, 1,024 positions, 8 channels: 64 KiB; a row is 64 bytes.
constexpr int64_t kPositions = 1024, kChannels = 8;
constexpr uint64_t kCacheBytes = 2 * kPositions * kChannels * sizeof(float);
constexpr uint64_t kRowBytes = 2 * kChannels * sizeof(float);

// The program whose graph has `body`, of %cache, %rows and %at, and returns
// `results`; what comes behind the mutation is a user output.
std::string ProgramText(const std::string& body, const std::string& results,
                        size_t num_outputs) {
  std::string stars = "(*,";
  for (size_t i = 1; i < num_outputs; ++i) stars += i == 1 ? " *" : ", *";
  return R"(tenon 1
storage @0 = 65536 bytes zeros
buffer "cache" : f32[1, 2, 1024, 8] = @0
in_spec ((*, *), {})
out_spec )" +
         stars + R"()
graph @main(%cache : f32[1, 2, 1024, 8] = buffer "cache", %rows : f32[1, 2, 1, 8], %at : i64[1]) {
)" + body +
         "  return (" + results + ")\n}\n";
}

struct Loaded {
  ExportReport report;
  std::unique_ptr<Session> session;
};

// Over backend cpu.
Loaded Load(const std::string& text, Diagnostics& diags) {
  Loaded out;
  auto program = ParseProgram(text, "test", std::make_shared<Context>(),
                              PayloadSource(), diags);
  if (!program) return out;
  ExportOptions options;
  options.backends.emplace_back().backend = FindBackend("cpu");
  auto report = ExportProgram(&*program, options, diags);
  if (!report) return out;
  out.report = std::move(*report);
  auto session =
      Session::Load(std::make_shared<const Program>(std::move(*program)),
                    SessionOptions(), diags);
  if (session) out.session = std::move(*session);
  return out;
}

// One position's rows, all `value`, and where they go.
std::vector<RuntimeValue> Step(float value, int64_t position) {
  Tensor rows = Tensor::Empty(DType::kFloat32, {1, 2, 1, kChannels});
  for (int64_t i = 0; i < rows.numel(); ++i) {
    rows.mutable_data<float>()[i] = value;
  }
  Tensor at = Tensor::Empty(DType::kInt64, {1});
  *at.mutable_data<int64_t>() = position;
  return {std::move(rows), std::move(at)};
}

float At(const Tensor& cache, int64_t head, int64_t position) {
  return cache.data<float>()[(head * kPositions + position) * kChannels];
}

// Bytes that the last run's steps wrote to memory, inputs included.
uint64_t WrittenBytes(Session& session) {
  uint64_t bytes = 0;
  for (uint32_t d = 0; d < session.program().delegates.size(); ++d) {
    const auto listing = session.executable(DelegateId(d)).last_listing();
    if (!listing) continue;
    for (const ListedStep& step : listing->steps) bytes += step.bytes_written;
  }
  return bytes;
}

constexpr char kSum[] = "  %sum : f32[] = aten.sum.default(%new)\n";

struct Spelling {
  const char* name;
  const char* update;  // makes %new of %cache
  const char* results;
  int64_t position;  // that it writes when %at is ignored; -1: it isn't
};
const Spelling kSpellings[] = {
    {"index_put",
     "  %new : f32[1, 2, 1024, 8] = aten.index_put.default(%cache, [None, "
     "None, %at], %rows)\n",
     "%new as buffer_mutation \"cache\", %sum", -1},
    {"index_copy",
     "  %new : f32[1, 2, 1024, 8] = aten.index_copy.default(%cache, 2, %at, "
     "%rows)\n",
     "%new as buffer_mutation \"cache\", %sum", -1},
    {"slice_scatter",
     "  %new : f32[1, 2, 1024, 8] = aten.slice_scatter.default(%cache, %rows, "
     "2, 5, 6)\n",
     "%new as buffer_mutation \"cache\", %sum", 5},
    {"slice_scatter of slices of all",
     "  %s1 : f32[1, 2, 1024, 8] = aten.slice.Tensor(%cache, 0, 0, 9999)\n"
     "  %s2 : f32[1, 2, 1024, 8] = aten.slice.Tensor(%s1, 1, 0, 9999)\n"
     "  %s3 : f32[1, 2, 1, 8] strides [16384, 8192, 8, 1] = "
     "aten.slice.Tensor(%s2, 2, 5, 6)\n"
     "  %c : f32[1, 2, 1, 8] strides [16384, 8192, 8, 1] = "
     "aten.copy.default(%s3, %rows)\n"
     "  %s4 : f32[1, 2, 1024, 8] = aten.slice.Tensor(%cache, 0, 0, 9999)\n"
     "  %s5 : f32[1, 2, 1024, 8] = aten.slice.Tensor(%s4, 1, 0, 9999)\n"
     "  %n1 : f32[1, 2, 1024, 8] = aten.slice_scatter.default(%s5, %c, 2, 5, "
     "6)\n"
     "  %n2 : f32[1, 2, 1024, 8] = aten.slice_scatter.default(%s4, %n1, 1, 0, "
     "9999)\n"
     "  %new : f32[1, 2, 1024, 8] = aten.slice_scatter.default(%cache, %n2, 0, "
     "0, 9999)\n",
     "%new as buffer_mutation \"cache\", %sum", 5},
    {"two updates",
     "  %first : f32[1, 2, 1024, 8] = aten.index_put.default(%cache, [None, "
     "None, %at], %rows)\n"
     "  %twice : f32[1, 2, 1, 8] = aten.mul.Tensor(%rows, 2.0)\n"
     "  %new : f32[1, 2, 1024, 8] = aten.slice_scatter.default(%first, %twice, "
     "2, 1000, 1001)\n",
     "%new as buffer_mutation \"cache\", %sum", -1},
    {"index_copy_",
     "  %new : f32[1, 2, 1024, 8] = aten.index_copy_.default(%cache, 2, %at, "
     "%rows)\n",
     "%sum", -1},
    {"copy_ to a slice",
     "  %s : f32[1, 2, 1, 8] strides [16384, 8192, 8, 1] = "
     "aten.slice.Tensor(%cache, 2, 5, 6)\n"
     "  %c : f32[1, 2, 1, 8] strides [16384, 8192, 8, 1] = "
     "aten.copy_.default(%s, %rows)\n"
     "  %new : f32[1, 2, 1024, 8] = aten.slice.Tensor(%cache, 0, 0, 9999)\n",
     "%sum", 5},
};

class EachSpelling : public ::testing::TestWithParam<Spelling> {};

TEST_P(EachSpelling, CopiesRowsOnly) {
  const Spelling& spelling = GetParam();
  Diagnostics diags;
  auto [report, session] = Load(
      ProgramText(std::string(spelling.update) + kSum, spelling.results, 1),
      diags);
  ASSERT_NE(session, nullptr) << diags.ToString();
  ASSERT_EQ(report.regions.size(), 1u);
  ASSERT_EQ(report.mutations.size(), 1u);
  EXPECT_EQ(report.mutations[0].owner, "region_0");
  EXPECT_TRUE(report.mutations[0].in_place);
  const void* place = nullptr;
  float sum = 0;
  for (int64_t call = 0; call < 4; ++call) {
    const auto value = static_cast<float>(call + 1);
    const int64_t position = spelling.position >= 0 ? spelling.position : call;
    const auto results = session->RunFlat(Step(value, call), diags);
    ASSERT_TRUE(results) << diags.ToString();
    const Tensor cache = session->State("cache");
    if (call == 0) place = cache.raw();
    EXPECT_EQ(cache.raw(), place);
    EXPECT_EQ(At(cache, 0, position), value);
    EXPECT_EQ(At(cache, 1, position), value);
    sum = spelling.position >= 0 ? value : sum + value;
    const bool is_twice = spelling.name == std::string("two updates");
    EXPECT_EQ(*(*results)[0].tensor().data<float>(),
              2 * kChannels * (sum + (is_twice ? 2 * value : 0)));
    EXPECT_EQ(session->written_back_bytes(), 0u);
    EXPECT_LE(session->saved_bytes(), 2 * kRowBytes);
    EXPECT_GE(session->saved_bytes(), kRowBytes);
    EXPECT_LE(WrittenBytes(*session), 8 * kRowBytes);
  }
}

INSTANTIATE_TEST_SUITE_P(CacheInPlace, EachSpelling,
                         ::testing::ValuesIn(kSpellings), [](const auto& test) {
                           std::string name = test.param.name;
                           for (char& c : name) {
                             if (c == ' ') c = '_';
                           }
                           return name;
                         });

// Whoever reads the old content, or keeps the new, must not see it change.
struct Reader {
  const char* name;
  const char* body;
  const char* results;
  size_t num_outputs;
};
constexpr char kUpdate[] =
    "  %new : f32[1, 2, 1024, 8] = aten.index_put.default(%cache, [None, None, "
    "%at], %rows)\n";
const Reader kReaders[] = {
    {"a later node",
     "  %sum : f32[1, 2, 8] = aten.sum.dim_IntList(%cache, [2])\n",
     "%new as buffer_mutation \"cache\", %sum", 1},
    {"a later node through a view",
     "  %s : f32[1, 2, 8] strides [16384, 8192, 1] = aten.select.int(%cache, "
     "2, 0)\n"
     "  %sum : f32[1, 2, 8] = aten.mul.Tensor(%s, 1.0)\n",
     "%new as buffer_mutation \"cache\", %sum", 1},
    {"an output that is the new content",
     "  %sum : f32[1, 2, 8] = aten.sum.dim_IntList(%cache, [2])\n",
     "%new as buffer_mutation \"cache\", %sum, %new", 2},
    {"an output that views the new content",
     "  %sum : f32[1, 2, 8] = aten.sum.dim_IntList(%cache, [2])\n"
     "  %v : f32[2, 1024, 8] = aten.select.int(%new, 0, 0)\n",
     "%new as buffer_mutation \"cache\", %sum, %v", 2},
};

class EachReader : public ::testing::TestWithParam<Reader> {};

TEST_P(EachReader, SeesWhatItShould) {
  const Reader& reader = GetParam();
  Diagnostics diags;
  auto [report, session] = Load(ProgramText(std::string(kUpdate) + reader.body,
                                            reader.results, reader.num_outputs),
                                diags);
  ASSERT_NE(session, nullptr) << diags.ToString();
  const auto first = session->RunFlat(Step(1, 0), diags);
  ASSERT_TRUE(first) << diags.ToString();
  EXPECT_EQ((*first)[0].tensor().data<float>()[0], 0.0f);
  const auto second = session->RunFlat(Step(2, 0), diags);
  ASSERT_TRUE(second) << diags.ToString();
  EXPECT_EQ((*second)[0].tensor().data<float>()[0], 1.0f);
  EXPECT_EQ(At(session->State("cache"), 1, 0), 2.0f);
  if (reader.num_outputs > 1) {
    EXPECT_EQ((*first)[1].tensor().data<float>()[0], 1.0f);
    EXPECT_EQ((*second)[1].tensor().data<float>()[0], 2.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(CacheInPlace, EachReader,
                         ::testing::ValuesIn(kReaders), [](const auto& test) {
                           std::string name = test.param.name;
                           for (char& c : name) {
                             if (c == ' ') c = '_';
                           }
                           return name;
                         });

// Two buffers over one storage: the other's reader would see the change.
TEST(CacheInPlace, SharedStorageIsNotReplaced) {
  Diagnostics diags;
  auto [report, session] = Load(
      R"(tenon 1
storage @0 = 16 bytes zeros
buffer "a" : f32[4] = @0
buffer "b" : f32[4] = @0
in_spec ((*,), {})
out_spec *
graph @main(%a : f32[4] = buffer "a", %b : f32[4] = buffer "b", %x : f32[1]) {
  %new : f32[4] = aten.slice_scatter.default(%a, %x, 0, 1, 2)
  %sum : f32[4] = aten.add.Tensor(%new, %b)
  return (%new as buffer_mutation "a", %sum)
}
)",
      diags);
  ASSERT_NE(session, nullptr) << diags.ToString();
  Tensor x = Tensor::Empty(DType::kFloat32, {1});
  *x.mutable_data<float>() = 3;
  const auto results = session->RunFlat({x}, diags);
  ASSERT_TRUE(results) << diags.ToString();
  EXPECT_EQ((*results)[0].tensor().data<float>()[1], 3.0f);
  EXPECT_GT(session->written_back_bytes(), 0u);
}

// A source that overlaps what it replaces: a cache that moves up by one.
TEST(CacheInPlace, ASourceMayOverlapItsPlace) {
  Diagnostics diags;
  auto [report, session] = Load(
      R"(tenon 1
storage @0 = 16 bytes hex"0000803f000000400000404000008040"
buffer "c" : f32[4] = @0
in_spec ((*,), {})
out_spec *
graph @main(%c : f32[4] = buffer "c", %x : f32[1]) {
  %tail : f32[3] = aten.slice.Tensor(%c, 0, 1, 4)
  %moved : f32[4] = aten.slice_scatter.default(%c, %tail, 0, 0, 3)
  %new : f32[4] = aten.slice_scatter.default(%moved, %x, 0, 3, 4)
  %out : f32[4] = aten.mul.Tensor(%new, 1.0)
  return (%new as buffer_mutation "c", %out)
}
)",
      diags);
  ASSERT_NE(session, nullptr) << diags.ToString();
  for (int call = 0; call < 3; ++call) {
    Tensor x = Tensor::Empty(DType::kFloat32, {1});
    *x.mutable_data<float>() = static_cast<float>(5 + call);
    const auto results = session->RunFlat({x}, diags);
    ASSERT_TRUE(results) << diags.ToString();
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ((*results)[0].tensor().data<float>()[i],
                static_cast<float>(2 + call + i));
    }
  }
}

// A call that fails after the cache was written leaves it as it was.
TEST(CacheInPlace, AFailedCallIsUndone) {
  for (const char* update :
       {"  %new : f32[1, 2, 1024, 8] = aten.index_put.default(%cache, [None, "
        "None, %at], %rows)\n",
        "  %new : f32[1, 2, 1024, 8] = aten.index_copy_.default(%cache, 2, "
        "%at, %rows)\n",
        "  %new : f32[1, 2, 1024, 8] = aten.slice_scatter.default(%cache, "
        "%rows, 2, 5, 6)\n"}) {
    SCOPED_TRACE(update);
    const bool is_functional =
        std::string(update).find("index_copy_") == std::string::npos;
    Diagnostics diags;
    // The second index is out of bounds where the first one isn't.
    auto [report, session] = Load(
        ProgramText(
            std::string(update) +
                "  %far : i64[1] = aten.mul.Tensor(%at, 100)\n"
                "  %row : f32[1, 2, 1, 8] = "
                "aten.index.Tensor(%new, [None, None, %far])\n",
            is_functional ? "%new as buffer_mutation \"cache\", %row" : "%row",
            1),
        diags);
    ASSERT_NE(session, nullptr) << diags.ToString();
    ASSERT_TRUE(session->RunFlat(Step(1, 5), diags)) << diags.ToString();
    const Tensor before = session->State("cache").Clone();
    EXPECT_FALSE(session->RunFlat(Step(9, 11), diags));
    const Tensor after = session->State("cache");
    for (int64_t i = 0; i < after.numel(); ++i) {
      ASSERT_EQ(after.data<float>()[i], before.data<float>()[i]) << i;
    }
    const auto results = session->RunFlat(Step(3, 5), diags);
    ASSERT_TRUE(results) << diags.ToString();
    EXPECT_EQ(At(session->State("cache"), 1, 5), 3.0f);
  }
}

// Forks write caches of their own.
TEST(CacheInPlace, ForksHaveTheirOwn) {
  Diagnostics diags;
  auto [report, session] =
      Load(ProgramText(std::string(kUpdate) + kSum,
                       "%new as buffer_mutation \"cache\", %sum", 1),
           diags);
  ASSERT_NE(session, nullptr) << diags.ToString();
  ASSERT_TRUE(session->RunFlat(Step(1, 0), diags));
  const auto fork = session->Fork(diags);
  ASSERT_TRUE(fork) << diags.ToString();
  ASSERT_TRUE((*fork)->RunFlat(Step(2, 1), diags));
  EXPECT_EQ(At(session->State("cache"), 0, 0), 1.0f);
  EXPECT_EQ(At(session->State("cache"), 0, 1), 0.0f);
  EXPECT_EQ(At((*fork)->State("cache"), 0, 0), 0.0f);
  EXPECT_EQ(At((*fork)->State("cache"), 0, 1), 2.0f);
}

// Results that aren't updates go to the buffer, too, instead of fresh memory.
TEST(CacheInPlace, OtherResultsAreComputedThere) {
  Diagnostics diags;
  auto [report, session] = Load(
      R"(tenon 1
storage @0 = 4 bytes zeros
buffer "count" : f32[] = @0
in_spec ((*,), {})
out_spec *
graph @main(%count : f32[] = buffer "count", %x : f32[4]) {
  %next : f32[] = aten.add.Tensor(%count, 1)
  %out : f32[4] = aten.add.Tensor(%x, %next)
  return (%next as buffer_mutation "count", %out)
}
)",
      diags);
  ASSERT_NE(session, nullptr) << diags.ToString();
  for (int call = 1; call < 4; ++call) {
    const Tensor x = Tensor::Zeros(DType::kFloat32, {4});
    const auto results = session->RunFlat({x}, diags);
    ASSERT_TRUE(results) << diags.ToString();
    EXPECT_EQ((*results)[0].tensor().data<float>()[3],
              static_cast<float>(call));
    EXPECT_EQ(*session->State("count").data<float>(), static_cast<float>(call));
    EXPECT_EQ(session->written_back_bytes(), 0u);
    EXPECT_EQ(session->saved_bytes(), sizeof(float));
  }
}

static_assert(kCacheBytes == 65536);

}  // namespace
}  // namespace tenon
