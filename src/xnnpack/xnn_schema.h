// The fields of the delegate's tables, in the order of their ids, for
// FlatEncoder. Fields are only ever appended.
#pragma once

#include "formats/flatbuffer/flat_encoder.h"
#include "xnnpack/xnn_graph.h"

namespace tenon::xnnpack {

struct QuantizedTensorValue {
  static constexpr std::string_view kTable = "XNNQuantizedTensorValue";
  TensorValue tensor;
};

struct ValueEntry {
  static constexpr std::string_view kTable = "XValue";
  std::variant<TensorValue, QuantizedTensorValue> value;
};

// The tables hold entries as they are written.
struct GraphTables {
  static constexpr std::string_view kTable = "XNNGraph";
  std::string version = "0";
  const std::vector<Node>* nodes = nullptr;
  std::vector<ValueEntry> values;
  uint32_t num_externs = 0;
  const std::vector<uint32_t>* inputs = nullptr;
  const std::vector<uint32_t>* outputs = nullptr;
  std::vector<uint32_t> nothing;
  const std::vector<ConstantData>* constants = nullptr;
};

inline void Fields(FlatEncoder& c, const TensorValue& v) {
  c.Scalar("datatype", static_cast<int16_t>(v.datatype));
  c.Scalar("num_dims", static_cast<uint32_t>(v.dims.size()));
  c.Vector("dims", v.dims, FlatPresence::kUsual);
  c.Scalar("constant_buffer_idx", v.constant);
  c.Scalar("external_id", v.external_id);
  c.Scalar("flags", v.flags);
  c.Scalar("id_out", v.id);
}

inline void Fields(FlatEncoder& c, const PerChannelQuant& q) {
  static const std::vector<float> kNone;  // they are named data
  c.Vector("scale", kNone, FlatPresence::kUsual);
  c.Scalar("channel_dim", q.channel_dim);
  c.Scalar("scale_buffer_idx", q.scales);
  c.Scalar("num_scales", q.num_scales);
}

inline void Fields(FlatEncoder& c, const PerTensorQuant& q) {
  c.Scalar("scale", q.scale);
  c.Scalar("zero_point", q.zero_point);
}

inline void Fields(FlatEncoder& c, const PerTokenDynamicQuant& q) {
  c.Scalar("num_nonbatch_dims", q.num_nonbatch_dims);
}

inline void Fields(FlatEncoder& c, const PerChannelGroupQuant& q) {
  static const std::vector<float> kNone;
  static const std::vector<uint16_t> kDeprecated;
  c.Vector("scale", kNone, FlatPresence::kUsual);
  c.Scalar("channel_dim", q.channel_dim);
  c.Scalar("group_size", q.group_size);
  c.Vector("scale_bf16", kDeprecated, FlatPresence::kOptional);
  c.Scalar("scale_buffer_idx", q.scales);
  c.Scalar("num_scales", q.num_scales);
}

inline void Fields(FlatEncoder& c, const QuantizedTensorValue& v) {
  c.Table("tensor_value", v.tensor);
  c.Union("quant_params", *v.tensor.quant);
}

inline void Fields(FlatEncoder& c, const ValueEntry& v) {
  c.Union("xvalue_union", v.value);
}

inline void Fields(FlatEncoder& c, const Unary& n) {
  c.Scalar("input_id", n.input);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void Fields(FlatEncoder& c, const Binary& n) {
  c.Scalar("input1_id", n.input1);
  c.Scalar("input2_id", n.input2);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void Fields(FlatEncoder& c, const FullyConnected& n) {
  c.Scalar("input1_id", n.input);
  c.Scalar("filter_id", n.filter);
  c.Scalar("bias_id", n.bias);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void PaddingFields(FlatEncoder& c, const Padding2d& p) {
  c.Scalar("padding_top", p.top);
  c.Scalar("padding_right", p.right);
  c.Scalar("padding_bottom", p.bottom);
  c.Scalar("padding_left", p.left);
}

inline void Fields(FlatEncoder& c, const Convolution& n) {
  PaddingFields(c, n.padding);
  c.Scalar("kernel_height", n.kernel[0]);
  c.Scalar("kernel_width", n.kernel[1]);
  c.Scalar("subsampling_height", n.stride[0]);
  c.Scalar("subsampling_width", n.stride[1]);
  c.Scalar("dilation_height", n.dilation[0]);
  c.Scalar("dilation_width", n.dilation[1]);
  c.Scalar("group_input_channels", n.group_input_channels);
  c.Scalar("group_output_channels", n.group_output_channels);
  c.Scalar("groups", n.groups);
  c.Scalar("adjustment_height", n.adjustment[0]);
  c.Scalar("adjustment_width", n.adjustment[1]);
  c.Scalar("input1_id", n.input);
  c.Scalar("filter_id", n.filter);
  c.Scalar("bias_id", n.bias);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void Fields(FlatEncoder& c, const Pooling& n) {
  PaddingFields(c, n.padding);
  c.Scalar("pooling_height", n.kernel[0]);
  c.Scalar("pooling_width", n.kernel[1]);
  c.Scalar("stride_height", n.stride[0]);
  c.Scalar("stride_width", n.stride[1]);
  c.Scalar("dilation_height", n.dilation[0]);
  c.Scalar("dilation_width", n.dilation[1]);
  c.Scalar("input_id", n.input);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void Fields(FlatEncoder& c, const Concatenate& n) {
  const auto input = [&](size_t i) {
    return i < n.inputs.size() ? n.inputs[i] : kNoId;
  };
  c.Scalar("axis", n.axis);
  c.Scalar("input1_id", input(0));
  c.Scalar("input2_id", input(1));
  c.Scalar("input3_id", input(2));
  c.Scalar("input4_id", input(3));
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
  c.Scalar("input5_id", input(4));
}

inline void Fields(FlatEncoder& c, const Transpose& n) {
  c.Scalar("num_dims", static_cast<uint32_t>(n.perm.size()));
  c.Vector("perm", n.perm, FlatPresence::kUsual);
  c.Scalar("input_id", n.input);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void Fields(FlatEncoder& c, const Reshape& n) {
  c.Scalar("num_dims", static_cast<uint32_t>(n.shape.size()));
  c.Vector("new_shape", n.shape, FlatPresence::kUsual);
  c.Scalar("input_id", n.input);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void Fields(FlatEncoder& c, const Slice& n) {
  c.Scalar("num_dims", static_cast<uint32_t>(n.offsets.size()));
  c.Vector("offsets", n.offsets, FlatPresence::kUsual);
  c.Vector("sizes", n.sizes, FlatPresence::kUsual);
  c.Scalar("input_id", n.input);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void Fields(FlatEncoder& c, const ResizeBilinear& n) {
  c.Scalar("new_height", n.height);
  c.Scalar("new_width", n.width);
  c.Scalar("input_id", n.input);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void Fields(FlatEncoder& c, const ConstantPad& n) {
  c.Vector("pre_paddings", n.before, FlatPresence::kUsual);
  c.Vector("post_paddings", n.after, FlatPresence::kUsual);
  c.Scalar("padding_value", n.value);
  c.Scalar("input_id", n.input);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void Fields(FlatEncoder& c, const LeakyReLU& n) {
  c.Scalar("negative_slope", n.slope);
  c.Scalar("input_id", n.input);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void Fields(FlatEncoder& c, const ELU& n) {
  c.Scalar("alpha", n.alpha);
  c.Scalar("input_id", n.input);
  c.Scalar("output_id", n.output);
  c.Scalar("flags", n.flags);
}

inline void Fields(FlatEncoder& c, const OutputRange& r) {
  c.Scalar("output_min", r.min);
  c.Scalar("output_max", r.max);
}

inline void Fields(FlatEncoder& c, const Node& n) {
  c.Scalar("xnode_union_type", static_cast<uint8_t>(n.kind));
  std::visit([&](const auto& op) { c.Table("xnode_union", op); }, n.op);
  c.Scalar("debug_handle", uint32_t{0});
  c.Table("output_min_max", n.range);
}

// `offset` is all ones where a key says which data is meant.
inline void Fields(FlatEncoder& c, const ConstantData& d) {
  c.Scalar("offset", d.key.empty() ? uint64_t{0} : ~uint64_t{0});
  c.Scalar("size", d.size);
  c.String("named_key", d.key, FlatPresence::kUsual);
}

inline void Fields(FlatEncoder& c, const GraphTables& g) {
  c.String("version", g.version, FlatPresence::kUsual);
  c.Tables("xnodes", *g.nodes, FlatPresence::kUsual);
  c.Tables("xvalues", g.values, FlatPresence::kUsual);
  c.Scalar("num_externs", g.num_externs);
  c.Vector("input_ids", *g.inputs, FlatPresence::kUsual);
  c.Vector("output_ids", *g.outputs, FlatPresence::kUsual);
  c.Vector("constant_buffer", g.nothing, FlatPresence::kOptional);
  c.Vector("mem_buffer_sizes", g.nothing, FlatPresence::kOptional);
  c.Tables("constant_data", *g.constants, FlatPresence::kUsual);
}

}  // namespace tenon::xnnpack
