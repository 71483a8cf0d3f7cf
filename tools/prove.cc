// tenon prove: do two files hold the same program?
#include "analysis/digest.h"
#include "console.h"
#include "export/divergence.h"
#include "json_writer.h"
#include "read_program.h"
#include "state_diff.h"
#include "verbs.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--no-state", 0, "",
     "Compares only the wiring, not the bytes of weights and buffers."},
    {"--json", 0, "", "Writes JSON."},
    {"--method", 'm', "NAME",
     "The method to read from both. Default: 'model', or the only one."},
};

struct Proof {
  Digest a, b;
  std::optional<Divergence> divergence;
  bool compares_state = true;
  std::vector<StateDifference> state;

  bool is_equal() const { return a == b && state.empty(); }
};

std::string TextProof(const Proof& proof) {
  std::string out;
  const auto line = [&](std::string_view head, std::string_view text) {
    out.append(head).append(text).append("\n");
  };
  if (proof.is_equal()) {
    line("same program", proof.compares_state ? ", same state" : "");
  } else if (proof.a == proof.b) {
    line("same program, different state", "");
  } else {
    line("different programs", "");
  }
  line("  A  ", proof.a.ToHex());
  line("  B  ", proof.b.ToHex());
  if (proof.divergence) {
    const Divergence& d = *proof.divergence;
    line("they part at ", d.root + ":");
    line("  A  ", d.source);
    if (!d.source_line.empty()) line("     at ", d.source_line);
    line("  B  ", d.result);
    if (!d.result_line.empty()) line("     at ", d.result_line);
  }
  for (const StateDifference& s : proof.state) {
    line("state ", s.fqn + ": " + s.what + " " +
                       (s.what == "bytes" ? "differ (" + s.a + ")"
                        : s.a.empty()     ? s.b
                        : s.b.empty()     ? s.a
                                          : s.a + " and " + s.b));
  }
  return out;
}

std::string JsonProof(const Proof& proof) {
  JsonWriter json;
  json.BeginObject();
  json.Member("equal", proof.is_equal());
  json.Member("same_wiring", proof.a == proof.b);
  json.Member("digest_a", proof.a.ToHex());
  json.Member("digest_b", proof.b.ToHex());
  json.Key("divergence");
  if (proof.divergence) {
    json.BeginObject();
    json.Member("root", proof.divergence->root);
    json.Member("a", proof.divergence->source);
    json.Member("b", proof.divergence->result);
    json.Member("line_a", proof.divergence->source_line);
    json.Member("line_b", proof.divergence->result_line);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Member("compares_state", proof.compares_state);
  json.Key("state");
  json.BeginArray();
  for (const StateDifference& s : proof.state) {
    json.BeginObject();
    json.Member("fqn", s.fqn);
    json.Member("what", s.what);
    json.Member("a", s.a);
    json.Member("b", s.b);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

ExitCode Run(const CommandLine& line, Console& console) {
  Diagnostics diags;
  ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  const auto context = std::make_shared<Context>();
  const Expected<LoadedProgram> a =
      ReadProgram(line.arguments()[0], context, read, diags);
  const Expected<LoadedProgram> b =
      ReadProgram(line.arguments()[1], context, read, diags);
  if (!a || !b) return Finish(diags, console);

  Proof proof;
  proof.a = WiringDigest(a->program);
  proof.b = WiringDigest(b->program);
  proof.divergence = FindDivergence(a->program, b->program);
  proof.compares_state = !line.Has("--no-state");
  if (proof.compares_state) proof.state = CompareState(a->program, b->program);
  console.Out(line.Has("--json") ? JsonProof(proof) : TextProof(proof));
  const ExitCode code = Finish(diags, console);
  if (code != ExitCode::kFine) return code;
  return proof.is_equal() ? ExitCode::kFine : ExitCode::kFinding;
}

}  // namespace

const Verb kProveVerb = {
    "prove",
    "A B",
    2,
    2,
    "proves that two files hold the same program",
    "Compares the wiring digests of two programs: hashes of what every output, "
    "mutation and effect is as an expression over inputs and state. Names, "
    "metadata and the order of independent nodes don't enter; delegates count "
    "as the graphs that they were compiled from. Where the digests differ, the "
    "first place in which the programs part is shown from both sides, and the "
    "exit code is 1. State is compared byte by byte under its FQNs.",
    "tenon prove model.pt2 partitioned.pt2\n"
    "tenon prove --no-state base.pt2 finetuned.pt2\n",
    kOptions,
    Run};

}  // namespace tenon::tools
