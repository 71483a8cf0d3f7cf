#include "formats/pte/pte_kinds.h"

namespace tenon {

std::string_view Name(PteScalarType type) {
  switch (type) {
#define TENON_PTE_SCALAR_TYPE(name, code, text, bytes, runs) \
  case PteScalarType::name:                                  \
    return text;
#include "formats/pte/pte_kinds.def"
  }
  return "";
}

std::string_view Name(PteShape shape) {
  switch (shape) {
#define TENON_PTE_SHAPE(name, text) \
  case PteShape::name:              \
    return text;
#include "formats/pte/pte_kinds.def"
  }
  return "";
}

std::string_view Name(PteTensorPlace place) {
  switch (place) {
#define TENON_PTE_TENSOR_PLACE(name, text) \
  case PteTensorPlace::name:               \
    return text;
#include "formats/pte/pte_kinds.def"
  }
  return "";
}

std::string_view Name(PteDevice device) {
  switch (device) {
#define TENON_PTE_DEVICE(name, text) \
  case PteDevice::name:              \
    return text;
#include "formats/pte/pte_kinds.def"
  }
  return "";
}

std::string_view Name(PtePayloadPlace place) {
  switch (place) {
#define TENON_PTE_PAYLOAD_PLACE(name, text) \
  case PtePayloadPlace::name:               \
    return text;
#include "formats/pte/pte_kinds.def"
  }
  return "";
}

uint64_t SizeBytes(PteScalarType type) {
  switch (type) {
#define TENON_PTE_SCALAR_TYPE(name, code, text, bytes, runs) \
  case PteScalarType::name:                                  \
    return bytes;
#include "formats/pte/pte_kinds.def"
  }
  return 0;
}

bool IsExecutable(PteScalarType type) {
  switch (type) {
#define TENON_PTE_SCALAR_TYPE(name, code, text, bytes, runs) \
  case PteScalarType::name:                                  \
    return runs;
#include "formats/pte/pte_kinds.def"
  }
  return false;
}

}  // namespace tenon
