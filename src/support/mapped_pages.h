// Which parts of the address space are files, and how their pages are given
// back.
//
// Who walks over gigabytes of a mapped file leaves each page that was touched
// in the process's resident memory, although the file could be read again at
// any time. A walk that releases what lies behind it stays small, whatever the
// file's size.
#pragma once

#include "support/byte_cursor.h"

namespace tenon {

// Takes the pages of `bytes` out of this process's resident memory, where the
// bytes lie in a mapped file; elsewhere it does nothing. They can be read as
// before. The page that holds the end stays: the walk goes on there.
void ReleasePages(Bytes bytes);

// For those who map files. `mapping` is whole pages, readable and backed by a
// file, until it is forgotten. Thread-safe, as is ReleasePages.
void RememberMapping(Bytes mapping);
void ForgetMapping(Bytes mapping);

}  // namespace tenon
