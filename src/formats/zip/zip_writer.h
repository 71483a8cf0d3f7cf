// Writes the zip container that PyTorch writes: every member stored, payloads
// at multiples of 64 bytes, sizes in data descriptors, zip64 where needed
// (docs/formats/pt2.md, "The container").
//
// Members go to the file in the order of the calls, straight from where their
// bytes lie; large ones that lie in a mapped file are copied from file to file
// by the kernel. Checksums are always those of the bytes: none is taken over
// from where they came from. Same calls, same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "support/atomic_file.h"
#include "support/byte_cursor.h"

namespace tenon {

class ZipWriter {
 public:
  // Members are called `root`/name, or just name when the root is empty. The
  // file appears at `path` on Finish.
  // Each call returns false with `error()` set on failure; after that, only
  // destroy the writer.
  bool Open(const std::string& path, std::string root);
  // The same into memory, for containers that are members themselves. `out`
  // has to be empty, and is whole after WriteDirectory; Commit isn't for it.
  bool OpenMemory(std::string* out, std::string root);
  // One member, whole. `name` must be plain and new. Of a mapped file that the
  // bytes lie in, no more than a piece is resident at a time.
  bool Add(std::string_view name, Bytes bytes);
  // A member that is a container itself. `fill` adds its members, the directory
  // is written here. Nothing is kept in memory: `fill` is called twice, first
  // to learn the size, and has to make the same calls both times.
  bool AddContainer(std::string_view name, std::string root,
                    const std::function<bool(ZipWriter*)>& fill);
  // Writes the directory: all of the archive can be read at
  // `temporary_path()` then.
  bool WriteDirectory();
  const std::string& temporary_path() const { return file_.temporary_path(); }
  // Puts the file in place.
  bool Commit();
  // Both.
  bool Finish() { return WriteDirectory() && Commit(); }

  bool HasMember(std::string_view name) const;
  uint64_t offset() const { return offset_; }
  // Digits that PyTorch calls the serialization id: 20 for the names written
  // so far, 20 for their checksums.
  std::string SerializationId() const;
  const std::string& error() const { return error_; }

 private:
  struct Entry {
    std::string name;
    uint32_t crc = 0;
    uint64_t size = 0;
    uint64_t offset = 0;
  };

  // Where the bytes go.
  enum class Sink : uint8_t { kFile, kMemory, kContainer, kNowhere };

  bool SetRoot(std::string root);
  // The full name of a member that can be added now; "" after an error.
  std::string NewName(std::string_view name);
  bool WriteDescriptor(Entry entry);
  bool Write(Bytes bytes);
  bool WriteToFile(Bytes bytes);
  bool Write(std::string_view text) { return Write(AsBytes(text)); }
  bool Fail(std::string message);

  Sink sink_ = Sink::kFile;
  AtomicFile file_;                 // kFile
  std::string* memory_ = nullptr;   // kMemory
  ZipWriter* container_ = nullptr;  // kContainer
  uint64_t offset_ = 0;
  uint32_t crc_ = 0;  // of all that was written, in a container
  std::string root_;  // with its '/', or empty
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
  std::string error_;
};

}  // namespace tenon
