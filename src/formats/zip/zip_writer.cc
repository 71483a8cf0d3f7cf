#include "formats/zip/zip_writer.h"

#include <algorithm>
#include <cstdio>

#include "formats/zip/zip_layout.h"
#include "formats/zip/zip_reader.h"
#include "support/hash.h"
#include "support/mapped_pages.h"

namespace tenon {
namespace {

using namespace zip;

// From here on a copy by the kernel is worth a call of it.
constexpr size_t kCopiedBytes = 1 << 18;
constexpr uint64_t kAlignmentBytes = 64;
constexpr uint16_t kVersionZip64 = 45;
// Unix, zip specification 3.0: what PyTorch's writer states.
constexpr uint16_t kMadeBy = 0x031E;

template <typename T>
void Put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// What the 32-bit field says when a zip64 block may hold the value.
uint32_t Field32(uint64_t value) {
  return value >= kMax32 ? kMax32 : static_cast<uint32_t>(value);
}

bool NeedsZip64(uint64_t size, uint64_t offset) {
  return size >= kMax32 || offset >= kMax32;
}

void PutZip64Block(uint64_t size, uint64_t offset, std::string* out) {
  if (!NeedsZip64(size, offset)) return;
  const bool big = size >= kMax32;
  const bool far = offset >= kMax32;
  Put<uint16_t>(out, kExtraZip64);
  Put<uint16_t>(out, (big ? 16 : 0) + (far ? 8 : 0));
  if (big) {
    Put<uint64_t>(out, size);
    Put<uint64_t>(out, size);
  }
  if (far) Put<uint64_t>(out, offset);
}

uint16_t Flags(uint64_t size) {
  return kFlagUtf8 | (size > 0 ? kFlagDescriptor : 0);
}

std::string LocalHeader(std::string_view name, uint64_t size, uint64_t offset) {
  std::string extra;
  PutZip64Block(size, offset, &extra);
  const uint64_t start = offset + kLocalBytes + name.size() + extra.size() + 4;
  const uint64_t padding =
      (kAlignmentBytes - start % kAlignmentBytes) % kAlignmentBytes;
  Put<uint16_t>(&extra, kExtraPadding);
  Put<uint16_t>(&extra, static_cast<uint16_t>(padding));
  extra.append(padding, 'Z');

  std::string out;
  Put(&out, kLocalSignature);
  Put<uint16_t>(&out, 0);  // version needed
  Put<uint16_t>(&out, Flags(size));
  Put<uint16_t>(&out, kMethodStored);
  Put<uint32_t>(&out, 0);  // time and date
  Put<uint32_t>(&out, 0);  // checksum and sizes: in the descriptor
  Put<uint32_t>(&out, 0);
  Put<uint32_t>(&out, 0);
  Put<uint16_t>(&out, static_cast<uint16_t>(name.size()));
  Put<uint16_t>(&out, static_cast<uint16_t>(extra.size()));
  out += name;
  out += extra;
  return out;
}

std::string Descriptor(uint32_t crc, uint64_t size, uint64_t offset) {
  std::string out;
  Put(&out, kDescriptorSignature);
  Put(&out, crc);
  if (NeedsZip64(size, offset)) {
    Put<uint64_t>(&out, size);
    Put<uint64_t>(&out, size);
  } else {
    Put<uint32_t>(&out, static_cast<uint32_t>(size));
    Put<uint32_t>(&out, static_cast<uint32_t>(size));
  }
  return out;
}

std::string CentralEntry(std::string_view name, uint32_t crc, uint64_t size,
                         uint64_t offset) {
  std::string extra;
  PutZip64Block(size, offset, &extra);
  std::string out;
  Put(&out, kCentralSignature);
  Put<uint16_t>(&out, 0);  // made by
  Put<uint16_t>(&out, 0);  // version needed
  Put<uint16_t>(&out, Flags(size));
  Put<uint16_t>(&out, kMethodStored);
  Put<uint32_t>(&out, 0);  // time and date
  Put(&out, crc);
  Put<uint32_t>(&out, Field32(size));
  Put<uint32_t>(&out, Field32(size));
  Put<uint16_t>(&out, static_cast<uint16_t>(name.size()));
  Put<uint16_t>(&out, static_cast<uint16_t>(extra.size()));
  Put<uint16_t>(&out, 0);  // comment
  Put<uint16_t>(&out, 0);  // disk
  Put<uint16_t>(&out, 0);  // attributes
  Put<uint32_t>(&out, 0);
  Put<uint32_t>(&out, Field32(offset));
  out += name;
  out += extra;
  return out;
}

std::string EndRecords(uint64_t count, uint64_t size, uint64_t offset) {
  std::string out;
  Put(&out, kEnd64Signature);
  Put<uint64_t>(&out, kEnd64Bytes - 12);
  Put(&out, kMadeBy);
  Put(&out, kVersionZip64);
  Put<uint32_t>(&out, 0);  // this disk
  Put<uint32_t>(&out, 0);  // the directory's disk
  Put(&out, count);
  Put(&out, count);
  Put(&out, size);
  Put(&out, offset);

  Put(&out, kLocator64Signature);
  Put<uint32_t>(&out, 0);
  Put<uint64_t>(&out, offset + size);
  Put<uint32_t>(&out, 1);

  const auto count16 = static_cast<uint16_t>(count >= kMax16 ? kMax16 : count);
  Put(&out, kEndSignature);
  Put<uint16_t>(&out, 0);
  Put<uint16_t>(&out, 0);
  Put(&out, count16);
  Put(&out, count16);
  Put(&out, Field32(size));
  Put(&out, Field32(offset));
  Put<uint16_t>(&out, 0);
  return out;
}

}  // namespace

bool ZipWriter::Fail(std::string message) {
  error_ = std::move(message);
  return false;
}

bool ZipWriter::WriteToFile(Bytes bytes) {
  if (bytes.size() < kCopiedBytes) return file_.Write(bytes);
  const auto source = FindFileRange(bytes);
  return source && file_.CopiesByReference(source->descriptor, source->offset)
             ? file_.Copy(source->descriptor, source->offset, bytes.size())
             : file_.Write(bytes);
}

bool ZipWriter::Write(Bytes bytes) {
  if (bytes.empty()) return true;
  offset_ += bytes.size();
  switch (sink_) {
    case Sink::kFile:
      return WriteToFile(bytes) || Fail(file_.error());
    case Sink::kMemory:
      memory_->append(AsText(bytes));
      return true;
    case Sink::kContainer:
      crc_ = ZipCrc(bytes, crc_);
      return container_->Write(bytes) || Fail(container_->error());
    case Sink::kNowhere:
      return true;
  }
  return false;
}

bool ZipWriter::SetRoot(std::string root) {
  if (root.empty()) return true;
  if (!IsPlainMemberName(root) || root.find('/') != std::string::npos) {
    return Fail("'" + root + "' can't be the name of a root folder");
  }
  root_ = std::move(root) + "/";
  return true;
}

bool ZipWriter::Open(const std::string& path, std::string root) {
  if (!SetRoot(std::move(root))) return false;
  return file_.Open(path) || Fail(file_.error());
}

bool ZipWriter::OpenMemory(std::string* out, std::string root) {
  sink_ = Sink::kMemory;
  memory_ = out;
  return SetRoot(std::move(root));
}

bool ZipWriter::HasMember(std::string_view name) const {
  return names_.contains(std::string(name));
}

std::string ZipWriter::NewName(std::string_view name) {
  std::string full = root_;
  full += name;
  if (!IsPlainMemberName(full) || full.size() > kMax16) {
    Fail("'" + full + "' can't be the name of a member");
    return "";
  }
  if (!names_.insert(std::string(name)).second) {
    Fail("member '" + full + "' is written twice");
    return "";
  }
  return full;
}

bool ZipWriter::WriteDescriptor(Entry entry) {
  if (entry.size > 0 &&
      !Write(Descriptor(entry.crc, entry.size, entry.offset))) {
    return false;
  }
  entries_.push_back(std::move(entry));
  return true;
}

bool ZipWriter::Add(std::string_view name, Bytes bytes) {
  Entry entry;
  entry.name = NewName(name);
  if (entry.name.empty()) return false;
  entry.offset = offset_;
  entry.size = bytes.size();
  if (!Write(LocalHeader(entry.name, entry.size, entry.offset))) return false;
  while (!bytes.empty()) {
    const Bytes piece =
        bytes.first(std::min<uint64_t>(bytes.size(), file_.PieceBytes()));
    // Only lengths count where nothing is written. The checksum comes first:
    // it makes the pages of a mapping present, and leaves them in the cache.
    if (sink_ != Sink::kNowhere) entry.crc = ZipCrc(piece, entry.crc);
    if (!Write(piece)) return false;
    if (sink_ != Sink::kNowhere) ReleasePages(piece);
    bytes = bytes.subspan(piece.size());
  }
  return WriteDescriptor(std::move(entry));
}

bool ZipWriter::AddContainer(std::string_view name, std::string root,
                             const std::function<bool(ZipWriter*)>& fill) {
  Entry entry;
  entry.name = NewName(name);
  if (entry.name.empty()) return false;
  entry.offset = offset_;
  ZipWriter measure;
  measure.sink_ = Sink::kNowhere;
  if (!measure.SetRoot(root) || !fill(&measure) || !measure.WriteDirectory()) {
    return Fail(measure.error());
  }
  entry.size = measure.offset();
  if (!Write(LocalHeader(entry.name, entry.size, entry.offset))) return false;
  ZipWriter inner;
  inner.sink_ = Sink::kContainer;
  inner.container_ = this;
  if (!inner.SetRoot(std::move(root)) || !fill(&inner) ||
      !inner.WriteDirectory()) {
    return Fail(inner.error());
  }
  if (inner.offset() != entry.size) {
    return Fail("container '" + entry.name + "' changed while it was written");
  }
  entry.crc = inner.crc_;
  return WriteDescriptor(std::move(entry));
}

bool ZipWriter::WriteDirectory() {
  const uint64_t offset = this->offset();
  for (const Entry& e : entries_) {
    if (!Write(CentralEntry(e.name, e.crc, e.size, e.offset))) return false;
  }
  const uint64_t size = this->offset() - offset;
  if (!Write(EndRecords(entries_.size(), size, offset))) return false;
  return sink_ != Sink::kFile || file_.Flush() || Fail(file_.error());
}

bool ZipWriter::Commit() { return file_.Commit() || Fail(file_.error()); }

std::string ZipWriter::SerializationId() const {
  Hasher names, checksums;
  for (const Entry& e : entries_) {
    // Without the root, so that a file can be renamed.
    names.Add(std::string_view(e.name).substr(root_.size()));
    checksums.Add(uint64_t{e.crc});
  }
  char text[48];
  std::snprintf(text, sizeof(text), "%020llu%020llu",
                static_cast<unsigned long long>(names.Finish().low),
                static_cast<unsigned long long>(checksums.Finish().low));
  return text;
}

}  // namespace tenon
