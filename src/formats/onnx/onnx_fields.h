// Numbers of onnx.proto: fields of its messages, kinds of its attributes. They
// are never renumbered there.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::onnx {

namespace field {
constexpr uint32_t kModelIrVersion = 1, kModelProducer = 2, kModelGraph = 7,
                   kModelOpset = 8, kModelMetadata = 14;
constexpr uint32_t kOpsetDomain = 1, kOpsetVersion = 2;
constexpr uint32_t kEntryKey = 1, kEntryValue = 2;
constexpr uint32_t kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5,
                   kGraphInput = 11, kGraphOutput = 12;
constexpr uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeOp = 4,
                   kNodeAttribute = 5;
constexpr uint32_t kAttributeName = 1, kAttributeFloat = 2, kAttributeInt = 3,
                   kAttributeString = 4, kAttributeTensor = 5,
                   kAttributeGraph = 6, kAttributeFloats = 7,
                   kAttributeInts = 8, kAttributeStrings = 9,
                   kAttributeType = 20;
constexpr uint32_t kTensorDims = 1, kTensorType = 2, kTensorName = 8,
                   kTensorRawData = 9, kTensorExternalData = 13,
                   kTensorLocation = 14;
constexpr uint32_t kValueName = 1, kValueType = 2, kTypeTensor = 1,
                   kTensorTypeElement = 1, kTensorTypeShape = 2, kShapeDim = 1,
                   kDimValue = 1, kDimName = 2;
}  // namespace field

// AttributeProto.AttributeType, in the order of Attribute::Value.
constexpr int64_t kAttributeTypes[] = {1, 2, 3, 4, 5, 6, 7, 8};
constexpr int64_t kNumAttributeTypes = 8;

constexpr int64_t kLocationExternal = 1;
constexpr std::string_view kExternalLocation = "location",
                           kExternalOffset = "offset",
                           kExternalLength = "length";

}  // namespace tenon::onnx
