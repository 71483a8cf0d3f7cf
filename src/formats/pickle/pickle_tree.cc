#include "formats/pickle/pickle_tree.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>

namespace tenon {
namespace {

// The opcodes that pickles of tensors use; others are errors that name them.
enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kEmptyList = ']',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kEmptyDict = '}',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8A,
  kShortBinUnicode = 0x8C,
  kBinUnicode8 = 0x8D,
  kBinBytes8 = 0x8E,
  kEmptySet = 0x8F,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kBinBytes = 'B',
  kShortBinBytes = 'C',
};

constexpr uint8_t kMaxProtocol = 5;

}  // namespace

class PickleParser {
 public:
  PickleParser(Bytes bytes, const std::string& name, const ReadLimits& limits,
               Diagnostics& diags)
      : cursor_(bytes), name_(name), limits_(limits), diags_(diags) {
    // Reference 0 is None and stands for "no state".
    tree_.nodes_.emplace_back();
  }

  Expected<PickleTree> Parse() {
    while (true) {
      at_ = cursor_.offset();
      const auto opcode = cursor_.Read<uint8_t>();
      if (!opcode) return Error() << "truncated: no STOP opcode";
      if (*opcode == kStop) break;
      TENON_TRY(Step(*opcode));
      TENON_TRY(CheckSize());
    }
    if (stack_.empty() || !marks_.empty()) {
      return Error() << "pickle stack underflow at STOP";
    }
    tree_.root_ = stack_.back();
    return std::move(tree_);
  }

 private:
  DiagnosticBuilder Error() {
    return diags_.Error(Rule::kFile07, Place::Offset(name_, at_));
  }
  Status CheckSize() {
    const uint64_t size =
        std::max({tree_.nodes_.size(), stack_.size(), memo_.size()});
    if (size <= limits_.max_pickle_values) return {};
    return Error() << size << " values, "
                   << BeyondLimit(limits_, &ReadLimits::max_pickle_values);
  }
  Failure Truncated() { return Error() << "truncated inside an opcode"; }
  Failure Underflow() { return Error() << "pickle stack underflow"; }

  PickleRef Push(PickleNode node) {
    tree_.nodes_.push_back(std::move(node));
    stack_.push_back(static_cast<PickleRef>(tree_.nodes_.size() - 1));
    return stack_.back();
  }
  void PushKind(PickleKind kind) {
    PickleNode node;
    node.kind = kind;
    Push(std::move(node));
  }
  void PushInt(int64_t value, PickleKind kind = PickleKind::kInt) {
    PickleNode node;
    node.kind = kind;
    node.i = value;
    Push(std::move(node));
  }
  Status PushText(PickleKind kind, std::optional<uint64_t> size) {
    const auto bytes = size ? cursor_.Take(*size) : std::nullopt;
    if (!size) return Truncated();
    if (!bytes) {
      return Error() << "a length of " << *size << " bytes exceeds the "
                     << cursor_.left() << " bytes left";
    }
    PickleNode node;
    node.kind = kind;
    node.text = AsText(*bytes);
    Push(std::move(node));
    return {};
  }
  template <typename T>
  std::optional<uint64_t> ReadSize() {
    const auto value = cursor_.Read<T>();
    if (!value) return std::nullopt;
    return static_cast<uint64_t>(*value);
  }
  std::optional<std::string_view> ReadLine() {
    const size_t start = cursor_.offset();
    std::string_view out;
    while (const auto c = cursor_.Read<char>()) {
      if (*c == '\n') {
        const size_t size = cursor_.offset() - start - 1;
        cursor_.Seek(start);
        out = AsText(*cursor_.Take(size));
        cursor_.Read<char>();
        return out;
      }
    }
    return std::nullopt;
  }

  // Elements above the innermost mark; operations may not reach below it.
  size_t Above() const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }
  PickleRef Pop() {
    const PickleRef ref = stack_.back();
    stack_.pop_back();
    return ref;
  }
  // The top `count` elements as items of a new node of `kind`.
  Status Collect(size_t count, PickleKind kind) {
    if (Above() < count) return Underflow();
    PickleNode node;
    node.kind = kind;
    node.items.assign(stack_.end() - static_cast<ptrdiff_t>(count),
                      stack_.end());
    stack_.resize(stack_.size() - count);
    Push(std::move(node));
    return {};
  }
  Status CollectToMark(PickleKind kind) {
    if (marks_.empty()) return Error() << "no mark on the pickle stack";
    const size_t count = Above();
    if (kind == PickleKind::kDict && count % 2 != 0) {
      return Error() << "a dict with a key but no value";
    }
    TENON_TRY(Collect(count, kind));
    marks_.pop_back();
    return {};
  }
  // Moves the top `count` elements into the container below them.
  Status AddTo(size_t count, PickleKind kind, bool to_mark) {
    if (to_mark) {
      if (marks_.empty()) return Error() << "no mark on the pickle stack";
      marks_.pop_back();
    }
    if (Above() < count + 1) return Underflow();
    if (kind == PickleKind::kDict && count % 2 != 0) {
      return Error() << "a dict with a key but no value";
    }
    PickleNode& target = tree_.nodes_[stack_[stack_.size() - count - 1]];
    // Dicts and lists may be made by calls: OrderedDict(), deque().
    if (target.kind != kind && target.kind != PickleKind::kReduce &&
        target.kind != PickleKind::kObject) {
      return Error() << "items are added to what isn't a container";
    }
    std::vector<PickleRef>& into = target.items;
    into.insert(into.end(), stack_.end() - static_cast<ptrdiff_t>(count),
                stack_.end());
    stack_.resize(stack_.size() - count);
    return {};
  }

  Status Import(std::string_view module, std::string_view name) {
    tree_.owned_text_.push_back(std::make_unique<std::string>(module));
    std::string& text = *tree_.owned_text_.back();
    text += ' ';
    text += name;
    PickleNode node;
    node.kind = PickleKind::kGlobal;
    node.text = text;
    tree_.globals_.push_back(node.text);
    Push(std::move(node));
    return {};
  }

  Status Get(std::optional<uint64_t> slot) {
    if (!slot) return Truncated();
    const auto it = memo_.find(*slot);
    if (it == memo_.end()) {
      return Error() << "memo slot " << *slot << " is not set";
    }
    stack_.push_back(it->second);
    return {};
  }
  Status Put(std::optional<uint64_t> slot) {
    if (!slot) return Truncated();
    if (Above() < 1) return Underflow();
    memo_[*slot] = stack_.back();
    return {};
  }

  Status Long() {
    const auto size = ReadSize<uint8_t>();
    const auto bytes = size ? cursor_.Take(*size) : std::nullopt;
    if (!bytes) return Truncated();
    if (bytes->size() > 8) {
      PickleNode node;
      node.kind = PickleKind::kBytes;
      node.text = AsText(*bytes);
      Push(std::move(node));
      return {};
    }
    uint64_t value = 0;
    std::memcpy(&value, bytes->data(), bytes->size());
    if (!bytes->empty() && bytes->size() < 8) {
      const int unused = 64 - 8 * static_cast<int>(bytes->size());
      value = static_cast<uint64_t>(static_cast<int64_t>(value << unused) >>
                                    unused);
    }
    PushInt(static_cast<int64_t>(value));
    return {};
  }

  Status BigEndianFloat() {
    const auto bits = cursor_.Read<uint64_t>();
    if (!bits) return Truncated();
    PickleNode node;
    node.kind = PickleKind::kFloat;
    node.f = std::bit_cast<double>(__builtin_bswap64(*bits));
    Push(std::move(node));
    return {};
  }

  Status StackGlobal() {
    if (Above() < 2) return Underflow();
    const PickleNode& name = tree_.nodes_[stack_.back()];
    const PickleNode& module = tree_.nodes_[stack_[stack_.size() - 2]];
    if (name.kind != PickleKind::kString ||
        module.kind != PickleKind::kString) {
      return Error() << "an import whose name isn't a string";
    }
    const std::string_view module_text = module.text, name_text = name.text;
    stack_.resize(stack_.size() - 2);
    return Import(module_text, name_text);
  }

  Status Build() {
    if (Above() < 2) return Underflow();
    const PickleRef state = Pop();
    tree_.nodes_[stack_.back()].state = state;
    return {};
  }

  Status PopMark() {
    if (marks_.empty()) return Error() << "no mark on the pickle stack";
    stack_.resize(marks_.back());
    marks_.pop_back();
    return {};
  }

  Status Step(uint8_t opcode);

  ByteCursor cursor_;
  const std::string& name_;
  const ReadLimits& limits_;
  Diagnostics& diags_;
  PickleTree tree_;
  std::vector<PickleRef> stack_;
  std::vector<size_t> marks_;  // stack heights
  std::unordered_map<uint64_t, PickleRef> memo_;
  uint64_t at_ = 0;
};

Status PickleParser::Step(uint8_t opcode) {
  switch (opcode) {
    case kProto: {
      const auto version = cursor_.Read<uint8_t>();
      if (!version) return Truncated();
      if (*version > kMaxProtocol) {
        return Error() << "pickle protocol " << int{*version};
      }
      return {};
    }
    case kFrame:
      if (!cursor_.Read<uint64_t>()) return Truncated();
      return {};
    case kMark:
      marks_.push_back(stack_.size());
      return {};
    case kPop:
      if (Above() > 0) {
        Pop();
        return {};
      }
      return PopMark();
    case kPopMark:
      return PopMark();
    case kDup:
      if (Above() < 1) return Underflow();
      stack_.push_back(stack_.back());
      return {};
    case kNone:
      PushKind(PickleKind::kNone);
      return {};
    case kNewTrue:
    case kNewFalse:
      PushInt(opcode == kNewTrue, PickleKind::kBool);
      return {};
    case kBinInt: {
      const auto value = cursor_.Read<int32_t>();
      if (!value) return Truncated();
      PushInt(*value);
      return {};
    }
    case kBinInt1: {
      const auto value = cursor_.Read<uint8_t>();
      if (!value) return Truncated();
      PushInt(*value);
      return {};
    }
    case kBinInt2: {
      const auto value = cursor_.Read<uint16_t>();
      if (!value) return Truncated();
      PushInt(*value);
      return {};
    }
    case kLong1:
      return Long();
    case kBinFloat:
      return BigEndianFloat();
    case kShortBinString:
    case kShortBinUnicode:
      return PushText(PickleKind::kString, ReadSize<uint8_t>());
    case kBinString:
    case kBinUnicode:
      return PushText(PickleKind::kString, ReadSize<uint32_t>());
    case kBinUnicode8:
      return PushText(PickleKind::kString, ReadSize<uint64_t>());
    case kShortBinBytes:
      return PushText(PickleKind::kBytes, ReadSize<uint8_t>());
    case kBinBytes:
      return PushText(PickleKind::kBytes, ReadSize<uint32_t>());
    case kBinBytes8:
      return PushText(PickleKind::kBytes, ReadSize<uint64_t>());
    case kEmptyTuple:
      PushKind(PickleKind::kTuple);
      return {};
    case kTuple1:
      return Collect(1, PickleKind::kTuple);
    case kTuple2:
      return Collect(2, PickleKind::kTuple);
    case kTuple3:
      return Collect(3, PickleKind::kTuple);
    case kTuple:
      return CollectToMark(PickleKind::kTuple);
    case kEmptyList:
      PushKind(PickleKind::kList);
      return {};
    case kList:
      return CollectToMark(PickleKind::kList);
    case kAppend:
      return AddTo(1, PickleKind::kList, false);
    case kAppends:
      return AddTo(Above(), PickleKind::kList, true);
    case kEmptySet:
      PushKind(PickleKind::kSet);
      return {};
    case kFrozenSet:
      return CollectToMark(PickleKind::kSet);
    case kAddItems:
      return AddTo(Above(), PickleKind::kSet, true);
    case kEmptyDict:
      PushKind(PickleKind::kDict);
      return {};
    case kDict:
      return CollectToMark(PickleKind::kDict);
    case kSetItem:
      return AddTo(2, PickleKind::kDict, false);
    case kSetItems:
      return AddTo(Above(), PickleKind::kDict, true);
    case kGlobal: {
      const auto module = ReadLine();
      const auto name = module ? ReadLine() : std::nullopt;
      if (!name) return Truncated();
      return Import(*module, *name);
    }
    case kStackGlobal:
      return StackGlobal();
    case kReduce:
      return Collect(2, PickleKind::kReduce);
    case kNewObj:
      return Collect(2, PickleKind::kObject);
    case kNewObjEx:
      return Collect(3, PickleKind::kObject);
    case kBuild:
      return Build();
    case kBinPersId:
      return Collect(1, PickleKind::kPersistent);
    case kBinGet:
      return Get(ReadSize<uint8_t>());
    case kLongBinGet:
      return Get(ReadSize<uint32_t>());
    case kBinPut:
      return Put(ReadSize<uint8_t>());
    case kLongBinPut:
      return Put(ReadSize<uint32_t>());
    case kMemoize:
      return Put(memo_.size());
    default:
      return Error() << "pickle opcode " << int{opcode} << " isn't supported";
  }
}

Expected<PickleTree> PickleTree::Parse(Bytes bytes, const std::string& name,
                                       Diagnostics& diags,
                                       const ReadLimits& limits) {
  return PickleParser(bytes, name, limits, diags).Parse();
}

}  // namespace tenon
