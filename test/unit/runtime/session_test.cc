// Calling programs: rules S-5, S-6, M-1.
#include "runtime/session.h"

#include <gtest/gtest.h>

#include <thread>

#include "export/export.h"
#include "runtime/binding.h"
#include "runtime/draw_inputs.h"
#include "text/text.h"

namespace tenon {
namespace {

Program Parse(std::string_view text) {
  Diagnostics diags;
  auto program = ParseProgram(text, "test", std::make_shared<Context>(),
                              PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return std::move(*program);
}

// forward(x: f32[s0, 2], *, first: f32[s0, 2], flag=True): x - first
constexpr std::string_view kKeywords = R"(tenon 1
symbol s0 (positive=True, integer=True)
range s0 in [2, 4]
in_spec ((*,), {first: *, flag: *})
out_spec *
graph @main(%x : f32[s0, 2], %first : f32[s0, 2], %flag : bool True) {
  %sub : f32[s0, 2] = aten.sub.Tensor(%x, %first)
  return (%sub)
}
)";

// A counter that is written in place, then an index that may be out of range.
constexpr std::string_view kCounter = R"(tenon 1
storage @0 = 4 bytes hex"00000000"
buffer "n" : f32[] = @0
in_spec ((*,), {})
out_spec *
graph @main(%n : f32[] = buffer "n", %i : i64[1]) {
  %add_ : f32[] = aten.add_.Tensor(%n, 1)
  %full : f32[3] = aten.full.default([3], 7.0)
  %index : f32[1] = aten.index_select.default(%full, 0, %i)
  %add : f32[1] = aten.add.Tensor(%index, %add_)
  return (%add)
}
)";

std::unique_ptr<Session> Load(std::string_view text) {
  Diagnostics diags;
  auto session = Session::Load(std::make_shared<const Program>(Parse(text)),
                               SessionOptions(), diags);
  EXPECT_TRUE(session) << diags.ToString();
  return std::move(*session);
}

Tensor Filled(Sizes sizes, float value) {
  Tensor t = Tensor::Empty(DType::kFloat32, std::move(sizes));
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.mutable_data<float>()[i] = value;
  }
  return t;
}

Tensor Index(int64_t i) {
  Tensor t = Tensor::Empty(DType::kInt64, {1});
  *t.mutable_data<int64_t>() = i;
  return t;
}

CallArguments Keywords(Tensor x, Tensor first, RuntimeValue flag = true) {
  CallArguments call;
  call.args = {PyTree::Leaf(std::move(x))};
  call.kwargs = {{"flag", PyTree::Leaf(std::move(flag))},
                 {"first", PyTree::Leaf(std::move(first))}};
  return call;
}

std::string ErrorOf(Session& session, const CallArguments& call) {
  Diagnostics diags;
  EXPECT_FALSE(session.Run(call, diags));
  return diags.ToString();
}

TEST(Session, S5KeywordsComeInAnyOrder) {
  const auto session = Load(kKeywords);
  Diagnostics diags;
  auto out =
      session->Run(Keywords(Filled({3, 2}, 5), Filled({3, 2}, 3)), diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_TRUE(out->spec.is_leaf);
  ASSERT_EQ(out->leaves.size(), 1u);
  EXPECT_EQ(out->leaves[0].tensor().data<float>()[5], 2);
}

TEST(Session, S5NamesWhatIsMissingUnexpectedOrDoubled) {
  const auto session = Load(kKeywords);
  CallArguments call = Keywords(Filled({3, 2}, 5), Filled({3, 2}, 3));
  call.kwargs[1].first = "second";
  std::string error = ErrorOf(*session, call);
  EXPECT_NE(error.find("key \"second\""), std::string::npos) << error;
  EXPECT_NE(error.find("no key \"first\""), std::string::npos) << error;
  call.kwargs[1].first = "flag";
  error = ErrorOf(*session, call);
  EXPECT_NE(error.find("kwargs.flag: found this argument twice"),
            std::string::npos)
      << error;
  call = Keywords(Filled({3, 2}, 5), Filled({3, 2}, 3));
  call.args.push_back(call.args[0]);
  EXPECT_NE(ErrorOf(*session, call).find("builtins.tuple of 2"),
            std::string::npos);
}

TEST(Session, S5ComparesDtypeRankAndSizes) {
  const auto session = Load(kKeywords);
  const Tensor good = Filled({3, 2}, 1);
  std::string error =
      ErrorOf(*session, Keywords(Tensor::Zeros(DType::kFloat64, {3, 2}), good));
  EXPECT_NE(error.find("args.0: found f64[3, 2], expected float32[s0, 2]"),
            std::string::npos)
      << error;
  error = ErrorOf(*session, Keywords(good, Filled({3}, 1)));
  EXPECT_NE(error.find("kwargs.first: found f32[3]"), std::string::npos);
  error = ErrorOf(*session, Keywords(good, Filled({3, 3}, 1)));
  EXPECT_NE(error.find("found f32[3, 3]"), std::string::npos);
  // One symbol, two sizes.
  error = ErrorOf(*session, Keywords(good, Filled({4, 2}, 1)));
  EXPECT_NE(error.find("found size 4 for s0, which is 3 by args.0"),
            std::string::npos)
      << error;
  // Outside the range.
  error = ErrorOf(*session, Keywords(Filled({5, 2}, 1), Filled({5, 2}, 1)));
  EXPECT_NE(error.find("found s0 = 5, expected 2 to 4"), std::string::npos)
      << error;
}

TEST(Session, S5RespectsStrides) {
  const auto session = Load(kKeywords);
  Tensor x = Filled({2, 3}, 0);
  for (int i = 0; i < 6; ++i) x.mutable_data<float>()[i] = float(i);
  const Tensor transposed = x.View({3, 2}, {1, 3}, 0);
  Diagnostics diags;
  auto out = session->Run(Keywords(transposed, Filled({3, 2}, 0)), diags);
  ASSERT_TRUE(out) << diags.ToString();
  const Tensor y = out->leaves[0].tensor().Contiguous();
  EXPECT_EQ(y.data<float>()[1], 3);
  EXPECT_EQ(y.data<float>()[2], 1);
}

TEST(Session, S6ComparesWhatWasFixedAtExport) {
  const auto session = Load(kKeywords);
  const Tensor good = Filled({3, 2}, 1);
  const std::string error = ErrorOf(*session, Keywords(good, good, false));
  EXPECT_NE(error.find("kwargs.flag: found False, the program was exported "
                       "with True"),
            std::string::npos)
      << error;
}

TEST(Session, StateCarriesOverAndAFailedCallChangesNone) {
  const auto session = Load(kCounter);
  Diagnostics diags;
  auto out = session->RunFlat({Index(1)}, diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_EQ(*(*out)[0].tensor().data<float>(), 8);
  EXPECT_EQ(*session->State("n").data<float>(), 1);
  // The counter was written when the index turns out to be wrong.
  EXPECT_FALSE(session->RunFlat({Index(3)}, diags));
  EXPECT_NE(diags.ToString().find("aten.index_select.default"),
            std::string::npos);
  EXPECT_EQ(*session->State("n").data<float>(), 1);
  out = session->RunFlat({Index(0)}, diags);
  ASSERT_TRUE(out);
  EXPECT_EQ(*session->State("n").data<float>(), 2);
  session->ResetState();
  EXPECT_EQ(*session->State("n").data<float>(), 0);
}

// y = x + 1; the input is returned, too.
constexpr std::string_view kPlusOne = R"(tenon 1
in_spec ((*,), {})
out_spec (*, *)
graph @main(%x : f32[2]) {
  %y : f32[2] = aten.add.Tensor(%x, 1)
  return (%y, %x)
}
)";

// K6-18
TEST(Session, ResultsGoToTheCallersBuffers) {
  const auto session = Load(kPlusOne);
  Tensor y = Filled({2}, 0);
  for (int i = 0; i < 1000; ++i) {
    Diagnostics diags;
    const Tensor buffers[] = {y};
    const auto out =
        session->RunFlat({Filled({2}, static_cast<float>(i))}, buffers, diags);
    ASSERT_TRUE(out) << diags.ToString();
    EXPECT_EQ(diags.ToString(), "");
    EXPECT_EQ(y.data<float>()[0], static_cast<float>(i + 1));
    EXPECT_TRUE((*out)[0].tensor().SharesStorage(y));
  }
}

// The second output is the input, whose memory takes the first one: its value
// is kept.
TEST(Session, ABufferOverAnInputKeepsWhatIsReturned) {
  const auto session = Load(kPlusOne);
  Diagnostics diags;
  Tensor x = Filled({2}, 1);
  const Tensor buffers[] = {x};
  const auto out = session->RunFlat({x}, buffers, diags);
  ASSERT_TRUE(out) << diags.ToString();
  EXPECT_EQ(x.data<float>()[0], 2);
  EXPECT_EQ((*out)[1].tensor().data<float>()[0], 1);
}

TEST(Session, S5BuffersThatDontFitChangeNothing) {
  const auto session = Load(kCounter);
  const auto expect_error = [&](std::vector<Tensor> buffers,
                                std::string_view part) {
    Diagnostics diags;
    EXPECT_FALSE(session->RunFlat({Index(1)}, buffers, diags));
    ASSERT_EQ(diags.num_errors(), 1u) << diags.ToString();
    EXPECT_EQ(diags.all()[0].rule, Rule::kS5);
    EXPECT_NE(diags.FirstError().find(part), std::string::npos)
        << diags.ToString();
    EXPECT_EQ(*session->State("n").data<float>(), 0);
  };
  const Tensor fitting = Filled({1}, 0);
  expect_error({Filled({2}, 0)}, "the buffer is f32[2], the result f32[1]");
  expect_error({Tensor::Zeros(DType::kInt32, {1})}, "the buffer is i32[1]");
  expect_error({Tensor(), fitting}, "there are only 1 outputs");
  const float one = 1;
  expect_error(
      {Tensor(Storage::BorrowConst(
                  {reinterpret_cast<const std::byte*>(&one), 4}, nullptr),
              DType::kFloat32, {1}, {1}, 0)},
      "can't be written");
  const auto plus_one = Load(kPlusOne);
  Diagnostics diags;
  const Tensor shared = Filled({2}, 0);
  const Tensor both[] = {shared, shared};
  EXPECT_FALSE(plus_one->RunFlat({Filled({2}, 1)}, both, diags));
  EXPECT_EQ(diags.FirstError(),
            "the buffer shares memory with that of output 0");
}

TEST(Binding, SolvesDerivedSizes) {
  Context context;
  SymbolScope scope;
  std::string error;
  size_t at = 0;
  const auto e = context.exprs.Parse("3*s0 + 1", &scope, &error, &at);
  ASSERT_TRUE(e);
  SymbolValues values;
  EXPECT_FALSE(SolveSymbol(context, *e, 9, &values));
  EXPECT_TRUE(SolveSymbol(context, *e, 10, &values));
  EXPECT_EQ(values.begin()->second, 3);
}

TEST(DrawInputs, StaysInRangesAndIsDeterministic) {
  const Program program = Parse(kKeywords);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    DrawOptions options;
    options.seed = seed;
    Diagnostics diags;
    const auto a = DrawInputs(program, options, diags);
    const auto b = DrawInputs(program, options, diags);
    ASSERT_TRUE(a && b) << diags.ToString();
    EXPECT_TRUE(CheckUserInputs(program, *a, {}, diags)) << diags.ToString();
    EXPECT_EQ((*a)[0].tensor().sizes(), (*b)[0].tensor().sizes());
    EXPECT_EQ(*(*a)[0].tensor().data<float>(), *(*b)[0].tensor().data<float>());
  }
}

// --- forks ---

// A weight that calls read and a count that they write.
constexpr std::string_view kWeightAndCount = R"(tenon 1
storage @0 = 8 bytes hex"000000400000803f"
storage @1 = 4 bytes hex"00000000"
parameter "w" : f32[2] = @0
buffer "n" : f32[] = @1
in_spec ((*,), {})
out_spec *
graph @main(%w : f32[2] = parameter "w", %n : f32[] = buffer "n", %x : f32[2]) {
  %mul : f32[2] = aten.mul.Tensor(%x, %w)
  %next : f32[] = aten.add.Tensor(%n, 1)
  %add : f32[2] = aten.add.Tensor(%mul, %next)
  return (%next as buffer_mutation "n", %add)
}
)";

float FirstOf(Session* session, Tensor x) {
  Diagnostics diags;
  const auto results = session->RunFlat({std::move(x)}, diags);
  EXPECT_TRUE(results) << diags.ToString();
  return results ? results->at(0).tensor().data<float>()[0] : -1;
}

TEST(Session, AForkSharesWhatIsReadAndOwnsWhatIsWritten) {
  const auto session = Load(kWeightAndCount);
  EXPECT_EQ(FirstOf(session.get(), Filled({2}, 1)), 3);
  EXPECT_EQ(FirstOf(session.get(), Filled({2}, 1)), 4);
  Diagnostics diags;
  const auto fork = session->Fork(diags);
  ASSERT_TRUE(fork) << diags.ToString();
  EXPECT_TRUE((*fork)->State("w").SharesStorage(session->State("w")));
  EXPECT_FALSE((*fork)->State("n").SharesStorage(session->State("n")));
  EXPECT_EQ(session->own_state_bytes(), 4u);
  // The count starts as the file has it, and goes its own way.
  EXPECT_EQ(FirstOf(fork->get(), Filled({2}, 1)), 3);
  EXPECT_EQ(FirstOf(session.get(), Filled({2}, 1)), 5);
  session->ResetState();
  EXPECT_EQ(FirstOf(fork->get(), Filled({2}, 1)), 4);
  EXPECT_EQ(FirstOf(session.get(), Filled({2}, 1)), 3);
}

TEST(Session, ForksRunAtTheSameTimeOnEveryBackend) {
  for (const std::string_view name : AllBackendNames()) {
    Program program = Parse(kWeightAndCount);
    ExportOptions options;
    options.backends.push_back({});
    options.backends[0].backend = FindBackend(name);
    Diagnostics diags;
    ASSERT_TRUE(ExportProgram(&program, options, diags)) << diags.ToString();
    ASSERT_FALSE(program.delegates.empty());
    const auto session =
        Session::Load(std::make_shared<const Program>(std::move(program)),
                      SessionOptions(), diags);
    ASSERT_TRUE(session) << diags.ToString();
    constexpr int kCalls = 200;
    std::vector<std::unique_ptr<Session>> forks;
    std::vector<std::vector<float>> found(4);
    for (size_t i = 0; i < found.size(); ++i) {
      auto fork = (*session)->Fork(diags);
      ASSERT_TRUE(fork) << diags.ToString();
      forks.push_back(std::move(*fork));
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < found.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int call = 0; call < kCalls; ++call) {
          found[i].push_back(FirstOf(forks[i].get(), Filled({2}, 1)));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::vector<float>& values : found) {
      for (int call = 0; call < kCalls; ++call) {
        ASSERT_EQ(values[call], 3 + call) << name;
      }
    }
  }
}

// --- hooks ---

TEST(Session, AHookStandsInTheDelegatesPlace) {
  Program program = Parse(kWeightAndCount);
  ExportOptions exported;
  exported.backends.push_back({});
  exported.backends[0].backend = FindBackend("reference");
  Diagnostics diags;
  ASSERT_TRUE(ExportProgram(&program, exported, diags)) << diags.ToString();
  SessionOptions options;
  int num_calls = 0, num_nodes = 0;
  options.delegate_hook = [&](const DelegateCall& call) {
    ++num_calls;
    return call.run(call.inputs);
  };
  options.before_node = [&](NodeId) { ++num_nodes; };
  const auto session = Session::Load(
      std::make_shared<const Program>(std::move(program)), options, diags);
  ASSERT_TRUE(session) << diags.ToString();
  EXPECT_EQ(FirstOf(session->get(), Filled({2}, 1)), 3);
  EXPECT_EQ(num_calls, 1);
  EXPECT_EQ(num_nodes, 1);
  options.delegate_hook =
      [](const DelegateCall& call) -> Expected<std::vector<RuntimeValue>> {
    return call.diags->Error(Rule::kRun01) << "no";
  };
  const auto other =
      Session::Load((*session)->shared_program(), options, diags);
  ASSERT_TRUE(other);
  EXPECT_FALSE((*other)->RunFlat({Filled({2}, 1)}, diags));
  // Backends come from where the options say.
  options.find_backend = [](std::string_view) -> const Backend* {
    return nullptr;
  };
  EXPECT_FALSE(Session::Load((*session)->shared_program(), options, diags));
}

}  // namespace
}  // namespace tenon
