#include "formats/flatbuffer/flat_encoder.h"

#include <algorithm>

#include "support/assert.h"

namespace tenon {
namespace {

static_assert(std::endian::native == std::endian::little,
              "FlatBuffers are little-endian, and numbers are copied");

constexpr size_t kOffsetBytes = sizeof(uint32_t);
constexpr size_t kIdentifierBytes = 4;
constexpr size_t kVtableHeadWords = 2;
constexpr char kZeros[kMaxKnownAlignment] = {};

}  // namespace

bool WriteZeros(uint64_t count, AtomicFile& file) {
  while (count > 0) {
    const uint64_t part = std::min<uint64_t>(count, sizeof kZeros);
    if (!file.Write(AsBytes({kZeros, part}))) return false;
    count -= part;
  }
  return true;
}

bool FlatImage::Write(AtomicFile& file) const {
  if (!file.Write(AsBytes(tables))) return false;
  uint64_t at = tables.size();
  for (const Piece& blob : blobs) {
    const uint32_t length = static_cast<uint32_t>(blob.bytes.size());
    if (!WriteZeros(blob.position - kOffsetBytes - at, file) ||
        !file.Write(std::as_bytes(std::span(&length, 1))) ||
        !file.Write(blob.bytes)) {
      return false;
    }
    at = blob.position + length;
  }
  return WriteZeros(size - at, file);
}

void PatchFlatHeader(std::string_view magic,
                     std::initializer_list<uint64_t> numbers,
                     std::string* tables) {
  char* at = tables->data() + kOffsetBytes + kIdentifierBytes;
  const auto put = [&](const void* from, size_t size) {
    std::memcpy(at, from, size);
    at += size;
  };
  const uint32_t length = static_cast<uint32_t>(
      magic.size() + sizeof(uint32_t) + numbers.size() * sizeof(uint64_t));
  put(magic.data(), magic.size());
  put(&length, sizeof length);
  for (const uint64_t number : numbers) put(&number, sizeof number);
}

FlatEncoder::FlatEncoder(std::string_view identifier, size_t header_bytes) {
  TENON_ASSERT(identifier.size() == kIdentifierBytes,
               "an identifier is four bytes");
  out_.append(kOffsetBytes, '\0');
  out_.append(identifier);
  out_.append(header_bytes, '\0');
}

void FlatEncoder::Pad(size_t alignment, size_t before) {
  const size_t over = (out_.size() + before) % alignment;
  if (over != 0) out_.append(alignment - over, '\0');
}

void FlatEncoder::Put(uint64_t bits, size_t size) {
  out_.append(reinterpret_cast<const char*>(&bits), size);
}

void FlatEncoder::PatchOffset(size_t position, size_t target) {
  const uint32_t offset = static_cast<uint32_t>(target - position);
  std::memcpy(out_.data() + position, &offset, sizeof offset);
}

// Where the first element goes.
size_t FlatEncoder::PutVectorHead(size_t count, size_t element_bytes) {
  Pad(kOffsetBytes);
  Pad(std::max(element_bytes, kOffsetBytes), kOffsetBytes);
  Put(count, kOffsetBytes);
  return out_.size();
}

size_t FlatEncoder::FindVtable(const uint16_t* vtable, size_t num_words) {
  const std::string_view wanted(reinterpret_cast<const char*>(vtable),
                                num_words * sizeof(uint16_t));
  for (const size_t known : vtables_) {
    if (std::string_view(out_).substr(known, wanted.size()) == wanted) {
      return known;
    }
  }
  Pad(sizeof(uint16_t));
  vtables_.push_back(out_.size());
  out_.append(wanted);
  return vtables_.back();
}

// Fields stand by size, largest first, so that only the table as a whole needs
// padding.
size_t FlatEncoder::LayOut(size_t first) {
  std::array<uint16_t, kVtableHeadWords + kMaxFields> vtable = {};
  const size_t num_fields = fields_.size() - first;
  TENON_ASSERT(num_fields <= kMaxFields, "a table has too many fields");
  size_t num_words = kVtableHeadWords, table_bytes = sizeof(int32_t);
  bool has_words = false;
  for (const uint8_t size : {8, 4, 2, 1}) {
    for (size_t i = 0; i < num_fields; ++i) {
      if (fields_[first + i].size != size) continue;
      has_words |= size == 8;
      vtable[kVtableHeadWords + i] = static_cast<uint16_t>(table_bytes);
      table_bytes += size;
      num_words = std::max(num_words, kVtableHeadWords + i + 1);
    }
  }
  vtable[0] = static_cast<uint16_t>(num_words * sizeof(uint16_t));
  vtable[1] = static_cast<uint16_t>(table_bytes);
  const size_t known = FindVtable(vtable.data(), num_words);
  Pad(sizeof(int32_t));
  if (has_words) Pad(8, sizeof(int32_t));
  const size_t position = out_.size();
  out_.resize(position + table_bytes);
  const int32_t to_vtable = static_cast<int32_t>(position - known);
  std::memcpy(out_.data() + position, &to_vtable, sizeof to_vtable);
  for (size_t i = 0; i < num_fields; ++i) {
    Field& field = fields_[first + i];
    if (field.size == 0) continue;
    field.position = position + vtable[kVtableHeadWords + i];
    std::memcpy(out_.data() + field.position, &field.bits, field.size);
  }
  return position;
}

void FlatEncoder::String(std::string_view, const std::string& text,
                         FlatPresence presence) {
  if (text.empty() && presence == FlatPresence::kOptional) return Absent();
  Child(&text, &WriteStringAt);
}

void FlatEncoder::Blob(std::string_view, const FlatBlob& blob,
                       FlatPresence presence, uint64_t min_alignment) {
  Field& field = fields_.emplace_back();
  if (blob.bytes.empty() && presence == FlatPresence::kOptional) return;
  field.size = kOffsetBytes;
  field.blob = &blob;
  field.alignment =
      std::max<uint64_t>({min_alignment, blob.alignment, kOffsetBytes});
}

void FlatEncoder::WriteStringAt(FlatEncoder& to, const void* object,
                                size_t position) {
  const auto& text = *static_cast<const std::string*>(object);
  const size_t first = to.PutVectorHead(text.size(), 1);
  to.PatchOffset(position, first - kOffsetBytes);
  to.out_.append(text).push_back('\0');
}

std::optional<FlatImage> FlatEncoder::Finish() {
  FlatImage image;
  Pad(kOffsetBytes);
  image.size = out_.size();
  if (image.size > kMaxBytes) return std::nullopt;
  for (const PendingBlob& pending : blobs_) {
    const FlatBlob& blob = *pending.blob;
    const uint64_t at = AlignUp(image.size + kOffsetBytes, pending.alignment);
    image.size = at + blob.bytes.size();
    if (image.size > kMaxBytes) return std::nullopt;
    PatchOffset(pending.position, at - kOffsetBytes);
    image.blobs.push_back({at, blob.bytes});
  }
  image.tables = std::move(out_);
  return image;
}

}  // namespace tenon
