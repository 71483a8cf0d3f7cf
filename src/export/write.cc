#include "export/export.h"
#include "export/sharing.h"
#include "verify/verify.h"

namespace tenon {

Expected<Pt2WriteReport> WriteProved(const Program& program,
                                     const std::string& path,
                                     const Pt2WriteOptions& options,
                                     Diagnostics& diags) {
  TENON_TRY(CheckSharing(program, diags));
  Pt2WriteOptions checked = options;
  checked.check = [&](const std::string& written) -> Status {
    if (options.check) TENON_TRY(options.check(written));
    Pt2ReadOptions read;
    // Layout A has one method, without a name.
    const bool is_named = options.release == nullptr ||
                          options.release->layout != Pt2Layout::kPlainZip;
    if (is_named) read.method = program.name;
    for (const StorageRecord& storage : program.state.storages) {
      read.allow_weightless |= storage.is_weightless;
    }
    // The same context: what both sides share needs no second copy.
    auto back = ReadPt2(written, program.shared_context(), read, diags);
    if (!back) return Failure{};
    TENON_TRY(Verify(*back, VerifyOptions(), diags));
    return ProveEqual(program, *back, diags);
  };
  return WritePt2(program, path, checked, diags);
}

}  // namespace tenon
