// The text form: all that the IR holds, readable and writable by hand. The
// language is described in docs/text-form.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "diag/diagnostics.h"
#include "diag/limits.h"
#include "ir/program.h"
#include "support/byte_cursor.h"
#include "support/expected.h"
#include "support/hash.h"

namespace tenon {

struct PrintOptions {
  bool metadata = true;  // node metadata, file info
  // Without them only sizes are printed; that doesn't parse back.
  bool state_bytes = true;
  // Payloads and storages of at most this many bytes stand in the text as hex;
  // larger ones are named by digest and given to `side_file`.
  size_t inline_limit_bytes = 64;
  // May be empty: then large payloads are named by digest only, and the text
  // parses back only with a source that knows them.
  std::function<void(const Digest&, Bytes)> side_file;
};

// The whole program. Deterministic; parses back to an equal program, whose
// text is the same.
std::string PrintProgram(const Program& program, const PrintOptions& options);
// One graph or node in the same notation, for messages and diffs.
std::string PrintGraph(const Program& program, GraphId graph,
                       const PrintOptions& options);
// Repeated labels aren't told apart, and hints of sizes are left out.
std::string PrintNode(const Program& program, NodeId node);
std::string PrintType(const Program& program, TypeId type);

// Large payloads by digest. Null bytes when unknown.
using PayloadSource =
    std::function<std::pair<Bytes, std::shared_ptr<const void>>(
        const Digest& digest)>;

// Errors carry line, column and the source line. Text after the end is an
// error.
Expected<Program> ParseProgram(std::string_view text,
                               const std::string& file_name,
                               std::shared_ptr<Context> context,
                               const PayloadSource& payloads,
                               Diagnostics& diags,
                               const ReadLimits& limits = {});

// A side file: payloads one after the other, each found by its digest.
Status WriteSideFile(const std::string& path,
                     const std::map<Digest, Bytes>& payloads,
                     Diagnostics& diags);
Expected<PayloadSource> OpenSideFile(const std::string& path,
                                     Diagnostics& diags);

}  // namespace tenon
