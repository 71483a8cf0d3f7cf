// Zips: names that leave the archive, members that readers disagree about, and
// each member by what a loader takes it for.
#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "formats/zip/inflate.h"
#include "scan/found_members.h"
#include "scan/scanner.h"

namespace tenon {
namespace {

// What a loader takes a member for.
enum class Role : uint8_t {
  kModel,   // torch.export's JSON
  kConfig,  // its list of payloads
  kSaved,   // torch.save's payload
  kPickle,
  kOpaqueObject,  // a pickle that some library defined
  kCompiled,      // of AOTInductor
  kScript,        // TorchScript source
  kPackageMark,   // a member that torch.package alone writes
  kPython,
  kArray,
  kOther,
};

// `prefix` and `suffix` of the name below the root folder, or of the whole name
// where there is none. The first that fits counts.
struct RolePattern {
  std::string_view prefix, suffix;
  Role role;
};
constexpr RolePattern kPatterns[] = {
    {"serialized_exported_program.json", "", Role::kModel},
    {"serialized_", ".pt", Role::kSaved},
    // Old names of pickles.
    {"serialized_state_dict.json", "", Role::kSaved},
    {"serialized_constants.json", "", Role::kSaved},
    {"models/", "", Role::kModel},
    {"data/weights/", ".json", Role::kConfig},
    {"data/constants/", ".json", Role::kConfig},
    {"data/sample_inputs/", "", Role::kSaved},
    {"data/weights/", ".pt", Role::kSaved},
    {"data/constants/", ".pt", Role::kSaved},
    {"data/constants/opaque_obj_", "", Role::kOpaqueObject},
    {"data/aotinductor/", "", Role::kCompiled},
    {"code/", ".py", Role::kScript},
    {".data/extern_modules", "", Role::kPackageMark},
    {"", ".pkl", Role::kPickle},
    {"", ".pickle", Role::kPickle},
    {"", ".npy", Role::kArray},
    {"", ".py", Role::kPython},
    {"", ".pyc", Role::kPython},
};

Role RoleOf(std::string_view name) {
  const size_t slash = name.find('/');
  const std::string_view inner =
      slash == std::string_view::npos ? name : name.substr(slash + 1);
  for (const RolePattern& p : kPatterns) {
    const bool fits = inner.starts_with(p.prefix) || name.starts_with(p.prefix);
    if (fits && name.ends_with(p.suffix)) return p.role;
  }
  return Role::kOther;
}

std::string Printable(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 200)) {
    const auto u = static_cast<unsigned char>(c);
    out += u < 0x20 || u >= 0x7F ? '?' : c;
  }
  return out;
}

bool IsGpuCode(Bytes bytes) {
  constexpr uint16_t kCudaMachine = 190;  // of an ELF header
  ByteCursor cursor(bytes, 18);
  return AsText(bytes).starts_with(
             "\x7f"
             "ELF") &&
         cursor.Read<uint16_t>() == kCudaMachine;
}

class ArchiveScan {
 public:
  ArchiveScan(Bytes bytes, const std::string& place, Scanner* scanner)
      : found_(FindMembers(bytes)), place_(place), scanner_(*scanner) {}

  void Scan() {
    if (!found_.problem.empty()) {
      scanner_.Danger(Rule::kXLimit02, Place::File(place_))
          << "the archive can't be looked through: " << found_.problem;
      return;
    }
    for (const std::string& lie : found_.lies) {
      scanner_.Danger(Rule::kXArchive02, Place::File(place_)) << lie;
    }
    scanner_.report.num_members += found_.members.size();
    for (const FoundMember& member : found_.members) CheckName(member);
    // Which raw records are pickles stands in other members.
    for (const FoundMember& member : found_.members) {
      if (RoleOf(member.name) == Role::kConfig) ScanConfig(member);
    }
    for (const FoundMember& member : found_.members) ScanMember(member);
    ReportCode();
  }

 private:
  std::string PlaceOf(const FoundMember& member) const {
    return place_ + ": " + Printable(member.name);
  }

  void CheckName(const FoundMember& member) {
    const Place at = Place::File(place_);
    const std::string name = Printable(member.name);
    if (!member.escapes.empty()) {
      scanner_.Danger(Rule::kXArchive01, at)
          << "member '" << name << "' " << member.escapes;
    }
    if (!member.lies.empty()) {
      scanner_.Danger(Rule::kXArchive02, at)
          << "member '" << name << "' " << member.lies;
    }
  }

  // The content, or nothing, with a finding that says why.
  ZipContent Read(const FoundMember& member) {
    const auto refuse = [&](Rule rule, std::string_view why) {
      scanner_.Danger(rule, Place::File(PlaceOf(member)))
          << "the member can't be looked at: " << why;
      return ZipContent();
    };
    if (!member.unread.empty()) return refuse(Rule::kXLimit02, member.unread);
    if (!member.is_deflated) return {member.stored, nullptr};
    if (member.size_bytes > scanner_.inflated_bytes_left) {
      return refuse(Rule::kXLimit01, "it expands beyond the limit");
    }
    Diagnostics problems;
    auto content =
        Inflate(member.stored, member.size_bytes, PlaceOf(member), problems);
    if (!content) return refuse(Rule::kXLimit02, problems.FirstError());
    scanner_.inflated_bytes_left -= member.size_bytes;
    return *content;
  }

  void ScanConfig(const FoundMember& member) {
    const ZipContent content = Read(member);
    const std::string_view name = member.name;
    const std::string folder(name.substr(0, name.rfind('/') + 1));
    for (const std::string& record :
         ScanPayloadConfig(content.bytes, PlaceOf(member), &scanner_)) {
      pickled_.insert(folder + record);
    }
  }

  void ScanMember(const FoundMember& member) {
    const Role role = RoleOf(member.name);
    if (role == Role::kConfig) return;
    const ZipContent content = Read(member);
    const std::string place = PlaceOf(member);
    if (pickled_.count(std::string(member.name)) > 0) {
      return ScanTorchSave(content.bytes, place, &scanner_);
    }
    switch (role) {
      case Role::kModel:
        return ScanModel(content.bytes, place, &scanner_);
      case Role::kSaved:
        return ScanTorchSave(content.bytes, place, &scanner_);
      case Role::kPickle:
        return ScanPickle(content.bytes, place, &scanner_);
      case Role::kOpaqueObject:
        scanner_.Caution(Rule::kXObject01, Place::File(place))
            << "an object that its library unpickles";
        return ScanTorchSave(content.bytes, place, &scanner_);
      case Role::kArray:
        return ScanNumpy(content.bytes, place, &scanner_);
      case Role::kScript:
        ++num_scripts_;
        return;
      case Role::kPython:
        ++num_sources_;
        return;
      case Role::kPackageMark:
        is_package_ = true;
        return;
      case Role::kCompiled:
      case Role::kOther:
      case Role::kConfig:
        break;
    }
    ScanUnknown(content.bytes, place);
  }

  void ScanUnknown(Bytes bytes, const std::string& place) {
    if (IsGpuCode(bytes)) {
      scanner_.Caution(Rule::kXCode01, Place::File(place))
          << "code for a GPU, which a compiled model runs";
    } else if (IsNativeCode(bytes) || place.ends_with(".so")) {
      scanner_.Danger(Rule::kXCode01, Place::File(place))
          << "native code, which a loader of compiled models runs";
    } else {
      ScanForPickle(bytes, place, &scanner_);
    }
  }

  void ReportCode() {
    const Place at = Place::File(place_);
    const std::string sources =
        std::to_string(num_sources_) +
        (num_sources_ == 1 ? " Python source" : " Python sources");
    if (is_package_) {
      scanner_.Danger(Rule::kXCode03, at)
          << "a torch.package of " << sources
          << ", which run when an object is loaded from it";
    } else if (num_sources_ > 0) {
      scanner_.Remark(Rule::kXCode04, at)
          << sources << ", which no loader of programs runs";
    }
    if (num_scripts_ > 0) {
      scanner_.Caution(Rule::kXCode02, at)
          << num_scripts_ << " TorchScript "
          << (num_scripts_ == 1 ? "source" : "sources")
          << ", which torch.jit.load compiles and its calls run";
    }
  }

  FoundMembers found_;
  const std::string& place_;
  Scanner& scanner_;
  // Members that a payload config says are pickles.
  std::unordered_set<std::string> pickled_;
  size_t num_scripts_ = 0;
  size_t num_sources_ = 0;
  bool is_package_ = false;
};

}  // namespace

void ScanArchive(Bytes bytes, const std::string& place, Scanner* scanner) {
  const Nested nested(scanner, place);
  if (nested.fits()) ArchiveScan(bytes, place, scanner).Scan();
}

}  // namespace tenon
