#include "passes/rewrite.h"

#include <string_view>
#include <utility>

#include "passes/name_outputs.h"
#include "passes/remove_dead_code.h"
#include "support/counted.h"
#include "verify/verify.h"

namespace tenon {
namespace {

class Rewriter {
 public:
  Rewriter(const Program& source, const RewriteOptions& options,
           Diagnostics& diags)
      : program_(source.Clone()), options_(options), diags_(diags) {}

  Status Run() {
    TENON_TRY(VerifyNow());
    if (options_.fold_constants) TENON_TRY(Fold());
    if (options_.remove_dead_code) TENON_TRY(Clean());
    if (options_.move) TENON_TRY(Move());
    if (!options_.output_names.empty()) TENON_TRY(Name());
    return {};
  }

  Program TakeProgram() { return std::move(program_); }
  std::vector<std::string> TakeNotes() { return std::move(notes_); }

 private:
  Status VerifyNow() { return Verify(program_, VerifyOptions(), diags_); }

  void Take(std::vector<std::string> notes) {
    for (std::string& note : notes) notes_.push_back(std::move(note));
  }

  Status Fold() {
    TENON_ASSIGN(FoldConstantsReport report,
                 FoldConstants(&program_, options_.fold, diags_));
    notes_.push_back("folded " + Count(report.num_nodes, "node") + " into " +
                     Count(report.constants.size(), "constant") + " of " +
                     Count(report.bytes, "byte") + "; " +
                     Count(report.num_removed, "constant") + " of " +
                     Count(report.bytes_removed, "byte") + " left");
    Take(std::move(report.notes));
    return VerifyNow();
  }

  Status Clean() {
    RemoveDeadCodeReport report = RemoveDeadCode(&program_);
    notes_.push_back("removed " + Count(report.num_nodes, "node") +
                     " without use, and " + Count(report.num_graphs, "graph") +
                     " that nothing held any more");
    Take(std::move(report.notes));
    return VerifyNow();
  }

  Status Move() {
    TENON_ASSIGN(const MoveDeviceReport report,
                 MoveDevice(&program_, *options_.move, diags_));
    notes_.push_back("moved " + Count(report.num_types, "value") + " and " +
                     Count(report.num_arguments, "argument") +
                     " to another device");
    return VerifyNow();
  }

  Status Name() {
    TENON_TRY(NameOutputs(options_.output_names, &program_, diags_));
    return VerifyNow();
  }

  Program program_;
  const RewriteOptions& options_;
  Diagnostics& diags_;
  std::vector<std::string> notes_;
};

}  // namespace

Expected<std::vector<std::string>> Rewrite(Program* program,
                                           const RewriteOptions& options,
                                           Diagnostics& diags) {
  if (!options.any()) return std::vector<std::string>();
  Rewriter rewriter(*program, options, diags);
  TENON_TRY(rewriter.Run());
  *program = rewriter.TakeProgram();
  return rewriter.TakeNotes();
}

}  // namespace tenon
