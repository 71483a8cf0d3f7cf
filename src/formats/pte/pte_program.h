// An ExecuTorch program as a .pte holds it: methods with their values and
// instructions, and the bytes that they refer to (docs/formats/pte.md).
//
// Plain structs with the fields of the schema, all of them; nothing is derived
// and nothing is checked here. Indices are the file's: a value is named by its
// place in `PtePlan::values`, a segment by its place in `PteProgram::segments`.
// What must hold is checked by VerifyPte (verify_pte.h).
//
// Each struct names its table for messages; pte_schema.h states the fields.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/flatbuffer/flat_blob.h"
#include "formats/pte/pte_kinds.h"
#include "formats/pte/pte_segment.h"

namespace tenon {

// --- values ---------------------------------------------------------------

struct PteNull {
  static constexpr std::string_view kTable = "Null";
  friend bool operator==(const PteNull&, const PteNull&) = default;
};

struct PteInt {
  static constexpr std::string_view kTable = "Int";
  int64_t value = 0;
  friend bool operator==(const PteInt&, const PteInt&) = default;
};

struct PteBool {
  static constexpr std::string_view kTable = "Bool";
  bool value = false;
  friend bool operator==(const PteBool&, const PteBool&) = default;
};

struct PteDouble {
  static constexpr std::string_view kTable = "Double";
  double value = 0;
  // By bits: a NaN is equal to itself, 0.0 isn't -0.0.
  friend bool operator==(const PteDouble& a, const PteDouble& b) {
    return std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value);
  }
};

struct PteString {
  static constexpr std::string_view kTable = "String";
  std::string text;
  friend bool operator==(const PteString&, const PteString&) = default;
};

// Each item is the index of an Int value, not an integer: it may be computed.
struct PteIntList {
  static constexpr std::string_view kTable = "IntList";
  std::vector<int64_t> items;
  friend bool operator==(const PteIntList&, const PteIntList&) = default;
};

struct PteDoubleList {
  static constexpr std::string_view kTable = "DoubleList";
  std::vector<double> items;
  friend bool operator==(const PteDoubleList& a, const PteDoubleList& b) {
    return std::equal(
        a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
        [](double x, double y) { return PteDouble{x} == PteDouble{y}; });
  }
};

struct PteBoolList {
  static constexpr std::string_view kTable = "BoolList";
  std::vector<bool> items;
  friend bool operator==(const PteBoolList&, const PteBoolList&) = default;
};

// Each item is the index of a tensor value.
struct PteTensorList {
  static constexpr std::string_view kTable = "TensorList";
  std::vector<int32_t> items;
  friend bool operator==(const PteTensorList&, const PteTensorList&) = default;
};

// Each item is the index of a tensor value, or -1 for None.
struct PteOptionalTensorList {
  static constexpr std::string_view kTable = "OptionalTensorList";
  static constexpr int32_t kNone = -1;
  std::vector<int32_t> items;
  friend bool operator==(const PteOptionalTensorList&,
                         const PteOptionalTensorList&) = default;
};

// A place in planned memory.
struct PteAllocation {
  static constexpr std::string_view kTable = "AllocationDetails";
  uint32_t memory_id = 0;  // index in arena_bytes; 0 is reserved
  uint64_t offset = 0;     // bytes
  friend bool operator==(const PteAllocation&, const PteAllocation&) = default;
};

struct PteTensorExtra {
  static constexpr std::string_view kTable = "ExtraTensorInfo";
  uint64_t mutable_segment = 0;  // stock runtimes ignore it and use 0
  std::string name;              // FQN; the key of external data
  PteTensorPlace place = PteTensorPlace::kSegment;
  PteDevice device = PteDevice::kCpu;
  int8_t device_index = 0;
  friend bool operator==(const PteTensorExtra&,
                         const PteTensorExtra&) = default;
};

struct PteTensor {
  static constexpr std::string_view kTable = "Tensor";
  PteScalarType type = PteScalarType::kByte;
  int32_t storage_offset = 0;      // anything but 0 is refused
  std::vector<int32_t> sizes;      // upper bounds where the shape is bounded
  std::vector<uint8_t> dim_order;  // outermost first
  bool requires_grad = false;
  // 0: no stored bytes. Otherwise an entry of the constants, or, with an
  // allocation, of the mutable data; without meaning for external tensors.
  uint32_t data_index = 0;
  // None: constant, external, or memory of the caller.
  std::optional<PteAllocation> allocation;
  int8_t layout = 0;  // 0 = strided
  PteShape shape = PteShape::kStatic;
  std::optional<PteTensorExtra> extra;

  bool is_external() const {
    return extra && extra->place == PteTensorPlace::kExternal;
  }
  bool is_constant() const {
    return !is_external() && data_index > 0 && !allocation;
  }
  friend bool operator==(const PteTensor&, const PteTensor&) = default;
};

// In the order of the schema's tags.
using PteContent =
    std::variant<PteNull, PteInt, PteBool, PteDouble, PteTensor, PteString,
                 PteIntList, PteDoubleList, PteBoolList, PteTensorList,
                 PteOptionalTensorList>;

struct PteValue {
  static constexpr std::string_view kTable = "EValue";
  PteContent content;

  // Null when it is of another kind.
  const PteTensor* tensor() const { return std::get_if<PteTensor>(&content); }
  friend bool operator==(const PteValue&, const PteValue&) = default;
};

// "Tensor", "IntList", ...
std::string_view KindName(const PteValue& value);

// --- instructions -----------------------------------------------------------

struct PteKernelCall {
  static constexpr std::string_view kTable = "KernelCall";
  int32_t operator_index = 0;
  std::vector<int32_t> args;  // by the schema, then the result once more
  friend bool operator==(const PteKernelCall&, const PteKernelCall&) = default;
};

struct PteDelegateCall {
  static constexpr std::string_view kTable = "DelegateCall";
  int32_t delegate_index = 0;
  std::vector<int32_t> args;  // inputs, then outputs
  friend bool operator==(const PteDelegateCall&,
                         const PteDelegateCall&) = default;
};

// Afterwards `to` is what `from` is; a tensor's bytes are shared, not copied.
struct PteMoveCall {
  static constexpr std::string_view kTable = "MoveCall";
  int32_t from = 0;
  int32_t to = 0;
  friend bool operator==(const PteMoveCall&, const PteMoveCall&) = default;
};

// Goes on at `target` when `condition` is false.
struct PteJumpFalseCall {
  static constexpr std::string_view kTable = "JumpFalseCall";
  int32_t condition = 0;
  int32_t target = 0;  // index in the chain
  friend bool operator==(const PteJumpFalseCall&,
                         const PteJumpFalseCall&) = default;
};

// Drops a tensor's data pointer.
struct PteFreeCall {
  static constexpr std::string_view kTable = "FreeCall";
  int32_t value = 0;
  friend bool operator==(const PteFreeCall&, const PteFreeCall&) = default;
};

// In the order of the schema's tags.
using PteAction = std::variant<PteKernelCall, PteDelegateCall, PteMoveCall,
                               PteJumpFalseCall, PteFreeCall>;

struct PteInstruction {
  static constexpr std::string_view kTable = "Instruction";
  PteAction action;
  friend bool operator==(const PteInstruction&,
                         const PteInstruction&) = default;
};

// --- plans ------------------------------------------------------------------

struct PteOperator {
  static constexpr std::string_view kTable = "Operator";
  std::string name;      // "aten::add"
  std::string overload;  // "out"; may be empty
  friend bool operator==(const PteOperator&, const PteOperator&) = default;
};

struct PteFrame {
  static constexpr std::string_view kTable = "Frame";
  std::string file;
  int32_t line = 0;
  std::string name;
  std::string context;
  friend bool operator==(const PteFrame&, const PteFrame&) = default;
};

struct PteFrames {
  static constexpr std::string_view kTable = "FrameList";
  std::vector<PteFrame> items;
  friend bool operator==(const PteFrames&, const PteFrames&) = default;
};

struct PteChain {
  static constexpr std::string_view kTable = "Chain";
  std::vector<int32_t> inputs, outputs;  // unused by runtimes
  std::vector<PteInstruction> instructions;
  std::vector<PteFrames> stack_traces;  // one per instruction, or none at all
  friend bool operator==(const PteChain&, const PteChain&) = default;
};

// The calling convention as the exporter encodes it; opaque to runtimes.
struct PteConvention {
  static constexpr std::string_view kTable = "ContainerMetadata";
  std::string inputs;
  std::string outputs;
  friend bool operator==(const PteConvention&, const PteConvention&) = default;
};

struct PteCompileSpec {
  static constexpr std::string_view kTable = "CompileSpec";
  std::string key;
  FlatBlob value;
  friend bool operator==(const PteCompileSpec&,
                         const PteCompileSpec&) = default;
};

// An index in PteProgram::inline_payloads or PteProgram::segments.
struct PtePayloadRef {
  static constexpr std::string_view kTable = "BackendDelegateDataReference";
  PtePayloadPlace place = PtePayloadPlace::kInline;
  uint32_t index = 0;
  friend bool operator==(const PtePayloadRef&, const PtePayloadRef&) = default;
};

struct PteDelegate {
  static constexpr std::string_view kTable = "BackendDelegate";
  std::string backend;
  PtePayloadRef payload;
  std::vector<PteCompileSpec> specs;
  friend bool operator==(const PteDelegate&, const PteDelegate&) = default;
};

// An arena that isn't on the CPU.
struct PteArenaDevice {
  static constexpr std::string_view kTable = "NonConstBufferDevice";
  int32_t arena = 0;  // index in arena_bytes
  PteDevice device = PteDevice::kCpu;
  int8_t device_index = 0;
  friend bool operator==(const PteArenaDevice&,
                         const PteArenaDevice&) = default;
};

// One method.
struct PtePlan {
  static constexpr std::string_view kTable = "ExecutionPlan";
  std::string name;
  std::optional<PteConvention> convention;
  std::vector<PteValue> values;
  std::vector<int32_t> inputs, outputs;  // indices of values
  std::vector<PteChain> chains;
  std::vector<PteOperator> operators;
  std::vector<PteDelegate> delegates;
  std::vector<int64_t> arena_bytes;  // [0] is reserved, 0
  std::vector<PteArenaDevice> arena_devices;
  friend bool operator==(const PtePlan&, const PtePlan&) = default;
};

// --- the program ------------------------------------------------------------

// Bytes inside the tables: a constant of older files, or a small payload.
struct PteInlineConstant {
  static constexpr std::string_view kTable = "Buffer";
  FlatBlob data;
  friend bool operator==(const PteInlineConstant&,
                         const PteInlineConstant&) = default;
};
struct PteInlinePayload {
  static constexpr std::string_view kTable = "BackendDelegateInlineData";
  FlatBlob data;
  friend bool operator==(const PteInlinePayload&,
                         const PteInlinePayload&) = default;
};

// Entries of one segment. Entry 0 is a placeholder; how long an entry is, is up
// to the tensors that refer to it.
struct PteSubsegments {
  static constexpr std::string_view kTable = "SubsegmentOffsets";
  uint32_t segment = 0;
  std::vector<uint64_t> offsets;
  friend bool operator==(const PteSubsegments&,
                         const PteSubsegments&) = default;
};

// Opaque bytes that delegates ask for by key.
struct PteNamedData {
  static constexpr std::string_view kTable = "NamedData";
  std::string key;
  uint32_t segment = 0;
  friend bool operator==(const PteNamedData&, const PteNamedData&) = default;
};

// Of payloads inside the tables.
constexpr uint64_t kPteInlineAlignment = 16;

struct PteProgram {
  static constexpr std::string_view kTable = "Program";
  uint32_t version = 0;  // of the schema; 0 is the only one
  std::vector<PtePlan> plans;
  std::vector<PteInlineConstant> inline_constants;
  std::vector<PteInlinePayload> inline_payloads;
  // Views: of the mapped file that was read, or of what `owner` holds. Who adds
  // one gives it an alignment, kPteSegmentAlignment or more.
  std::vector<PteSegment> segments;
  std::optional<PteSubsegments> constants;
  std::vector<PteSubsegments> mutable_data;  // runtimes use the first only
  std::vector<PteNamedData> named_data;

  // The same program: layout in the file doesn't count.
  friend bool operator==(const PteProgram& a, const PteProgram& b);
};

}  // namespace tenon
