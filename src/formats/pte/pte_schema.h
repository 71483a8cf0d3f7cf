// The fields of a .pte's tables (schema "executorch_flatbuffer"), in the order
// of their ids, for FlatDecoder and FlatEncoder. Fields are only ever appended:
// never removed, reordered or given another default.
#pragma once

#include "formats/flatbuffer/flat_blob.h"
#include "formats/pte/pte_program.h"
#include "formats/pte/segments.h"

namespace tenon {

// The root table: where the segments lie is the file's matter, not the
// program's. `ProgramRef` is PteProgram& or const PteProgram&.
template <typename ProgramRef>
struct PteRoot {
  static constexpr std::string_view kTable = "Program";
  ProgramRef program;
  std::vector<PteDataSegment> segments;
};

template <typename Codec>
void Fields(Codec&, typename Codec::template Ref<PteNull>) {}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteInt> v) {
  c.Scalar("int_val", v.value);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteBool> v) {
  c.Scalar("bool_val", v.value);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteDouble> v) {
  c.Scalar("double_val", v.value);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteString> v) {
  c.String("string_val", v.text, FlatPresence::kRequired);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteIntList> v) {
  c.Vector("items", v.items, FlatPresence::kRequired);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteDoubleList> v) {
  c.Vector("items", v.items, FlatPresence::kRequired);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteBoolList> v) {
  c.Vector("items", v.items, FlatPresence::kRequired);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteTensorList> v) {
  c.Vector("items", v.items, FlatPresence::kRequired);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteOptionalTensorList> v) {
  c.Vector("items", v.items, FlatPresence::kRequired);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteAllocation> a) {
  uint32_t low = static_cast<uint32_t>(a.offset);
  uint32_t high = static_cast<uint32_t>(a.offset >> 32);
  c.Scalar("memory_id", a.memory_id);
  c.Scalar("memory_offset_low", low);
  c.Scalar("memory_offset_high", high);
  if constexpr (Codec::kIsDecoder) a.offset = uint64_t{high} << 32 | low;
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteTensorExtra> e) {
  c.Scalar("mutable_data_segments_idx", e.mutable_segment);
  c.String("fully_qualified_name", e.name, FlatPresence::kOptional);
  c.Enum("location", e.place);
  c.Enum("device_type", e.device);
  c.Scalar("device_index", e.device_index);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteTensor> t) {
  c.Enum("scalar_type", t.type);
  c.Scalar("storage_offset", t.storage_offset);
  c.Vector("sizes", t.sizes, FlatPresence::kRequired);
  c.Vector("dim_order", t.dim_order, FlatPresence::kRequired);
  c.Scalar("requires_grad", t.requires_grad);
  c.Scalar("data_buffer_idx", t.data_index);
  c.Table("allocation_info", t.allocation);
  c.Scalar("layout", t.layout);
  c.Enum("shape_dynamism", t.shape);
  c.Table("extra_tensor_info", t.extra);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteValue> v) {
  c.Union("val", v.content);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteKernelCall> i) {
  c.Scalar("op_index", i.operator_index);
  c.Vector("args", i.args, FlatPresence::kRequired);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteDelegateCall> i) {
  c.Scalar("delegate_index", i.delegate_index);
  c.Vector("args", i.args, FlatPresence::kRequired);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteMoveCall> i) {
  c.Scalar("move_from", i.from);
  c.Scalar("move_to", i.to);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteJumpFalseCall> i) {
  c.Scalar("cond_value_index", i.condition);
  c.Scalar("destination_instruction", i.target);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteFreeCall> i) {
  c.Scalar("value_index", i.value);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteInstruction> i) {
  c.Union("instr_args", i.action);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteOperator> o) {
  c.String("name", o.name, FlatPresence::kRequired);
  c.String("overload", o.overload, FlatPresence::kRequired);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteFrame> f) {
  c.String("filename", f.file, FlatPresence::kUsual);
  c.Scalar("lineno", f.line);
  c.String("name", f.name, FlatPresence::kUsual);
  c.String("context", f.context, FlatPresence::kUsual);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteFrames> f) {
  c.Tables("items", f.items, FlatPresence::kUsual);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteChain> chain) {
  c.Vector("inputs", chain.inputs, FlatPresence::kUsual);
  c.Vector("outputs", chain.outputs, FlatPresence::kUsual);
  c.Tables("instructions", chain.instructions, FlatPresence::kRequired);
  c.Tables("stacktrace", chain.stack_traces, FlatPresence::kOptional);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteConvention> m) {
  c.String("encoded_inp_str", m.inputs, FlatPresence::kUsual);
  c.String("encoded_out_str", m.outputs, FlatPresence::kUsual);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PtePayloadRef> r) {
  c.Enum("location", r.place);
  c.Scalar("index", r.index);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteCompileSpec> s) {
  c.String("key", s.key, FlatPresence::kRequired);
  c.Blob("value", s.value, FlatPresence::kRequired);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteDelegate> d) {
  c.String("id", d.backend, FlatPresence::kRequired);
  c.Table("processed", d.payload);
  c.Tables("compile_specs", d.specs, FlatPresence::kUsual);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteArenaDevice> d) {
  c.Scalar("buffer_idx", d.arena);
  c.Enum("device_type", d.device);
  c.Scalar("device_index", d.device_index);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PtePlan> p) {
  c.String("name", p.name, FlatPresence::kRequired);
  c.Table("container_meta_type", p.convention);
  c.Tables("values", p.values, FlatPresence::kRequired);
  c.Vector("inputs", p.inputs, FlatPresence::kRequired);
  c.Vector("outputs", p.outputs, FlatPresence::kRequired);
  c.Tables("chains", p.chains, FlatPresence::kRequired);
  c.Tables("operators", p.operators, FlatPresence::kRequired);
  c.Tables("delegates", p.delegates, FlatPresence::kRequired);
  c.Vector("non_const_buffer_sizes", p.arena_bytes, FlatPresence::kRequired);
  c.Tables("non_const_buffer_device", p.arena_devices, FlatPresence::kOptional);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteInlineConstant> b) {
  c.Blob("storage", b.data, FlatPresence::kUsual, kPteInlineAlignment);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteInlinePayload> b) {
  c.Blob("data", b.data, FlatPresence::kUsual, kPteInlineAlignment);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteSubsegments> s) {
  c.Scalar("segment_index", s.segment);
  c.Vector("offsets", s.offsets, FlatPresence::kUsual);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<PteNamedData> d) {
  c.String("key", d.key, FlatPresence::kRequired);
  c.Scalar("segment_index", d.segment);
}

template <typename Codec>
void Fields(Codec& c, typename Codec::template Ref<
                          PteRoot<typename Codec::template Ref<PteProgram>>>
                          root) {
  c.Scalar("version", root.program.version);
  c.Tables("execution_plan", root.program.plans, FlatPresence::kRequired);
  c.Tables("constant_buffer", root.program.inline_constants,
           FlatPresence::kUsual);
  c.Tables("backend_delegate_data", root.program.inline_payloads,
           FlatPresence::kUsual);
  c.Tables("segments", root.segments, FlatPresence::kUsual);
  c.Table("constant_segment", root.program.constants);
  c.Tables("mutable_data_segments", root.program.mutable_data,
           FlatPresence::kOptional);
  c.Tables("named_data", root.program.named_data, FlatPresence::kOptional);
}

}  // namespace tenon
