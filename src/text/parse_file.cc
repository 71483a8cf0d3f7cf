// File info, symbols, state, metadata.
#include <charconv>
#include <tuple>

#include "text/parser.h"
#include "text/spelling.h"

namespace tenon {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

bool Parser::ProgramName() { return String(&program_.name); }

bool Parser::File() {
  FileInfo& f = program_.file;
  while (true) {
    if (Accept("schema")) {
      const std::string_view text = token_.text;
      const size_t dot = text.find('.');
      if (token_.kind != TokenKind::kFloat || dot == std::string_view::npos ||
          text.find_first_not_of("0123456789.") != std::string_view::npos ||
          dot == 0 || dot + 1 == text.size() || text.size() > 18) {
        return FailExpecting("a schema version like 8.20");
      }
      f.schema_major = std::stoll(std::string(text.substr(0, dot)));
      f.schema_minor = std::stoll(std::string(text.substr(dot + 1)));
      Advance();
    } else if (Accept("torch")) {
      if (!String(&f.torch_version)) return false;
    } else if (Accept("verifiers")) {
      if (!Strings(&f.verifiers)) return false;
    } else if (Accept("opsets")) {
      if (!Opsets()) return false;
    } else {
      return true;
    }
  }
}

bool Parser::Opsets() {
  auto& opsets = program_.file.opset_version;
  opsets.clear();
  if (!Expect('{')) return false;
  return Items('}', [&] {
    StringId name;
    int64_t version = 0;
    if (!WordOrString(&name) || !Expect(':') || !Int(&version)) return false;
    opsets.emplace_back(context_.view(name), version);
    return true;
  });
}

bool Parser::Guard() {
  return String(&program_.file.guards_code.emplace_back());
}

bool Parser::ModuleMetadata() {
  auto& pair = program_.file.graph_module_metadata.emplace_back();
  return String(&pair.first) && Expect('=') && String(&pair.second);
}

bool Parser::NamedtupleFields() {
  return String(&program_.file.treespec_namedtuple_fields);
}

bool Parser::Unknown() {
  FileInfo::UnknownMember& u = program_.file.unknown_members.emplace_back();
  return String(&u.path) && String(&u.member) && Expect('=') && String(&u.json);
}

bool Parser::Member() {
  FileInfo::Member& m = program_.file.members.emplace_back();
  Blob blob;
  if (!String(&m.name) || !Expect('=') || !ParseBlob(&blob)) return false;
  m.bytes = blob.bytes;
  m.owner = std::move(blob.owner);
  return true;
}

bool Parser::NamedNodes() {
  nodes_are_named_ = true;
  return true;
}

bool Parser::HexBytes(std::vector<std::byte>* out) {
  if (token_.kind != TokenKind::kHex) return FailExpecting("hex\"...\"");
  const std::string_view text = token_.text;
  out->reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexValue(text[i]);
    const int low = i + 1 < text.size() ? HexValue(text[i + 1]) : -1;
    if (high < 0 || low < 0) {
      return Error(token_.begin + 4 + i,
                   "expected pairs of the digits 0 to 9 and a to f");
    }
    out->push_back(static_cast<std::byte>(high << 4 | low));
  }
  Advance();
  return true;
}

bool Parser::ParseDigest(Digest* out) {
  if (token_.kind != TokenKind::kHex || !Digest::FromHex(token_.text, out)) {
    return FailExpecting("a digest, hex\"...\" with 32 digits");
  }
  Advance();
  return true;
}

bool Parser::ParseBlob(Blob* out) {
  const size_t at = token_.begin;
  int64_t size = 0;
  if (!Int(&size)) return false;
  if (size < 0) return Error(at, "found a negative number of bytes");
  if (!Expect("bytes")) return false;
  const auto is_size = [&](uint64_t found) {
    if (found == static_cast<uint64_t>(size)) return true;
    return Error(at, "found " + std::to_string(found) + " bytes, expected " +
                         std::to_string(size));
  };
  const auto hold = [&](std::vector<std::byte> bytes) {
    auto owner =
        std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    out->bytes = *owner;
    out->owner = std::move(owner);
    return is_size(out->bytes.size());
  };
  if (token_.kind == TokenKind::kHex) {
    std::vector<std::byte> bytes;
    return HexBytes(&bytes) && hold(std::move(bytes));
  }
  if (Accept("zeros")) {
    if (static_cast<uint64_t>(size) > limits_.max_zero_bytes - zero_bytes_) {
      return Error(at, std::to_string(size) + " more bytes of zeros, " +
                           BeyondLimit(limits_, &ReadLimits::max_zero_bytes));
    }
    zero_bytes_ += static_cast<uint64_t>(size);
    return hold(std::vector<std::byte>(static_cast<size_t>(size)));
  }
  if (Accept("omitted")) {
    return Error(at,
                 "these bytes were left out when the text was printed, "
                 "expected them as hex or by digest");
  }
  const size_t digest_at = token_.begin;
  if (!Accept("digest")) {
    return FailExpecting("hex\"...\", digest hex\"...\" or zeros");
  }
  Digest digest;
  if (!ParseDigest(&digest)) return false;
  if (payloads_) std::tie(out->bytes, out->owner) = payloads_(digest);
  if (out->bytes.empty() && size > 0) {
    return Error(digest_at, "no side file has bytes with this digest");
  }
  if (!is_size(out->bytes.size())) return false;
  if (!(HashBytes(out->bytes.data(), out->bytes.size()) == digest)) {
    return Error(digest_at, "the side file's bytes have another digest");
  }
  return true;
}

bool Parser::Symbol() {
  StringId name;
  const size_t at = token_.begin;
  if (token_.kind != TokenKind::kWord) return FailExpecting("a symbol's name");
  if (!WordOrString(&name)) return false;
  std::string assumptions;
  if (token_.is('(')) {
    const size_t begin = token_.end;
    const size_t end = lexer_.text().find_first_of(")\n\"", begin);
    if (end == std::string_view::npos || lexer_.text()[end] != ')') {
      return Error(token_.begin, "found no ')' on this line");
    }
    assumptions = lexer_.text().substr(begin, end - begin);
    lexer_.Seek(end + 1);
    Advance();
  } else if (token_.kind == TokenKind::kString) {
    if (!String(&assumptions)) return false;
  }
  const std::string text(context_.view(name));
  if (text.find('$') != std::string::npos) {
    return Error(at, "found '$', expected letters, digits, '_' and '.'");
  }
  const ExprId symbol = context_.exprs.Symbol(text, assumptions);
  if (!symbols_.try_emplace(text, symbol).second) {
    return Error(at, "found '" + text +
                         "', expected another name: this symbol "
                         "is declared already");
  }
  declared_.emplace(text, symbol);
  // Names like oo or True are no symbols when they are mentioned.
  std::string error;
  size_t error_at = 0;
  if (context_.exprs.Parse(text, &symbols_, &error, &error_at) != symbol) {
    return Error(at, "'" + text + "' can't be a symbol's name");
  }
  if (Accept("hint")) {
    int64_t hint = 0;
    if (!Int(&hint)) return false;
    hints_.Set(symbol, hint);
  }
  return true;
}

bool Parser::RangeBound(std::optional<int64_t>* out,
                        std::string_view unbounded) {
  if (Accept(unbounded)) return true;
  if (token_.kind != TokenKind::kInteger) {
    return FailExpecting("an integer or " + std::string(unbounded));
  }
  return Int(&out->emplace());
}

bool Parser::Range() {
  SymbolRange range;
  if (!EnclosedExpression(&range.expr) || !Expect("in") || !Expect('[') ||
      !RangeBound(&range.min, "-oo") || !Expect(',') ||
      !RangeBound(&range.max, "oo") || !Expect(']')) {
    return false;
  }
  if (range.expr.valid()) range.key = context_.exprs.PrintInfix(range.expr);
  if (Accept("key") && !String(&range.key)) return false;
  program_.ranges.push_back(std::move(range));
  return true;
}

bool Parser::Storage() {
  const std::string number = std::to_string(program_.state.storages.size());
  if (token_.kind != TokenKind::kAt || token_.text != number) {
    return FailExpecting("@" + number + ", as storages are numbered in order");
  }
  Advance();
  if (!Expect('=')) return false;
  StorageRecord record;
  if (Accept("weightless")) {
    record.is_weightless = true;
  } else {
    Blob blob;
    if (!ParseBlob(&blob)) return false;
    record.bytes = blob.bytes;
    record.owner = std::move(blob.owner);
  }
  program_.state.AddStorage(std::move(record));
  return true;
}

bool Parser::State(StateKind kind) {
  StateEntry entry;
  entry.kind = kind;
  entry.is_param = kind == StateKind::kParameter;
  if (token_.kind != TokenKind::kString) {
    return FailExpecting("a name in quotes");
  }
  const Mention m = MentionOf(token_);
  entry.fqn = m.label;
  if (!states_.Define(m.label, m.ordinal,
                      StateId(program_.state.entries.size()))) {
    return FailExpecting(
        "another name: an entry has it already, and the "
        "second one is written with '#2' behind it");
  }
  Advance();
  if (!Expect(':') || !ParseType(&entry.type)) return false;
  if (Accept('=')) {
    uint32_t number = 0;
    const std::string text(token_.text);
    const char* end = text.data() + text.size();
    if (token_.kind != TokenKind::kAt || token_.has_escapes || text.empty() ||
        std::from_chars(text.data(), end, number).ptr != end ||
        number >= program_.state.storages.size()) {
      return FailExpecting("a storage that was defined before, like @0");
    }
    entry.storage = StorageId(number);
    Advance();
  }
  if (Accept("is_param")) entry.is_param = true;
  if (Accept("not_param")) entry.is_param = false;
  if (Accept("pickled")) entry.is_pickled = true;
  program_.state.Add(entry);
  return true;
}

bool Parser::Region() {
  const std::string number = std::to_string(program_.regions.size());
  if (token_.kind != TokenKind::kInteger || token_.text != number) {
    return FailExpecting(number + ", as regions are numbered in order");
  }
  Advance();
  tenon::Region region;
  if (!InternString(&region.name) || !Expect("backend") ||
      !InternString(&region.backend)) {
    return false;
  }
  program_.regions.push_back(region);
  return true;
}

bool Parser::Meta() {
  uint64_t number = 0;
  const char* end = token_.text.data() + token_.text.size();
  if (token_.kind != TokenKind::kMeta ||
      std::from_chars(token_.text.data(), end, number).ec != std::errc()) {
    return FailExpecting("a number like #0");
  }
  const size_t at = token_.begin;
  Advance();
  if (!Expect('{')) return false;
  Metadata metadata;
  while (!Accept('}')) {
    StringId key;
    std::string text;
    if (!WordOrString(&key) || !Expect(':') || !String(&text)) return false;
    // Literals side by side are one text, so that long texts can be broken.
    // A string before ':' is the next key.
    while (token_.kind == TokenKind::kString && lexer_.Peek() != ':') {
      std::string more;
      if (!String(&more)) return false;
      text += more;
    }
    metadata.emplace_back(key, context_.Intern(text));
  }
  if (!metadata_.try_emplace(number, context_.InternMetadata(metadata))
           .second) {
    return Error(at, "this number is defined already");
  }
  return true;
}

bool Parser::ExtraInput() {
  if (program_.num_graphs() == 0) {
    return FailExpecting("the root graph in front of 'extra_input'");
  }
  return InputTarget(&program_.signature.inputs.emplace_back());
}

bool Parser::ExtraOutput() {
  if (program_.num_graphs() == 0) {
    return FailExpecting("the root graph in front of 'extra_output'");
  }
  return OutputTarget(&program_.signature.outputs.emplace_back());
}

}  // namespace tenon
