#include "support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/mapped_pages.h"

namespace tenon {

std::shared_ptr<const MappedFile> MappedFile::Open(const std::string& path,
                                                   std::string* error) {
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->path_ = path;
  file->descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (file->descriptor_ < 0 || fstat(file->descriptor_, &info) != 0) {
    *error = std::strerror(errno);
    return nullptr;
  }
  if (!S_ISREG(info.st_mode)) {
    *error = "not a regular file";
    return nullptr;
  }
  const size_t size = static_cast<size_t>(info.st_size);
  if (size > 0) {
    void* at =
        mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->descriptor_, 0);
    if (at == MAP_FAILED) {
      *error = std::string("can't be mapped: ") + std::strerror(errno);
      return nullptr;
    }
    file->bytes_ = {static_cast<const std::byte*>(at), size};
    RememberMapping(file->bytes_, file->descriptor_);
  }
  return file;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ForgetMapping(bytes_);
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace tenon
