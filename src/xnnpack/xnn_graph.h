// A graph of XNNPACK as ExecuTorch's delegate of that name reads it (schema
// "fb_xnnpack", identifier XN01): values, and nodes that read and write them.
//
// Images have their channels last here, convolutions' filters too; everything
// else lies as PyTorch has it. Constants are asked for by key, from the data
// that the file names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenon::xnnpack {

// No value: an operand that is left out, a value that isn't external.
constexpr uint32_t kNoId = 0xFFFFFFFFu;

enum class Datatype : int16_t {
  kInvalid = 0,
  kFp32 = 1,
  kQint8 = 3,
  kQcint8 = 6,
  kQcint32 = 7,
  kQcint4 = 8,
  kQdint8 = 9,
  kQbint4 = 10,
};

// What integers stand for, in the order of the schema's union.
//
// One scale per slice along `channel_dim`; zero points are 0.
struct PerChannelQuant {
  static constexpr std::string_view kTable = "PerChannelQuant";
  int32_t channel_dim = 0;
  uint32_t scales = 0;  // float32, an index in Graph::constants
  uint32_t num_scales = 0;
};
struct PerTensorQuant {
  static constexpr std::string_view kTable = "PerTensorQuant";
  float scale = 1;
  int32_t zero_point = 0;
};
// Scale and zero point come from the numbers, row by row: a row is the last
// `num_nonbatch_dims` dimensions.
struct PerTokenDynamicQuant {
  static constexpr std::string_view kTable = "PerTokenDynamicQuant";
  int32_t num_nonbatch_dims = 1;
};
// One scale per row and group of `group_size` columns.
struct PerChannelGroupQuant {
  static constexpr std::string_view kTable = "PerChannelGroupQuant";
  int32_t channel_dim = 0;
  int32_t group_size = 0;
  uint32_t scales = 0;  // bfloat16, an index in Graph::constants
  uint32_t num_scales = 0;
};
using QuantParams = std::variant<PerChannelQuant, PerTensorQuant,
                                 PerTokenDynamicQuant, PerChannelGroupQuant>;

enum ValueFlags : uint32_t { kExternalInput = 1, kExternalOutput = 2 };
// Of a node.
constexpr uint32_t kKeepDims = 64;
constexpr uint32_t kAlignCorners = 8;

struct TensorValue {
  static constexpr std::string_view kTable = "XNNTensorValue";
  Datatype datatype = Datatype::kFp32;
  std::vector<uint32_t> dims;
  uint32_t constant = 0;  // index in Graph::constants; 0 is none
  uint32_t external_id = kNoId;
  uint32_t flags = 0;
  uint32_t id = 0;
  std::optional<QuantParams> quant;  // of integers
};

// What a node is, by its place in the schema's union, from 1 on. Two members
// of the union are never written; docs/formats/pte.md says why.
enum class NodeKind : uint8_t {
  kAdd = 1,
  kFullyConnected = 2,
  kSoftmax = 3,
  kSigmoid = 4,
  kTranspose = 5,
  kClamp = 6,
  kConv2d = 7,
  kDiv = 8,
  kResizeBilinear2d = 9,
  kConstantPad = 10,
  kAvgPooling2d = 11,
  kMinimum = 12,
  kDepthwiseConv2d = 13,
  kMaxPooling2d = 14,
  kMultiply = 15,
  kSubtract = 16,
  kFloor = 17,
  kConvert = 18,
  kGlobalAvgPooling2d = 19,
  kReshape = 20,
  kSquareRoot = 22,
  kCeiling = 23,
  kHardswish = 24,
  kLeakyReLU = 25,
  kMaximum = 26,
  kNegate = 27,
  kSquare = 28,
  kELU = 29,
  kAbs = 30,
  kPReLU = 31,
  kConcatenate2 = 32,
  kConcatenate3 = 33,
  kConcatenate4 = 34,
  kSlice = 35,
  kBatchMatrixMultiply = 37,
  kConcatenate5 = 38,
  kConvTranspose2d = 39,
  kReciprocalSquareRoot = 40,
  kLog = 41,
  kGelu = 42,
  kTanh = 43,
  kExp = 44,
  kSin = 45,
  kCopy = 46,
  kCos = 47,
};

struct Unary {
  static constexpr std::string_view kTable = "_XNNNode1x1";
  uint32_t input = 0, output = 0, flags = 0;
};

struct Binary {
  static constexpr std::string_view kTable = "_XNNNode2x1";
  uint32_t input1 = 0, input2 = 0, output = 0, flags = 0;
};

struct FullyConnected {
  static constexpr std::string_view kTable = "XNNFullyConnected";
  uint32_t input = 0, filter = 0, bias = kNoId, output = 0, flags = 0;
};

struct Padding2d {
  uint32_t top = 0, right = 0, bottom = 0, left = 0;
};

struct Convolution {
  static constexpr std::string_view kTable = "_XNNNodeConv";
  Padding2d padding;
  uint32_t kernel[2] = {}, stride[2] = {}, dilation[2] = {};  // height, width
  uint32_t group_input_channels = 0, group_output_channels = 0, groups = 1;
  uint32_t adjustment[2] = {};  // of transposed ones: output_padding
  uint32_t input = 0, filter = 0, bias = kNoId, output = 0, flags = 0;
};

struct Pooling {
  static constexpr std::string_view kTable = "_XNNPooling2D";
  Padding2d padding;
  uint32_t kernel[2] = {}, stride[2] = {}, dilation[2] = {};
  uint32_t input = 0, output = 0, flags = kKeepDims;
};

struct Concatenate {
  static constexpr std::string_view kTable = "_XNNCat";
  static constexpr size_t kMaxInputs = 5;
  uint32_t axis = 0;
  std::vector<uint32_t> inputs;  // 2 to 5
  uint32_t output = 0, flags = 0;
};

struct Transpose {
  static constexpr std::string_view kTable = "XNNStaticTranspose";
  std::vector<uint32_t> perm;
  uint32_t input = 0, output = 0, flags = 0;
};

struct Reshape {
  static constexpr std::string_view kTable = "XNNStaticReshape";
  std::vector<uint32_t> shape;
  uint32_t input = 0, output = 0, flags = 0;
};

struct Slice {
  static constexpr std::string_view kTable = "XNNStaticSlice";
  std::vector<uint32_t> offsets, sizes;
  uint32_t input = 0, output = 0, flags = 0;
};

struct ResizeBilinear {
  static constexpr std::string_view kTable = "XNNStaticResizeBilinear2D";
  uint32_t height = 0, width = 0;
  uint32_t input = 0, output = 0, flags = 0;
};

struct ConstantPad {
  static constexpr std::string_view kTable = "XNNStaticConstantPad";
  std::vector<uint32_t> before, after;
  float value = 0;
  uint32_t input = 0, output = 0, flags = 0;
};

// With one number: the slope of LeakyReLU, the alpha of ELU.
struct LeakyReLU {
  static constexpr std::string_view kTable = "XNNLeakyReLU";
  float slope = 0;
  uint32_t input = 0, output = 0, flags = 0;
};
struct ELU {
  static constexpr std::string_view kTable = "XNNELU";
  float alpha = 1;
  uint32_t input = 0, output = 0, flags = 0;
};

// Bounds of what a node gives.
struct OutputRange {
  static constexpr std::string_view kTable = "OutputMinMax";
  float min = 0, max = 0;
};

struct Node {
  static constexpr std::string_view kTable = "XNode";
  NodeKind kind = NodeKind::kAdd;
  std::variant<Unary, Binary, FullyConnected, Convolution, Pooling, Concatenate,
               Transpose, Reshape, Slice, ResizeBilinear, ConstantPad,
               LeakyReLU, ELU>
      op;
  std::optional<OutputRange> range;
};

// Data that the file names, or (`key` empty) that of entry 0, which is
// nobody's.
struct ConstantData {
  static constexpr std::string_view kTable = "ConstantDataOffset";
  uint64_t size = 0;
  std::string key;
};

struct Graph {
  static constexpr std::string_view kTable = "XNNGraph";
  std::vector<Node> nodes;
  std::vector<TensorValue> values;
  // Values of these ids: the call's inputs, then its outputs, in order.
  std::vector<uint32_t> inputs, outputs;
  std::vector<ConstantData> constants = {ConstantData()};
};

}  // namespace tenon::xnnpack
