#include "formats/pt2/archive.h"
#include "formats/pt2/delegates.h"
#include "formats/pt2/plain_zip.h"
#include "formats/pt2/pt2.h"
#include "formats/pt2/read_model.h"
#include "formats/pt2/read_state.h"
#include "formats/pt2/stripped.h"
#include "support/mapped_file.h"

namespace tenon {
namespace {

// Members that the writer makes anew, or that are understood.
bool IsHousekeeping(std::string_view name) {
  if (name == kStrippedMember) return false;
  return name == "archive_format" || name == "archive_version" ||
         name == "version" || name == ".data/version" || name == "byteorder" ||
         name == ".data/serialization_id" ||
         name.substr(0, kTenonFolder.size()) == kTenonFolder;
}

// Keeps what the program doesn't hold otherwise: example inputs, extra files,
// other methods.
Status CarryMembers(const Pt2Archive& archive, const std::vector<bool>& is_used,
                    Program* program, Diagnostics& diags) {
  for (const ZipMember& member : archive.members()) {
    if (is_used[archive.PositionOf(member)]) continue;
    std::string name(archive.NameOf(member));
    if (IsHousekeeping(name)) continue;
    TENON_ASSIGN(const ZipContent content, archive.Read(member, true, diags));
    if (archive.is_plain_zip()) name = plain_zip::NameInFolders(name);
    if (name.empty()) continue;
    program->file.members.push_back(
        {std::move(name), content.bytes, content.owner});
  }
  return {};
}

Expected<Program> ReadMethod(const Pt2Archive& archive,
                             const std::string& method,
                             std::shared_ptr<Context> context,
                             const Pt2ReadOptions& options,
                             Diagnostics& diags) {
  Program program(std::move(context));
  program.name = method;
  SymbolTable symbols;
  StateReader state(&archive, method, &options, &program, &symbols, &diags);
  TENON_TRY(state.Read());
  const std::string model = archive.is_plain_zip()
                                ? std::string(plain_zip::kModel)
                                : "models/" + method + ".json";
  TENON_TRY(ReadModel(archive, model, options, state.names(), &symbols,
                      &program, diags));
  std::vector<bool> is_used = state.used_members();
  is_used[archive.PositionOf(*archive.Find(model))] = true;
  TENON_TRY(CarryMembers(archive, is_used, &program, diags));
  return program;
}

}  // namespace

Expected<Program> ReadPt2(Bytes bytes, std::shared_ptr<const void> owner,
                          const std::string& file_name,
                          std::shared_ptr<Context> context,
                          const Pt2ReadOptions& options, Diagnostics& diags) {
  TENON_ASSIGN(
      const Pt2Archive archive,
      Pt2Archive::Open(bytes, std::move(owner), file_name, options, diags));
  TENON_ASSIGN(const std::string method,
               archive.ChooseMethod(options.method, diags));
  return ReadMethod(archive, method, std::move(context), options, diags);
}

Expected<Program> ReadPt2(const std::string& path,
                          std::shared_ptr<Context> context,
                          const Pt2ReadOptions& options, Diagnostics& diags) {
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path)) << error;
  }
  return ReadPt2(file->bytes(), file, path, std::move(context), options, diags);
}

Expected<std::vector<std::string>> ListPt2Methods(const std::string& path,
                                                  Diagnostics& diags) {
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path)) << error;
  }
  TENON_ASSIGN(
      const Pt2Archive archive,
      Pt2Archive::Open(file->bytes(), file, path, Pt2ReadOptions(), diags));
  return archive.methods();
}

}  // namespace tenon
