#include "formats/tensor/weights_file.h"

#include <simdjson.h>

#include <map>

#include "support/mapped_file.h"

namespace tenon {
namespace {

constexpr std::string_view kMap = "weight_map";
// Names and file names; as much as a header may have.
constexpr size_t kMaxIndexBytes = 100'000'000;

bool IsPlainFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

Expected<std::shared_ptr<const MappedFile>> MapFile(const std::string& path,
                                                    Diagnostics& diags) {
  std::string error;
  auto file = MappedFile::Open(path, &error);
  if (file != nullptr) return file;
  return diags.Error(Rule::kIo, Place::File(path))
         << "can't be read: " << error;
}

// As a safetensors file, text would begin with a header of more than 2^56
// bytes.
bool IsIndex(Bytes bytes) {
  const std::string_view text = AsText(bytes);
  const size_t first = text.find_first_not_of(" \t\r\n");
  const auto header_bytes = ByteCursor(bytes).Read<uint64_t>();
  return first != std::string_view::npos && text[first] == '{' &&
         (!header_bytes || *header_bytes > bytes.size());
}

}  // namespace

const WeightsFile::Item* WeightsFile::Find(std::string_view name) const {
  const auto at = by_name_.find(std::string(name));
  return at == by_name_.end() ? nullptr : &items_[at->second];
}

Status WeightsFile::AddFile(const std::string& path, Diagnostics& diags) {
  TENON_ASSIGN(const std::shared_ptr<const MappedFile> file,
               MapFile(path, diags));
  TENON_ASSIGN(SafetensorsIndex index,
               ReadSafetensorsIndex(file->bytes(), path, diags));
  for (SafetensorsItem& item : index.items) {
    if (!by_name_.emplace(item.name, items_.size()).second) {
      return diags.Error(Rule::kFile08, Place::File(path))
             << "tensor '" << item.name << "' is in another file, too";
    }
    items_.push_back({std::move(item), file});
  }
  for (auto& entry : index.metadata) metadata_.push_back(std::move(entry));
  return {};
}

Status WeightsFile::AddShards(Bytes index, Diagnostics& diags) {
  const auto error = [&] {
    return diags.Error(Rule::kFile08, Place::File(path_));
  };
  if (index.size() > kMaxIndexBytes) {
    return error() << "an index of " << index.size()
                   << " bytes, more than the limit of " << kMaxIndexBytes;
  }
  simdjson::dom::parser parser;
  simdjson::dom::object map;
  const auto failure = parser
                           .parse(reinterpret_cast<const char*>(index.data()),
                                  index.size())[kMap]
                           .get(map);
  if (failure != simdjson::SUCCESS) {
    return error() << "an index of safetensors files needs an object '" << kMap
                   << "': " << simdjson::error_message(failure);
  }
  std::map<std::string, std::vector<std::string>> names_of;  // by file
  for (const auto field : map) {
    std::string_view file;
    if (field.value.get(file) != simdjson::SUCCESS || !IsPlainFileName(file)) {
      return error() << "tensor '" << field.key
                     << "' has no plain file name in '" << kMap << "'";
    }
    names_of[std::string(file)].emplace_back(field.key);
  }
  const std::string folder = FolderOf(path_);
  size_t num_listed = 0;
  for (const auto& [file, names] : names_of) {
    const size_t first = items_.size();
    TENON_TRY(AddFile(folder + file, diags));
    for (const std::string& name : names) {
      const auto at = by_name_.find(name);
      if (at == by_name_.end() || at->second < first) {
        return error() << "tensor '" << name << "' isn't in '" << file
                       << "', where '" << kMap << "' says it is";
      }
    }
    num_listed += names.size();
    if (items_.size() != num_listed) {
      return error() << "'" << file << "' has " << items_.size() - first
                     << " tensors, of which '" << kMap << "' lists "
                     << names.size();
    }
  }
  return {};
}

Expected<WeightsFile> WeightsFile::Open(const std::string& path,
                                        Diagnostics& diags) {
  WeightsFile out;
  out.path_ = path;
  TENON_ASSIGN(const std::shared_ptr<const MappedFile> file,
               MapFile(path, diags));
  if (IsIndex(file->bytes())) {
    TENON_TRY(out.AddShards(file->bytes(), diags));
  } else {
    TENON_TRY(out.AddFile(path, diags));
  }
  return out;
}

}  // namespace tenon
