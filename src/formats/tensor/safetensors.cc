#include "formats/tensor/safetensors.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_set>

#include "support/atomic_file.h"
#include "support/checked.h"
#include "support/mapped_file.h"
#include "support/utf8.h"
#include "tensor/row_major.h"

namespace tenon {
namespace {

// As the reference implementation has it; a header holds names and sizes.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxRank = 64;
constexpr std::string_view kMetadata = "__metadata__";

struct DTypeName {
  std::string_view text;
  DType dtype;
};
constexpr DTypeName kDTypeNames[] = {
    {"BOOL", DType::kBool},
    {"U8", DType::kUInt8},
    {"I8", DType::kInt8},
    {"I16", DType::kInt16},
    {"U16", DType::kUInt16},
    {"F16", DType::kFloat16},
    {"BF16", DType::kBFloat16},
    {"I32", DType::kInt32},
    {"U32", DType::kUInt32},
    {"F32", DType::kFloat32},
    {"I64", DType::kInt64},
    {"U64", DType::kUInt64},
    {"F64", DType::kFloat64},
    {"C64", DType::kComplex64},
    {"F8_E4M3", DType::kFloat8E4M3FN},
    {"F8_E5M2", DType::kFloat8E5M2},
    {"F8_E4M3FNUZ", DType::kFloat8E4M3FNUZ},
    {"F8_E5M2FNUZ", DType::kFloat8E5M2FNUZ},
    {"F8_E8M0", DType::kFloat8E8M0FNU},
};

std::optional<DType> ParseDType(std::string_view text) {
  for (const DTypeName& entry : kDTypeNames) {
    if (entry.text == text) return entry.dtype;
  }
  return std::nullopt;
}

std::string_view DTypeText(DType dtype) {
  for (const DTypeName& entry : kDTypeNames) {
    if (entry.dtype == dtype) return entry.text;
  }
  return {};
}

// Elements of every kind are aligned to their size; complex numbers to that of
// their parts.
size_t Alignment(DType dtype) {
  return IsComplex(dtype) ? SizeBytes(dtype) / 2 : SizeBytes(dtype);
}

class Reader {
 public:
  Reader(Bytes payload, const std::string& file, Diagnostics& diags)
      : payload_(payload), file_(file), diags_(diags) {}

  Expected<SafetensorsIndex> Read(const simdjson::dom::object& header) {
    for (const auto field : header) {
      if (!names_.insert(std::string(field.key)).second) {
        return Error() << "tensor '" << field.key << "' is listed twice";
      }
      if (field.key == kMetadata) {
        TENON_TRY(ReadMetadata(field.value));
      } else {
        TENON_TRY(ReadTensor(field.key, field.value));
      }
    }
    TENON_TRY(CheckTiling());
    return std::move(out_);
  }

 private:
  DiagnosticBuilder Error() {
    return diags_.Error(Rule::kFile08, Place::File(file_));
  }

  Status ReadMetadata(const simdjson::dom::element& value) {
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) {
      return Error() << "__metadata__ isn't an object";
    }
    for (const auto field : object) {
      std::string_view text;
      if (field.value.get(text) != simdjson::SUCCESS) {
        return Error() << "metadata '" << field.key << "' isn't a string";
      }
      out_.metadata.emplace_back(field.key, text);
    }
    return {};
  }

  Status ReadTensor(std::string_view name,
                    const simdjson::dom::element& value) {
    std::string_view dtype_text;
    simdjson::dom::array shape, offsets;
    if (value["dtype"].get(dtype_text) != simdjson::SUCCESS ||
        value["shape"].get(shape) != simdjson::SUCCESS ||
        value["data_offsets"].get(offsets) != simdjson::SUCCESS) {
      return Error() << "tensor '" << name
                     << "' lacks dtype, shape or data_offsets";
    }
    const auto dtype = ParseDType(dtype_text);
    if (!dtype) {
      return Error() << "tensor '" << name << "' has the unknown dtype '"
                     << dtype_text << "'";
    }
    Sizes sizes;
    TENON_TRY(ReadSizes(name, shape, &sizes));
    uint64_t begin = 0, end = 0;
    if (offsets.size() != 2 || offsets.at(0).get(begin) != simdjson::SUCCESS ||
        offsets.at(1).get(end) != simdjson::SUCCESS || begin > end ||
        end > payload_.size()) {
      return Error() << "tensor '" << name
                     << "' has data_offsets outside the payload of "
                     << payload_.size() << " bytes";
    }
    const auto bytes =
        CheckedMul(NumElements(sizes), static_cast<int64_t>(SizeBytes(*dtype)));
    if (!bytes || static_cast<uint64_t>(*bytes) != end - begin) {
      return Error() << "tensor '" << name << "' has " << end - begin
                     << " bytes, which isn't what its shape and dtype take";
    }
    ranges_.emplace_back(begin, end);
    out_.items.push_back({std::string(name), *dtype, std::move(sizes),
                          payload_.subspan(begin, end - begin)});
    return {};
  }

  Status ReadSizes(std::string_view name, const simdjson::dom::array& shape,
                   Sizes* sizes) {
    if (shape.size() > kMaxRank) {
      return Error() << "tensor '" << name << "' has more than " << kMaxRank
                     << " dimensions";
    }
    for (const auto item : shape) {
      int64_t size = 0;
      if (item.get(size) != simdjson::SUCCESS || size < 0) {
        return Error() << "tensor '" << name
                       << "' has a size that isn't a non-negative int64";
      }
      sizes->push_back(size);
    }
    return {};
  }

  Status CheckTiling() {
    std::sort(ranges_.begin(), ranges_.end());
    uint64_t at = 0;
    for (const auto& [begin, end] : ranges_) {
      if (begin != at) {
        return Error() << "payloads " << (begin < at ? "overlap" : "have a gap")
                       << " at byte " << std::min(begin, at);
      }
      at = end;
    }
    if (at != payload_.size()) {
      return Error() << payload_.size() - at << " bytes follow the last tensor";
    }
    return {};
  }

  Bytes payload_;
  const std::string& file_;
  Diagnostics& diags_;
  std::unordered_set<std::string> names_;
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
  SafetensorsIndex out_;
};

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      *out += escape;
    } else {
      *out += c;
    }
  }
  *out += '"';
}

void AppendMetadata(const Safetensors& content, std::string* out) {
  AppendJsonString(kMetadata, out);
  *out += ":{";
  for (size_t i = 0; i < content.metadata.size(); ++i) {
    if (i > 0) *out += ',';
    AppendJsonString(content.metadata[i].first, out);
    *out += ':';
    AppendJsonString(content.metadata[i].second, out);
  }
  *out += '}';
}

void AppendEntry(const NamedTensor& entry, uint64_t begin, uint64_t end,
                 std::string* out) {
  AppendJsonString(entry.name, out);
  *out += ":{\"dtype\":\"";
  *out += DTypeText(entry.tensor.dtype());
  *out += "\",\"shape\":[";
  for (size_t d = 0; d < entry.tensor.sizes().size(); ++d) {
    if (d > 0) *out += ',';
    *out += std::to_string(entry.tensor.sizes()[d]);
  }
  *out += "],\"data_offsets\":[" + std::to_string(begin) + ',' +
          std::to_string(end) + "]}";
}

uint64_t PayloadBytes(const Tensor& tensor) {
  return static_cast<uint64_t>(tensor.numel()) * SizeBytes(tensor.dtype());
}

std::string BuildHeader(const Safetensors& content) {
  std::string header = "{";
  if (!content.metadata.empty()) AppendMetadata(content, &header);
  uint64_t offset = 0;
  for (const NamedTensor& entry : content.tensors) {
    const uint64_t end = offset + PayloadBytes(entry.tensor);
    if (header.size() > 1) header += ',';
    AppendEntry(entry, offset, end, &header);
    offset = end;
  }
  header += '}';
  header.resize((header.size() + 7) & ~size_t{7}, ' ');
  return header;
}

}  // namespace

const Tensor* Safetensors::Find(std::string_view name) const {
  for (const NamedTensor& entry : tensors) {
    if (entry.name == name) return &entry.tensor;
  }
  return nullptr;
}

bool HasSafetensorsName(DType dtype) { return !DTypeText(dtype).empty(); }

Expected<SafetensorsIndex> ReadSafetensorsIndex(Bytes bytes,
                                                const std::string& file,
                                                Diagnostics& diags) {
  ByteCursor cursor(bytes);
  const auto header_bytes = cursor.Read<uint64_t>();
  if (!header_bytes) {
    return diags.Error(Rule::kFile08, Place::File(file))
           << "a safetensors file of " << bytes.size()
           << " bytes, expected at least 8";
  }
  if (*header_bytes > kMaxHeaderBytes || *header_bytes > cursor.left()) {
    return diags.Error(Rule::kFile08, Place::Offset(file, 0))
           << "a header of " << *header_bytes << " bytes, but only "
           << cursor.left() << " bytes are left";
  }
  const Bytes header = *cursor.Take(*header_bytes);
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  const auto error =
      parser.parse(reinterpret_cast<const char*>(header.data()), header.size())
          .get(object);
  if (error != simdjson::SUCCESS) {
    return diags.Error(Rule::kFile08, Place::Offset(file, 8))
           << "the header isn't a JSON object: "
           << simdjson::error_message(error);
  }
  return Reader(bytes.subspan(cursor.offset()), file, diags).Read(object);
}

Expected<Safetensors> ReadSafetensors(
    Bytes bytes, const std::shared_ptr<const void>& keep_alive,
    const std::string& file, Diagnostics& diags) {
  TENON_ASSIGN(SafetensorsIndex index,
               ReadSafetensorsIndex(bytes, file, diags));
  Safetensors out;
  out.metadata = std::move(index.metadata);
  for (SafetensorsItem& item : index.items) {
    auto storage = Storage::BorrowConst(item.bytes, keep_alive);
    const auto address = reinterpret_cast<uintptr_t>(item.bytes.data());
    if (address % Alignment(item.dtype) != 0 && !storage->MakeWritable()) {
      return diags.Error(Rule::kIo, Place::File(file))
             << "no memory for a copy of tensor '" << item.name << "'";
    }
    Sizes strides = ContiguousStrides(item.sizes);
    out.tensors.push_back(
        {std::move(item.name),
         Tensor(std::move(storage), item.dtype, std::move(item.sizes),
                std::move(strides), 0)});
  }
  return out;
}

Expected<Safetensors> OpenSafetensors(const std::string& path,
                                      Diagnostics& diags) {
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path)) << error;
  }
  return ReadSafetensors(file->bytes(), file, path, diags);
}

Status WriteSafetensors(const std::string& path, const Safetensors& content,
                        Diagnostics& diags) {
  std::unordered_set<std::string_view> names{kMetadata};
  for (const NamedTensor& entry : content.tensors) {
    if (!names.insert(entry.name).second) {
      return diags.Error(Rule::kFile08, Place::File(path))
             << "two tensors are called '" << entry.name << "'";
    }
    if (DTypeText(entry.tensor.dtype()).empty()) {
      return diags.Error(Rule::kUnsupported, Place::File(path))
             << "safetensors has no dtype " << Name(entry.tensor.dtype())
             << ", which tensor '" << entry.name << "' has";
    }
  }
  const std::string header = BuildHeader(content);
  if (const size_t bad = FindBadUtf8(header); bad != std::string_view::npos) {
    return diags.Error(Rule::kFile08, Place::File(path))
           << "can't be written: a name or a line of the metadata isn't UTF-8, "
              "at byte "
           << bad << " of the header";
  }
  AtomicFile file;
  const auto io_error = [&] {
    return diags.Error(Rule::kIo, Place::File(path)) << file.error();
  };
  if (!file.Open(path)) return io_error();
  const uint64_t header_bytes = header.size();
  if (!file.Write(std::as_bytes(std::span(&header_bytes, 1))) ||
      !file.Write(AsBytes(header))) {
    return io_error();
  }
  for (const NamedTensor& entry : content.tensors) {
    const auto write = [&](Bytes block) { return file.Write(block); };
    if (!VisitRowMajor(entry.tensor, write)) return io_error();
  }
  if (!file.Commit()) return io_error();
  return {};
}

}  // namespace tenon
