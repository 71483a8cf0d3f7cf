#include "device_delegates/tensorrt_operators.h"

#include <algorithm>
#include <iterator>

namespace tenon {
namespace {

constexpr std::string_view kPackets[] = {
    // Elementwise.
    "aten.add", "aten.sub", "aten.rsub", "aten.mul", "aten.div", "aten.pow",
    "aten.maximum", "aten.minimum", "aten.eq", "aten.ne", "aten.lt", "aten.le",
    "aten.gt", "aten.ge", "aten.logical_and", "aten.logical_or",
    "aten.logical_xor", "aten.where", "aten.clamp",
    // Unary and activation.
    "aten.abs", "aten.neg", "aten.exp", "aten.log", "aten.sqrt", "aten.rsqrt",
    "aten.reciprocal", "aten.sin", "aten.cos", "aten.tan", "aten.sinh",
    "aten.cosh", "aten.asin", "aten.acos", "aten.atan", "aten.asinh",
    "aten.acosh", "aten.atanh", "aten.ceil", "aten.floor", "aten.round",
    "aten.sign", "aten.erf", "aten.logical_not", "aten.isnan", "aten.isinf",
    "aten.relu", "aten.sigmoid", "aten.tanh", "aten.gelu", "aten.elu",
    "aten.leaky_relu", "aten.hardtanh", "aten.hardsigmoid", "aten.hardswish",
    "aten.silu", "aten.softplus", "aten._softmax", "aten._log_softmax",
    // Products, convolution, pooling, normalisation.
    "aten.mm", "aten.bmm", "aten.addmm", "aten.linear", "aten.convolution",
    "aten.avg_pool2d", "aten._adaptive_avg_pool2d", "aten.avg_pool1d",
    "aten.native_layer_norm", "aten.native_group_norm", "aten.rms_norm",
    "aten._native_batch_norm_legit_no_training",
    // Reductions.
    "aten.sum", "aten.mean", "aten.prod", "aten.amax", "aten.amin",
    // Shapes.
    "aten.view_copy", "aten.view", "aten.reshape", "aten.permute_copy",
    "aten.permute", "aten.t_copy", "aten.transpose_copy", "aten.squeeze_copy",
    "aten.unsqueeze_copy", "aten.expand_copy", "aten.slice_copy",
    "aten.select_copy", "aten.split_copy", "aten.split_with_sizes_copy",
    "aten.cat", "aten.stack", "aten.repeat", "aten.clone",
    "aten.constant_pad_nd", "aten.pixel_shuffle", "aten.flip",
    // Gather and scatter.
    "aten.embedding", "aten.index_select", "aten.gather", "aten.index_copy",
    "aten.index_put", "aten.slice_scatter", "aten.select_scatter",
    "aten.scatter",
    // Casts and constants.
    "aten._to_copy", "dim_order_ops._to_dim_order_copy",
    "dim_order_ops._clone_dim_order", "aten.full", "aten.full_like",
    "aten.zeros", "aten.ones", "aten.arange", "aten.scalar_tensor"};

}  // namespace

bool HasTensorRtLayer(std::string_view packet) {
  return std::find(std::begin(kPackets), std::end(kPackets), packet) !=
         std::end(kPackets);
}

}  // namespace tenon
