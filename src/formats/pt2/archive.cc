#include "formats/pt2/archive.h"

#include <charconv>

#include "formats/json/json_text.h"
#include "formats/pt2/plain_zip.h"
#include "formats/pt2/stripped.h"
#include "support/utf8.h"

namespace tenon {
namespace {

constexpr std::string_view kModelsFolder = "models/";
constexpr std::string_view kJson = ".json";
// Versions of the container that PyTorch's own reader takes.
constexpr int kMinContainerVersion = 1;
constexpr int kMaxContainerVersion = 10;

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

}  // namespace

Expected<Pt2Archive> Pt2Archive::Open(Bytes bytes,
                                      std::shared_ptr<const void> owner,
                                      const std::string& file_name,
                                      const Pt2ReadOptions& options,
                                      Diagnostics& diags) {
  Pt2Archive archive;
  TENON_ASSIGN(archive.zip_,
               ZipArchive::Open(bytes, std::move(owner), file_name,
                                options.limits, diags));
  archive.check_crc_ = options.check_crc;
  if (archive.zip_.Find(plain_zip::kModel) != nullptr) {
    archive.methods_.push_back("model");
    TENON_TRY(archive.CheckPlainZip(diags));
    return archive;
  }
  const auto& members = archive.zip_.members();
  if (members.empty()) {
    return diags.Error(Rule::kFile04, Place::File(file_name))
           << "an archive without members";
  }
  const std::string_view first = members.front().name;
  if (first.find('/') == std::string_view::npos) {
    return diags.Error(Rule::kFile03, Place::File(file_name))
           << "member '" << first << "' lies in no root folder";
  }
  archive.root_ = std::string(first.substr(0, first.find('/') + 1));
  for (const ZipMember& m : members) {
    if (m.name.substr(0, archive.root_.size()) != archive.root_) {
      return diags.Error(Rule::kFile03,
                         Place::Offset(file_name, m.header_offset))
             << "member '" << m.name << "' lies outside the root folder '"
             << archive.root_ << "'";
    }
    const std::string_view name = m.name.substr(archive.root_.size());
    if (name.substr(0, kModelsFolder.size()) == kModelsFolder &&
        EndsWith(name, kJson)) {
      archive.methods_.emplace_back(
          name.substr(kModelsFolder.size(),
                      name.size() - kModelsFolder.size() - kJson.size()));
    }
  }
  TENON_TRY(archive.CheckHousekeeping(diags));
  return archive;
}

Place Pt2Archive::PlaceOf(const std::string& name) const {
  return Place::File(zip_.file_name() + ": " + name);
}

const ZipMember* Pt2Archive::Find(std::string_view name) const {
  const ZipMember* found = nullptr;
  if (next_ < members().size() && NameOf(members()[next_]) == name) {
    found = &members()[next_];
  } else {
    found = zip_.Find(std::string(root_).append(name));
  }
  if (found != nullptr) next_ = PositionOf(*found) + 1;
  return found;
}

Expected<ZipContent> Pt2Archive::Read(const ZipMember& member, bool is_weight,
                                      Diagnostics& diags) const {
  return zip_.Read(member, check_crc_ || !is_weight, diags);
}

Expected<ZipContent> Pt2Archive::Read(std::string_view name, bool is_weight,
                                      Diagnostics& diags) const {
  const ZipMember* member = Find(name);
  if (member == nullptr) {
    return diags.Error(Rule::kFile04, Place::File(zip_.file_name()))
           << "no member '" << name << "'";
  }
  return Read(*member, is_weight, diags);
}

Status Pt2Archive::WantText(const std::string& name, std::string_view text,
                            Diagnostics& diags) const {
  TENON_ASSIGN(const ZipContent content, Read(name, false, diags));
  if (AsText(content.bytes) == text) return {};
  std::string found = "bytes that aren't UTF-8";
  if (IsUtf8(AsText(content.bytes))) {
    found.clear();
    AppendJsonString(AsText(content.bytes).substr(0, 40), &found);
  }
  return diags.Error(Rule::kFile04, PlaceOf(name))
         << found << ", expected \"" << text << "\"";
}

Status Pt2Archive::CheckHousekeeping(Diagnostics& diags) {
  TENON_TRY(WantText("archive_format", "pt2", diags));
  const bool is_stripped = Has(std::string(kStrippedMember));
  TENON_TRY(
      WantText("archive_version", is_stripped ? kStrippedVersion : "0", diags));
  if (Has("byteorder")) TENON_TRY(WantText("byteorder", "little", diags));
  const std::string name = Has("version") ? "version" : ".data/version";
  if (!Has(name)) {
    diags.Warning(Rule::kFile04, Place::File(zip_.file_name()))
        << "no member '" << name << "'";
    return {};
  }
  TENON_ASSIGN(const ZipContent content, Read(name, false, diags));
  const std::string_view text = AsText(content.bytes);
  int version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  if (version < kMinContainerVersion || version > kMaxContainerVersion) {
    return diags.Error(Rule::kFile04, PlaceOf(name))
           << "container version '" << text.substr(0, 40) << "', expected "
           << kMinContainerVersion << " to " << kMaxContainerVersion;
  }
  return {};
}

Status Pt2Archive::CheckPlainZip(Diagnostics& diags) const {
  for (const std::string_view name :
       {plain_zip::kWeights, plain_zip::kConstants}) {
    if (zip_.Find(name) == nullptr) {
      return diags.Error(Rule::kFile04, Place::File(zip_.file_name()))
             << "no member '" << name << "'";
    }
  }
  const std::string version(plain_zip::kVersion);
  TENON_ASSIGN(const ZipContent content, Read(version, false, diags));
  const std::string_view text = AsText(content.bytes);
  if (text.substr(0, text.find('.')) != "8") {
    return diags.Error(Rule::kFile06, PlaceOf(version))
           << "schema version '" << text.substr(0, 40) << "', expected 8.x";
  }
  return {};
}

Expected<std::string> Pt2Archive::ChooseMethod(const std::string& wanted,
                                               Diagnostics& diags) const {
  const auto error = [&] {
    return diags.Error(Rule::kFile04, Place::File(zip_.file_name()));
  };
  if (methods_.empty()) return error() << "no member 'models/model.json'";
  const std::string name = wanted.empty() ? "model" : wanted;
  for (const std::string& method : methods_) {
    if (method == name) return method;
  }
  if (wanted.empty() && methods_.size() == 1) return methods_.front();
  std::string known;
  for (const std::string& method : methods_) {
    if (!known.empty()) known += ", ";
    known += method;
  }
  return error() << "no method '" << name << "', there are: " << known;
}

}  // namespace tenon
