#include <unordered_set>

#include "formats/pickle/pickle_scan.h"
#include "formats/pt2/pt2.h"
#include "formats/pt2/write_delegates.h"
#include "formats/pt2/write_model.h"
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
  ArchiveWriter(const Program& program, Diagnostics& diags)
      : program_(program), diags_(diags) {}

  Expected<Pt2WriteReport> Write(const std::string& path,
                                 const Pt2WriteOptions& options) {
    const NameTable names(program_, NameTable::Rule::kPythonIdentifier);
    // Before the file is begun: most errors show here.
    TENON_ASSIGN(const std::string model,
                 WriteModel(program_, names, &report_.notes, diags_));
    const std::string root = options.root.empty() ? Stem(path) : options.root;
    if (!zip_.Open(path, root)) {
      return diags_.Error(Rule::kIo, Place::File(path)) << zip_.error();
    }
    std::unordered_set<std::string> taken;
    for (const auto& member : program_.file.members) taken.insert(member.name);
    TENON_TRY(WriteState(program_, taken, &zip_, &report_, diags_));
    TENON_TRY(Add("models/" + program_.name + ".json", AsBytes(model)));
    TENON_TRY(Carry());
    TENON_TRY(WriteDelegates(program_, names, &zip_, diags_));
    TENON_TRY(Add("archive_format", AsBytes("pt2")));
    TENON_TRY(Add("archive_version", AsBytes("0")));
    TENON_TRY(Add(".data/version", AsBytes(kDataVersion)));
    TENON_TRY(Add("byteorder", AsBytes("little")));
    TENON_TRY(Add(".data/serialization_id", AsBytes(zip_.SerializationId())));
    if (!zip_.WriteDirectory()) {
      return diags_.Error(Rule::kIo, Place::File(path)) << zip_.error();
    }
    if (options.check) TENON_TRY(options.check(zip_.temporary_path()));
    if (!zip_.Commit()) {
      return diags_.Error(Rule::kIo, Place::File(path)) << zip_.error();
    }
    report_.file_bytes = zip_.offset();
    return std::move(report_);
  }

 private:
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
    TENON_TRY(inputs == nullptr ? Add(own_inputs, Bytes())
                                : CarryMember(*inputs));
    for (const auto& member : program_.file.members) {
      if (&member == inputs) continue;
      if (zip_.HasMember(member.name)) {
        report_.notes.push_back("the carried member '" + member.name +
                                "' was left out: the program has its own");
        continue;
      }
      TENON_TRY(CarryMember(member));
    }
    return {};
  }

  // Example inputs are a pickle that torch.export.load runs: a hostile one
  // must not travel on under our name.
  Status CarryMember(const FileInfo::Member& member) {
    std::string reason;
    if (StartsWith(member.name, kSampleInputs) &&
        !IsPlainTorchSave(member.bytes, &reason)) {
      report_.notes.push_back("the example inputs in '" + member.name +
                              "' were left out: " + reason);
      return Add(member.name, Bytes());
    }
    return Add(member.name, member.bytes);
  }

  const Program& program_;
  Diagnostics& diags_;
  ZipWriter zip_;
  Pt2WriteReport report_;
};

}  // namespace

Expected<Pt2WriteReport> WritePt2(const Program& program,
                                  const std::string& path,
                                  const Pt2WriteOptions& options,
                                  Diagnostics& diags) {
  return ArchiveWriter(program, diags).Write(path, options);
}

}  // namespace tenon
