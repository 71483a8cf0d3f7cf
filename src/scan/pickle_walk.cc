#include "scan/pickle_walk.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "formats/pickle/opcodes.h"

namespace tenon {
namespace {

constexpr uint32_t kNoImport = ~uint32_t{0};

struct Entry {
  enum class Kind : uint8_t {
    kOther,
    kText,       // a literal
    kTextTuple,  // a tuple whose first item is a text literal
    kImport,
    kResult,  // of a call
  };
  Kind kind = Kind::kOther;
  uint32_t import = kNoImport;  // kImport, and kResult of an import
  std::string_view text;
};

// "a\x62\n" without the quotes; escapes as in Python's string literals, of
// which those that occur in ASCII names matter.
std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    unsigned code = 0;
    const char* const begin = text.data() + i + 1;
    const char* const end = text.data() + std::min(i + 1 + digits, text.size());
    if (digits > 0) {
      const auto [at, error] = std::from_chars(begin, end, code, 16);
      if (error == std::errc() && at == end) {
        // No name that is judged has other characters.
        out += c != 'x' && code > 0x7F ? '?' : static_cast<char>(code);
        i += digits;
        continue;
      }
    }
    if (c >= '0' && c <= '7') {
      size_t n = 0;
      while (n < 3 && i + n < text.size() && text[i + n] >= '0' &&
             text[i + n] <= '7') {
        code = code * 8 + static_cast<unsigned>(text[i + n++] - '0');
      }
      out += static_cast<char>(code);
      i += n - 1;
      continue;
    }
    out += c;
  }
  return out;
}

// The bytes whose latin-1 text this UTF-8 is; how protocols before 3 keep
// bytes. nullopt when there are other characters in it.
std::optional<std::string> AsLatin1(std::string_view utf8) {
  std::string out;
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    if (c < 0x80) {
      out += utf8[i];
      continue;
    }
    if ((c != 0xC2 && c != 0xC3) || i + 1 == utf8.size()) return std::nullopt;
    out += static_cast<char>((c & 3) << 6 |
                             (static_cast<unsigned char>(utf8[++i]) & 0x3F));
  }
  return out;
}

class Walker {
 public:
  Walker(Bytes bytes, uint64_t offset, const PickleWalkLimits& limits,
         const PickleLiteral& on_literal)
      : cursor_(bytes, offset), limits_(limits), on_literal_(on_literal) {}

  PickleFacts Walk() {
    while (facts_.problem.empty()) {
      if (!cursor_.Next(&in_)) {
        facts_.problem = cursor_.problem();
        break;
      }
      if (++facts_.num_opcodes > limits_.max_opcodes) Limit("opcodes");
      if (in_.op == PickleOp::kStop) {
        if (stack_.empty()) Underflow();
        break;
      }
      Step();
      if (stack_.size() > limits_.max_entries ||
          marks_.size() > limits_.max_entries ||
          memo_.size() > limits_.max_entries) {
        Limit("entries of stack or memo");
      }
    }
    facts_.end = cursor_.offset();
    return std::move(facts_);
  }

 private:
  using Kind = Entry::Kind;

  void Limit(std::string_view what) {
    facts_.hit_limit = true;
    facts_.problem = "more " + std::string(what) + " than the limit";
  }
  void Underflow() { facts_.problem = "pickle stack underflow"; }

  void Push(Entry entry = {}) { stack_.push_back(entry); }
  void PushText(std::string_view text) {
    Literal(AsBytes(text));
    Push({Kind::kText, kNoImport, text});
  }
  std::string_view Own(std::string text) {
    return facts_.owned.emplace_back(std::move(text));
  }
  void Literal(Bytes bytes) { on_literal_(bytes, in_.at); }

  // Entries above the innermost mark.
  size_t Above() const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }
  bool Want(size_t count) {
    if (Above() >= count) return true;
    Underflow();
    return false;
  }
  void Drop(size_t count) { stack_.resize(stack_.size() - count); }
  // Removes the innermost mark; what lies above it stays.
  bool TakeMark(size_t* count) {
    if (marks_.empty()) {
      facts_.problem = "no mark on the pickle stack";
      return false;
    }
    *count = Above();
    marks_.pop_back();
    return true;
  }

  // --- what happens to imports ---

  void Odd(PickleOddity::Kind kind, std::string text = {}) {
    if (facts_.oddities.size() == limits_.max_facts) return;
    facts_.oddities.push_back({kind, in_.at, std::move(text)});
  }

  void Import(std::string_view module, std::string_view name) {
    const auto key = std::pair(std::string(module), std::string(name));
    auto it = by_name_.find(key);
    if (it == by_name_.end()) {
      if (facts_.imports.size() == limits_.max_facts) {
        Limit("different imports");
        return;
      }
      const auto index = static_cast<uint32_t>(facts_.imports.size());
      it = by_name_.emplace(key, index).first;
      facts_.imports.push_back({key.first, key.second, in_.at, false});
    }
    Push({Kind::kImport, it->second, {}});
  }

  Entry Call(const Entry& callee) {
    if (callee.import != kNoImport) {
      facts_.imports[callee.import].is_called = true;
    }
    if (callee.kind == Kind::kResult) Odd(PickleOddity::Kind::kCallOfResult);
    return {Kind::kResult, callee.import, {}};
  }

  // Items or state go into `target`.
  void Change(const Entry& target) {
    if (target.import == kNoImport) return;
    PickleImport& import = facts_.imports[target.import];
    import.is_called = true;
    if (target.kind == Kind::kImport) {
      Odd(PickleOddity::Kind::kChangedImport,
          import.module + "." + import.name);
    }
  }

  // --- groups of opcodes ---

  void Collect(size_t count) {
    if (!Want(count)) return;
    Entry tuple;
    if (count > 0 && stack_[stack_.size() - count].kind == Kind::kText) {
      tuple = {Kind::kTextTuple, kNoImport, stack_[stack_.size() - count].text};
    }
    Drop(count);
    Push(tuple);
  }
  void CollectToMark() {
    size_t count = 0;
    if (TakeMark(&count)) Collect(count);
  }
  void AddToMark() {
    size_t count = 0;
    if (!TakeMark(&count)) return;
    Add(count);
  }
  void Add(size_t count) {
    if (!Want(count + 1)) return;
    Drop(count);
    Change(stack_.back());
  }

  void Reduce() {
    if (!Want(2)) return;
    const Entry args = stack_.back();
    const Entry callee = stack_[stack_.size() - 2];
    Drop(2);
    if (args.kind == Kind::kTextTuple && callee.kind == Kind::kImport &&
        facts_.imports[callee.import].module == "_codecs") {
      if (auto bytes = AsLatin1(args.text)) {
        Literal(AsBytes(Own(std::move(*bytes))));
      }
    }
    Push(Call(callee));
  }
  void NewObject(size_t num_arguments) {
    if (!Want(num_arguments + 1)) return;
    Drop(num_arguments);
    stack_.back() = Call(stack_.back());
  }
  void Inst() {
    size_t count = 0;
    if (!TakeMark(&count)) return;
    Drop(count);
    Import(AsText(in_.bytes), in_.second_line);
    if (facts_.problem.empty()) stack_.back() = Call(stack_.back());
  }
  void Obj() {
    size_t count = 0;
    if (!TakeMark(&count) || count == 0) return Underflow();
    Drop(count - 1);
    stack_.back() = Call(stack_.back());
  }
  void Build() {
    if (!Want(2)) return;
    Drop(1);
    Change(stack_.back());
  }
  void StackGlobal() {
    if (!Want(2)) return;
    const Entry name = stack_.back();
    const Entry module = stack_[stack_.size() - 2];
    Drop(2);
    if (name.kind == Kind::kText && module.kind == Kind::kText) {
      Import(module.text, name.text);
      return;
    }
    Odd(PickleOddity::Kind::kComputedImport);
    Push({Kind::kResult, kNoImport, {}});
  }
  void Extension() {
    Odd(PickleOddity::Kind::kExtension);
    Push({Kind::kResult, kNoImport, {}});
  }

  // Python reads these numbers as its int() does, which takes blanks and
  // underscores.
  std::optional<uint64_t> Slot() const {
    std::string digits;
    for (const char c : AsText(in_.bytes)) {
      if (c != ' ' && c != '_' && c != '\t' && c != '\r' && c != '+') {
        digits += c;
      }
    }
    uint64_t slot = 0;
    const auto [at, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), slot);
    if (error != std::errc() || digits.empty()) return std::nullopt;
    return slot;
  }
  void Get(std::optional<uint64_t> slot) {
    const auto it = slot ? memo_.find(*slot) : memo_.end();
    if (it == memo_.end()) {
      facts_.problem = "a memo slot that isn't set";
      return;
    }
    Push(it->second);
  }
  void Put(std::optional<uint64_t> slot) {
    if (!Want(1)) return;
    if (slot) memo_[*slot] = stack_.back();
  }
  void PopMark() {
    size_t count = 0;
    if (TakeMark(&count)) Drop(count);
  }

  void QuotedString() {
    std::string_view text = AsText(in_.bytes);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) {
      text.remove_suffix(1);
    }
    if (text.size() < 2 || text.front() != text.back()) {
      facts_.problem = "a string without quotes";
      return;
    }
    PushText(Own(Unescape(text.substr(1, text.size() - 2))));
  }

  void Step();

  PickleCursor cursor_;
  const PickleWalkLimits& limits_;
  const PickleLiteral& on_literal_;
  PickleInstruction in_;
  PickleFacts facts_;
  std::vector<Entry> stack_;
  std::vector<size_t> marks_;  // stack heights
  std::unordered_map<uint64_t, Entry> memo_;
  std::map<std::pair<std::string, std::string>, uint32_t> by_name_;
};

void Walker::Step() {
  switch (in_.op) {
    case PickleOp::kProto:
      if (in_.number > kMaxPickleProtocol) {
        facts_.problem = "pickle protocol " + std::to_string(in_.number);
        return;
      }
      facts_.protocol = static_cast<int>(in_.number);
      return;
    case PickleOp::kFrame:
    case PickleOp::kStop:
      return;
    case PickleOp::kMark:
      marks_.push_back(stack_.size());
      return;
    case PickleOp::kPop:
      if (Above() == 0) return PopMark();
      return Drop(1);
    case PickleOp::kPopMark:
      return PopMark();
    case PickleOp::kDup:
      if (Want(1)) Push(stack_.back());
      return;
    case PickleOp::kNone:
    case PickleOp::kNewTrue:
    case PickleOp::kNewFalse:
    case PickleOp::kInt:
    case PickleOp::kBinInt:
    case PickleOp::kBinInt1:
    case PickleOp::kBinInt2:
    case PickleOp::kLong:
    case PickleOp::kLong1:
    case PickleOp::kLong4:
    case PickleOp::kFloat:
    case PickleOp::kBinFloat:
    case PickleOp::kPersId:
    case PickleOp::kEmptyTuple:
    case PickleOp::kEmptyList:
    case PickleOp::kEmptyDict:
    case PickleOp::kEmptySet:
    case PickleOp::kNextBuffer:
      return Push();
    case PickleOp::kReadOnlyBuffer:
      Want(1);
      return;
    case PickleOp::kString:
      return QuotedString();
    case PickleOp::kUnicode:
      return PushText(Own(Unescape(AsText(in_.bytes))));
    case PickleOp::kBinString:
    case PickleOp::kShortBinString:
    case PickleOp::kBinUnicode:
    case PickleOp::kBinUnicode8:
    case PickleOp::kShortBinUnicode:
      return PushText(AsText(in_.bytes));
    case PickleOp::kBinBytes:
    case PickleOp::kBinBytes8:
    case PickleOp::kShortBinBytes:
    case PickleOp::kByteArray8:
      Literal(in_.bytes);
      return Push();
    case PickleOp::kTuple1:
      return Collect(1);
    case PickleOp::kTuple2:
      return Collect(2);
    case PickleOp::kTuple3:
      return Collect(3);
    case PickleOp::kTuple:
    case PickleOp::kList:
    case PickleOp::kDict:
    case PickleOp::kFrozenSet:
      return CollectToMark();
    case PickleOp::kAppend:
      return Add(1);
    case PickleOp::kSetItem:
      return Add(2);
    case PickleOp::kAppends:
    case PickleOp::kSetItems:
    case PickleOp::kAddItems:
      return AddToMark();
    case PickleOp::kGlobal:
      return Import(AsText(in_.bytes), in_.second_line);
    case PickleOp::kStackGlobal:
      return StackGlobal();
    case PickleOp::kReduce:
      return Reduce();
    case PickleOp::kNewObj:
      return NewObject(1);
    case PickleOp::kNewObjEx:
      return NewObject(2);
    case PickleOp::kInst:
      return Inst();
    case PickleOp::kObj:
      return Obj();
    case PickleOp::kBuild:
      return Build();
    case PickleOp::kExt1:
    case PickleOp::kExt2:
    case PickleOp::kExt4:
      return Extension();
    case PickleOp::kBinPersId:
      return Collect(1);
    case PickleOp::kGet:
      return Get(Slot());
    case PickleOp::kBinGet:
    case PickleOp::kLongBinGet:
      return Get(static_cast<uint64_t>(in_.number));
    case PickleOp::kPut:
      return Put(Slot());
    case PickleOp::kBinPut:
    case PickleOp::kLongBinPut:
      return Put(static_cast<uint64_t>(in_.number));
    case PickleOp::kMemoize:
      return Put(memo_.size());
  }
}

}  // namespace

PickleFacts WalkPickle(Bytes bytes, uint64_t offset,
                       const PickleWalkLimits& limits,
                       const PickleLiteral& on_literal) {
  return Walker(bytes, offset, limits, on_literal).Walk();
}

}  // namespace tenon
