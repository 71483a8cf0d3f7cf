// Arguments: operands and literals.
#include <charconv>
#include <cstring>

#include "text/parser.h"

namespace tenon {
namespace {

// Marks, in Arg::unused of scratch arguments, a list whose tag depends on
// values that are defined further down.
constexpr uint8_t kUntagged = 1;

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

}  // namespace

bool Parser::Double(double* out) {
  if (token_.is("inf") || token_.is("-inf")) {
    *out = token_.is("inf") ? __builtin_inf() : -__builtin_inf();
    Advance();
    return true;
  }
  if (Accept("nan")) {
    uint64_t bits = 0x7FF8000000000000ull;
    if (Accept('(')) {
      const size_t at = token_.begin;
      if (token_.kind != TokenKind::kHex || token_.text.size() != 16) {
        return FailExpecting("hex\"...\" with 16 digits");
      }
      const char* end = token_.text.data() + 16;
      const auto r = std::from_chars(token_.text.data(), end, bits, 16);
      const bool is_nan =
          (bits & 0x7FF0000000000000ull) == 0x7FF0000000000000ull &&
          (bits & 0x000FFFFFFFFFFFFFull) != 0;
      if (r.ptr != end || !is_nan) return Error(at, "these are no NaN's bits");
      Advance();
      if (!Expect(')')) return false;
    }
    std::memcpy(out, &bits, sizeof bits);
    return true;
  }
  if (token_.kind != TokenKind::kFloat && token_.kind != TokenKind::kInteger) {
    return FailExpecting("a number");
  }
  const char* end = token_.text.data() + token_.text.size();
  const auto r = std::from_chars(token_.text.data(), end, *out);
  if (r.ec != std::errc() || r.ptr != end) {
    return Error(token_.begin,
                 "found " + Found() + ", expected a number of float64");
  }
  Advance();
  return true;
}

bool Parser::Arguments(NodeId n) {
  PassKind usual = PassKind::kPositional;
  if (program_.node(n).kind == NodeKind::kOutput) usual = PassKind::kUnstated;
  if (Accept('?'))
    usual = Accept('?') ? PassKind::kUnknown : PassKind::kUnstated;
  if (!Expect('(')) return false;
  size_t position = 0;
  if (!Items(')', [&] { return Argument(usual, position++); })) return false;
  program_.SetArgRange(n, StoreFrom(0));
  mentions_.clear();
  return true;
}

// value, name: value (positional), name=value (keyword); in front of the first
// two ?, ?? or ! for an unstated, unknown or positional pass kind.
bool Parser::Argument(PassKind usual, size_t position) {
  PassKind pass = usual;
  if (Accept('?')) {
    pass = Accept('?') ? PassKind::kUnknown : PassKind::kUnstated;
  } else if (Accept('!')) {
    pass = PassKind::kPositional;
  }
  StringId name;
  bool has_name = false;
  if (token_.kind == TokenKind::kWord || token_.kind == TokenKind::kString) {
    const char next = lexer_.Peek();
    if (next == '=' || next == ':') {
      if (!token_.text.empty()) name = InternText(token_);
      has_name = true;
      if (next == '=') pass = PassKind::kKeyword;
      Advance();
      Advance();
    }
  }
  const OpId op = program_.node(node_).op;
  if (!has_name && op.valid()) name = parameter_names_.Get(op, position);
  Arg arg;
  if (!ArgValue(&arg)) return false;
  arg.name = name;
  arg.pass = pass;
  scratch_.push_back(arg);
  return true;
}

ArgRange Parser::StoreFrom(size_t from) {
  const ArgRange range =
      program_.NewArgs(static_cast<uint32_t>(scratch_.size() - from));
  for (uint32_t i = 0; i < range.count; ++i) {
    Arg& arg = scratch_[from + i];
    const ArgId at = range[i];
    if (arg.kind == ArgKind::kValue) {
      program_.SetArgLabel(at, arg.name, arg.pass);
      if (arg.v.value.valid()) {
        program_.SetValueArg(at, node_, arg.v.value);
        continue;
      }
      const LateMention& m = mentions_[arg.v.use.index];
      if (m.is_foreign) {
        foreign_fixups_.push_back({at, node_, m});
      } else {
        value_fixups_.push_back({at, node_, m.value});
      }
      continue;
    }
    if (arg.kind == ArgKind::kGraph) {
      graph_fixups_.push_back({GraphFixup::Target::kArg, at.index,
                               mentions_[arg.graph.index].graph});
    }
    if (arg.unused == kUntagged) {
      untagged_lists_.push_back(at);
      arg.unused = 0;
    }
    program_.SetArg(at, arg);
  }
  scratch_.resize(from);
  return range;
}

bool Parser::MentionValue(Arg* out) {
  const Mention m = MentionOf(token_);
  Advance();
  out->kind = ArgKind::kValue;
  out->v.value = values_.Find(m.label, m.ordinal);
  if (!out->v.value.valid()) {
    out->v.use = UseId(mentions_.size());
    mentions_.push_back({false, {}, m});
  }
  return true;
}

// A graph, or a value of another graph: @graph%value.
bool Parser::AtValue(Arg* out) {
  LateMention m;
  m.graph = MentionOf(token_);
  const size_t end = token_.end;
  Advance();
  m.is_foreign = token_.kind == TokenKind::kValue && token_.begin == end;
  if (m.is_foreign) {
    m.value = MentionOf(token_);
    Advance();
    out->kind = ArgKind::kValue;
    out->v.value = ValueId();
    out->v.use = UseId(mentions_.size());
  } else {
    out->kind = ArgKind::kGraph;
    out->graph = GraphId(mentions_.size());
  }
  mentions_.push_back(m);
  return true;
}

bool Parser::ListValue(Arg* out) {
  bool has_tag = false;
  ListTag tag = ListTag::kInts;
  if (token_.kind == TokenKind::kWord) {
    tag = *FindListTag(token_.text);
    has_tag = true;
    Advance();
  }
  if (!Deeper() || !Expect('[')) return false;
  const size_t from = scratch_.size();
  bool is_untagged = false;
  if (!Items(']', [&] {
        Arg item;
        if (!ArgValue(&item)) return false;
        is_untagged = is_untagged || item.unused == kUntagged ||
                      (item.kind == ArgKind::kValue && !item.v.value.valid());
        scratch_.push_back(item);
        return true;
      })) {
    return false;
  }
  --depth_;
  if (!has_tag) {
    tag = DefaultListTag(program_, std::span(scratch_).subspan(from));
  }
  *out = Arg::OfList(tag, StoreFrom(from));
  if (is_untagged && !has_tag) out->unused = kUntagged;
  return true;
}

bool Parser::DictValue(Arg* out) {
  Advance();
  if (!Deeper()) return false;
  const size_t from = scratch_.size();
  if (!Items('}', [&] {
        StringId key;
        Arg item;
        if (!WordOrString(&key) || !Expect(':') || !ArgValue(&item)) {
          return false;
        }
        item.name = key;
        scratch_.push_back(item);
        return true;
      })) {
    return false;
  }
  --depth_;
  *out = Arg();
  out->kind = ArgKind::kDict;
  out->list = StoreFrom(from);
  return true;
}

bool Parser::ComplexValue(Arg* out) {
  if (!Deeper() || !Expect('(')) return false;
  const size_t from = scratch_.size();
  if (!Items(')', [&] {
        Arg item;
        if (!ArgValue(&item)) return false;
        scratch_.push_back(item);
        return true;
      })) {
    return false;
  }
  --depth_;
  *out = Arg();
  out->kind = ArgKind::kComplex;
  out->list = StoreFrom(from);
  return true;
}

bool Parser::DeviceValue(Arg* out) {
  StringId type;
  int64_t index = -1;
  if (!Expect('(') || !InternString(&type)) return false;
  const size_t at = token_.begin;
  if (Accept(',') && !Int(&index)) return false;
  if (index < -1 || index > INT32_MAX) {
    return Error(at, "expected a device index of 32 bits");
  }
  *out = Arg::OfDevice(type, static_cast<int32_t>(index));
  return Expect(')');
}

bool Parser::ObjectValue(Arg* out) {
  StringId name, class_fqn;
  if (!Expect('(') || !InternString(&name) || !Expect(',') ||
      !InternString(&class_fqn)) {
    return false;
  }
  *out = Arg::Object(name, class_fqn);
  return Expect(')');
}

// torch.float32, torch.strided, torch.channels_last; dtype.unknown and so on.
bool Parser::DottedValue(Arg* out) {
  std::string_view name = token_.text;
  name.remove_prefix(name.find('.') + 1);
  const bool is_torch = StartsWith(token_.text, "torch.");
  if (is_torch || StartsWith(token_.text, "dtype.")) {
    if (const auto dtype = FindDType(name)) {
      *out = Arg::Dtype(*dtype);
      Advance();
      return true;
    }
  }
  if (is_torch || StartsWith(token_.text, "layout.")) {
    if (const auto layout = FindLayout(name)) {
      *out = Arg::OfLayout(*layout);
      Advance();
      return true;
    }
  }
  if (is_torch || StartsWith(token_.text, "memory_format.")) {
    if (const auto format = FindMemoryFormat(name)) {
      *out = Arg::OfMemoryFormat(*format);
      Advance();
      return true;
    }
  }
  return FailExpecting("a dtype, layout or memory format of torch");
}

bool Parser::WordValue(Arg* out) {
  if (token_.is("True") || token_.is("False")) {
    *out = Arg::Bool(token_.is("True"));
    Advance();
    return true;
  }
  if (Accept("None")) {
    *out = Arg::None();
    return true;
  }
  if (token_.is("inf") || token_.is("-inf") || token_.is("nan")) {
    *out = Arg::Float(0);
    return Double(&out->f);
  }
  if (token_.text.find('.') != std::string_view::npos) return DottedValue(out);
  if (FindListTag(token_.text)) return ListValue(out);
  if (Accept("device")) return DeviceValue(out);
  if (Accept("object")) return ObjectValue(out);
  if (Accept("complex")) return ComplexValue(out);
  if (Accept("op")) {
    StringId name;
    if (!Expect('(') || !WordOrString(&name)) return false;
    *out = Arg::Operator(context_.InternOp(context_.view(name)));
    return Expect(')');
  }
  return FailExpecting("a value or a literal");
}

bool Parser::ArgValue(Arg* out) {
  switch (token_.kind) {
    case TokenKind::kValue:
      return MentionValue(out);
    case TokenKind::kInteger:
      *out = Arg::Int(0);
      return Int(&out->i);
    case TokenKind::kFloat:
      *out = Arg::Float(0);
      return Double(&out->f);
    case TokenKind::kString:
      *out = Arg::String(StringId());
      return InternString(&out->text);
    case TokenKind::kWord:
      return WordValue(out);
    case TokenKind::kAt:
      return AtValue(out);
    case TokenKind::kPunct:
      if (token_.is('[')) return ListValue(out);
      if (token_.is('{')) return DictValue(out);
      break;
    case TokenKind::kHex:
    case TokenKind::kMeta:
    case TokenKind::kEnd:
    case TokenKind::kBad:
      break;
  }
  return FailExpecting("a value or a literal");
}

}  // namespace tenon
