// Signatures and field widths of the zip structures that Tenon reads and
// writes (docs/formats/pt2.md, "The container").
#pragma once

#include <cstdint>

namespace tenon::zip {

constexpr uint32_t kLocalSignature = 0x04034B50;
constexpr uint32_t kDescriptorSignature = 0x08074B50;
constexpr uint32_t kCentralSignature = 0x02014B50;
constexpr uint32_t kEndSignature = 0x06054B50;
constexpr uint32_t kEnd64Signature = 0x06064B50;
constexpr uint32_t kLocator64Signature = 0x07064B50;

constexpr uint64_t kLocalBytes = 30;
constexpr uint64_t kCentralBytes = 46;
constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kEnd64Bytes = 56;
constexpr uint64_t kLocator64Bytes = 20;
constexpr uint64_t kMaxCommentBytes = 65535;

constexpr uint16_t kFlagEncrypted = 1 << 0;
constexpr uint16_t kFlagDescriptor = 1 << 3;
constexpr uint16_t kFlagUtf8 = 1 << 11;

constexpr uint16_t kMethodStored = 0;
constexpr uint16_t kMethodDeflated = 8;

constexpr uint16_t kExtraZip64 = 0x0001;
constexpr uint16_t kExtraPadding = 0x4246;  // "FB"

constexpr uint32_t kMax32 = 0xFFFFFFFFu;
constexpr uint16_t kMax16 = 0xFFFFu;

}  // namespace tenon::zip
