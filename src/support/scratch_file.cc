#include "support/scratch_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "support/mapped_pages.h"

namespace tenon {

std::shared_ptr<ScratchFile> ScratchFile::Create(const std::string& folder,
                                                 size_t size_bytes,
                                                 std::string* error) {
  std::shared_ptr<ScratchFile> file(new ScratchFile());
  if (size_bytes == 0) return file;
  std::string path = folder + "/.tenon.tmp.XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) {
    *error = std::strerror(errno);
    return nullptr;
  }
  unlink(path.c_str());
  // Allocated now: a disk that is full later would kill whoever writes to the
  // mapping.
  const int failure = posix_fallocate(fd, 0, static_cast<off_t>(size_bytes));
  void* const at = failure != 0
                       ? MAP_FAILED
                       : mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) {
    *error = std::strerror(failure != 0 ? failure : errno);
    close(fd);
    return nullptr;
  }
  close(fd);
  file->bytes_ = {static_cast<std::byte*>(at), size_bytes};
  RememberMapping(file->bytes_);
  return file;
}

ScratchFile::~ScratchFile() {
  if (bytes_.empty()) return;
  ForgetMapping(bytes_);
  munmap(bytes_.data(), bytes_.size());
}

}  // namespace tenon
