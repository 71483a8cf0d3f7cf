// tenon diff: what changed between two programs.
#include "analysis/digest.h"
#include "console.h"
#include "export/expression_text.h"
#include "export/report.h"
#include "graph_diff.h"
#include "json_writer.h"
#include "pte_verbs.h"
#include "read_program.h"
#include "sequence_diff.h"
#include "state_diff.h"
#include "support/hash.h"
#include "text/text.h"
#include "verbs.h"
#include "verdict.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--structure", 0, "",
     "Aligns the graphs even when both digests are equal: shows other order, "
     "delegates, children."},
    {"--no-state", 0, "", "Doesn't compare the bytes of weights and buffers."},
    {"--json", 0, "", "Writes JSON."},
    {"--method", 'm', "NAME",
     "The method to read from both. Default: 'model', or the only one."},
};

struct LineChange {
  char sign;  // '-' or '+'
  std::string text;
};

std::vector<LineChange> DiffLines(const std::vector<std::string>& a,
                                  const std::vector<std::string>& b) {
  const auto keys = [](const std::vector<std::string>& lines) {
    std::vector<uint64_t> out;
    for (const std::string& line : lines) {
      out.push_back(HashBytes(line.data(), line.size()).low);
    }
    return out;
  };
  std::vector<LineChange> out;
  for (const Edit& edit : DiffSequences(keys(a), keys(b))) {
    if (edit.kind == Edit::Kind::kRemove) out.push_back({'-', a[edit.a]});
    if (edit.kind == Edit::Kind::kAdd) out.push_back({'+', b[edit.b]});
  }
  return out;
}

struct Difference {
  Digest digest_a, digest_b;
  std::vector<LineChange> signature;
  std::vector<GraphDiff> graphs;
  std::vector<StateDifference> state;

  bool is_same_program() const { return digest_a == digest_b; }
};

std::string NodeLine(const Program& program, NodeId node) {
  const std::string source = SourceLine(program, node);
  return PrintNode(program, node) + (source.empty() ? "" : "  ; " + source);
}

class TextDiff {
 public:
  TextDiff(const Program& a, const Program& b, const Difference& difference)
      : a_(a), b_(b), difference_(difference) {}

  std::string Write() {
    out_ = difference_.is_same_program() ? "same program\n"
                                         : "different programs\n";
    out_ += "  A  " + difference_.digest_a.ToHex() + "\n";
    out_ += "  B  " + difference_.digest_b.ToHex() + "\n";
    if (!difference_.signature.empty()) {
      out_ += "signature:\n";
      for (const LineChange& line : difference_.signature) {
        Line(line.sign, line.text);
      }
    }
    for (const GraphDiff& graph : difference_.graphs) WriteGraph(graph);
    if (!difference_.state.empty()) out_ += "state:\n";
    for (const StateDifference& s : difference_.state) {
      if (s.what == "bytes") {
        out_ += "  " + s.fqn + ": other bytes\n";
        continue;
      }
      if (!s.a.empty()) Line('-', s.fqn + ": " + s.a);
      if (!s.b.empty()) Line('+', s.fqn + ": " + s.b);
    }
    return std::move(out_);
  }

 private:
  void Line(char sign, const std::string& text) {
    out_ += sign;
    out_ += " " + text + "\n";
  }

  void WriteGraph(const GraphDiff& graph) {
    size_t num_removed = 0, num_added = 0, num_changed = 0;
    for (const NodeChange& c : graph.changes) {
      ++(!c.b.valid() ? num_removed : !c.a.valid() ? num_added : num_changed);
    }
    out_ += "graph " + std::string(a_.view(a_.graph(graph.a).name)) + ": " +
            std::to_string(num_removed) + " removed, " +
            std::to_string(num_added) + " added, " +
            std::to_string(num_changed) + " changed, " +
            std::to_string(graph.num_equal) + " equal\n";
    for (const NodeChange& c : graph.changes) {
      if (c.a.valid()) Line('-', NodeLine(a_, c.a));
      if (c.b.valid()) Line('+', NodeLine(b_, c.b));
    }
  }

  const Program& a_;
  const Program& b_;
  const Difference& difference_;
  std::string out_;
};

void WriteJsonNode(std::string_view key, const Program& program, NodeId node,
                   JsonWriter* json) {
  json->Key(key);
  if (!node.valid()) {
    json->Null();
    return;
  }
  json->BeginObject();
  json->Member("text", PrintNode(program, node));
  json->Member("line", SourceLine(program, node));
  json->EndObject();
}

std::string JsonDiff(const Program& a, const Program& b,
                     const Difference& difference) {
  JsonWriter json;
  json.BeginObject();
  json.Member("same_program", difference.is_same_program());
  json.Member("digest_a", difference.digest_a.ToHex());
  json.Member("digest_b", difference.digest_b.ToHex());
  json.Key("signature");
  json.BeginArray();
  for (const LineChange& line : difference.signature) {
    json.String(std::string(1, line.sign) + " " + line.text);
  }
  json.EndArray();
  json.Key("graphs");
  json.BeginArray();
  for (const GraphDiff& graph : difference.graphs) {
    json.BeginObject();
    json.Member("graph", a.view(a.graph(graph.a).name));
    json.Member("equal", uint64_t{graph.num_equal});
    json.Key("changes");
    json.BeginArray();
    for (const NodeChange& c : graph.changes) {
      json.BeginObject();
      json.Member("kind", !c.b.valid()   ? "removed"
                          : !c.a.valid() ? "added"
                                         : "changed");
      WriteJsonNode("a", a, c.a, &json);
      WriteJsonNode("b", b, c.b, &json);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.Key("state");
  json.BeginArray();
  for (const StateDifference& s : difference.state) {
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
  if (IsPte(line.arguments()[0]) && IsPte(line.arguments()[1])) {
    return DiffPte(line, console);
  }
  Diagnostics diags;
  ReadOptions read;
  read.limits = line.read_limits();
  read.method = line.Get("--method");
  const auto context = std::make_shared<Context>();
  const Expected<LoadedProgram> loaded_a =
      ReadProgram(line.arguments()[0], context, read, diags);
  const Expected<LoadedProgram> loaded_b =
      ReadProgram(line.arguments()[1], context, read, diags);
  if (!loaded_a || !loaded_b) return Finish(diags, console);
  const Program& a = loaded_a->program;
  const Program& b = loaded_b->program;

  Difference difference;
  difference.digest_a = WiringDigest(a);
  difference.digest_b = WiringDigest(b);
  if (!difference.is_same_program() || line.Has("--structure")) {
    difference.signature =
        DiffLines(DescribeSignature(a), DescribeSignature(b));
    difference.graphs = DiffPrograms(a, b);
  }
  if (!line.Has("--no-state")) difference.state = CompareState(a, b);
  console.Out(line.Has("--json") ? JsonDiff(a, b, difference)
                                 : TextDiff(a, b, difference).Write());
  const ExitCode code = Finish(diags, console);
  if (code != ExitCode::kFine) return code;
  const bool is_same = difference.is_same_program() && difference.state.empty();
  return is_same ? ExitCode::kFine : ExitCode::kFinding;
}

}  // namespace

const Verb kDiffVerb = {
    "diff",
    "A B",
    2,
    2,
    "shows what changed between two programs",
    "First compares the wiring digests; equal digests mean the same program, "
    "whatever the names and the order of nodes. Otherwise it aligns both "
    "graphs and shows removed (-), added (+) and changed (- +) nodes in the "
    "text form, with the line of Python that they come from where the file "
    "says so. Two .pte are compared line by line in the listing that 'tenon "
    "dis' gives. Ends with 0 when program and state are the same, else with 1.",
    "tenon diff before.pt2 after.pt2\n"
    "tenon diff --structure model.pt2 partitioned.pt2\n",
    kOptions,
    Run};

}  // namespace tenon::tools
