#include "read_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "formats/hybrid/hybrid.h"
#include "formats/pt2/pt2.h"
#include "formats/zip/zip_reader.h"
#include "support/mapped_file.h"
#include "text/text.h"

namespace tenon::tools {
namespace {

constexpr size_t kMaxStdinBytes = size_t{1} << 32;

bool StartsWith(Bytes bytes, std::string_view magic, size_t at = 0) {
  return AsText(bytes).size() >= at + magic.size() &&
         AsText(bytes).substr(at, magic.size()) == magic;
}

// An archive that can't be opened goes to the .pt2 reader, which says why.
FileKind RecogniseZip(Bytes bytes) {
  Diagnostics unused;
  const Expected<ZipArchive> archive =
      ZipArchive::Open(bytes, nullptr, "", ReadLimits(), unused);
  if (!archive) return FileKind::kPt2;
  bool has_archive_format = false, has_models = false, has_inductor = false;
  bool has_layout_a = false, has_code = false, has_pickle = false;
  for (const ZipMember& member : archive->members()) {
    const std::string_view name = member.name;
    if (name == "serialized_exported_program.json") has_layout_a = true;
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view inner = name.substr(slash + 1);
    if (inner == "archive_format") has_archive_format = true;
    if (inner.starts_with("models/")) has_models = true;
    if (inner.starts_with("data/aotinductor/")) has_inductor = true;
    if (inner.starts_with("code/")) has_code = true;
    if (inner == "data.pkl") has_pickle = true;
  }
  if (has_inductor && !has_models) return FileKind::kAotInductor;
  if (has_archive_format || has_models || has_layout_a) return FileKind::kPt2;
  if (has_pickle) {
    return has_code ? FileKind::kTorchScript : FileKind::kTorchSave;
  }
  return FileKind::kZip;
}

bool LooksLikeSafetensors(Bytes bytes) {
  ByteCursor cursor(bytes);
  const std::optional<uint64_t> header = cursor.Read<uint64_t>();
  return header && *header >= 2 && *header <= cursor.left() &&
         StartsWith(bytes, "{", 8);
}

// Text without control characters, as far as the first bytes tell.
bool LooksLikeText(Bytes bytes) {
  constexpr size_t kProbe = 512;
  for (const char c : AsText(bytes).substr(0, kProbe)) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (u < 0x20 && c != '\n' && c != '\t' && c != '\r') return false;
  }
  return true;
}

// An ONNX file has no magic: field 1 (ir_version, varint) comes first, then
// usually field 2, the producer.
bool LooksLikeOnnx(Bytes bytes) {
  return bytes.size() > 4 && StartsWith(bytes, "\x08") &&
         static_cast<unsigned>(bytes[1]) < 32 && StartsWith(bytes, "\x12", 2);
}

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

bool FileExists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool IsDirectory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

struct Source {
  Bytes bytes;
  std::shared_ptr<const void> owner;
  std::string name;  // for messages
};

Expected<Source> OpenSource(const std::string& path, Diagnostics& diags) {
  std::string error;
  if (path == "-") {
    const std::shared_ptr<std::string> text = ReadStdin(&error);
    if (text == nullptr) {
      return diags.Error(Rule::kIo, Place::File("standard input"))
             << "can't be read: " << error;
    }
    return Source{AsBytes(*text), text, "standard input"};
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
  return Source{file->bytes(), file, path};
}

Expected<Program> ReadText(const Source& source,
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

FileKind RecogniseFile(Bytes bytes) {
  if (bytes.empty()) return FileKind::kEmpty;
  // "PK" and any of the signatures that may stand first.
  if (StartsWith(bytes, "PK\003\004") || StartsWith(bytes, "PK\005\006")) {
    return RecogniseZip(bytes);
  }
  if (StartsWith(bytes, "ET1", 4)) return FileKind::kExecuTorch;
  if (StartsWith(bytes, "GGUF")) return FileKind::kGguf;
  if (StartsWith(bytes, "\x93NUMPY")) return FileKind::kNumpy;
  const bool has_protocol = bytes.size() > 2 && StartsWith(bytes, "\x80") &&
                            static_cast<unsigned>(bytes[1]) >= 2 &&
                            static_cast<unsigned>(bytes[1]) <= 5;
  if (has_protocol) return FileKind::kPickle;
  if (LooksLikeSafetensors(bytes)) return FileKind::kSafetensors;
  if (LooksLikeOnnx(bytes)) return FileKind::kOnnx;
  if (LooksLikeHybrid(AsText(bytes))) return FileKind::kHybrid;
  if (LooksLikeText(bytes)) return FileKind::kText;
  return FileKind::kUnknown;
}

std::string_view Describe(FileKind kind) {
  switch (kind) {
    case FileKind::kPt2:
      return "a torch.export program (.pt2)";
    case FileKind::kText:
      return "text";
    case FileKind::kHybrid:
      return "a hybrid graph (hybrid-1)";
    case FileKind::kEmpty:
      return "an empty file";
    case FileKind::kExecuTorch:
      return "an ExecuTorch program (.pte)";
    case FileKind::kSafetensors:
      return "a safetensors file: tensors without a program";
    case FileKind::kTorchScript:
      return "a TorchScript archive (torch.jit.save)";
    case FileKind::kTorchSave:
      return "a pickle archive (torch.save): tensors without a program";
    case FileKind::kAotInductor:
      return "an AOTInductor package: compiled code without a program";
    case FileKind::kZip:
      return "a zip archive without a torch.export program";
    case FileKind::kPickle:
      return "a pickle";
    case FileKind::kOnnx:
      return "probably an ONNX model";
    case FileKind::kGguf:
      return "a GGUF file: tensors without a program";
    case FileKind::kNumpy:
      return "a NumPy array (.npy)";
    case FileKind::kUnknown:
      return "of no known kind";
  }
  return "";
}

Expected<LoadedProgram> ReadProgram(const std::string& path,
                                    std::shared_ptr<Context> context,
                                    const ReadOptions& options,
                                    Diagnostics& diags) {
  TENON_ASSIGN(const Source source, OpenSource(path, diags));
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
  if (kind == FileKind::kHybrid && path != "-") {
    HybridReadOptions hybrid;
    hybrid.limits = options.limits;
    TENON_ASSIGN(Program program,
                 ReadHybrid(path, std::move(context), hybrid, diags));
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
