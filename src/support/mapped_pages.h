// Which parts of the address space are files, and how their pages are given
// back.
//
// Who walks over gigabytes of a mapped file leaves each page that was touched
// in the process's resident memory, although the file could be read again at
// any time. A walk that releases what lies behind it stays small, whatever the
// file's size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "support/byte_cursor.h"

namespace tenon {

// Takes the pages of `bytes` out of this process's resident memory, where the
// bytes lie in a mapped file; elsewhere it does nothing. They can be read as
// before. The page that holds the end stays: the walk goes on there.
void ReleasePages(Bytes bytes);

// Maps the pages of `bytes`, all at once, where the bytes lie in a mapped file:
// prefetching doesn't reach pages that aren't mapped yet. From then on the file
// is read in large pages. Elsewhere, and where the system has no such call, it
// does nothing.
void MapPages(Bytes bytes);

// Copies `bytes`, which are as many as `out`, without mapping their pages,
// where they lie in a mapped file: a fault makes the kernel read ahead, up to
// megabytes, which a few bytes here and there aren't worth. False where it
// can't.
bool ReadUnmapped(Bytes bytes, std::span<std::byte> out);

// Where `bytes` stand in a file, so that whoever writes them to another can let
// the kernel copy; nothing when they are memory like any other. Valid as long
// as the mapping is.
struct FileRange {
  int descriptor = -1;
  uint64_t offset = 0;
};
std::optional<FileRange> FindFileRange(Bytes bytes);

// For those who map files. `mapping` is whole pages, readable and backed from
// its beginning by a file, until it is forgotten; `descriptor` is that file's
// when it stays open as long, else -1. Thread-safe, as are the others.
void RememberMapping(Bytes mapping, int descriptor = -1);
void ForgetMapping(Bytes mapping);

}  // namespace tenon
