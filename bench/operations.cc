#include "operations.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <utility>
#include <vector>

#include "analysis/digest.h"
#include "backends/echo/echo_backend.h"
#include "export/join_program.h"
#include "formats/pt2/pt2.h"
#include "lifetimes.h"
#include "link/join.h"
#include "link/lift.h"
#include "link/outline.h"
#include "memory/memory_plan.h"
#include "partition/partition.h"
#include "programs.h"
#include "sizes.h"
#include "testing/generator.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon::bench {
namespace {

PrintOptions AllInline() {
  PrintOptions options;
  options.inline_limit_bytes = SIZE_MAX;
  return options;
}

double CpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// --- reading and writing ---

void ReadFrom(const std::string& path, Stopwatch& watch) {
  Diagnostics diags;
  std::optional<Expected<Program>> program;
  watch.Time([&] {
    program.emplace(
        ReadPt2(path, std::make_shared<Context>(), Pt2ReadOptions(), diags));
  });
  Check(program->ok(), diags, "read");
}

void Read(Case& c, Stopwatch& watch) { ReadFrom(c.file(), watch); }

void ReadGraph(Case& c, Stopwatch& watch) { ReadFrom(c.graph_file(), watch); }

void Write(Case& c, Stopwatch& watch) {
  const Program& program = c.layers();
  const std::string& path = c.path();
  Diagnostics diags;
  bool ok = false;
  watch.Time([&] { ok = WritePt2(program, path, {}, diags).ok(); });
  Check(ok, diags, "write");
}

// --- files that the other side of a comparison wrote ---

// One by nodes, one by megabytes of weights.
std::string PeersFile(const std::string& kind, int64_t n) {
  return PeersFolder() + "/" + kind + "-" + std::to_string(n) + ".pt2";
}

Expected<Program> ReadFile(const std::string& path, Diagnostics& diags) {
  return ReadPt2(path, std::make_shared<Context>(), Pt2ReadOptions(), diags);
}

void ReadPeers(const std::string& path, Stopwatch& watch) {
  Diagnostics diags;
  std::optional<Expected<Program>> program;
  watch.Time([&] { program.emplace(ReadFile(path, diags)); });
  Check(program->ok(), diags, "read");
}

void WritePeers(const std::string& path, Stopwatch& watch) {
  Diagnostics diags;
  const auto program = ReadFile(path, diags);
  Check(program.ok(), diags, "read");
  const std::string copy = path + ".copy";
  bool ok = false;
  watch.Time([&] { ok = WritePt2(*program, copy, {}, diags).ok(); });
  unlink(copy.c_str());
  Check(ok, diags, "write");
}

void ReadSaved(Case& c, Stopwatch& watch) {
  ReadPeers(PeersFile("nodes", c.num_nodes()), watch);
}

void WriteSaved(Case& c, Stopwatch& watch) {
  WritePeers(PeersFile("nodes", c.num_nodes()), watch);
}

void ReadWeights(Case& c, Stopwatch& watch) {
  ReadPeers(PeersFile("weights", c.num_nodes()), watch);
}

void WriteWeights(Case& c, Stopwatch& watch) {
  WritePeers(PeersFile("weights", c.num_nodes()), watch);
}

void Print(Case& c, Stopwatch& watch) {
  const Program& program = c.layers();
  std::string text;
  watch.Time([&] { text = PrintProgram(program, AllInline()); });
}

void Parse(Case& c, Stopwatch& watch) {
  const std::string& text = c.text();
  Diagnostics diags;
  const PayloadSource no_payloads = [](const tenon::Digest&) {
    return std::pair<Bytes, std::shared_ptr<const void>>();
  };
  std::optional<Expected<Program>> program;
  watch.Time([&] {
    program.emplace(ParseProgram(text, "bench", std::make_shared<Context>(),
                                 no_payloads, diags));
  });
  Check(program->ok(), diags, "parse");
}

// --- checking and copying ---

void VerifyAll(Case& c, Stopwatch& watch) {
  const Program& program = c.layers();
  Diagnostics diags;
  bool ok = false;
  watch.Time([&] { ok = Verify(program, VerifyOptions(), diags).ok(); });
  Check(ok, diags, "verify");
}

void Clone(Case& c, Stopwatch& watch) {
  const Program& program = c.layers();
  std::optional<Program> copy;
  watch.Time([&] { copy.emplace(program.Clone()); });
}

void Hash(Case& c, Stopwatch& watch) {
  const Program& program = c.layers();
  tenon::Digest digest;
  watch.Time([&] { digest = WiringDigest(program); });
  Check(!(digest == tenon::Digest()), Diagnostics(), "digest");
}

// --- partitioning ---

void PlanFor(const Backend& backend, const Program& program, Stopwatch& watch) {
  PartitionOptions options;
  options.backends.resize(1);
  options.backends[0].backend = &backend;
  Diagnostics diags;
  std::optional<Expected<PartitionPlan>> plan;
  watch.Time([&] { plan.emplace(PlanPartition(program, options, diags)); });
  Check(plan->ok(), diags, "partition");
}

// Takes nine nodes of ten.
class PickyBackend : public EchoBackend {
 public:
  explicit PickyBackend(size_t num_nodes) : is_refused_(num_nodes) {
    std::mt19937 random(1);
    for (size_t i = 0; i < num_nodes; ++i) is_refused_[i] = random() % 10 == 0;
  }
  std::optional<Refusal> Refuses(const Program&, NodeId node) const override {
    if (!is_refused_[node.index]) return std::nullopt;
    return Refusal{RefusalReason::kOperatorUnknown, {}};
  }

 private:
  std::vector<bool> is_refused_;
};

void Plan(Case& c, Stopwatch& watch) {
  PlanFor(EchoBackend(), c.layers(), watch);
}

void PlanChain(Case& c, Stopwatch& watch) {
  PlanFor(PickyBackend(c.chain().num_nodes()), c.chain(), watch);
}

void PlanDense(Case& c, Stopwatch& watch) {
  PlanFor(PickyBackend(c.dense().num_nodes()), c.dense(), watch);
}

// Two colours in runs of nodes, so that regions have some size.
std::vector<uint32_t> Colors(const Program& program) {
  std::vector<uint32_t> colors(program.CountNodes(Program::kRoot));
  for (size_t i = 0; i < colors.size(); ++i) {
    colors[i] = static_cast<uint32_t>(i / kNodesPerRegion % 2);
  }
  return colors;
}

std::vector<RegionNodes> Regions(const Program& program) {
  std::vector<RegionNodes> regions;
  for (ColoredRegion& cut :
       CutByColor(program, Program::kRoot, Colors(program), 2)) {
    RegionNodes region;
    region.name = "region_" + std::to_string(regions.size());
    region.nodes = std::move(cut.nodes);
    regions.push_back(std::move(region));
  }
  return regions;
}

void Cut(Case& c, Stopwatch& watch) {
  const std::vector<uint32_t> colors = Colors(c.layers());
  std::vector<ColoredRegion> regions;
  watch.Time(
      [&] { regions = CutByColor(c.layers(), Program::kRoot, colors, 2); });
}

void Outline(Case& c, Stopwatch& watch) {
  Program program = c.layers().Clone();
  const std::vector<RegionNodes> regions = Regions(program);
  Diagnostics diags;
  bool ok = false;
  watch.Time([&] {
    ok = OutlineRegions(&program, Program::kRoot, regions, diags).ok();
  });
  Check(ok, diags, "outline");
}

// --- joining and lifting ---

// Joining is short beside its preparation, which leaves a small program in the
// caches and a large one in memory. So that each size measures the same, all
// start from memory.
void EmptyCaches() {
  const long last_level = sysconf(_SC_LEVEL3_CACHE_SIZE);
  static std::vector<char> other(
      2 * std::max<size_t>(static_cast<size_t>(std::max(last_level, 0L)),
                           32u << 20));
  for (size_t i = 0; i < other.size(); i += 64) ++other[i];
}

void Join(Case& c, Stopwatch& watch) {
  Program program = c.layers().Clone();
  Diagnostics diags;
  const auto outlined =
      OutlineRegions(&program, Program::kRoot, Regions(program), diags);
  Check(outlined.ok(), diags, "outline");
  bool ok = false;
  EmptyCaches();
  watch.Time([&] { ok = JoinAll(&program, diags).ok(); });
  Check(ok, diags, "join");
}

// The call of the only child, moved.
Status JoinOnlyCall(Program* program, Diagnostics& diags) {
  return JoinCall(program, Program::kRoot, program->root().first,
                  JoinMode::kMove, diags);
}

void JoinBoundary(Case& c, Stopwatch& watch) {
  Program program = c.single_child().Clone();
  Diagnostics diags;
  // Copying a large program drives the code out of the caches; a join of a
  // small one brings it back.
  Program small = MakeHybrid({1, 1}, std::make_shared<Context>());
  bool ok = JoinOnlyCall(&small, diags).ok();
  watch.Time([&] { ok = JoinOnlyCall(&program, diags).ok() && ok; });
  Check(ok, diags, "join one child");
}

// All calls of a long parent: one, of twenty nodes from its middle, or fewer
// where it ends.
void JoinLongParent(Case& c, Stopwatch& watch) {
  Program program = c.chain().Clone();
  RegionNodes region{"middle", "", {}};
  int64_t i = 0;
  for (const NodeId n : program.nodes(Program::kRoot)) {
    if (n == program.root().output || region.nodes.size() == 20) break;
    if (i++ >= c.num_nodes() / 2) region.nodes.push_back(n);
  }
  Diagnostics diags;
  Check(OutlineRegions(&program, Program::kRoot, {region}, diags).ok(), diags,
        "outline");
  Program small = MakeHybrid({1, 1}, std::make_shared<Context>());
  bool ok = JoinAll(&small, diags).ok();  // as in JoinBoundary
  watch.Time([&] { ok = JoinAll(&program, diags).ok() && ok; });
  Check(ok, diags, "join in a long parent");
}

void LiftAll(Case& c, Stopwatch& watch) {
  Program program = c.layers().Clone();
  Unlift(&program);
  Diagnostics diags;
  bool ok = false;
  watch.Time([&] { ok = Lift(&program, diags).ok(); });
  Check(ok, diags, "lift");
}

void LiftHybrid(Case& c, Stopwatch& watch) {
  Program program = c.hybrid().Clone();
  Diagnostics diags;
  Check(JoinAll(&program, diags).ok(), diags, "join");
  bool ok = false;
  watch.Time([&] { ok = Lift(&program, diags).ok(); });
  Check(ok, diags, "lift");
}

void HybridToSigned(Case& c, Stopwatch& watch) {
  Program program = c.hybrid().Clone();
  Diagnostics diags;
  bool ok = false;
  watch.Time(
      [&] { ok = JoinProgram(&program, JoinProgramOptions(), diags).ok(); });
  Check(ok, diags, "hybrid to signed");
}

void PlanLifetimes(LifetimePattern pattern, Case& c, Stopwatch& watch) {
  const std::vector<Lifetime> lifetimes = DrawLifetimes(pattern, c.num_nodes());
  Diagnostics diags;
  bool ok = false;
  watch.Time([&] { ok = PlanMemory(lifetimes, {}, diags).ok(); });
  Check(ok, diags, "memory plan");
}
template <LifetimePattern pattern>
double PlanRatio(Case& c) {
  Diagnostics diags;
  const auto plan =
      PlanMemory(DrawLifetimes(pattern, c.num_nodes()), {}, diags);
  return plan ? plan->ratio() : 0;
}
void PlanNetwork(Case& c, Stopwatch& watch) {
  PlanLifetimes(LifetimePattern::kNetwork, c, watch);
}
void PlanResiduals(Case& c, Stopwatch& watch) {
  PlanLifetimes(LifetimePattern::kResiduals, c, watch);
}
void PlanUniform(Case& c, Stopwatch& watch) {
  PlanLifetimes(LifetimePattern::kUniform, c, watch);
}

constexpr Operation kOperations[] = {
    {"read", Read},
    {"read_graph", ReadGraph},
    {"write", Write},
    {"read_saved", ReadSaved, false, true},
    {"write_saved", WriteSaved, false, true},
    {"read_weights", ReadWeights, false, true},
    {"write_weights", WriteWeights, false, true},
    {"print", Print},
    {"parse", Parse},
    {"verify", VerifyAll},
    {"clone", Clone},
    {"digest", Hash},
    {"partition", Plan},
    {"partition_chain", PlanChain},
    {"partition_dense", PlanDense},
    {"cut", Cut},
    {"outline", Outline},
    {"join", Join},
    {"join_boundary", JoinBoundary, true},
    {"join_long_parent", JoinLongParent, true},
    {"lift", LiftAll},
    {"lift_hybrid", LiftHybrid},
    {"hybrid_to_signed", HybridToSigned},
    {"memory_network", PlanNetwork, false, false,
     PlanRatio<LifetimePattern::kNetwork>},
    {"memory_residuals", PlanResiduals, false, false,
     PlanRatio<LifetimePattern::kResiduals>},
    {"memory_uniform", PlanUniform, false, false,
     PlanRatio<LifetimePattern::kUniform>},
};

// Makes the program when it isn't there yet.
template <typename Make>
const Program& Once(std::optional<Program>* program, Make&& make) {
  if (!program->has_value())
    program->emplace(make(std::make_shared<Context>()));
  return **program;
}

}  // namespace

void Check(bool ok, const Diagnostics& diags, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s failed: %s", what, diags.ToString().c_str());
  std::exit(1);
}

std::string PeersFolder() {
  const char* folder = std::getenv("TENON_PEERS_FOLDER");
  return folder == nullptr ? "." : folder;
}

// --- programs ---

Case::~Case() {
  if (!path_.empty()) unlink(path_.c_str());
  for (const auto& [shape, path] : files_) unlink(path.c_str());
}

const Program& Case::layers() {
  return Once(&layers_, [&](auto context) {
    testing::GeneratorOptions options;
    options.shape = testing::ProgramShape::kLayers;
    options.num_nodes = static_cast<size_t>(num_nodes_);
    return testing::GenerateProgram(options, std::move(context));
  });
}

const Program& Case::hybrid() {
  return Once(&hybrid_, [&](auto context) {
    HybridShape shape;
    shape.num_children = static_cast<uint32_t>(
        std::max<int64_t>(1, num_nodes_ / shape.ops_per_child));
    return MakeHybrid(shape, std::move(context));
  });
}

const Program& Case::single_child() {
  return Once(&single_child_, [&](auto context) {
    return MakeHybrid({1, static_cast<uint32_t>(num_nodes_)},
                      std::move(context));
  });
}

const Program& Case::chain() {
  return Once(&chain_, [&](auto context) {
    return MakeDag(static_cast<uint32_t>(num_nodes_), 1, std::move(context));
  });
}

const Program& Case::dense() {
  return Once(&dense_, [&](auto context) {
    return MakeDag(static_cast<uint32_t>(num_nodes_), 16, std::move(context));
  });
}

const std::string& Case::text() {
  if (text_.empty()) text_ = PrintProgram(layers(), AllInline());
  return text_;
}

const std::string& Case::file() { return FileOf(layers(), "layers"); }

const std::string& Case::graph_file() { return FileOf(chain(), "chain"); }

const std::string& Case::FileOf(const Program& program,
                                const std::string& shape) {
  std::string& path = files_[shape];
  if (path.empty()) {
    path = this->path() + "." + shape;
    Diagnostics diags;
    Check(WritePt2(program, path, {}, diags).ok(), diags, "write");
  }
  return path;
}

const std::string& Case::path() {
  if (path_.empty()) {
    path_ = "/tmp/tenon-bench-" + std::to_string(getpid()) + "-" +
            std::to_string(num_nodes_) + ".pt2";
  }
  return path_;
}

// --- clocks ---

[[gnu::noinline]] void Stopwatch::Time(const std::function<void()>& what) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const double cpu_start = CpuSeconds();
  what();
  total_.cpu_s += CpuSeconds() - cpu_start;
  total_.wall_s += std::chrono::duration<double>(Clock::now() - start).count();
}

void KeepFreedMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
}

std::span<const Operation> AllOperations() { return kOperations; }

const Operation* FindOperation(std::string_view name) {
  for (const Operation& operation : kOperations) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

Duration BestOf(const Operation& operation, Case& c, int times) {
  Duration best{1e300, 1e300};
  for (int i = 0; i < times; ++i) {
    Stopwatch watch;
    operation.run(c, watch);
    best.wall_s = std::min(best.wall_s, watch.total().wall_s);
    best.cpu_s = std::min(best.cpu_s, watch.total().cpu_s);
  }
  return best;
}

}  // namespace tenon::bench
