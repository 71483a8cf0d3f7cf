#include "ir/kinds.h"

namespace tenon {
namespace {

struct DTypeRow {
  std::string_view name, short_name;
  int code;
  size_t bytes;
};
constexpr DTypeRow kDTypes[] = {
#define TENON_DTYPE(name, text, short_text, code, bytes) \
  {text, short_text, code, bytes},
#include "ir/kinds.def"
};

struct CodedRow {
  std::string_view name;
  int code;
};
constexpr CodedRow kLayouts[] = {
#define TENON_LAYOUT(name, text, code) {text, code},
#include "ir/kinds.def"
};
constexpr CodedRow kMemoryFormats[] = {
#define TENON_MEMORY_FORMAT(name, text, code) {text, code},
#include "ir/kinds.def"
};

struct TaggedRow {
  std::string_view name, tag;
};
constexpr TaggedRow kInputKinds[] = {
#define TENON_INPUT_KIND(name, text, tag) {text, tag},
#include "ir/kinds.def"
};
constexpr TaggedRow kOutputKinds[] = {
#define TENON_OUTPUT_KIND(name, text, tag) {text, tag},
#include "ir/kinds.def"
};
constexpr TaggedRow kStateKinds[] = {
#define TENON_STATE_KIND(name, text) {text, text},
#include "ir/kinds.def"
};
constexpr TaggedRow kListTags[] = {
#define TENON_LIST_TAG(name, tag) {tag, tag},
#include "ir/kinds.def"
};

template <typename Enum, typename Row, size_t kCount, typename Matches>
std::optional<Enum> FindRow(const Row (&rows)[kCount], Matches matches) {
  for (size_t i = 0; i < kCount; ++i) {
    if (matches(rows[i])) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template <typename Enum, typename Row, size_t kCount>
std::optional<Enum> FindByName(const Row (&rows)[kCount],
                               std::string_view name) {
  return FindRow<Enum>(rows, [&](const Row& r) { return r.name == name; });
}

template <typename Enum, typename Row, size_t kCount>
std::optional<Enum> FindByCode(const Row (&rows)[kCount], int64_t code) {
  return FindRow<Enum>(rows, [&](const Row& r) { return r.code == code; });
}

}  // namespace

std::string_view Name(DType d) { return kDTypes[static_cast<int>(d)].name; }
std::string_view ShortName(DType d) {
  return kDTypes[static_cast<int>(d)].short_name;
}
int Code(DType d) { return kDTypes[static_cast<int>(d)].code; }
size_t SizeBytes(DType d) { return kDTypes[static_cast<int>(d)].bytes; }
std::optional<DType> FindDType(std::string_view name) {
  return FindRow<DType>(kDTypes, [&](const DTypeRow& r) {
    return r.name == name || r.short_name == name;
  });
}
std::optional<DType> DTypeFromCode(int64_t code) {
  return FindByCode<DType>(kDTypes, code);
}

bool IsComplex(DType d) {
  return d == DType::kComplex32 || d == DType::kComplex64 ||
         d == DType::kComplex128;
}
bool IsFloating(DType d) {
  switch (d) {
    case DType::kFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kBFloat16:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0FNU:
      return true;
    case DType::kUnknown:
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kComplex32:
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kBool:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64:
      return false;
  }
  return false;
}
bool IsIntegral(DType d) {
  return d != DType::kBool && d != DType::kUnknown && !IsFloating(d) &&
         !IsComplex(d);
}
bool IsSigned(DType d) {
  switch (d) {
    case DType::kBool:
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64:
    case DType::kUnknown:
      return false;
    default:
      return true;
  }
}

std::string_view Name(Layout v) { return kLayouts[static_cast<int>(v)].name; }
int Code(Layout v) { return kLayouts[static_cast<int>(v)].code; }
std::optional<Layout> FindLayout(std::string_view name) {
  return FindByName<Layout>(kLayouts, name);
}
std::optional<Layout> LayoutFromCode(int64_t code) {
  return FindByCode<Layout>(kLayouts, code);
}

std::string_view Name(MemoryFormat v) {
  return kMemoryFormats[static_cast<int>(v)].name;
}
int Code(MemoryFormat v) { return kMemoryFormats[static_cast<int>(v)].code; }
std::optional<MemoryFormat> FindMemoryFormat(std::string_view name) {
  return FindByName<MemoryFormat>(kMemoryFormats, name);
}
std::optional<MemoryFormat> MemoryFormatFromCode(int64_t code) {
  return FindByCode<MemoryFormat>(kMemoryFormats, code);
}

std::string_view Name(InputKind v) {
  return kInputKinds[static_cast<int>(v)].name;
}
std::string_view Pt2Tag(InputKind v) {
  return kInputKinds[static_cast<int>(v)].tag;
}
std::optional<InputKind> FindInputKind(std::string_view name) {
  return FindByName<InputKind>(kInputKinds, name);
}

std::string_view Name(OutputKind v) {
  return kOutputKinds[static_cast<int>(v)].name;
}
std::string_view Pt2Tag(OutputKind v) {
  return kOutputKinds[static_cast<int>(v)].tag;
}
std::optional<OutputKind> FindOutputKind(std::string_view name) {
  return FindByName<OutputKind>(kOutputKinds, name);
}

std::string_view Name(StateKind v) {
  return kStateKinds[static_cast<int>(v)].name;
}
std::optional<StateKind> FindStateKind(std::string_view name) {
  return FindByName<StateKind>(kStateKinds, name);
}

std::string_view Pt2Tag(ListTag v) {
  return kListTags[static_cast<int>(v)].tag;
}
std::optional<ListTag> FindListTag(std::string_view tag) {
  return FindByName<ListTag>(kListTags, tag);
}

}  // namespace tenon
