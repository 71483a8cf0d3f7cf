#include "formats/kind/file_kind.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "formats/zip/zip_reader.h"

namespace tenon {
namespace {

using namespace std::string_view_literals;

struct KindInfo {
  FileKind kind;
  std::string_view short_name;
  std::string_view description;
  std::string_view opener;
};
constexpr KindInfo kKinds[] = {
    {FileKind::kPt2, "pt2", "a torch.export program (.pt2)",
     "torch.export.load"},
    {FileKind::kText, "text", "text", "tenon asm, if it is Tenon's form"},
    {FileKind::kHybrid, "hybrid", "a hybrid graph (hybrid-1)", "tenon join"},
    {FileKind::kEmpty, "empty", "an empty file", ""},
    {FileKind::kExecuTorch, "pte", "an ExecuTorch program (.pte)",
     "executorch.runtime, or ExecuTorch's C++ Module"},
    {FileKind::kExecuTorchData, "ptd", "ExecuTorch's tensors (.ptd)",
     "ExecuTorch, beside the .pte that they belong to"},
    {FileKind::kSafetensors, "safetensors",
     "a safetensors file: tensors without a program",
     "safetensors.torch.load_file"},
    {FileKind::kTorchScript, "torchscript",
     "a TorchScript archive (torch.jit.save)", "torch.jit.load"},
    {FileKind::kTorchSave, "torch_save",
     "a pickle archive (torch.save): tensors without a program",
     "torch.load(weights_only=True)"},
    {FileKind::kLegacySave, "legacy_torch_save",
     "a stream of pickles (torch.save before 1.6)",
     "torch.load(weights_only=True)"},
    {FileKind::kTorchPackage, "torch_package",
     "a torch.package: pickles and the Python code for them",
     "torch.package.PackageImporter, which runs that code"},
    {FileKind::kAotInductor, "aotinductor",
     "an AOTInductor package: compiled code without a program",
     "torch._inductor.aoti_load_package, which runs that code"},
    {FileKind::kZip, "zip", "a zip archive without a torch.export program",
     "unzip"},
    {FileKind::kPickle, "pickle", "a pickle",
     "pickle.load, or torch.load for tensors"},
    {FileKind::kOnnx, "onnx", "probably an ONNX model", "onnxruntime"},
    {FileKind::kGguf, "gguf", "a GGUF file: tensors without a program",
     "llama.cpp"},
    {FileKind::kNumpy, "npy", "a NumPy array (.npy)", "numpy.load"},
    {FileKind::kNumpyArchive, "npz", "an archive of NumPy arrays (.npz)",
     "numpy.load"},
    {FileKind::kHdf5, "hdf5", "an HDF5 file", "h5py, or Keras for its models"},
    {FileKind::kTar, "tar", "a tar archive", "tar"},
    {FileKind::kNativeCode, "native", "native code: a library or a program",
     "the system's loader, which runs it"},
    {FileKind::kUnknown, "unknown", "of no known kind", ""},
};

const KindInfo& Info(FileKind kind) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds),
                       [kind](const KindInfo& k) { return k.kind == kind; });
}

bool StartsWith(Bytes bytes, std::string_view magic, size_t at = 0) {
  return AsText(bytes).size() >= at + magic.size() &&
         AsText(bytes).substr(at, magic.size()) == magic;
}

// An archive without a directory goes to the .pt2 reader, which says why.
FileKind RecogniseZip(Bytes bytes) {
  const auto names = ListZipNames(bytes);
  return names ? RecogniseArchive(*names) : FileKind::kPt2;
}

bool LooksLikeSafetensors(Bytes bytes) {
  ByteCursor cursor(bytes);
  const std::optional<uint64_t> header = cursor.Read<uint64_t>();
  return header && *header >= 2 && *header <= cursor.left() &&
         StartsWith(bytes, "{", 8);
}

// Hybrid documents begin with their format's name.
bool LooksLikeHybrid(Bytes bytes) {
  const std::string_view start = AsText(bytes).substr(0, 200);
  return start.find("\"format\"") != std::string_view::npos &&
         start.find("\"hybrid-") != std::string_view::npos;
}

// Text without control characters, as far as the first bytes tell.
bool LooksLikeText(Bytes bytes) {
  constexpr size_t kProbe = 512;
  const std::string_view start = AsText(bytes).substr(0, kProbe);
  return std::none_of(start.begin(), start.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' &&
           c != '\r';
  });
}

// An ONNX file has no magic: field 1 (ir_version, varint) comes first, then
// usually field 2, the producer.
bool LooksLikeOnnx(Bytes bytes) {
  return bytes.size() > 4 && StartsWith(bytes, "\x08") &&
         static_cast<unsigned>(bytes[1]) < 32 && StartsWith(bytes, "\x12", 2);
}

// PROTO and a version. Protocols 0 and 1 have no magic: their files begin with
// an import or a mark and end with STOP.
bool LooksLikePickle(Bytes bytes) {
  if (bytes.size() > 2 && StartsWith(bytes, "\x80")) {
    return static_cast<unsigned>(bytes[1]) <= 5;
  }
  return bytes.size() > 3 && AsText(bytes).back() == '.' &&
         "c(}])ilS"sv.find(AsText(bytes).front()) != std::string_view::npos &&
         AsText(bytes).find('\n') != std::string_view::npos;
}

struct Magic {
  size_t at;
  std::string_view bytes;
  FileKind kind;
};
constexpr Magic kMagics[] = {
    {4, "ET1", FileKind::kExecuTorch},
    {4, "FT01", FileKind::kExecuTorchData},
    {0, "GGUF", FileKind::kGguf},
    {0, "\x93NUMPY", FileKind::kNumpy},
    {0, "\x89HDF\r\n", FileKind::kHdf5},
    {257, "ustar", FileKind::kTar},
    // The number that begins torch.save's streams, 0x1950a86a20f9469cfc6c.
    {0, "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv,
     FileKind::kLegacySave},
};

}  // namespace

bool IsNativeCode(Bytes bytes) {
  constexpr std::string_view kStarts[] = {
      "\x7f"
      "ELF"sv,
      "\xfe\xed\xfa\xce"sv,
      "\xfe\xed\xfa\xcf"sv,
      "\xce\xfa\xed\xfe"sv,
      "\xcf\xfa\xed\xfe"sv,
      "\xca\xfe\xba\xbe"sv};
  if (std::any_of(std::begin(kStarts), std::end(kStarts),
                  [bytes](auto s) { return StartsWith(bytes, s); })) {
    return true;
  }
  // "MZ", and at the place that byte 60 names "PE".
  ByteCursor cursor(bytes, 60);
  const auto at = cursor.Read<uint32_t>();
  return StartsWith(bytes, "MZ") && at && StartsWith(bytes, "PE\0\0"sv, *at);
}

FileKind RecogniseArchive(std::span<const std::string_view> names) {
  bool has_archive_format = false, has_models = false, has_inductor = false;
  bool has_layout_a = false, has_code = false, has_pickle = false;
  bool has_modules = false;
  bool are_arrays = !names.empty();
  for (const std::string_view name : names) {
    if (name == "serialized_exported_program.json") has_layout_a = true;
    if (!name.ends_with(".npy")) are_arrays = false;
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view inner = name.substr(slash + 1);
    if (inner == "archive_format") has_archive_format = true;
    if (inner.starts_with("models/")) has_models = true;
    if (inner.starts_with("data/aotinductor/")) has_inductor = true;
    if (inner.starts_with("code/")) has_code = true;
    if (inner == "data.pkl") has_pickle = true;
    if (inner == ".data/extern_modules") has_modules = true;
  }
  if (has_inductor && !has_models) return FileKind::kAotInductor;
  if (has_archive_format || has_models || has_layout_a) return FileKind::kPt2;
  if (has_modules) return FileKind::kTorchPackage;
  if (has_pickle) {
    return has_code ? FileKind::kTorchScript : FileKind::kTorchSave;
  }
  return are_arrays ? FileKind::kNumpyArchive : FileKind::kZip;
}

FileKind RecogniseFile(Bytes bytes) {
  if (bytes.empty()) return FileKind::kEmpty;
  // "PK" and any of the signatures that may stand first.
  if (StartsWith(bytes, "PK\003\004") || StartsWith(bytes, "PK\005\006")) {
    return RecogniseZip(bytes);
  }
  for (const Magic& magic : kMagics) {
    if (StartsWith(bytes, magic.bytes, magic.at)) return magic.kind;
  }
  if (IsNativeCode(bytes)) return FileKind::kNativeCode;
  // Before pickles: a header's size may begin like one.
  if (LooksLikeSafetensors(bytes)) return FileKind::kSafetensors;
  if (StartsWith(bytes, "\x80") && LooksLikePickle(bytes)) {
    return FileKind::kPickle;
  }
  if (LooksLikeOnnx(bytes)) return FileKind::kOnnx;
  if (LooksLikeHybrid(bytes)) return FileKind::kHybrid;
  if (LooksLikePickle(bytes)) return FileKind::kPickle;
  if (LooksLikeText(bytes)) return FileKind::kText;
  return FileKind::kUnknown;
}

std::string_view Describe(FileKind kind) { return Info(kind).description; }
std::string_view OpenerOf(FileKind kind) { return Info(kind).opener; }
std::string_view ShortName(FileKind kind) { return Info(kind).short_name; }

}  // namespace tenon
