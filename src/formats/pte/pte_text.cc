#include "formats/pte/pte_text.h"

#include <fmt/format.h>

#include <cctype>
#include <span>
#include <string_view>
#include <variant>

#include "formats/pte/delegate_boundary.h"
#include "formats/pte/kernels.h"
#include "support/hash.h"

namespace tenon {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20 || u >= 0x7f) {
      out += fmt::format("\\x{:02x}", u);
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Names come from the file: only plain ones stand without quotes.
std::string Label(std::string_view name) {
  for (const char c : name) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (!std::isalnum(u) &&
        std::string_view("_.:-/").find(c) == std::string_view::npos) {
      return Quoted(name);
    }
  }
  return name.empty() ? "\"\"" : std::string(name);
}

template <typename Items, typename Print>
std::string List(const Items& items, Print&& print) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    out += print(items[i]);
  }
  return out + ']';
}

std::string ValueName(int64_t value) { return fmt::format("%{}", value); }

std::string BlobText(const FlatBlob& blob) {
  return fmt::format("{} bytes, digest {}", blob.bytes.size(),
                     HashBytes(blob.bytes.data(), blob.bytes.size()).ToHex());
}

// A segment in pieces is joined for its digest.
std::string SegmentText(const PteSegment& segment) {
  if (segment.more.empty()) return BlobText({segment.bytes, nullptr, 1});
  const std::string joined = segment.Joined();
  return BlobText({AsBytes(joined), nullptr, 1});
}

class ValuePrinter {
 public:
  std::string operator()(const PteNull&) const { return "none"; }
  std::string operator()(const PteInt& v) const {
    return fmt::format("int {}", v.value);
  }
  std::string operator()(const PteBool& v) const {
    return v.value ? "bool true" : "bool false";
  }
  std::string operator()(const PteDouble& v) const {
    return fmt::format("double {}", v.value);
  }
  std::string operator()(const PteString& v) const {
    return "string " + Quoted(v.text);
  }
  std::string operator()(const PteIntList& v) const {
    return "ints " + List(v.items, ValueName);
  }
  std::string operator()(const PteDoubleList& v) const {
    return "doubles " +
           List(v.items, [](double d) { return fmt::format("{}", d); });
  }
  std::string operator()(const PteBoolList& v) const {
    return "bools " +
           List(v.items, [](bool b) { return b ? "true" : "false"; });
  }
  std::string operator()(const PteTensorList& v) const {
    return "tensors " + List(v.items, ValueName);
  }
  std::string operator()(const PteOptionalTensorList& v) const {
    return "tensors? " + List(v.items, [](int32_t item) {
             return item == PteOptionalTensorList::kNone ? "none"
                                                         : ValueName(item);
           });
  }
  std::string operator()(const PteTensor& t) const {
    std::string out = fmt::format(
        "{}{}", Name(t.type),
        List(t.sizes, [](int32_t size) { return std::to_string(size); }));
    if (t.shape != PteShape::kStatic) {
      out += fmt::format(" {}", Name(t.shape));
    }
    if (!IsRowMajor(t)) {
      out += " order " +
             List(t.dim_order, [](uint8_t d) { return std::to_string(d); });
    }
    return out + Memory(t) + Rest(t);
  }

 private:
  static bool IsRowMajor(const PteTensor& t) {
    for (size_t i = 0; i < t.dim_order.size(); ++i) {
      if (t.dim_order[i] != i) return false;
    }
    return true;
  }

  static std::string Memory(const PteTensor& t) {
    std::string out;
    if (t.allocation) {
      out += fmt::format(", arena {} + {}", t.allocation->memory_id,
                         t.allocation->offset);
    }
    if (t.is_external()) {
      out += ", external " + Label(t.extra->name);
    } else if (t.is_constant()) {
      out += fmt::format(", constant {}", t.data_index);
    } else if (t.data_index > 0) {
      out += fmt::format(", initially {}", t.data_index);
    } else if (!t.allocation) {
      out += ", memory of the caller";
    }
    return out;
  }

  // What most tensors have none of.
  static std::string Rest(const PteTensor& t) {
    std::string out;
    if (t.storage_offset != 0) {
      out += fmt::format(", storage offset {}", t.storage_offset);
    }
    if (t.layout != 0) out += fmt::format(", layout {}", t.layout);
    if (t.requires_grad) out += ", requires grad";
    if (!t.extra) return out;
    const PteTensorExtra& e = *t.extra;
    if (e.device != PteDevice::kCpu || e.device_index != 0) {
      out += fmt::format(", {}:{}", Name(e.device), e.device_index);
    }
    if (!e.name.empty() && !t.is_external()) out += ", name " + Label(e.name);
    if (t.is_external() && t.data_index > 0) {
      out += fmt::format(", data index {}", t.data_index);
    }
    if (e.mutable_segment != 0) {
      out += fmt::format(", mutable segment {}", e.mutable_segment);
    }
    return out;
  }
};

class ProgramPrinter {
 public:
  ProgramPrinter(const PteProgram& program, bool with_traces)
      : program_(program), with_traces_(with_traces) {}

  std::vector<std::string> Print() {
    Line("executorch program, schema version {}", program_.version);
    for (const PtePlan& plan : program_.plans) PrintPlan(plan);
    PrintData();
    return std::move(lines_);
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void PrintPlan(const PtePlan& plan) {
    plan_ = &plan;
    Line("");
    Line("method {}", Label(plan.name));
    Line("  inputs {}", List(plan.inputs, ValueName));
    Line("  outputs {}", List(plan.outputs, ValueName));
    if (plan.convention) {
      Line("  in spec {}", Quoted(plan.convention->inputs));
      Line("  out spec {}", Quoted(plan.convention->outputs));
    }
    for (size_t i = 0; i < plan.arena_bytes.size(); ++i) {
      if (i > 0 || plan.arena_bytes[i] != 0) {
        Line("  arena {}: {} bytes", i, plan.arena_bytes[i]);
      }
    }
    for (const PteArenaDevice& d : plan.arena_devices) {
      Line("  arena {} on {}:{}", d.arena, Name(d.device), d.device_index);
    }
    for (size_t i = 0; i < plan.operators.size(); ++i) {
      Line("  operator {}: {}", i, Label(KernelName(plan.operators[i])));
    }
    for (size_t i = 0; i < plan.delegates.size(); ++i) {
      PrintDelegate(i, plan.delegates[i]);
    }
    for (size_t i = 0; i < plan.values.size(); ++i) {
      Line("  %{} = {}", i, PrintValue(plan.values[i]));
    }
    for (size_t i = 0; i < plan.chains.size(); ++i) {
      PrintChain(i, plan.chains[i]);
    }
  }

  void PrintDelegate(size_t i, const PteDelegate& delegate) {
    Line("  delegate {}: {}, {} {}", i, Label(delegate.backend),
         delegate.payload.place == PtePayloadPlace::kSegment ? "segment"
                                                             : "inline payload",
         delegate.payload.index);
    for (const std::string& line : pte::BoundaryLines(program_, delegate)) {
      Line("    {}", line);
    }
    for (const PteCompileSpec& spec : delegate.specs) {
      constexpr size_t kShownBytes = 64;
      const bool is_short = spec.value.bytes.size() <= kShownBytes;
      Line("    spec {} = {}", Label(spec.key),
           is_short ? Quoted(AsText(spec.value.bytes)) : BlobText(spec.value));
    }
  }

  void PrintChain(size_t i, const PteChain& chain) {
    Line("  chain {}{}{}", i,
         chain.inputs.empty() ? "" : " inputs " + List(chain.inputs, ValueName),
         chain.outputs.empty() ? ""
                               : " outputs " + List(chain.outputs, ValueName));
    for (size_t at = 0; at < chain.instructions.size(); ++at) {
      Line("    {}: {}", at,
           std::visit([&](const auto& a) { return Text(a); },
                      chain.instructions[at].action));
      if (!with_traces_ || at >= chain.stack_traces.size()) continue;
      for (const PteFrame& frame : chain.stack_traces[at].items) {
        Line("        at {}:{} in {}: {}", Label(frame.file), frame.line,
             Label(frame.name), Quoted(frame.context));
      }
    }
  }

  std::string Text(const PteKernelCall& call) const {
    const size_t op = static_cast<size_t>(call.operator_index);
    const std::string name = op < plan_->operators.size()
                                 ? Label(KernelName(plan_->operators[op]))
                                 : fmt::format("operator {}", op);
    return name + " " + List(call.args, ValueName);
  }
  std::string Text(const PteDelegateCall& call) const {
    return fmt::format("delegate {} {}", call.delegate_index,
                       List(call.args, ValueName));
  }
  std::string Text(const PteMoveCall& move) const {
    return fmt::format("move %{} to %{}", move.from, move.to);
  }
  std::string Text(const PteJumpFalseCall& jump) const {
    return fmt::format("if not %{} go to {}", jump.condition, jump.target);
  }
  std::string Text(const PteFreeCall& free) const {
    return fmt::format("free %{}", free.value);
  }

  void PrintSubsegments(std::string_view what, const PteSubsegments& data) {
    Line("{}: segment {}, at {}", what, data.segment,
         List(data.offsets,
              [](uint64_t offset) { return std::to_string(offset); }));
  }

  void PrintData() {
    Line("");
    if (program_.constants) PrintSubsegments("constants", *program_.constants);
    for (const PteSubsegments& data : program_.mutable_data) {
      PrintSubsegments("initial data", data);
    }
    for (size_t i = 0; i < program_.inline_constants.size(); ++i) {
      Line("inline constant {}: {}", i,
           BlobText(program_.inline_constants[i].data));
    }
    for (size_t i = 0; i < program_.inline_payloads.size(); ++i) {
      Line("inline payload {}: {}", i,
           BlobText(program_.inline_payloads[i].data));
    }
    for (const PteNamedData& data : program_.named_data) {
      Line("named data {}: segment {}", Label(data.key), data.segment);
    }
    for (size_t i = 0; i < program_.segments.size(); ++i) {
      Line("segment {}: {}", i, SegmentText(program_.segments[i]));
    }
  }

  const PteProgram& program_;
  const bool with_traces_;
  const PtePlan* plan_ = nullptr;
  std::vector<std::string> lines_;
};

}  // namespace

std::string PrintValue(const PteValue& value) {
  return std::visit(ValuePrinter(), value.content);
}

std::vector<std::string> PrintPte(const PteProgram& program, bool with_traces) {
  return ProgramPrinter(program, with_traces).Print();
}

}  // namespace tenon
