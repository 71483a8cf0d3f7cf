#include "formats/flatbuffer/flat_decoder.h"
#include "formats/pte/pte.h"
#include "formats/pte/pte_header.h"
#include "formats/pte/pte_schema.h"
#include "formats/pte/segments.h"
#include "support/mapped_file.h"

namespace tenon {
namespace {

constexpr FlatRules kRules = {Rule::kPte03, Rule::kPte05, Rule::kPte04};

}  // namespace

Expected<PteProgram> ReadPte(Bytes bytes, std::shared_ptr<const void> owner,
                             const std::string& file, Diagnostics& diags) {
  TENON_ASSIGN(const PteHeader header, ReadPteHeader(bytes, file, diags));
  PteProgram program;
  PteRoot<PteProgram&> root = {program, {}};
  FlatDecoder decoder(bytes.first(header.program_bytes), owner, file, kRules,
                      diags);
  TENON_TRY(decoder.Root(root));
  if (program.version != 0) {
    return diags.Error(Rule::kPte06, Place::File(file))
           << "schema version " << program.version << ", expected 0";
  }
  TENON_ASSIGN(program.segments, FindSegments(root.segments, header.segments,
                                              bytes, owner, file, diags));
  return program;
}

Expected<PteProgram> ReadPte(const std::string& path, Diagnostics& diags) {
  std::string error;
  const auto file = MappedFile::Open(path, &error);
  if (file == nullptr) {
    return diags.Error(Rule::kIo, Place::File(path))
           << "can't be read: " << error;
  }
  return ReadPte(file->bytes(), file, path, diags);
}

}  // namespace tenon
