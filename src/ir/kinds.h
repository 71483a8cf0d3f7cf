// The enums of kinds.def with their names and codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon {

enum class DType : uint8_t {
#define TENON_DTYPE(name, text, short_text, code, bytes) name,
#include "ir/kinds.def"
};
enum class Layout : uint8_t {
#define TENON_LAYOUT(name, text, code) name,
#include "ir/kinds.def"
};
enum class MemoryFormat : uint8_t {
#define TENON_MEMORY_FORMAT(name, text, code) name,
#include "ir/kinds.def"
};
enum class InputKind : uint8_t {
#define TENON_INPUT_KIND(name, text, tag) name,
#include "ir/kinds.def"
};
enum class OutputKind : uint8_t {
#define TENON_OUTPUT_KIND(name, text, tag) name,
#include "ir/kinds.def"
};
enum class StateKind : uint8_t {
#define TENON_STATE_KIND(name, text) name,
#include "ir/kinds.def"
};
enum class ListTag : uint8_t {
#define TENON_LIST_TAG(name, tag) name,
#include "ir/kinds.def"
};

// PyTorch's spelling ("float32"), and the text form's ("f32").
std::string_view Name(DType dtype);
std::string_view ShortName(DType dtype);
std::optional<DType> FindDType(std::string_view name_or_short_name);
std::optional<DType> DTypeFromCode(int64_t code);
int Code(DType dtype);
size_t SizeBytes(DType dtype);
bool IsFloating(DType dtype);  // real floating kinds, float8 included
bool IsComplex(DType dtype);
bool IsIntegral(DType dtype);  // without bool
bool IsSigned(DType dtype);

std::string_view Name(Layout layout);
std::optional<Layout> FindLayout(std::string_view name);
std::optional<Layout> LayoutFromCode(int64_t code);
int Code(Layout layout);

std::string_view Name(MemoryFormat format);
std::optional<MemoryFormat> FindMemoryFormat(std::string_view name);
std::optional<MemoryFormat> MemoryFormatFromCode(int64_t code);
int Code(MemoryFormat format);

std::string_view Name(InputKind kind);
std::string_view Pt2Tag(InputKind kind);
std::optional<InputKind> FindInputKind(std::string_view name);
std::string_view Name(OutputKind kind);
std::string_view Pt2Tag(OutputKind kind);
std::optional<OutputKind> FindOutputKind(std::string_view name);
std::string_view Name(StateKind kind);
std::optional<StateKind> FindStateKind(std::string_view name);
std::string_view Pt2Tag(ListTag tag);
std::optional<ListTag> FindListTag(std::string_view tag);

}  // namespace tenon
