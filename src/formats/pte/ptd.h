// External data of ExecuTorch programs, .ptd ("FlatTensor"): tensors and opaque
// bytes by key (docs/formats/pte.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/pte/pte_program.h"
#include "support/atomic_file.h"
#include "support/expected.h"

namespace tenon {

struct PtdTensorLayout {
  static constexpr std::string_view kTable = "TensorLayout";
  PteScalarType type = PteScalarType::kByte;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  friend bool operator==(const PtdTensorLayout&,
                         const PtdTensorLayout&) = default;
};

struct PtdEntry {
  static constexpr std::string_view kTable = "NamedData";
  std::string key;
  uint32_t segment = 0;
  std::optional<PtdTensorLayout> layout;  // none: opaque bytes
  friend bool operator==(const PtdEntry&, const PtdEntry&) = default;
};

struct PtdFile {
  static constexpr std::string_view kTable = "FlatTensor";
  uint32_t version = 0;
  std::vector<PteSegment> segments;
  std::vector<PtdEntry> entries;

  friend bool operator==(const PtdFile&, const PtdFile&) = default;
};

// Reads the tables; segments are views of the mapped file. Structure is checked
// (V-PTE-01 to V-PTE-07); VerifyPtd looks at the rest (verify_pte.h).
Expected<PtdFile> ReadPtd(const std::string& path, Diagnostics& diags);
Expected<PtdFile> ReadPtd(Bytes bytes, std::shared_ptr<const void> owner,
                          const std::string& file, Diagnostics& diags);

// The file appears whole or not at all.
Status WritePtd(const PtdFile& data, const std::string& path,
                Diagnostics& diags);
// The same up to giving the file its name, which is left to the caller, who
// opened `file`; `path` stands in messages.
Status WritePtd(const PtdFile& data, const std::string& path, AtomicFile* file,
                Diagnostics& diags);

}  // namespace tenon
