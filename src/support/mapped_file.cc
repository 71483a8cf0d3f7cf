#include "support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tenon {

std::shared_ptr<const MappedFile> MappedFile::Open(const std::string& path,
                                                   std::string* error) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    *error = std::strerror(errno);
    return nullptr;
  }
  struct stat info;
  if (fstat(fd, &info) != 0) {
    *error = std::strerror(errno);
    close(fd);
    return nullptr;
  }
  if (!S_ISREG(info.st_mode)) {
    *error = "not a regular file";
    close(fd);
    return nullptr;
  }
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->path_ = path;
  const size_t size = static_cast<size_t>(info.st_size);
  if (size > 0) {
    void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) {
      *error = std::strerror(errno);
      close(fd);
      return nullptr;
    }
    file->bytes_ = {static_cast<const std::byte*>(at), size};
  }
  close(fd);
  return file;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace tenon
