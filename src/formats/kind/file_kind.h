// Which kind of file some bytes are: the formats that Tenon reads, and those
// that people take for them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "support/byte_cursor.h"

namespace tenon {

enum class FileKind : uint8_t {
  kPt2,     // layouts A, B and C of torch.export
  kText,    // Tenon's text form, or any other text
  kHybrid,  // a graph with children, in the encoding hybrid-1
  kEmpty,
  kExecuTorch,      // .pte
  kExecuTorchData,  // .ptd
  kSafetensors,
  kTorchScript,   // a zip of torch.jit.save
  kTorchSave,     // a zip of torch.save
  kLegacySave,    // a stream of torch.save before torch 1.6
  kTorchPackage,  // a zip of torch.package: pickles and Python sources
  kAotInductor,   // a package of compiled models
  kZip,           // another zip
  kPickle,
  kOnnx,
  kGguf,
  kNumpy,         // .npy
  kNumpyArchive,  // .npz
  kHdf5,
  kTar,
  kNativeCode,  // ELF, Mach-O or PE
  kUnknown,
};

// By content; the name plays no part. Looks at the first bytes and, of a zip,
// at the names in its directory. A damaged zip passes for a .pt2, whose reader
// says what is wrong.
FileKind RecogniseFile(Bytes bytes);
// What an archive with members of these names is.
FileKind RecogniseArchive(std::span<const std::string_view> names);

// "an ExecuTorch program (.pte)".
std::string_view Describe(FileKind kind);
// What opens such a file: "torch.jit.load". "" when nothing is known to.
std::string_view OpenerOf(FileKind kind);
// "pte", for JSON.
std::string_view ShortName(FileKind kind);

// ELF, Mach-O, PE: code that a processor runs.
bool IsNativeCode(Bytes bytes);

}  // namespace tenon
