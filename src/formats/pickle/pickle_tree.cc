#include "formats/pickle/pickle_tree.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "formats/pickle/opcodes.h"

namespace tenon {

class PickleParser {
 public:
  PickleParser(Bytes bytes, const std::string& name, const ReadLimits& limits,
               Diagnostics& diags)
      : cursor_(bytes), name_(name), limits_(limits), diags_(diags) {
    // Reference 0 is None and stands for "no state".
    tree_.nodes_.emplace_back();
  }

  Expected<PickleTree> Parse() {
    PickleInstruction in;
    while (true) {
      const bool is_whole = cursor_.Next(&in);
      at_ = cursor_.at();
      if (!is_whole) return Error() << cursor_.problem();
      if (in.op == PickleOp::kStop) break;
      TENON_TRY(Step(in));
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
  void PushText(PickleKind kind, Bytes bytes) {
    PickleNode node;
    node.kind = kind;
    node.text = AsText(bytes);
    Push(std::move(node));
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

  void Import(std::string_view module, std::string_view name) {
    tree_.owned_text_.push_back(std::make_unique<std::string>(module));
    std::string& text = *tree_.owned_text_.back();
    text += ' ';
    text += name;
    PickleNode node;
    node.kind = PickleKind::kGlobal;
    node.text = text;
    tree_.globals_.push_back(node.text);
    Push(std::move(node));
  }

  Status Get(uint64_t slot) {
    const auto it = memo_.find(slot);
    if (it == memo_.end()) {
      return Error() << "memo slot " << slot << " is not set";
    }
    stack_.push_back(it->second);
    return {};
  }
  Status Put(uint64_t slot) {
    if (Above() < 1) return Underflow();
    memo_[slot] = stack_.back();
    return {};
  }

  void Long(Bytes bytes) {
    if (bytes.size() > 8) {
      PushText(PickleKind::kBytes, bytes);
      return;
    }
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    if (!bytes.empty() && bytes.size() < 8) {
      const int unused = 64 - 8 * static_cast<int>(bytes.size());
      value = static_cast<uint64_t>(static_cast<int64_t>(value << unused) >>
                                    unused);
    }
    PushInt(static_cast<int64_t>(value));
  }

  void BigEndianFloat(int64_t bits) {
    PickleNode node;
    node.kind = PickleKind::kFloat;
    node.f =
        std::bit_cast<double>(__builtin_bswap64(static_cast<uint64_t>(bits)));
    Push(std::move(node));
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
    Import(module_text, name_text);
    return {};
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

  Status Step(const PickleInstruction& in);

  PickleCursor cursor_;
  const std::string& name_;
  const ReadLimits& limits_;
  Diagnostics& diags_;
  PickleTree tree_;
  std::vector<PickleRef> stack_;
  std::vector<size_t> marks_;  // stack heights
  std::unordered_map<uint64_t, PickleRef> memo_;
  uint64_t at_ = 0;
};

// Those that pickles of tensors use; others are errors that name them.
Status PickleParser::Step(const PickleInstruction& in) {
  const auto slot = static_cast<uint64_t>(in.number);
  switch (in.op) {
    case PickleOp::kProto:
      if (in.number > kMaxPickleProtocol) {
        return Error() << "pickle protocol " << in.number;
      }
      return {};
    case PickleOp::kFrame:
      return {};
    case PickleOp::kMark:
      marks_.push_back(stack_.size());
      return {};
    case PickleOp::kPop:
      if (Above() > 0) {
        Pop();
        return {};
      }
      return PopMark();
    case PickleOp::kPopMark:
      return PopMark();
    case PickleOp::kDup:
      if (Above() < 1) return Underflow();
      stack_.push_back(stack_.back());
      return {};
    case PickleOp::kNone:
      PushKind(PickleKind::kNone);
      return {};
    case PickleOp::kNewTrue:
    case PickleOp::kNewFalse:
      PushInt(in.op == PickleOp::kNewTrue, PickleKind::kBool);
      return {};
    case PickleOp::kBinInt:
    case PickleOp::kBinInt1:
    case PickleOp::kBinInt2:
      PushInt(in.number);
      return {};
    case PickleOp::kLong1:
      Long(in.bytes);
      return {};
    case PickleOp::kBinFloat:
      BigEndianFloat(in.number);
      return {};
    case PickleOp::kShortBinString:
    case PickleOp::kShortBinUnicode:
    case PickleOp::kBinString:
    case PickleOp::kBinUnicode:
    case PickleOp::kBinUnicode8:
      PushText(PickleKind::kString, in.bytes);
      return {};
    case PickleOp::kShortBinBytes:
    case PickleOp::kBinBytes:
    case PickleOp::kBinBytes8:
      PushText(PickleKind::kBytes, in.bytes);
      return {};
    case PickleOp::kEmptyTuple:
      PushKind(PickleKind::kTuple);
      return {};
    case PickleOp::kTuple1:
      return Collect(1, PickleKind::kTuple);
    case PickleOp::kTuple2:
      return Collect(2, PickleKind::kTuple);
    case PickleOp::kTuple3:
      return Collect(3, PickleKind::kTuple);
    case PickleOp::kTuple:
      return CollectToMark(PickleKind::kTuple);
    case PickleOp::kEmptyList:
      PushKind(PickleKind::kList);
      return {};
    case PickleOp::kList:
      return CollectToMark(PickleKind::kList);
    case PickleOp::kAppend:
      return AddTo(1, PickleKind::kList, false);
    case PickleOp::kAppends:
      return AddTo(Above(), PickleKind::kList, true);
    case PickleOp::kEmptySet:
      PushKind(PickleKind::kSet);
      return {};
    case PickleOp::kFrozenSet:
      return CollectToMark(PickleKind::kSet);
    case PickleOp::kAddItems:
      return AddTo(Above(), PickleKind::kSet, true);
    case PickleOp::kEmptyDict:
      PushKind(PickleKind::kDict);
      return {};
    case PickleOp::kDict:
      return CollectToMark(PickleKind::kDict);
    case PickleOp::kSetItem:
      return AddTo(2, PickleKind::kDict, false);
    case PickleOp::kSetItems:
      return AddTo(Above(), PickleKind::kDict, true);
    case PickleOp::kGlobal:
      Import(AsText(in.bytes), in.second_line);
      return {};
    case PickleOp::kStackGlobal:
      return StackGlobal();
    case PickleOp::kReduce:
      return Collect(2, PickleKind::kReduce);
    case PickleOp::kNewObj:
      return Collect(2, PickleKind::kObject);
    case PickleOp::kNewObjEx:
      return Collect(3, PickleKind::kObject);
    case PickleOp::kBuild:
      return Build();
    case PickleOp::kBinPersId:
      return Collect(1, PickleKind::kPersistent);
    case PickleOp::kBinGet:
    case PickleOp::kLongBinGet:
      return Get(slot);
    case PickleOp::kBinPut:
    case PickleOp::kLongBinPut:
      return Put(slot);
    case PickleOp::kMemoize:
      return Put(memo_.size());
    case PickleOp::kStop:
    case PickleOp::kFloat:
    case PickleOp::kInt:
    case PickleOp::kLong:
    case PickleOp::kLong4:
    case PickleOp::kPersId:
    case PickleOp::kString:
    case PickleOp::kUnicode:
    case PickleOp::kGet:
    case PickleOp::kPut:
    case PickleOp::kInst:
    case PickleOp::kObj:
    case PickleOp::kExt1:
    case PickleOp::kExt2:
    case PickleOp::kExt4:
    case PickleOp::kByteArray8:
    case PickleOp::kNextBuffer:
    case PickleOp::kReadOnlyBuffer:
      break;
  }
  return Error() << "pickle opcode " << static_cast<int>(in.op)
                 << " isn't supported";
}

Expected<PickleTree> PickleTree::Parse(Bytes bytes, const std::string& name,
                                       Diagnostics& diags,
                                       const ReadLimits& limits) {
  return PickleParser(bytes, name, limits, diags).Parse();
}

}  // namespace tenon
