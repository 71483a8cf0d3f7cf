#include "formats/tensor/npy.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "support/atomic_file.h"
#include "support/checked.h"
#include "support/mapped_file.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;

struct Descr {
  std::string_view text;  // without the byte order
  DType dtype;
};
constexpr Descr kDescrs[] = {
    {"b1", DType::kBool},      {"u1", DType::kUInt8},
    {"i1", DType::kInt8},      {"i2", DType::kInt16},
    {"i4", DType::kInt32},     {"i8", DType::kInt64},
    {"u2", DType::kUInt16},    {"u4", DType::kUInt32},
    {"u8", DType::kUInt64},    {"f2", DType::kFloat16},
    {"f4", DType::kFloat32},   {"f8", DType::kFloat64},
    {"c8", DType::kComplex64}, {"c16", DType::kComplex128},
};

std::optional<DType> ParseDescr(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const char order = text[0];
  for (const Descr& descr : kDescrs) {
    if (descr.text != text.substr(1)) continue;
    const bool single_byte = SizeBytes(descr.dtype) == 1;
    if (order == '<' || order == '=' || (single_byte && order == '|')) {
      return descr.dtype;
    }
  }
  return std::nullopt;
}

struct Header {
  std::string_view descr;
  bool has_order = false;
  bool fortran_order = false;
  bool has_shape = false;
  Sizes shape;
};

// Reads the subset of Python's dict literals that NumPy writes.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  bool Parse(Header* out) {
    if (!Eat("{")) return false;
    while (!Eat("}")) {
      std::string_view key;
      if (!String(&key) || !Eat(":") || !Value(key, out)) return false;
      if (!Eat(",")) {
        if (!Eat("}")) return false;
        break;
      }
    }
    Space();
    return at_ == text_.size() && !out->descr.empty() && out->has_order &&
           out->has_shape;
  }

 private:
  void Space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  bool Eat(std::string_view token) {
    Space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool String(std::string_view* out) {
    Space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) {
      return false;
    }
    const size_t close = text_.find(text_[at_], at_ + 1);
    if (close == std::string_view::npos) return false;
    *out = text_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    return true;
  }
  bool Integer(int64_t* out) {
    Space();
    const char* begin = text_.data() + at_;
    const auto result =
        std::from_chars(begin, text_.data() + text_.size(), *out);
    if (result.ec != std::errc()) return false;
    at_ += static_cast<size_t>(result.ptr - begin);
    return *out >= 0;
  }
  bool Shape(Sizes* out) {
    if (!Eat("(")) return false;
    while (!Eat(")")) {
      int64_t size = 0;
      if (!Integer(&size) || out->size() >= kMaxRank) return false;
      out->push_back(size);
      if (!Eat(",")) return Eat(")");
    }
    return true;
  }
  bool Value(std::string_view key, Header* out) {
    if (key == "descr") return out->descr.empty() && String(&out->descr);
    if (key == "shape") {
      if (out->has_shape) return false;
      out->has_shape = true;
      return Shape(&out->shape);
    }
    if (key == "fortran_order" && !out->has_order) {
      out->has_order = true;
      out->fortran_order = Eat("True");
      return out->fortran_order || Eat("False");
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
};

Sizes ColumnMajorStrides(const Sizes& sizes) {
  Sizes strides = ContiguousStrides(Sizes(sizes.rbegin(), sizes.rend()));
  std::reverse(strides.begin(), strides.end());
  return strides;
}

// The dict's text; moves the cursor to the elements.
std::optional<std::string_view> TakeHeader(ByteCursor* cursor) {
  const auto magic = cursor->Take(kMagic.size());
  const auto major = cursor->Read<uint8_t>();
  const auto minor = cursor->Read<uint8_t>();
  if (!magic || AsText(*magic) != kMagic || !major || !minor || *major < 1 ||
      *major > 3) {
    return std::nullopt;
  }
  uint64_t size_bytes = 0;
  if (*major == 1) {
    const auto size = cursor->Read<uint16_t>();
    if (!size) return std::nullopt;
    size_bytes = *size;
  } else {
    const auto size = cursor->Read<uint32_t>();
    if (!size) return std::nullopt;
    size_bytes = *size;
  }
  const auto text = cursor->Take(size_bytes);
  if (!text) return std::nullopt;
  return AsText(*text);
}

std::string BuildHeader(const Tensor& tensor, std::string_view descr) {
  std::string dict = "{'descr': '";
  dict += SizeBytes(tensor.dtype()) == 1 ? '|' : '<';
  dict += descr;
  dict += "', 'fortran_order': False, 'shape': (";
  for (const int64_t size : tensor.sizes()) dict += std::to_string(size) + ", ";
  dict += "), }";
  // Elements start at a multiple of 64: magic, version and size are 10 bytes.
  const size_t total = (10 + dict.size() + 1 + 63) & ~size_t{63};
  dict.resize(total - 11, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += {'\1', '\0', static_cast<char>(dict.size() & 0xff),
             static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

}  // namespace

Expected<Tensor> ReadNpy(Bytes bytes, std::shared_ptr<const void> keep_alive,
                         const std::string& file, Diagnostics& diags) {
  ByteCursor cursor(bytes);
  const auto text = TakeHeader(&cursor);
  if (!text) {
    return diags.Error(Rule::kFile08, Place::Offset(file, 0))
           << "no complete header of a .npy file";
  }
  Header header;
  if (!HeaderParser(*text).Parse(&header)) {
    return diags.Error(Rule::kFile08, Place::Offset(file, kMagic.size()))
           << "the header isn't a dict of descr, fortran_order and shape";
  }
  const auto dtype = ParseDescr(header.descr);
  if (!dtype) {
    return diags.Error(Rule::kUnsupported, Place::File(file))
           << "the element kind '" << header.descr << "' isn't supported";
  }
  const auto size = CheckedMul(NumElements(header.shape),
                               static_cast<int64_t>(SizeBytes(*dtype)));
  if (!size || static_cast<uint64_t>(*size) != cursor.left()) {
    return diags.Error(Rule::kFile08, Place::Offset(file, cursor.offset()))
           << cursor.left()
           << " bytes of elements, which isn't what shape and descr take";
  }
  const Bytes payload = *cursor.Take(cursor.left());
  auto storage = Storage::BorrowConst(payload, std::move(keep_alive));
  const size_t alignment =
      IsComplex(*dtype) ? SizeBytes(*dtype) / 2 : SizeBytes(*dtype);
  if (reinterpret_cast<uintptr_t>(payload.data()) % alignment != 0 &&
      !storage->MakeWritable()) {
    return diags.Error(Rule::kIo, Place::File(file)) << "no memory for a copy";
  }
  Sizes strides = header.fortran_order ? ColumnMajorStrides(header.shape)
                                       : ContiguousStrides(header.shape);
  return Tensor(std::move(storage), *dtype, std::move(header.shape),
                std::move(strides), 0);
}

Expected<Tensor> OpenNpy(const std::string& path, Diagnostics& diags) {
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path)) << error;
  }
  return ReadNpy(file->bytes(), file, path, diags);
}

Status WriteNpy(const std::string& path, const Tensor& tensor,
                Diagnostics& diags) {
  const auto* descr =
      std::find_if(std::begin(kDescrs), std::end(kDescrs),
                   [&](const Descr& d) { return d.dtype == tensor.dtype(); });
  if (descr == std::end(kDescrs)) {
    return diags.Error(Rule::kUnsupported, Place::File(path))
           << "NumPy has no element kind for " << Name(tensor.dtype());
  }
  const std::string header = BuildHeader(tensor, descr->text);
  const Tensor dense = tensor.Contiguous();
  AtomicFile file;
  if (!dense.defined()) {
    return diags.Error(Rule::kIo, Place::File(path)) << "no memory for a copy";
  }
  const size_t bytes =
      static_cast<size_t>(dense.numel()) * SizeBytes(dense.dtype());
  if (!file.Open(path) || !file.Write(AsBytes(header)) ||
      (bytes > 0 && !file.Write(Bytes(dense.raw(), bytes))) || !file.Commit()) {
    return diags.Error(Rule::kIo, Place::File(path)) << file.error();
  }
  return {};
}

}  // namespace tenon
