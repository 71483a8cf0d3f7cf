#include <algorithm>
#include <optional>

#include "formats/flatbuffer/flat_encoder.h"
#include "formats/pte/pte.h"
#include "formats/pte/pte_header.h"
#include "formats/pte/pte_schema.h"
#include "formats/pte/segments.h"

namespace tenon {
namespace {

bool IsTooLarge(const PteInlinePayload& payload, uint64_t limit_bytes) {
  return payload.data.bytes.size() > limit_bytes;
}

// Payloads above the limit become segments behind the others; what refers to
// payloads follows. A reference to a payload that doesn't exist stays one.
uint32_t MoveLargePayloads(uint64_t limit_bytes, PteProgram* program) {
  const size_t count = program->inline_payloads.size();
  std::vector<PtePayloadRef> moved_to(count);
  std::vector<PteInlinePayload> kept;
  uint32_t num_moved = 0;
  for (size_t i = 0; i < count; ++i) {
    PteInlinePayload& payload = program->inline_payloads[i];
    if (!IsTooLarge(payload, limit_bytes)) {
      moved_to[i] = {PtePayloadPlace::kInline,
                     static_cast<uint32_t>(kept.size())};
      kept.push_back(std::move(payload));
      continue;
    }
    moved_to[i] = {PtePayloadPlace::kSegment,
                   static_cast<uint32_t>(program->segments.size())};
    program->segments.push_back(
        {payload.data.bytes, payload.data.owner,
         std::max(payload.data.alignment, kPteSegmentAlignment)});
    ++num_moved;
  }
  program->inline_payloads = std::move(kept);
  for (PtePlan& plan : program->plans) {
    for (PteDelegate& delegate : plan.delegates) {
      PtePayloadRef& ref = delegate.payload;
      if (ref.place == PtePayloadPlace::kInline && ref.index < count) {
        ref = moved_to[ref.index];
      }
    }
  }
  return num_moved;
}

class PteWriter {
 public:
  PteWriter(const PteProgram& program, const std::string& path,
            const PteWriteOptions& options, Diagnostics& diags)
      : program_(program), path_(path), options_(options), diags_(diags) {}

  Expected<PteWriteReport> Write() {
    const SegmentLayout layout = LayOutSegments(program_.segments);
    const bool has_segments = layout.size > 0;
    FlatEncoder encoder(kPteIdentifier, has_segments ? kPteHeaderBytes : 0);
    const PteRoot<const PteProgram&> root = {program_, layout.segments};
    std::optional<FlatImage> image = encoder.Root(root);
    if (!image) {
      return diags_.Error(Rule::kUnsupported, Place::File(path_))
             << "the tables are larger than " << FlatEncoder::kMaxBytes
             << " bytes, the most that a FlatBuffer can hold";
    }
    PteHeader header;
    header.program_bytes = image->size;
    if (has_segments) {
      header.segments = {AlignUp(image->size, layout.base_alignment),
                         layout.size};
      PatchPteHeader(header, &image->tables);
    }
    AtomicFile file, data;
    if (!file.Open(path_) || !image->Write(file) ||
        !WriteSegments(program_.segments, layout, header.segments.base, file)) {
      return FailWriting(file);
    }
    if (options_.data != nullptr) {
      if (!data.Open(options_.data_path)) return FailWriting(data);
      TENON_TRY(WritePtd(*options_.data, options_.data_path, &data, diags_));
      report_.data_file_bytes = data.offset();
    }
    report_.file_bytes = file.offset();
    report_.table_bytes = image->size;
    report_.segment_bytes = layout.size;
    TENON_TRY(CheckAndName(&file, &data));
    return report_;
  }

 private:
  Status CheckAndName(AtomicFile* file, AtomicFile* data) {
    const bool has_data = options_.data != nullptr;
    if (options_.check) {
      if (!file->Flush()) return FailWriting(*file);
      if (has_data && !data->Flush()) return FailWriting(*data);
      TENON_TRY(options_.check(file->temporary_path(),
                               has_data ? data->temporary_path() : ""));
    }
    if (has_data) {
      const AtomicFile* failed = CommitBoth(data, file);
      return failed == nullptr ? Status() : FailWriting(*failed);
    }
    return file->Commit() ? Status() : FailWriting(*file);
  }

  Failure FailWriting(const AtomicFile& file) {
    return diags_.Error(Rule::kIo, Place::File(file.path()))
           << "can't be written: " << file.error();
  }

  const PteProgram& program_;
  const std::string& path_;
  const PteWriteOptions& options_;
  Diagnostics& diags_;
  PteWriteReport report_;
};

}  // namespace

Expected<PteWriteReport> WritePte(const PteProgram& program,
                                  const std::string& path,
                                  const PteWriteOptions& options,
                                  Diagnostics& diags) {
  const bool has_large = std::any_of(
      program.inline_payloads.begin(), program.inline_payloads.end(),
      [&](const PteInlinePayload& p) {
        return IsTooLarge(p, options.inline_limit_bytes);
      });
  if (!has_large) return PteWriter(program, path, options, diags).Write();
  PteProgram placed = program;
  const uint32_t num_moved =
      MoveLargePayloads(options.inline_limit_bytes, &placed);
  TENON_ASSIGN(PteWriteReport report,
               PteWriter(placed, path, options, diags).Write());
  report.num_moved_payloads = num_moved;
  return report;
}

}  // namespace tenon
