#include "read_program.h"

#include <sys/stat.h>

#include <utility>

#include "formats/hybrid/hybrid.h"
#include "formats/pt2/pt2.h"
#include "text/text.h"

namespace tenon::tools {
namespace {

bool FileExists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

Expected<Program> ReadText(const SourceFile& source,
                           std::shared_ptr<Context> context,
                           const ReadOptions& options, Diagnostics& diags) {
  PayloadSource payloads = [](const Digest&) {
    return std::pair<Bytes, std::shared_ptr<const void>>();
  };
  const std::string beside = source.name + ".bin";
  const std::string& side_file = options.side_file;
  if (!side_file.empty() || FileExists(beside)) {
    Expected<PayloadSource> opened =
        OpenSideFile(side_file.empty() ? beside : side_file, diags);
    if (!opened) return Failure{};
    payloads = std::move(*opened);
  }
  return ParseProgram(AsText(source.bytes), source.name, std::move(context),
                      payloads, diags, options.limits);
}

}  // namespace

Expected<LoadedProgram> ReadProgram(const std::string& path,
                                    std::shared_ptr<Context> context,
                                    const ReadOptions& options,
                                    Diagnostics& diags) {
  TENON_ASSIGN(const SourceFile source, OpenSource(path, diags));
  return ReadProgram(source, std::move(context), options, diags);
}

Expected<LoadedProgram> ReadProgram(const SourceFile& source,
                                    std::shared_ptr<Context> context,
                                    const ReadOptions& options,
                                    Diagnostics& diags) {
  const FileKind kind = RecogniseFile(source.bytes);
  const uint64_t size = source.bytes.size();
  if (kind == FileKind::kPt2) {
    Pt2ReadOptions pt2;
    pt2.method = options.method;
    pt2.limits = options.limits;
    pt2.check_crc = options.check_crc;
    pt2.allow_weightless = options.allow_weightless;
    TENON_ASSIGN(Program program,
                 ReadPt2(source.bytes, source.owner, source.name,
                         std::move(context), pt2, diags));
    return LoadedProgram{std::move(program), kind, size};
  }
  if (kind == FileKind::kHybrid && !source.is_stdin) {
    HybridReadOptions hybrid;
    hybrid.limits = options.limits;
    TENON_ASSIGN(Program program,
                 ReadHybrid(source.name, std::move(context), hybrid, diags));
    return LoadedProgram{std::move(program), kind, size};
  }
  if (kind == FileKind::kHybrid) {
    return diags.Error(Rule::kUsage, Place::File(source.name))
           << "a hybrid graph has its tensors in a file beside it: name it by "
              "its path";
  }
  if (kind == FileKind::kText) {
    TENON_ASSIGN(Program program,
                 ReadText(source, std::move(context), options, diags));
    return LoadedProgram{std::move(program), kind, size};
  }
  // A file cut off or empty is damaged; one of another kind is what it is.
  const bool is_damaged = kind == FileKind::kEmpty || kind == FileKind::kZip;
  return diags.Error(is_damaged ? Rule::kFile01 : Rule::kUnsupported,
                     Place::File(source.name))
         << "is " << Describe(kind)
         << ", expected a .pt2 or a program in text form";
}

}  // namespace tenon::tools
