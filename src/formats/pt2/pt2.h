// The .pt2 archives of torch.export: facts in docs/formats/pt2.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "diag/limits.h"
#include "formats/pt2/release.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

struct Pt2ReadOptions {
  // The method to read; "" = "model", or the only one.
  std::string method;
  ReadLimits limits;
  // Compare members' checksums with the directory. Touches every weight.
  bool check_crc = false;
  // Programs saved without their weights (from fake tensors) have empty records
  // where tensors have elements; so have damaged ones. Accepted only on demand,
  // and of files that say that they were stripped (stripped.h).
  bool allow_weightless = false;
};

// The names of the methods (models/<name>.json) in the archive.
Expected<std::vector<std::string>> ListPt2Methods(const std::string& path,
                                                  Diagnostics& diags);

// Reads one method. Weights stay in the mapped file: the program holds the
// mapping, and no weight is touched. Nothing in the file is executed. Errors
// name the member and the byte offset or JSON path.
Expected<Program> ReadPt2(const std::string& path,
                          std::shared_ptr<Context> context,
                          const Pt2ReadOptions& options, Diagnostics& diags);
// The same from bytes in memory; `file_name` stands in messages.
Expected<Program> ReadPt2(Bytes bytes, std::shared_ptr<const void> owner,
                          const std::string& file_name,
                          std::shared_ptr<Context> context,
                          const Pt2ReadOptions& options, Diagnostics& diags);

struct Pt2WriteOptions {
  // Root folder of the archive; "" = the output file's stem. Layout A has none.
  std::string root;
  // The release that is to open the file. Null: layout C, with the schema that
  // the program came with.
  const Pt2Release* release = nullptr;
  // Called with the path of the finished file before it gets its name; when it
  // fails, no file appears. It reports its own errors.
  std::function<Status(const std::string& path)> check;
};

// What differs on purpose from a verbatim copy, one sentence each.
struct Pt2WriteReport {
  std::vector<std::string> notes;
  uint64_t file_bytes = 0;
  uint64_t weight_bytes = 0;
};

// Same program and options give the same bytes. The file appears whole or not
// at all. What the release's schema or layout can't say is an error that names
// it (V-FILE-11).
Expected<Pt2WriteReport> WritePt2(const Program& program,
                                  const std::string& path,
                                  const Pt2WriteOptions& options,
                                  Diagnostics& diags);

}  // namespace tenon
