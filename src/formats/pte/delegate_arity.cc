#include "formats/pte/delegate_arity.h"

#include <charconv>
#include <string_view>

#include "formats/pte/delegate_boundary.h"
#include "support/byte_cursor.h"

namespace tenon::pte {
namespace {

template <typename T>
std::optional<T> ReadAt(Bytes bytes, uint64_t at) {
  if (at > bytes.size()) return std::nullopt;
  return ByteCursor(bytes.subspan(at)).Read<T>();
}

// The length of the vector that field `field` of a FlatBuffer's root refers to.
std::optional<uint32_t> RootVectorLength(Bytes buffer, uint32_t field) {
  const auto root = ReadAt<uint32_t>(buffer, 0);
  if (!root) return std::nullopt;
  const auto to_vtable = ReadAt<int32_t>(buffer, *root);
  if (!to_vtable) return std::nullopt;
  const int64_t vtable = int64_t{*root} - *to_vtable;
  if (vtable < 0) return std::nullopt;
  const auto at = static_cast<uint64_t>(vtable);
  const auto bytes = ReadAt<uint16_t>(buffer, at);
  const uint64_t entry = 4 + 2 * uint64_t{field};
  if (!bytes || *bytes < entry + 2) return std::nullopt;
  const auto offset = ReadAt<uint16_t>(buffer, at + entry);
  if (!offset || *offset == 0) return std::nullopt;
  const uint64_t place = uint64_t{*root} + *offset;
  const auto to_vector = ReadAt<uint32_t>(buffer, place);
  if (!to_vector) return std::nullopt;
  return ReadAt<uint32_t>(buffer, place + *to_vector);
}

std::optional<uint32_t> OfXnnpack(Bytes payload) {
  constexpr uint64_t kMagicAt = 4, kGraphAt = 10;
  constexpr uint32_t kOutputIds = 5;
  if (payload.size() < kGraphAt ||
      AsText(payload.subspan(kMagicAt, 4)) != "XH00") {
    return std::nullopt;
  }
  const auto graph = ReadAt<uint32_t>(payload, kGraphAt);
  if (!graph || *graph > payload.size()) return std::nullopt;
  return RootVectorLength(payload.subspan(*graph), kOutputIds);
}

std::optional<uint32_t> OfTenon(Bytes payload) {
  constexpr std::string_view kBegin = "tenon-delegate 1\noutputs ";
  std::string_view text = AsText(payload);
  if (!text.starts_with(kBegin)) return std::nullopt;
  text.remove_prefix(kBegin.size());
  uint32_t count = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() ? std::optional(count) : std::nullopt;
}

}  // namespace

std::optional<uint32_t> NumDelegateOutputs(const PteProgram& program,
                                           const PteDelegate& delegate) {
  const Bytes payload = PayloadOf(program, delegate);
  if (delegate.backend == "XnnpackBackend") return OfXnnpack(payload);
  if (delegate.backend == "TenonBackend") return OfTenon(payload);
  Diagnostics unused;
  const auto boundary = ReadDelegateBoundary(program, delegate, {}, unused);
  if (!boundary || !*boundary) return std::nullopt;
  return static_cast<uint32_t>((*boundary)->outputs.size());
}

}  // namespace tenon::pte
