#include "support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/mapped_pages.h"

namespace tenon {
namespace {

// Closed when it goes out of scope, by an exception, too.
struct Descriptor {
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  int fd = -1;
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::Open(const std::string& path,
                                                   std::string* error) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info;
  if (file.fd < 0 || fstat(file.fd, &info) != 0) {
    *error = std::strerror(errno);
    return nullptr;
  }
  if (!S_ISREG(info.st_mode)) {
    *error = "not a regular file";
    return nullptr;
  }
  std::shared_ptr<MappedFile> mapped(new MappedFile());
  mapped->path_ = path;
  const size_t size = static_cast<size_t>(info.st_size);
  if (size > 0) {
    void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (at == MAP_FAILED) {
      *error = std::string("can't be mapped: ") + std::strerror(errno);
      return nullptr;
    }
    mapped->bytes_ = {static_cast<const std::byte*>(at), size};
    RememberMapping(mapped->bytes_);
  }
  return mapped;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ForgetMapping(bytes_);
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace tenon
