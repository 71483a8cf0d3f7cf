// Programs made by hand come back from their text as they were.
#include "round_trip.h"

#include <cmath>
#include <cstring>

namespace tenon {
namespace {

class Maker {
 public:
  Maker() : program(std::make_shared<Context>()) {}

  StringId S(std::string_view text) { return context().Intern(text); }
  Context& context() { return program.context(); }

  TypeId Tensor(DType dtype, std::vector<int64_t> sizes) {
    Type type;
    type.kind = TypeKind::kTensor;
    type.dtype = dtype;
    type.device.type = S("cpu");
    int64_t stride = 1;
    for (const int64_t size : sizes) {
      type.sizes.push_back(SymInt::Literal(size));
    }
    for (size_t i = sizes.size(); i-- > 0;) {
      type.strides.insert(type.strides.begin(), SymInt::Literal(stride));
      stride *= std::max<int64_t>(sizes[i], 1);
    }
    return context().types.Intern(std::move(type));
  }
  TypeId Of(const Type& type) { return context().types.Intern(type); }

  // A node of the root graph with these literals as positional arguments.
  NodeId Op(std::string_view name, const std::vector<Arg>& args) {
    const NodeId n = program.NewOp(context().InternOp(name), StringId());
    const ArgRange range = program.NewArgs(static_cast<uint32_t>(args.size()));
    for (uint32_t i = 0; i < range.count; ++i) {
      if (args[i].is_value()) {
        program.SetValueArg(range[i], n, args[i].v.value);
      } else {
        program.SetArg(range[i], args[i]);
      }
      program.SetArgLabel(range[i], args[i].name, PassKind::kPositional);
    }
    program.SetArgRange(n, range);
    program.Append(Program::kRoot, n);
    return n;
  }
  ValueId Result(NodeId n, TypeId type, std::string_view label) {
    const ValueRange range = program.NewResults(n, 1);
    program.mutable_value(range[0]).type = type;
    program.mutable_value(range[0]).name = S(label);
    return range[0];
  }
  ArgRange Items(const std::vector<Arg>& items) {
    const ArgRange range = program.NewArgs(static_cast<uint32_t>(items.size()));
    for (uint32_t i = 0; i < range.count; ++i) {
      program.SetArg(range[i], items[i]);
    }
    return range;
  }
  static Arg Use(ValueId v) {
    Arg a;
    a.kind = ArgKind::kValue;
    a.v.value = v;
    return a;
  }

  Program program;
};

const Arg& OnlyArg(const Program& p) {
  return p.args(p.graph(Program::kRoot).first)[0];
}

// What one literal argument looks like after a round trip.
Program WithArg(Maker& m, Arg arg) {
  m.program.AddGraph("main");
  m.Op("test.op.default", {arg});
  return RoundTrip(m.program);
}

TEST(TextRoundTrip, SmallestProgram) {
  Maker m;
  m.program.AddGraph("main");
  const Program p = RoundTrip(m.program);
  EXPECT_EQ(p.num_graphs(), 1u);
  EXPECT_EQ(p.CountNodes(Program::kRoot), 0u);
}

TEST(TextRoundTrip, IntegerLimits) {
  for (const int64_t v :
       {INT64_MIN, INT64_MIN + 1, int64_t{-1}, int64_t{0}, INT64_MAX}) {
    Maker m;
    const Program p = WithArg(m, Arg::Int(v));
    EXPECT_EQ(OnlyArg(p).kind, ArgKind::kInt);
    EXPECT_EQ(OnlyArg(p).i, v);
  }
}

TEST(TextRoundTrip, FloatBits) {
  const uint64_t patterns[] = {
      0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000,
      0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
      0xFFF8000000000000, 0x7FF8000000000001, 0x7FF0000000000001,
      0x0000000000000001, 0x7FEFFFFFFFFFFFFF, 0x3FB999999999999A,
      0x4340000000000000, 0x0010000000000000};
  for (const uint64_t bits : patterns) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    Maker m;
    const Program p = WithArg(m, Arg::Float(value));
    ASSERT_EQ(OnlyArg(p).kind, ArgKind::kFloat);
    uint64_t found;
    std::memcpy(&found, &OnlyArg(p).f, sizeof found);
    EXPECT_EQ(found, bits);
  }
}

TEST(TextRoundTrip, StringsOfAnyBytes) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string& text :
       {std::string(), std::string("\n\"\\\t\r"), all,
        std::string("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
        std::string("\xED\xA0\x80"), std::string("\xC3"),
        std::string("nul\0inside", 10)}) {
    Maker m;
    const Program p = WithArg(m, Arg::String(m.S(text)));
    ASSERT_EQ(OnlyArg(p).kind, ArgKind::kString);
    EXPECT_EQ(p.view(OnlyArg(p).text), text);
  }
}

TEST(TextRoundTrip, EveryDtypeLayoutAndMemoryFormat) {
  for (int i = 0; DTypeFromCode(i) || i < 64; ++i) {
    if (const auto dtype = DTypeFromCode(i)) {
      Maker m;
      const Program p = WithArg(m, Arg::Dtype(*dtype));
      EXPECT_EQ(OnlyArg(p).kind, ArgKind::kDtype);
      EXPECT_EQ(OnlyArg(p).dtype(), *dtype);
    }
    if (const auto layout = LayoutFromCode(i)) {
      Maker m;
      const Program p = WithArg(m, Arg::OfLayout(*layout));
      EXPECT_EQ(OnlyArg(p).kind, ArgKind::kLayout);
      EXPECT_EQ(OnlyArg(p).layout(), *layout);
    }
    if (const auto format = MemoryFormatFromCode(i)) {
      Maker m;
      const Program p = WithArg(m, Arg::OfMemoryFormat(*format));
      EXPECT_EQ(OnlyArg(p).kind, ArgKind::kMemoryFormat);
      EXPECT_EQ(OnlyArg(p).memory_format(), *format);
    }
  }
}

TEST(TextRoundTrip, OtherLiterals) {
  {
    Maker m;
    EXPECT_EQ(OnlyArg(WithArg(m, Arg::None())).kind, ArgKind::kNone);
  }
  for (const bool b : {false, true}) {
    Maker m;
    const Program p = WithArg(m, Arg::Bool(b));
    EXPECT_EQ(OnlyArg(p).kind, ArgKind::kBool);
    EXPECT_EQ(OnlyArg(p).i != 0, b);
  }
  for (const int32_t index : {-1, 0, INT32_MAX}) {
    Maker m;
    const Program p = WithArg(m, Arg::OfDevice(m.S("cuda"), index));
    ASSERT_EQ(OnlyArg(p).kind, ArgKind::kDevice);
    EXPECT_EQ(p.view(OnlyArg(p).device.type), "cuda");
    EXPECT_EQ(OnlyArg(p).device.index, index);
  }
  {
    Maker m;
    const Program p =
        WithArg(m, Arg::Operator(m.context().InternOp("@odd::target")));
    ASSERT_EQ(OnlyArg(p).kind, ArgKind::kOperator);
    EXPECT_EQ(p.context().op_name(OnlyArg(p).op), "@odd::target");
  }
  {
    Maker m;
    const Program p = WithArg(m, Arg::Object(m.S("obj"), m.S("a.B")));
    ASSERT_EQ(OnlyArg(p).kind, ArgKind::kObject);
    EXPECT_EQ(p.view(OnlyArg(p).object.name), "obj");
    EXPECT_EQ(p.view(OnlyArg(p).object.class_fqn), "a.B");
  }
  {
    Maker m;
    m.program.AddGraph("main");
    Arg complex;
    complex.kind = ArgKind::kComplex;
    complex.list = m.Items({Arg::Float(1), Arg::Float(-0.0)});
    m.Op("test.op.default", {complex});
    const Program p = RoundTrip(m.program);
    ASSERT_EQ(OnlyArg(p).kind, ArgKind::kComplex);
    EXPECT_TRUE(std::signbit(p.args(OnlyArg(p).list)[1].f));
  }
}

constexpr ListTag kListTags[] = {
#define TENON_LIST_TAG(name, tag) ListTag::name,
#include "ir/kinds.def"
};

TEST(TextRoundTrip, ListTags) {
  const auto make_items = [](Maker& m, int kind) -> std::vector<Arg> {
    switch (kind) {
      case 0:
        return {};
      case 1:
        return {Arg::Int(1), Arg::Int(2)};
      case 2:
        return {Arg::Float(1)};
      case 3:
        return {Arg::Bool(true)};
      case 4:
        return {Arg::String(m.S("a"))};
      case 5:
        return {Arg::None(), Arg::None()};
      case 6:
        return {Arg::OfList(ListTag::kInts, m.Items({Arg::Int(1)}))};
      default:
        return {Arg::OfList(ListTag::kTensors, m.Items({}))};
    }
  };
  // Whatever the items are, whatever the tag: it comes back.
  for (int kind = 0; kind < 8; ++kind) {
    for (const ListTag tag : kListTags) {
      Maker m;
      m.program.AddGraph("main");
      const Arg list = Arg::OfList(tag, m.Items(make_items(m, kind)));
      m.Op("test.op.default", {list});
      const Program p = RoundTrip(m.program);
      ASSERT_EQ(OnlyArg(p).kind, ArgKind::kList);
      EXPECT_EQ(OnlyArg(p).list_tag, tag) << Pt2Tag(tag) << kind;
    }
  }
}

TEST(TextRoundTrip, DictsKeepOddAndRepeatedKeys) {
  Maker m;
  m.program.AddGraph("main");
  Arg dict;
  dict.kind = ArgKind::kDict;
  const std::vector<std::string> keys = {"a", "", "a", "x: y", "True"};
  dict.list = m.Items(std::vector<Arg>(keys.size(), Arg::Int(1)));
  for (uint32_t i = 0; i < keys.size(); ++i) {
    m.program.SetArgLabel(dict.list[i], m.S(keys[i]), PassKind::kUnstated);
  }
  m.Op("test.op.default", {dict});
  const Program p = RoundTrip(m.program);
  const auto items = p.args(OnlyArg(p).list);
  ASSERT_EQ(items.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(p.view(items[i].name), keys[i]);
  }
}

TEST(TextRoundTrip, PassKindsAndNames) {
  constexpr PassKind kAll[] = {PassKind::kUnstated, PassKind::kUnknown,
                               PassKind::kPositional, PassKind::kKeyword};
  // Every pair of pass kinds and of names, of an operator with a schema.
  for (const PassKind first : kAll) {
    for (const PassKind second : kAll) {
      for (const std::string_view name : {"self", "other", "odd name", ""}) {
        Maker m;
        m.program.AddGraph("main");
        const NodeId n = m.Op("aten.add.Tensor", {Arg::Int(1), Arg::Int(2)});
        const ArgRange range = m.program.node(n).args;
        m.program.SetArgLabel(range[0], m.S("self"), first);
        m.program.SetArgLabel(range[1], m.S(name), second);
        const Program p = RoundTrip(m.program);
        const auto args = p.args(p.root().first);
        EXPECT_EQ(args[0].pass, first);
        EXPECT_EQ(args[1].pass, second);
        EXPECT_EQ(p.view(args[0].name), "self");
        EXPECT_EQ(p.view(args[1].name), name);
      }
    }
  }
}

TEST(TextRoundTrip, EveryKindOfType) {
  Maker m;
  const GraphId g = m.program.AddGraph("main");
  Context& c = m.context();
  const ExprId s = c.exprs.Symbol("s77", "positive=True, integer=True");
  std::vector<Type> types(16);
  for (Type& t : types) t.kind = TypeKind::kTensor;
  for (Type& t : types) t.dtype = DType::kFloat32;
  for (Type& t : types) t.device.type = m.S("cpu");
  size_t n = 0;
  types[n++].requires_grad = true;
  types[n].sizes = {SymInt::Symbolic(s, 4), SymInt::Literal(3)};
  types[n++].strides = {SymInt::Literal(3), SymInt::Literal(1)};
  types[n].sizes = {SymInt::Symbolic(s, 5)};  // another hint
  types[n++].strides = {SymInt::Literal(1)};
  types[n].sizes = {SymInt::Symbolic(s, std::nullopt)};
  types[n++].strides = {SymInt::Literal(2)};
  types[n].sizes = {SymInt::Literal(0), SymInt::Literal(5)};
  types[n++].strides = {SymInt::Literal(0), SymInt::Literal(0)};
  types[n++].sizes = {SymInt::Literal(2)};  // no strides at all
  types[n].sizes = {SymInt::Literal(INT64_MAX), SymInt::Literal(INT64_MAX)};
  types[n++].strides = {SymInt::Literal(1), SymInt::Literal(INT64_MIN)};
  types[n++].storage_offset =
      SymInt::Symbolic(c.exprs.Call("Mul", {c.exprs.Integer(2), s}), 8);
  types[n++].device = {m.S("cuda"), 3};
  types[n++].device = {m.S("odd device"), -1};
  types[n++].layout = Layout::kSparseCoo;
  types.resize(n);
  const auto scalar = [&](TypeKind kind) -> Type& {
    types.emplace_back().kind = kind;
    return types.back();
  };
  scalar(TypeKind::kSymInt).sym = SymInt::Symbolic(s, 4);
  scalar(TypeKind::kSymInt).sym = SymInt::Symbolic(s, 9);
  scalar(TypeKind::kSymInt).sym = SymInt::Literal(-7);
  scalar(TypeKind::kSymFloat).sym.expr = c.exprs.Call("ToFloat", {s});
  {
    Type& t = scalar(TypeKind::kSymFloat);
    t.sym.expr = c.exprs.Call("ToFloat", {s});
    t.sym.has_hint = true;
    t.real = -std::numeric_limits<double>::infinity();
  }
  {
    Type& t = scalar(TypeKind::kSymBool);
    t.sym.expr = c.exprs.Call("Equality", {s, c.exprs.Integer(4)});
    t.sym.has_hint = true;
    t.sym.value = 1;
  }
  scalar(TypeKind::kSymBool).sym.has_hint = true;
  scalar(TypeKind::kSymBool).sym.value = 1;
  scalar(TypeKind::kSymFloat).real = 2.5;
  scalar(TypeKind::kObject).text = m.S("a.b.\"C\"");
  scalar(TypeKind::kNone);
  scalar(TypeKind::kInt).sym.value = INT64_MIN;
  scalar(TypeKind::kFloat).real = 0.1;
  scalar(TypeKind::kBool).sym.value = 1;
  scalar(TypeKind::kBool);
  scalar(TypeKind::kString).text = m.S("a\nb");
  for (const Type& t : types) m.program.AddInput(g, m.Of(t), StringId());
  m.program.signature.inputs.resize(types.size());
  m.program.AddInput(g, TypeId(), m.S("without_type"));

  const Program p = RoundTrip(m.program);
  ASSERT_EQ(p.root().inputs.size(), types.size() + 1);
  for (size_t i = 0; i < types.size(); ++i) {
    const Type& found = p.type(p.root().inputs[i]);
    const Type& t = types[i];
    EXPECT_EQ(found.kind, t.kind) << i;
    EXPECT_EQ(found.dtype, t.dtype) << i;
    EXPECT_EQ(found.layout, t.layout) << i;
    EXPECT_EQ(found.requires_grad, t.requires_grad) << i;
    EXPECT_EQ(p.view(found.device.type), c.view(t.device.type)) << i;
    EXPECT_EQ(found.device.index, t.device.index) << i;
    EXPECT_EQ(p.view(found.text), c.view(t.text)) << i;
    EXPECT_EQ(found.real, t.real) << i;
    const auto same = [&](const SymInt& a, const SymInt& b) {
      EXPECT_EQ(a.value, b.value) << i;
      EXPECT_EQ(a.has_hint, b.has_hint) << i;
      ASSERT_EQ(a.is_literal(), b.is_literal()) << i;
      if (a.is_literal()) return;
      EXPECT_EQ(p.context().exprs.PrintSrepr(a.expr),
                c.exprs.PrintSrepr(b.expr))
          << i;
    };
    same(found.sym, t.sym);
    same(found.storage_offset, t.storage_offset);
    ASSERT_EQ(found.sizes.size(), t.sizes.size()) << i;
    ASSERT_EQ(found.strides.size(), t.strides.size()) << i;
    for (size_t d = 0; d < t.sizes.size(); ++d) {
      same(found.sizes[d], t.sizes[d]);
    }
    for (size_t d = 0; d < t.strides.size(); ++d) {
      same(found.strides[d], t.strides[d]);
    }
  }
  EXPECT_FALSE(p.value(p.root().inputs.back()).type.valid());
}

TEST(TextRoundTrip, SymbolsThatShareANameStayApart) {
  Maker m;
  const GraphId g = m.program.AddGraph("main");
  Context& c = m.context();
  const ExprId symbols[] = {c.exprs.Symbol("s0", "positive=True, integer=True"),
                            c.exprs.Symbol("s0", "integer=True"),
                            c.exprs.Symbol("oo", "integer=True"),
                            c.exprs.Symbol("odd name", "integer=True"),
                            c.exprs.Symbol("s1", ""),
                            c.exprs.Symbol("s2", "a=\"b\", c")};
  for (const ExprId s : symbols) {
    Type t;
    t.kind = TypeKind::kSymInt;
    t.sym = SymInt::Symbolic(s, 3);
    m.program.AddInput(g, m.Of(t), m.S("x"));
  }
  m.program.signature.inputs.resize(6);
  const Program p = RoundTrip(m.program);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(p.context().exprs.PrintSrepr(p.type(p.root().inputs[i]).sym.expr),
              c.exprs.PrintSrepr(symbols[i]));
    EXPECT_TRUE(p.type(p.root().inputs[i]).sym.has_hint);
  }
}

TEST(TextRoundTrip, OddAndRepeatedLabels) {
  Maker m;
  const GraphId g = m.program.AddGraph("a graph");
  const TypeId type = m.Tensor(DType::kFloat32, {2});
  const std::vector<std::string> labels = {
      "add", "add", "", "a b", "a b", "", "add#2", "0", "add", "%x", "\n"};
  std::vector<ValueId> inputs;
  for (const std::string& label : labels) {
    inputs.push_back(
        m.program.AddInput(g, type, label.empty() ? StringId() : m.S(label)));
  }
  m.program.signature.inputs.resize(labels.size());
  // One node per input, so that each mention is checked.
  for (const ValueId v : inputs) {
    m.Result(m.Op("aten.relu.default", {Maker::Use(v)}), type, "add");
  }
  const Program p = RoundTrip(m.program);
  ASSERT_EQ(p.root().inputs.size(), labels.size());
  size_t i = 0;
  for (const NodeId n : p.nodes(g)) {
    if (n == p.root().output) break;
    EXPECT_EQ(p.args(n)[0].value(), p.root().inputs[i]);
    EXPECT_EQ(p.view(p.value(p.root().inputs[i]).name), labels[i]);
    ++i;
  }
  EXPECT_EQ(p.view(p.root().name), "a graph");
}

TEST(TextRoundTrip, NodeNames) {
  struct Case {
    const char* result;
    const char* node;
    bool has_name;
  };
  for (const Case& c :
       {Case{"r", "r", true}, Case{"r", "r", false}, Case{"r", "n", true},
        Case{"r", "n", false}, Case{"r", "", false}, Case{"", "n", true}}) {
    for (const int others : {0, 3}) {  // nodes that make "named" the majority
      Maker m;
      m.program.AddGraph("main");
      const TypeId type = m.Tensor(DType::kFloat32, {});
      const NodeId n = m.Op("test.op.default", {});
      m.Result(n, type, c.result);
      m.program.mutable_node(n).name = m.S(c.node);
      m.program.mutable_node(n).has_name = c.has_name;
      for (int i = 0; i < others; ++i) {
        const NodeId other = m.Op("test.op.default", {});
        m.Result(other, type, "o");
        m.program.mutable_node(other).has_name = true;
      }
      const Program p = RoundTrip(m.program);
      const NodeId found = p.root().first;
      const std::string shown = *c.result ? c.result : c.node;
      EXPECT_EQ(p.node(found).has_name, c.has_name);
      // A label that only repeats the result's says nothing.
      EXPECT_EQ(p.view(p.node(found).name),
                c.has_name || c.node != shown ? c.node : "");
      EXPECT_EQ(p.view(p.value(p.node(found).results[0]).name), shown);
    }
  }
}

TEST(TextRoundTrip, FormsOfResults) {
  using Kind = FormItem::Kind;
  const std::vector<Form> forms = {
      {},
      {{Kind::kList, 3}},
      {{Kind::kList, 1}, {Kind::kValue, 0}, {Kind::kNone, 0}, {Kind::kList, 1}},
      {{Kind::kNone, 0},
       {Kind::kValue, 0},
       {Kind::kValue, 0},
       {Kind::kValue, 0}},
      {{Kind::kList, 0}, {Kind::kList, 3}},
      {{Kind::kList, 7}},  // doesn't fit three results
      {{Kind::kList, 0xFFFFFFFEu}, {Kind::kNone, 0}}};
  for (const Form& form : forms) {
    Maker m;
    m.program.AddGraph("main");
    const NodeId n = m.Op("test.op.default", {});
    const ValueRange results = m.program.NewResults(n, 3);
    for (uint32_t i = 0; i < 3; ++i) {
      m.program.mutable_value(results[i]).type = m.context().none_type();
    }
    m.program.mutable_node(n).form = m.context().InternForm(form);
    const Program p = RoundTrip(m.program);
    const FormId found = p.node(p.root().first).form;
    EXPECT_EQ(p.node(p.root().first).results.count, 3u);
    EXPECT_EQ(found.valid() ? p.context().form(found) : Form(), form);
  }
}

TEST(TextRoundTrip, StateAndSignature) {
  Maker m;
  const GraphId g = m.program.AddGraph("main");
  auto bytes = std::make_shared<std::string>(1000, 'x');
  const TypeId type = m.Tensor(DType::kUInt8, {2});
  const StorageId small =
      m.program.state.AddStorage({AsBytes(*bytes).first(5), bytes, false});
  const StorageId large =
      m.program.state.AddStorage({AsBytes(*bytes), bytes, false});
  const StorageId weightless = m.program.state.AddStorage({{}, nullptr, true});
  const StorageId empty = m.program.state.AddStorage({{}, nullptr, false});
  using K = StateKind;
  const std::vector<StateEntry> entries = {
      {m.S("w"), K::kParameter, type, small, true, false},
      {m.S("w"), K::kParameter, type, large, false, false},
      {m.S("b c"), K::kPersistentBuffer, type, large, true, true},
      {m.S(""), K::kNonPersistentBuffer, type, weightless, false, false},
      {m.S("k"), K::kConstant, type, empty, false, true},
      {m.S("o"), K::kObject, TypeId(), StorageId(), false, false}};
  for (const StateEntry& e : entries) m.program.state.Add(e);

  std::vector<ValueId> inputs;
  using I = InputKind;
  const std::vector<InputSpec> specs = {
      {I::kParameter, StateId(1u), false},
      {I::kBuffer, StateId(2u), false},
      {I::kConstantTensor, StateId(4u), false},
      {I::kObject, StateId(5u), false},
      {I::kToken, StateId(), false},
      {I::kParameter, StateId(), false},
      {I::kUserInput, StateId(), true},
      {I::kUserInput, StateId(), false}};
  for (size_t i = 0; i < specs.size(); ++i) {
    inputs.push_back(m.program.AddInput(g, type, m.S("x")));
  }
  m.program.signature.inputs = specs;
  using O = OutputKind;
  m.program.signature.outputs = {
      {O::kBufferMutation, StateId(2u), OutputSpec::kNoInput},
      {O::kParameterMutation, StateId(0u), OutputSpec::kNoInput},
      {O::kUserInputMutation, StateId(), 7},
      {O::kGradientToUserInput, StateId(), 99},
      {O::kGradientToParameter, StateId(1u), 3},
      {O::kLossOutput, StateId(), OutputSpec::kNoInput},
      {O::kToken, StateId(), OutputSpec::kNoInput},
      {O::kUserOutput, StateId(), OutputSpec::kNoInput}};
  const ArgRange outputs = m.program.NewArgs(8);
  for (uint32_t i = 0; i < 7; ++i) {
    m.program.SetValueArg(outputs[i], m.program.root().output, inputs[i]);
  }
  m.program.SetOutputs(g, outputs);

  const Program p = RoundTrip(m.program);
  ASSERT_EQ(p.state.storages.size(), 4u);
  EXPECT_EQ(AsText(p.state.storages[0].bytes), "xxxxx");
  EXPECT_EQ(AsText(p.state.storages[1].bytes), *bytes);
  EXPECT_TRUE(p.state.storages[2].is_weightless);
  EXPECT_FALSE(p.state.storages[3].is_weightless);
  ASSERT_EQ(p.state.entries.size(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(p.view(p.state.entries[i].fqn), m.program.view(entries[i].fqn));
    EXPECT_EQ(p.state.entries[i].kind, entries[i].kind);
    EXPECT_EQ(p.state.entries[i].storage, entries[i].storage);
    EXPECT_EQ(p.state.entries[i].is_param, entries[i].is_param);
    EXPECT_EQ(p.state.entries[i].is_pickled, entries[i].is_pickled);
  }
  ASSERT_EQ(p.signature.inputs.size(), specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(p.signature.inputs[i].kind, specs[i].kind);
    EXPECT_EQ(p.signature.inputs[i].state, specs[i].state);
    EXPECT_EQ(p.signature.inputs[i].is_constant_input,
              specs[i].is_constant_input);
  }
  ASSERT_EQ(p.signature.outputs.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    const OutputSpec& expected = m.program.signature.outputs[i];
    EXPECT_EQ(p.signature.outputs[i].kind, expected.kind);
    EXPECT_EQ(p.signature.outputs[i].state, expected.state);
    EXPECT_EQ(p.signature.outputs[i].input, expected.input);
  }
}

TEST(TextRoundTrip, SignatureOfAnotherLength) {
  for (const size_t count : {0u, 1u, 2u, 3u, 5u}) {
    Maker m;
    const GraphId g = m.program.AddGraph("main");
    for (int i = 0; i < 2; ++i) {
      m.program.AddInput(g, m.Tensor(DType::kFloat32, {}), m.S("x"));
    }
    m.program.SetOutputs(g, m.program.NewArgs(2));
    m.program.signature.inputs.resize(count);
    m.program.signature.outputs.resize(count);
    const Program p = RoundTrip(m.program);
    EXPECT_EQ(p.signature.inputs.size(), count);
    EXPECT_EQ(p.signature.outputs.size(), count);
  }
}

TEST(TextRoundTrip, GraphsDelegatesRegions) {
  Maker m;
  Program& q = m.program;
  const GraphId main = q.AddGraph("main");
  const GraphId first = q.AddGraph("body");
  const GraphId second = q.AddGraph("body");
  const GraphId erased = q.AddGraph("body");
  const GraphId source = q.AddGraph("");
  q.EraseGraph(erased);
  const TypeId type = m.Tensor(DType::kFloat32, {2});
  q.mutable_graph(second).returns_single = true;
  const ValueId inner = q.AddInput(second, type, m.S("x"));
  const ArgRange items = q.NewArgs(2), defaults = q.NewArgs(1);
  q.SetArg(items[0], Arg::Int(3));
  q.SetArg(items[1], Arg::Int(-4));
  q.SetArg(defaults[0], Arg::OfList(ListTag::kInts, items));
  q.mutable_graph(second).parameters = {{m.S("x")}, {m.S("y z"), defaults[0]}};
  const ArgRange returned = q.NewArgs(1);
  q.SetValueArg(returned[0], q.graph(second).output, inner);
  q.SetOutputs(second, returned);

  q.regions = {{m.S("r"), m.S("cpu")}, {m.S("r"), m.S("")}};
  auto payload = std::make_shared<std::string>(300, 'p');
  Delegate d;
  d.name = m.S("sub");
  d.backend = m.S("cpu");
  d.payload = AsBytes(*payload);
  d.payload_digest = HashBytes(payload->data(), payload->size());
  d.source = source;
  d.inputs = {type, type};
  d.outputs = {type};
  d.writes = {{1, 0, WriteKind::kKvCacheUpdate}, {0, 5, WriteKind::kUser}};
  d.input_names = {m.S("a"), m.S("b c")};
  q.delegates.push_back(d);
  d.source = GraphId();
  d.payload = {};
  d.payload_digest = {1, 2};
  q.delegates.push_back(d);
  d.payload_digest = {};
  d.output_names = {m.S("o")};
  q.delegates.push_back(d);
  d.payload_digest = HashBytes(nullptr, 0);
  q.delegates.push_back(d);

  const auto call = [&](NodeKind kind) {
    const NodeId n = q.NewNode(kind);
    q.SetArgRange(n, q.NewArgs(1));
    q.SetArgLabel(q.node(n).args[0], StringId(), PassKind::kPositional);
    q.Append(main, n);
    return n;
  };
  q.mutable_node(call(NodeKind::kChildCall)).child = second;
  q.mutable_node(call(NodeKind::kChildCall)).region = RegionId(1u);
  q.mutable_node(call(NodeKind::kDelegateCall)).delegate = DelegateId(1u);
  call(NodeKind::kDelegateCall);
  call(NodeKind::kOutput);
  call(NodeKind::kGetState);
  const NodeId cond =
      m.Op("higher_order.cond", {Arg::OfGraph(first), Arg::OfGraph(second)});
  q.mutable_node(cond).single_return = SingleReturn::kTrue;
  q.mutable_node(cond).metadata =
      m.context().InternMetadata({{m.S("stack_trace"), m.S("a\nb\n\n")},
                                  {m.S("odd key"), m.S("")},
                                  {m.S("odd key"), m.S("\nx")}});

  const Program p = RoundTrip(q);
  ASSERT_EQ(p.num_graphs(), 4u);
  EXPECT_TRUE(p.graph(GraphId(2u)).returns_single);
  const auto& parameters = p.graph(GraphId(2u)).parameters;
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_FALSE(parameters[0].value.valid());
  ASSERT_TRUE(parameters[1].value.valid());
  EXPECT_EQ(p.args(p.arg(parameters[1].value).list)[1].i, -4);
  ASSERT_EQ(p.delegates.size(), 4u);
  EXPECT_EQ(AsText(p.delegates[0].payload), *payload);
  EXPECT_EQ(p.delegates[0].source, GraphId(3u));
  EXPECT_EQ(p.delegates[0].writes, q.delegates[0].writes);
  EXPECT_EQ(p.delegates[0].payload_digest, q.delegates[0].payload_digest);
  EXPECT_EQ(p.delegates[1].payload_digest, (Digest{1, 2}));
  EXPECT_EQ(p.delegates[2].payload_digest, Digest());
  EXPECT_EQ(p.delegates[2].output_names.size(), 1u);
  EXPECT_EQ(p.delegates[3].payload_digest, HashBytes(nullptr, 0));
  std::vector<NodeId> nodes;
  for (const NodeId n : p.nodes(main)) nodes.push_back(n);
  ASSERT_EQ(nodes.size(), 8u);
  EXPECT_EQ(p.node(nodes[0]).child, GraphId(2u));
  EXPECT_FALSE(p.node(nodes[1]).child.valid());
  EXPECT_EQ(p.node(nodes[1]).region, RegionId(1u));
  EXPECT_EQ(p.node(nodes[2]).delegate, DelegateId(1u));
  EXPECT_FALSE(p.node(nodes[3]).delegate.valid());
  EXPECT_EQ(p.node(nodes[4]).kind, NodeKind::kOutput);
  EXPECT_EQ(p.node(nodes[5]).kind, NodeKind::kGetState);
  EXPECT_EQ(p.args(nodes[6])[1].graph, GraphId(2u));
  EXPECT_EQ(p.node(nodes[6]).single_return, SingleReturn::kTrue);
  const Metadata& metadata = p.context().metadata(p.node(nodes[6]).metadata);
  ASSERT_EQ(metadata.size(), 3u);
  EXPECT_EQ(p.view(metadata[0].second), "a\nb\n\n");
  EXPECT_EQ(p.view(metadata[2].second), "\nx");
}

TEST(TextRoundTrip, FileInfoSpecsAndModuleCalls) {
  Maker m;
  Program& q = m.program;
  const GraphId main = q.AddGraph("main");
  const GraphId other = q.AddGraph("other");
  const TypeId type = m.Tensor(DType::kFloat32, {});
  const ValueId x = q.AddInput(main, type, m.S("x"));
  const ValueId y = q.AddInput(other, type, m.S("x"));
  q.signature.inputs.resize(1);
  q.name = "forward \"2\"";
  FileInfo& f = q.file;
  f.schema_major = 9;
  f.schema_minor = 0;
  f.torch_version = "2.15.0+cpu";
  f.verifiers = {};
  f.opset_version = {{"aten", 10}, {"odd op", -1}};
  f.guards_code = {"L['x'] == 3", ""};
  f.graph_module_metadata = {{"k", "{}"}, {"k", ""}};
  f.treespec_namedtuple_fields = "{\"a\": []}";
  f.unknown_members = {{"$.x", "new", "[1, 2]"}};
  auto bytes = std::make_shared<std::string>("abc");
  f.members = {{"data/sample_inputs/model.pt", AsBytes(*bytes), bytes},
               {"extra/e", {}, nullptr}};
  using T = TreeSpec;
  T odd{false, "collections.deque", "null", false, {T::Leaf(), T::Leaf()}};
  T json{false, "collections.defaultdict", "{\"a\": 1}", true, {}};
  T spaced = T::Dict({"b"}, {T::Leaf()});
  spaced.context = "[\"b\" ]";
  T tuple_with_context = T::Tuple({});
  tuple_with_context.context = "\"x\"";
  q.in_spec = T::Tuple(
      {T::Tuple({odd, json, spaced, tuple_with_context}),
       T::Dict({"a", "odd key", "\xC3\xA4\n"},
               {T::List({}), T::List({T::Leaf()}), T::Tuple({T::Leaf()})})});
  q.out_spec = T::Leaf();
  q.has_forward_arg_names = true;
  q.forward_arg_names = {"a", "odd name"};
  q.has_root_module_call = false;
  q.ranges = {
      {m.context().exprs.Symbol("s0", "integer=True"), "s0", 2, std::nullopt},
      {m.context().exprs.Symbol("s0", "integer=True"), "odd", std::nullopt,
       INT64_MAX},
      {ExprId(), "Mod(s0, 2)", INT64_MIN, 3}};
  ModuleCall call;
  call.fqn = m.S("net");
  call.has_signature = true;
  call.inputs = {{x, ""}, {y, ""}, {ValueId(), ""}, {ValueId(), "{}"}};
  call.outputs = {{x, "both"}};
  call.in_spec = q.in_spec;
  call.out_spec = q.out_spec;
  call.has_forward_arg_names = true;
  q.module_calls = {call, {m.S("net.0"), false, {}, {}, {}, {}, {}, false}};
  call.in_spec.reset();
  call.out_spec.reset();
  call.has_forward_arg_names = false;
  call.inputs.clear();
  q.module_calls.push_back(call);

  const Program p = RoundTrip(q);
  EXPECT_EQ(p.name, q.name);
  EXPECT_EQ(p.file.schema_major, 9);
  EXPECT_EQ(p.file.schema_minor, 0);
  EXPECT_EQ(p.file.torch_version, f.torch_version);
  EXPECT_EQ(p.file.verifiers, f.verifiers);
  EXPECT_EQ(p.file.opset_version, f.opset_version);
  EXPECT_EQ(p.file.guards_code, f.guards_code);
  EXPECT_EQ(p.file.graph_module_metadata, f.graph_module_metadata);
  EXPECT_EQ(p.file.treespec_namedtuple_fields, f.treespec_namedtuple_fields);
  EXPECT_EQ(p.file.unknown_members.at(0).json, "[1, 2]");
  EXPECT_EQ(AsText(p.file.members.at(0).bytes), "abc");
  EXPECT_EQ(p.file.members.at(1).name, "extra/e");
  EXPECT_EQ(p.in_spec, q.in_spec);
  EXPECT_EQ(p.out_spec, q.out_spec);
  EXPECT_EQ(p.forward_arg_names, q.forward_arg_names);
  EXPECT_FALSE(p.has_root_module_call);
  ASSERT_EQ(p.ranges.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(p.ranges[i].key, q.ranges[i].key);
    EXPECT_EQ(p.ranges[i].min, q.ranges[i].min);
    EXPECT_EQ(p.ranges[i].max, q.ranges[i].max);
    EXPECT_EQ(p.ranges[i].expr.valid(), q.ranges[i].expr.valid());
  }
  ASSERT_EQ(p.module_calls.size(), 3u);
  const ModuleCall& found = p.module_calls[0];
  EXPECT_TRUE(found.has_signature);
  ASSERT_EQ(found.inputs.size(), 4u);
  EXPECT_EQ(found.inputs[0].value, p.root().inputs[0]);
  EXPECT_EQ(found.inputs[1].value, p.graph(GraphId(1u)).inputs[0]);
  EXPECT_FALSE(found.inputs[2].value.valid());
  EXPECT_EQ(found.inputs[3].json, "{}");
  EXPECT_EQ(found.outputs.at(0).json, "both");
  EXPECT_EQ(found.in_spec, q.in_spec);
  EXPECT_TRUE(found.has_forward_arg_names);
  EXPECT_FALSE(p.module_calls[1].has_signature);
  EXPECT_FALSE(p.module_calls[2].in_spec.has_value());
}

TEST(TextRoundTrip, BrokenPrograms) {
  // The verifier names what is wrong with these; the text shows them.
  Maker m;
  Program& q = m.program;
  const GraphId main = q.AddGraph("main");
  const GraphId other = q.AddGraph("other");
  const TypeId type = m.Tensor(DType::kFloat32, {});
  const ValueId foreign = q.AddInput(other, type, m.S("x"));
  // A use of another graph's value, and one before the definition.
  const NodeId user = m.Op("test.op.default", {Arg::None(), Arg::None()});
  const NodeId late = m.Op("test.op.default", {});
  const ValueId v = m.Result(late, type, "late");
  q.SetValueArg(q.node(user).args[0], user, foreign);
  q.SetValueArg(q.node(user).args[1], user, v);
  const Program p = RoundTrip(q);
  const auto args = p.args(p.graph(main).first);
  EXPECT_EQ(args[0].value(), p.graph(GraphId(1u)).inputs[0]);
  EXPECT_TRUE(p.value(args[1].value()).def.valid());
}

TEST(TextRoundTrip, ListsOfLateValuesGetTheirTags) {
  Maker m;
  m.program.AddGraph("main");
  Program& q = m.program;
  Type symint;
  symint.kind = TypeKind::kSymInt;
  const NodeId user = m.Op("test.op.default", {Arg::None()});
  const NodeId late = m.Op("test.op.default", {});
  const ValueId v = m.Result(late, m.Of(symint), "late");
  const ArgRange items = q.NewArgs(1);
  q.SetValueArg(items[0], user, v);
  for (const ListTag tag : kListTags) {
    q.SetArg(q.node(user).args[0], Arg::OfList(tag, items));
    q.SetArgLabel(q.node(user).args[0], StringId(), PassKind::kPositional);
    const Program p = RoundTrip(q);
    EXPECT_EQ(OnlyArg(p).list_tag, tag);
  }
}

TEST(TextRoundTrip, OutputOfNoMetadataParses) {
  const Program p = MustParse(
      "tenon 1 file schema 8.20 torch \"3\" named_nodes\n"
      "graph @m() { %a : None = t.op.x() #7 return () }\n"
      "meta #7 { k: \"v\" }");
  PrintOptions options;
  options.metadata = false;
  const std::string text = PrintProgram(p, options);
  EXPECT_EQ(text.find("meta"), std::string::npos);
  const Program again = MustParse(text);
  EXPECT_EQ(PrintProgram(again, options), text);
}

}  // namespace
}  // namespace tenon
