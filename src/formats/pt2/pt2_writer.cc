#include <unordered_set>

#include "formats/json/json_text.h"
#include "formats/pickle/pickle_scan.h"
#include "formats/pt2/plain_zip.h"
#include "formats/pt2/pt2.h"
#include "formats/pt2/schema_check.h"
#include "formats/pt2/stripped.h"
#include "formats/pt2/unknown_members.h"
#include "formats/pt2/write_delegates.h"
#include "formats/pt2/write_model.h"
#include "formats/pt2/write_pickled_state.h"
#include "formats/pt2/write_state.h"
#include "formats/zip/zip_writer.h"

namespace tenon {
namespace {

constexpr std::string_view kSampleInputs = "data/sample_inputs/";
constexpr std::string_view kDataVersion = "6\n";

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// "dir/my.model.pt2" -> "my.model", as PyTorch names the root folder.
std::string Stem(const std::string& path) {
  const size_t slash = path.find_last_of("/\\");
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const size_t dot = name.rfind('.');
  if (dot != std::string::npos) name.resize(dot);
  return name.empty() ? "archive" : name;
}

class ArchiveWriter {
 public:
  ArchiveWriter(const Program& program, const Pt2WriteOptions& options,
                Diagnostics& diags)
      : program_(program),
        options_(options),
        layout_(options.release != nullptr ? options.release->layout
                                           : Pt2Layout::kRaw),
        names_(program, NameTable::Rule::kPythonIdentifier),
        diags_(diags) {}

  Expected<Pt2WriteReport> Write(const std::string& path) {
    // Before the file is begun: most errors show here.
    if (program_.file.schema_major != kSchemaMajor) {
      return diags_.Error(Rule::kFile06, Place::File(path))
             << "a program of schema " << program_.file.schema_major << "."
             << program_.file.schema_minor << " can't be written, only "
             << kSchemaMajor << ".x";
    }
    if (options_.release != nullptr) {
      TENON_TRY(CheckSchema(program_, *options_.release, diags_));
      TENON_TRY(CheckMethods());
    }
    const int64_t minor = MinorToWrite(program_, options_.release);
    TENON_ASSIGN(model_,
                 WriteModel(program_, names_, minor, &report_.notes, diags_));
    TENON_TRY(CheckJsonText(model_, Place::File(program_.name), diags_));
    if (!zip_.Open(path, Root(path))) {
      return diags_.Error(Rule::kIo, Place::File(path)) << zip_.error();
    }
    TENON_TRY(WriteMembers(minor));
    if (!zip_.WriteDirectory()) {
      return diags_.Error(Rule::kIo, Place::File(path)) << zip_.error();
    }
    if (options_.check) TENON_TRY(options_.check(zip_.temporary_path()));
    if (!zip_.Commit()) {
      return diags_.Error(Rule::kIo, Place::File(path)) << zip_.error();
    }
    report_.file_bytes = zip_.offset();
    return std::move(report_);
  }

 private:
  std::string Root(const std::string& path) const {
    if (layout_ == Pt2Layout::kPlainZip) return "";
    return options_.root.empty() ? Stem(path) : options_.root;
  }

  Status WriteMembers(int64_t minor) {
    switch (layout_) {
      case Pt2Layout::kPlainZip:
        return WritePlainZip(minor);
      case Pt2Layout::kPickled:
        return WritePickled();
      case Pt2Layout::kRaw:
        return WriteRaw();
    }
    TENON_UNREACHABLE("every layout has a case");
  }

  Status WritePlainZip(int64_t minor) {
    TENON_TRY(Add(std::string(plain_zip::kModel), AsBytes(model_)));
    TENON_TRY(WritePickles(std::string(plain_zip::kWeights),
                           std::string(plain_zip::kConstants)));
    TENON_TRY(Carry());
    const std::string version = "8." + std::to_string(minor);
    TENON_TRY(Add(std::string(plain_zip::kVersion), AsBytes(version)));
    return WriteDelegates(program_, names_, &zip_, diags_);
  }

  Status WritePickled() {
    TENON_TRY(Add("models/" + program_.name + ".json", AsBytes(model_)));
    TENON_TRY(WritePickles("data/weights/" + program_.name + ".pt",
                           "data/constants/" + program_.name + ".pt"));
    TENON_TRY(Carry());
    TENON_TRY(WriteDelegates(program_, names_, &zip_, diags_));
    return WriteHousekeeping();
  }

  Status WriteRaw() {
    std::unordered_set<std::string> taken;
    for (const auto& member : program_.file.members) taken.insert(member.name);
    TENON_TRY(WriteState(program_, taken, &zip_, &report_, diags_));
    TENON_TRY(Add("models/" + program_.name + ".json", AsBytes(model_)));
    TENON_TRY(Carry());
    TENON_TRY(WriteDelegates(program_, names_, &zip_, diags_));
    return WriteHousekeeping();
  }

  Status WritePickles(const std::string& weights,
                      const std::string& constants) {
    // There are no configs that could hold what their reader didn't know.
    for (const std::string_view config : {"weights:", "constants:"}) {
      WithUnknownMembers(program_, config, options_.release->schema_minor, "",
                         &report_.notes);
    }
    return WritePickledState(program_, weights, constants, &zip_, &report_,
                             diags_);
  }

  Status WriteHousekeeping() {
    TENON_TRY(Add("archive_format", AsBytes("pt2")));
    TENON_TRY(Add("archive_version",
                  AsBytes(IsStripped(program_) ? kStrippedVersion : "0")));
    TENON_TRY(Add(".data/version", AsBytes(kDataVersion)));
    TENON_TRY(Add("byteorder", AsBytes("little")));
    return Add(".data/serialization_id", AsBytes(zip_.SerializationId()));
  }

  // Other methods are carried as they are: the release has to open those, too.
  Status CheckMethods() {
    constexpr std::string_view kFolder = "models/";
    constexpr std::string_view kEnd = ".json";
    std::unordered_set<std::string_view> members;
    for (const auto& member : program_.file.members) {
      members.insert(member.name);
    }
    for (const auto& member : program_.file.members) {
      const std::string_view name = member.name;
      if (!name.starts_with(kFolder) || !name.ends_with(kEnd)) continue;
      const std::string method(name.substr(
          kFolder.size(), name.size() - kFolder.size() - kEnd.size()));
      const bool is_pickled =
          members.contains("data/weights/" + method + ".pt");
      if (layout_ == Pt2Layout::kRaw ||
          (layout_ == Pt2Layout::kPickled && is_pickled)) {
        continue;
      }
      return diags_.Error(Rule::kFile11, Place::File(member.name))
             << "torch " << options_.release->name
             << " can't open the file's other method '" << method << "'";
    }
    return {};
  }

  Status Add(const std::string& name, Bytes bytes) {
    if (zip_.Add(name, bytes)) return {};
    return diags_.Error(Rule::kIo, Place::File(name)) << zip_.error();
  }

  // Members that were read beside the model. PyTorch wants a record of example
  // inputs, be it empty.
  Status Carry() {
    const std::string own_inputs =
        std::string(kSampleInputs) + program_.name + ".pt";
    const FileInfo::Member* inputs = nullptr;
    for (const auto& member : program_.file.members) {
      if (member.name == own_inputs) inputs = &member;
    }
    const std::string name = layout_ == Pt2Layout::kPlainZip
                                 ? std::string(plain_zip::kExampleInputs)
                                 : own_inputs;
    TENON_TRY(inputs == nullptr ? Add(name, Bytes())
                                : CarryMember(*inputs, name));
    for (const auto& member : program_.file.members) {
      if (&member != inputs) TENON_TRY(CarryOther(member));
    }
    return {};
  }

  Status CarryOther(const FileInfo::Member& member) {
    std::string name = member.name;
    if (layout_ == Pt2Layout::kPlainZip) {
      name = plain_zip::NameFromFolders(name);
      if (name.empty()) {
        report_.notes.push_back("the carried member '" + member.name +
                                "' was left out: a file of torch " +
                                std::string(options_.release->name) +
                                " has no place for it");
        return {};
      }
    }
    if (zip_.HasMember(name)) {
      report_.notes.push_back("the carried member '" + member.name +
                              "' was left out: the program has its own");
      return {};
    }
    return CarryMember(member, name);
  }

  // Example inputs are a pickle that torch.export.load runs: a hostile one
  // must not travel on under our name.
  Status CarryMember(const FileInfo::Member& member, const std::string& name) {
    std::string reason;
    if (StartsWith(member.name, kSampleInputs) &&
        !IsPlainTorchSave(member.bytes, &reason)) {
      report_.notes.push_back("the example inputs in '" + member.name +
                              "' were left out: " + reason);
      return Add(name, Bytes());
    }
    return Add(name, member.bytes);
  }

  const Program& program_;
  const Pt2WriteOptions& options_;
  const Pt2Layout layout_;
  const NameTable names_;
  Diagnostics& diags_;
  std::string model_;
  ZipWriter zip_;
  Pt2WriteReport report_;
};

}  // namespace

Expected<Pt2WriteReport> WritePt2(const Program& program,
                                  const std::string& path,
                                  const Pt2WriteOptions& options,
                                  Diagnostics& diags) {
  return ArchiveWriter(program, options, diags).Write(path);
}

}  // namespace tenon
