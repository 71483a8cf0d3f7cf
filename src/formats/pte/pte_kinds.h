// The enums of pte_kinds.def, with names. The name of a value that the schema
// doesn't know is empty.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {

enum class PteScalarType : uint8_t {
#define TENON_PTE_SCALAR_TYPE(name, code, text, bytes, runs) name = code,
#include "formats/pte/pte_kinds.def"
};
enum class PteShape : uint8_t {
#define TENON_PTE_SHAPE(name, text) name,
#include "formats/pte/pte_kinds.def"
};
enum class PteTensorPlace : uint8_t {
#define TENON_PTE_TENSOR_PLACE(name, text) name,
#include "formats/pte/pte_kinds.def"
};
enum class PteDevice : uint8_t {
#define TENON_PTE_DEVICE(name, text) name,
#include "formats/pte/pte_kinds.def"
};
enum class PtePayloadPlace : uint8_t {
#define TENON_PTE_PAYLOAD_PLACE(name, text) name,
#include "formats/pte/pte_kinds.def"
};

std::string_view Name(PteScalarType type);
std::string_view Name(PteShape shape);
std::string_view Name(PteTensorPlace place);
std::string_view Name(PteDevice device);
std::string_view Name(PtePayloadPlace place);

// Of one element.
uint64_t SizeBytes(PteScalarType type);
// False for kinds that no kernel takes.
bool IsExecutable(PteScalarType type);

}  // namespace tenon
