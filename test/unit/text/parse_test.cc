// What handwritten text means, and what is said about text that is wrong.
#include "round_trip.h"

namespace tenon {
namespace {

// A root graph around these lines.
std::string Main(std::string_view lines) {
  return "tenon 1\ngraph @main(%x : f32[2]) {\n" + std::string(lines) +
         "\nreturn (%x)\n}\n";
}

TEST(TextParse, PositionalArgumentsHaveTheSchemasNames) {
  const Program p =
      MustParse(Main("%a : f32[2] = aten.add.Tensor(%x, %x, alpha=2)"));
  const auto args = p.args(p.root().first);
  ASSERT_EQ(args.size(), 3u);
  EXPECT_EQ(p.view(args[0].name), "self");
  EXPECT_EQ(args[0].pass, PassKind::kPositional);
  EXPECT_EQ(p.view(args[1].name), "other");
  EXPECT_EQ(p.view(args[2].name), "alpha");
  EXPECT_EQ(args[2].pass, PassKind::kKeyword);
  EXPECT_EQ(args[2].i, 2);
}

TEST(TextParse, DefaultsOfTypes) {
  const Program p = MustParse(
      "tenon 1 symbol s0 (integer=True) hint 3 symbol s1 hint 5 symbol u0\n"
      "graph @m(%a : f32[2, s0, s1, s1 + 1], %b : f32[u0, 2], %c : i64[],"
      " %d : f32[2, 0, 3], %e : f32[s0, s0, s0]) { return () }");
  const auto stride = [&](size_t input, size_t dim) {
    const SymInt& s = p.type(p.root().inputs[input]).strides[dim];
    return (s.is_literal() ? std::to_string(s.value)
                           : p.context().exprs.PrintInfix(s.expr)) +
           (s.has_hint ? " hint " + std::to_string(s.value) : "");
  };
  EXPECT_EQ(stride(0, 3), "1");
  EXPECT_EQ(stride(0, 2), "s1 + 1 hint 6");
  EXPECT_EQ(stride(0, 1), "s1*(s1 + 1) hint 30");
  EXPECT_EQ(stride(0, 0), "s0*s1*(s1 + 1) hint 90");
  EXPECT_EQ(stride(1, 0), "2");
  EXPECT_EQ(stride(3, 0), "3");
  EXPECT_EQ(stride(4, 0), "s0**2 hint 9");
  const Type& c = p.type(p.root().inputs[2]);
  EXPECT_EQ(p.view(c.device.type), "cpu");
  EXPECT_EQ(c.device.index, -1);
  EXPECT_EQ(c.layout, Layout::kStrided);
  EXPECT_FALSE(c.requires_grad);
  EXPECT_FALSE(p.type(p.root().inputs[1]).sizes[0].has_hint);
}

TEST(TextParse, DefaultListTags) {
  const Program p = MustParse(Main(
      "%i : SymInt(4) = t.i()\n"
      "t.op([], [1], [1, %i], [%i], [%x], [%x, None], [1.5], [True], [\"a\"],"
      " [[1]], [[1.5]], [[%x]], as_floats [], as_tensors [%i])"));
  const NodeId n = p.node(p.root().first).next;
  std::string tags;
  for (const Arg& a : p.args(n)) {
    tags += std::string(Pt2Tag(a.list_tag)).substr(3) + " ";
  }
  EXPECT_EQ(tags,
            "ints ints sym_ints sym_ints tensors optional_tensors floats bools "
            "strings int_lists float_lists nested_tensors floats tensors ");
}

TEST(TextParse, CommentsAndSpaceAreFree) {
  const Program p = MustParse(
      "; first\ntenon ; version\n 1\tgraph@m(%x:f32[ 2 , 3 ]){;x\r\n"
      "%y:f32[2,3]=aten.relu.default(%x)return(%y)}; end");
  EXPECT_EQ(p.CountNodes(Program::kRoot), 1u);
}

TEST(TextParse, StatementsBesideTheGraphsMayComeAfter) {
  const Program p = MustParse(
      "tenon 1 graph @m() { call @c() t.op(@d) return () } meta #0 {}"
      "graph @c() { return () } graph @d() { return () } out_spec (*, *)"
      "module_call \"a\"");
  EXPECT_EQ(p.node(p.root().first).child, GraphId(1u));
  EXPECT_EQ(p.out_spec->num_leaves(), 2u);
}

TEST(TextParse, ATupleOfOneNeedsItsComma) {
  const Program p = MustParse("tenon 1 graph @m() { return () } in_spec (*,)");
  EXPECT_EQ(*p.in_spec, TreeSpec::Tuple({TreeSpec::Leaf()}));
  EXPECT_EQ(ErrorOf("tenon 1 in_spec (*)"),
            "1:19: found ')', expected ',' as a tuple of one is written (*,)");
}

TEST(TextParse, ErrorsSayWhereAndWhat) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "1:1: found the end of the text, expected 'tenon'"},
      {"tenon 2", "1:7: found '2', expected the text form's version, 1"},
      {"tenon 1", "1:8: found the end of the text, expected a graph"},
      {"tenon 1 grph",
       "1:9: found 'grph', expected a statement: graph, parameter, buffer, "
       "symbol, ... or the end"},
      {Main("%a : f32[2] = aten.add.Tensor(%x, %y)"),
       "3:35: found '%y', expected the name of a value of this graph"},
      {Main("%x : f32[2] = t.op()"),
       "3:1: found '%x', expected another name: a value of this graph has it "
       "already, and the second with one label is written with '#2' behind it"},
      {Main("%a : f32[n] = t.op()"),
       "3:10: found 'n', expected a declared symbol: 'symbol n (positive=True, "
       "integer=True)' further up"},
      {Main("%a : f32[2 = t.op()"), "3:10: found no ']' after this expression"},
      {Main("%a : f33[2] = t.op()"),
       "3:6: found 'f33', expected a type, like f32[2, 3], SymInt(s0) or None"},
      {Main("%a : f32[2] aten.relu.default(%x)"),
       "3:13: found 'aten.relu.default', expected ',' or '='"},
      {Main("aten.relu.default(%x"),
       "4:1: found 'return', expected ',' or "
       "')'"},
      {Main("t.op(9223372036854775808)"),
       "3:6: found '9223372036854775808', expected an integer of at most 64 "
       "bits"},
      {Main("t.op(torch.float33)"),
       "3:6: found 'torch.float33', expected a dtype, layout or memory format "
       "of torch"},
      {Main("t.op(\"a)"),
       "3:6: found no closing quote on this line, expected '\"'"},
      {Main("t.op(\"\\q\")"),
       "3:7: unknown escape, expected \\n, \\t, \\r, \\\\, \\\" or \\xHH"},
      {Main("t.op(12ab)"), "3:8: found a letter inside a number"},
      {Main("t.op(nan(hex\"0000000000000000\"))"),
       "3:10: these are no NaN's bits"},
      {Main("t.op() region 0"),
       "3:15: found '0', expected the number of a region that was defined "
       "before"},
      {Main("t.op() #3"),
       "3:8: found '#3', expected the number of a 'meta' of this text"},
      {Main("call @nowhere()"),
       "3:6: found '@nowhere', expected the name of a graph of this text"},
      {Main("delegate @d()"),
       "3:10: found '@d', expected a delegate that was defined before"},
      {Main("get_attr \"w\""),
       "3:10: found '\"w\"', expected a parameter, buffer or constant that was "
       "defined before"},
      {Main("") + "}",
       "6:1: found '}', expected a statement: graph, "
       "parameter, buffer, symbol, ... or the end"},
      {"tenon 1 graph @m() {",
       "1:21: found the end of the text, expected a "
       "node or 'return'"},
      {"tenon 1 storage @1 = 0 bytes hex\"\"",
       "1:17: found '@1', expected @0, as storages are numbered in order"},
      {"tenon 1 storage @0 = 3 bytes hex\"00\"",
       "1:22: found 1 bytes, expected 3"},
      {"tenon 1 storage @0 = 1 bytes hex\"0g\"",
       "1:34: expected pairs of the digits 0 to 9 and a to f"},
      {"tenon 1 storage @0 = 1 bytes hex\"000\"",
       "1:36: expected pairs of the digits 0 to 9 and a to f"},
      {"tenon 1 storage @0 = 999999999999 bytes zeros",
       "1:22: 999999999999 more bytes of zeros, beyond the limit "
       "zero-bytes=268435456 (--read-limit)"},
      {"tenon 1 storage @0 = 5 bytes omitted",
       "1:22: these bytes were left out when the text was printed, expected "
       "them as hex or by digest"},
      {"tenon 1 storage @0 = 5 bytes digest "
       "hex\"00000000000000000000000000000000\"",
       "1:30: no side file has bytes with this digest"},
      {"tenon 1 symbol oo", "1:16: 'oo' can't be a symbol's name"},
      {"tenon 1 symbol s symbol s",
       "1:25: found 's', expected another name: this symbol is declared "
       "already"},
      {"tenon 1 graph @m(%a : f32[9223372036854775807, 9223372036854775807, "
       "2]) { return () }",
       "1:23: the contiguous strides of these sizes can't be worked out, "
       "expected 'strides'"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(ErrorOf(text), message) << text;
  }
}

TEST(TextParse, TheSourceLineIsShownWithACaret) {
  Diagnostics diags;
  EXPECT_FALSE(ParseText(Main("  t.op(%y)"), diags));
  EXPECT_EQ(diags.ToString(),
            "error: test.tenon:3:8: found '%y', expected the name of a value "
            "of this graph [T-TEXT]\n"
            "    t.op(%y)\n"
            "         ^\n");
}

TEST(TextParse, LongLinesAreNotShown) {
  Diagnostics diags;
  EXPECT_FALSE(
      ParseText(Main("t.op(" + std::string(100000, ' ') + "%y)"), diags));
  EXPECT_LT(diags.ToString().size(), 200u);
}

TEST(TextParse, NestingHasALimit) {
  for (const int depth : {500, 100000}) {
    const std::string open(static_cast<size_t>(depth), '[');
    const std::string close(static_cast<size_t>(depth), ']');
    const bool fits = depth < 1000;
    EXPECT_EQ(ErrorOf(Main("t.op(" + open + close + ")")).empty(), fits);
    EXPECT_EQ(ErrorOf(Main("") + "in_spec " + open + close).empty(), fits);
    EXPECT_FALSE(ErrorOf(Main("t.op(" + open + ")")).empty());
    const std::string parens(static_cast<size_t>(depth), '(');
    EXPECT_FALSE(ErrorOf(Main("%a : f32[" + parens + "] = t.op()")).empty());
  }
}

TEST(TextParse, SideFilesAreCheckedAgainstTheDigest) {
  const std::string payload(100, 'w');
  const Digest digest = HashBytes(payload.data(), payload.size());
  const std::string text = "tenon 1 storage @0 = 100 bytes digest hex\"" +
                           digest.ToHex() + "\" graph @m() { return () }";
  const auto parse = [&](std::string bytes) {
    Diagnostics diags;
    auto owner = std::make_shared<std::string>(std::move(bytes));
    const auto p = ParseText(text, diags, [&](const Digest& wanted) {
      EXPECT_EQ(wanted, digest);
      return std::pair<Bytes, std::shared_ptr<const void>>(AsBytes(*owner),
                                                           owner);
    });
    return diags.FirstError();
  };
  EXPECT_EQ(parse(payload), "");
  EXPECT_EQ(parse(std::string(100, 'v')),
            "the side file's bytes have another digest");
  EXPECT_EQ(parse(std::string(99, 'w')), "found 99 bytes, expected 100");
}

}  // namespace
}  // namespace tenon
