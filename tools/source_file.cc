#include "source_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/mapped_file.h"

namespace tenon::tools {
namespace {

constexpr size_t kMaxStdinBytes = size_t{1} << 32;

// All of standard input; nullptr with `error` set when it can't be read.
std::shared_ptr<std::string> ReadStdin(std::string* error) {
  auto text = std::make_shared<std::string>();
  char buffer[1 << 16];
  while (true) {
    const ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      *error = std::strerror(errno);
      return nullptr;
    }
    if (text->size() + static_cast<size_t>(n) > kMaxStdinBytes) {
      *error = "more than 4 GiB";
      return nullptr;
    }
    text->append(buffer, static_cast<size_t>(n));
  }
}

bool IsDirectory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

Expected<SourceFile> OpenSource(const std::string& path, Diagnostics& diags) {
  std::string error;
  if (path == "-") {
    const std::shared_ptr<std::string> text = ReadStdin(&error);
    if (text == nullptr) {
      return diags.Error(Rule::kIo, Place::File("standard input"))
             << "can't be read: " << error;
    }
    return SourceFile{AsBytes(*text), text, "standard input", true};
  }
  if (IsDirectory(path)) {
    return diags.Error(Rule::kIo, Place::File(path))
           << "is a directory, expected a file";
  }
  const std::shared_ptr<const MappedFile> file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path))
           << "can't be read: " << error;
  }
  return SourceFile{file->bytes(), file, path};
}

}  // namespace tenon::tools
