// The archive around a model: which layout it has, its root folder, its
// members by their names below the root (rules V-FILE-03 and V-FILE-04).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/pt2/pt2.h"
#include "formats/zip/zip_reader.h"

namespace tenon {

class Pt2Archive {
 public:
  static Expected<Pt2Archive> Open(Bytes bytes,
                                   std::shared_ptr<const void> owner,
                                   const std::string& file_name,
                                   const Pt2ReadOptions& options,
                                   Diagnostics& diags);

  bool is_plain_zip() const { return root_.empty(); }
  // In archive order; "model" for plain zips.
  const std::vector<std::string>& methods() const { return methods_; }
  // The method that the options ask for.
  Expected<std::string> ChooseMethod(const std::string& wanted,
                                     Diagnostics& diags) const;

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  // Fastest for names asked for in the order of the archive.
  const ZipMember* Find(std::string_view name) const;
  // A member that must be there. Small ones are always checked against their
  // checksum, big ones (weights) when the options ask.
  Expected<ZipContent> Read(std::string_view name, bool is_weight,
                            Diagnostics& diags) const;
  Expected<ZipContent> Read(const ZipMember& member, bool is_weight,
                            Diagnostics& diags) const;
  // In the order of the directory. Their names have the root folder.
  const std::vector<ZipMember>& members() const { return zip_.members(); }
  size_t PositionOf(const ZipMember& member) const {
    return static_cast<size_t>(&member - members().data());
  }
  std::string_view NameOf(const ZipMember& member) const {
    return member.name.substr(root_.size());
  }
  const std::string& file_name() const { return zip_.file_name(); }

 private:
  Status CheckHousekeeping(Diagnostics& diags);
  Status CheckPlainZip(Diagnostics& diags) const;
  Status WantText(const std::string& name, std::string_view text,
                  Diagnostics& diags) const;
  Place PlaceOf(const std::string& name) const;

  ZipArchive zip_;
  std::string root_;  // with the '/'; empty for a plain zip
  std::vector<std::string> methods_;
  bool check_crc_ = false;
  mutable size_t next_ = 0;  // behind the member found last
};

}  // namespace tenon
