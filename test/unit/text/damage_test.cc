// Whatever the bytes: an error or a program whose text is stable, no crash.
#include <random>

#include "round_trip.h"

namespace tenon {
namespace {

constexpr std::string_view kWhole = R"(tenon 1
program "name"
file schema 8.20 torch "2.15.0" verifiers ["TRAINING"] opsets {aten: 10}
guard "x <= 16"
module_metadata "k" = "v"
namedtuple_fields "{}"
unknown "$" "m" = "1"
member "extra/a" = 1 bytes hex"00"
named_nodes
symbol s77 (positive=True, integer=True) hint 4
symbol u0 (integer=True)
range s77 in [2, 16]
range (2*s77 + Symbol('s9', integer=True)) in [-oo, oo] key "odd"
storage @0 = 4 bytes hex"0000003f"
storage @1 = 99 bytes zeros
storage @2 = weightless
parameter "w" : f32[1] requires_grad = @0
buffer "w"#2 : i64[] strides [] offset (0) device cuda:1 = @1 is_param pickled
object "tok" : object "some.Class"
region 0 "attn" backend "cpu"
delegate @sub0 backend "cpu" source @sub
  payload 3 bytes hex"010203" stated_digest hex"000102030405060708090a0b0c0d0e0f"
  inputs (f32[s77, 4]) names ["q"]
  outputs (f32[s77, 4])
  write input 0 output 0 kv_cache_update
in_spec ((*, [*]), {k: *, "odd key": type "a.B" json "{}" (*)})
out_spec (*,)
forward_args ["x"]
no_root_module_call
graph @main(%w : f32[1] requires_grad = parameter "w", %x : f32[s77, 4],
    %k : int 3 = user fixed, %n : i64[] = buffer "w"#2) {
  %add : f32[s77, 4] = aten.add.Tensor(%x, %w, alpha=1) region 0 #0
  %add#2 : f32[s77 hint 9, 4] = aten.add.Tensor?(%add, other=%add) #1
  [%s0 : f32[u0, 2] strides [4, 1], %"a \x00" : ?], None = aten.split.Tensor(%add, [2, 2]) name "split"
  %i : SymInt(s77), %f : SymFloat(ToFloat(s77) hint 2.5) = t.op(?1, !2, ??3, y: 4)
  t.op(nan(hex"fff8000000000001"), -1e-05, "a\n", complex(1.0, -inf), op(aten.add.Tensor), object("a", "b"), [[1], [2]], as_tensors [], [%late, None], {a: True}, torch.float32, device("cuda", 1))
  %late : f32[8] layout sparse_coo = delegate @sub0(%x) single_return True unnamed
  %e : f32[4], %#1 : None = call @sub(%x, y=@true_graph, @sub%y) form (list 2)
  %g : f32[1] = get_attr "w"
  return (%add as buffer_mutation "w"#2, %x as user_input_mutation %x, None, 3)
}
extra_input token
extra_output user_input_mutation input 7
graph @true_graph() returns_single { return (1) }
graph @sub(%y : f32[s77, 4]) parameters ["y"] { return (%y) }
module_call "net" (%x, _, json "{}") -> (@sub%y) in_spec * out_spec () forward_args ["x"]
meta #0 { stack_trace: "a\n" "b\n" k: "" }
meta #1 { "x y": "z" }
)";

void Try(const std::string& text) {
  Diagnostics diags;
  const auto program = ParseText(text, diags);
  ASSERT_EQ(program.ok(), !diags.has_errors());
  if (!program) return;
  // Well-formed by chance: then it has a stable text as any other program.
  const std::string printed = PrintProgram(*program, {});
  const auto again = ParseText(printed, diags, [](const Digest&) {
    return std::pair<Bytes, std::shared_ptr<const void>>();
  });
  ASSERT_TRUE(again.ok()) << diags.ToString() << printed;
  ASSERT_EQ(PrintProgram(*again, {}), printed);
}

TEST(TextDamage, TheWholeTextIsRight) {
  const Program p = MustParse(kWhole);
  EXPECT_EQ(p.num_graphs(), 3u);
  RoundTrip(p);
}

TEST(TextDamage, EveryPrefix) {
  for (size_t size = 0; size < kWhole.size(); ++size) {
    Try(std::string(kWhole.substr(0, size)));
  }
}

TEST(TextDamage, EveryByteRemoved) {
  for (size_t at = 0; at < kWhole.size(); ++at) {
    std::string text(kWhole);
    text.erase(at, 1);
    Try(text);
  }
}

TEST(TextDamage, EveryByteReplaced) {
  for (size_t at = 0; at < kWhole.size(); ++at) {
    for (const char c : std::string_view("\0\xFF\"#%@[}:,0 ", 12)) {
      std::string text(kWhole);
      text[at] = c;
      Try(text);
    }
  }
}

TEST(TextDamage, PiecesMovedAround) {
  std::mt19937 random(20260101);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  for (int i = 0; i < 3000; ++i) {
    std::string text(kWhole);
    for (size_t edits = 1 + below(4); edits > 0; --edits) {
      const size_t from = below(text.size());
      const std::string piece = text.substr(from, 1 + below(40));
      switch (below(3)) {
        case 0:
          text.insert(below(text.size()), piece);
          break;
        case 1:
          text.erase(from, piece.size());
          break;
        default:
          text.replace(below(text.size()), 1 + below(40), piece);
      }
      if (text.empty()) text = "tenon";
    }
    Try(text);
  }
}

TEST(TextDamage, AByteThatIsntUtf8HasItsPlace) {
  Diagnostics diags;
  const std::string text =
      "tenon 1\nsymbol s0 (i=\xFFnteger=True)\n"
      "graph @main() {\n  return ()\n}\n";
  EXPECT_FALSE(ParseProgram(text, "t", std::make_shared<Context>(),
                            PayloadSource(), diags));
  EXPECT_NE(diags.ToString().find("2:14"), std::string::npos)
      << diags.ToString();
  EXPECT_NE(diags.ToString().find("isn't UTF-8"), std::string::npos)
      << diags.ToString();
}

TEST(TextDamage, RandomBytes) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string text = i % 2 ? "tenon 1 " : "";
    for (size_t n = random() % 200; n > 0; --n) {
      text += static_cast<char>(random());
    }
    Try(text);
  }
}

}  // namespace
}  // namespace tenon
