#include "picture.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <unordered_map>

#include "json_writer.h"
#include "link/join.h"
#include "support/atomic_file.h"
#include "support/mapped_file.h"
#include "text/text.h"

extern char** environ;

namespace tenon::tools {
namespace {

constexpr size_t kMaxSvgNodes = 2000;

constexpr std::string_view kColors[] = {"#cfe2f3", "#d9ead3", "#fff2cc",
                                        "#f4cccc", "#d9d2e9", "#fce5cd"};

// Graphs of what the program computes: each region that a backend runs is a
// cluster around its nodes. A delegate whose source isn't known is one node.
class DotWriter {
 public:
  explicit DotWriter(const Program& program) : program_(program.Clone()) {
    FindClusters();
    Diagnostics unused;
    if (!ExpandDelegates(&program_, unused) || !JoinAll(&program_, unused)) {
      program_ = program.Clone();
      clusters_.clear();
    }
  }

  std::string Write() {
    out_ =
        "digraph program {\n"
        "  rankdir=TB;\n"
        "  node [shape=box, style=filled, fillcolor=white, "
        "fontname=\"sans-serif\", fontsize=10];\n"
        "  edge [fontname=\"sans-serif\", fontsize=8, color=\"#666666\"];\n"
        "  graph [fontname=\"sans-serif\", fontsize=10];\n";
    const Graph& root = program_.root();
    for (const ValueId v : root.inputs) {
      if (IsState(v)) continue;
      out_ += "  " + Source(v) + " [shape=ellipse, label=" +
              JsonQuote(program_.view(program_.value(v).name)) + "];\n";
    }
    std::map<uint32_t, std::string> clusters;
    for (const NodeId n : program_.nodes(Program::kRoot)) {
      const uint32_t cluster = ClusterOf(n);
      (cluster == kNoCluster ? out_ : clusters[cluster]) += NodeText(n);
    }
    for (const auto& [region, nodes] : clusters) {
      out_ += "  subgraph cluster_" + std::to_string(region) +
              " {\n  label=" + JsonQuote(clusters_.at(region).label) +
              ";\n  style=filled;\n  fillcolor=\"" +
              std::string(ColorOf(clusters_.at(region).backend)) + "\";\n" +
              nodes + "  }\n";
    }
    for (const NodeId n : program_.nodes(Program::kRoot)) WriteEdges(n);
    return out_ + "}\n";
  }

 private:
  static constexpr uint32_t kNoCluster = 0xFFFFFFFFu;
  struct Cluster {
    std::string label, backend;
  };

  // The regions of the root's calls, before the calls are expanded.
  void FindClusters() {
    for (const NodeId n : program_.nodes(Program::kRoot)) {
      const Node& node = program_.node(n);
      GraphId source = node.child;
      Cluster cluster;
      if (node.kind == NodeKind::kDelegateCall) {
        const Delegate& d = program_.delegates[node.delegate.index];
        source = d.source;
        cluster.backend = program_.view(d.backend);
        cluster.label = program_.view(d.name);
      } else if (node.kind == NodeKind::kChildCall) {
        cluster.label = program_.view(program_.graph(node.child).name);
        if (node.region.index < program_.regions.size()) {
          cluster.backend =
              program_.view(program_.regions[node.region.index].backend);
        }
      }
      if (!source.valid()) continue;
      if (!cluster.backend.empty())
        cluster.label += " (" + cluster.backend + ")";
      // Whatever nodes a source holds, they are in the call's cluster.
      const uint32_t id = static_cast<uint32_t>(clusters_.size());
      const uint32_t label = program_.regions.size() + id;
      program_.regions.push_back({});
      for (const NodeId inner : program_.nodes(source)) {
        program_.mutable_node(inner).region = RegionId(label);
      }
      clusters_[label] = std::move(cluster);
    }
  }

  uint32_t ClusterOf(NodeId n) const {
    const uint32_t region = program_.node(n).region.index;
    return clusters_.count(region) > 0 ? region : kNoCluster;
  }

  bool IsState(ValueId v) const {
    const uint32_t i = program_.value(v).index;
    return i < program_.signature.inputs.size() &&
           program_.signature.inputs[i].state.valid();
  }

  static std::string NodeName(NodeId n) {
    return "n" + std::to_string(n.index);
  }
  std::string Source(ValueId v) const {
    const NodeId def = program_.value(v).def;
    return def.valid() ? NodeName(def) : "v" + std::to_string(v.index);
  }

  std::string_view ColorOf(const std::string& backend) {
    const auto [it, added] = colors_.try_emplace(backend, colors_.size());
    return kColors[it->second % std::size(kColors)];
  }

  std::string NodeText(NodeId n) {
    const Node& node = program_.node(n);
    std::string label, style;
    switch (node.kind) {
      case NodeKind::kOp:
        label = program_.op_name(n);
        break;
      case NodeKind::kChildCall:
        label = program_.view(program_.graph(node.child).name);
        break;
      case NodeKind::kDelegateCall: {
        const Delegate& d = program_.delegates[node.delegate.index];
        const std::string backend(program_.view(d.backend));
        label = std::string(program_.view(d.name)) + " (" + backend + ")";
        style = ", fillcolor=\"" + std::string(ColorOf(backend)) + "\"";
        break;
      }
      case NodeKind::kGetState:
        label = "state";
        break;
      case NodeKind::kOutput:
        label = "return";
        style = ", shape=ellipse";
        break;
    }
    return "  " + NodeName(n) + " [label=" + JsonQuote(label) + style + "];\n";
  }

  // Types stand at the edges that cross a boundary.
  void WriteEdges(NodeId n) {
    program_.ForEachOperand(n, [&](ValueId v) {
      const Value& value = program_.value(v);
      if (value.is_input() && IsState(v)) return;
      out_ += "  " + Source(v) + " -> " + NodeName(n);
      const uint32_t from =
          value.def.valid() ? ClusterOf(value.def) : kNoCluster;
      if (from != ClusterOf(n) || from == kNoCluster) {
        out_ += " [label=" + JsonQuote(PrintType(program_, value.type)) + "]";
      }
      out_ += ";\n";
    });
  }

  Program program_;
  std::string out_;
  std::map<uint32_t, Cluster> clusters_;  // by region
  std::unordered_map<std::string, size_t> colors_;
};

// A file that is gone at the end of the scope.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr ? folder : "/tmp") + "/tenon-XXXXXX";
    fd_ = mkstemp(path_.data());
  }
  ~TemporaryFile() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool Write(std::string_view text) {
    while (fd_ >= 0 && !text.empty()) {
      const ssize_t n = write(fd_, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      text.remove_prefix(static_cast<size_t>(n));
    }
    return fd_ >= 0;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
};

// The exit status of `dot -Tsvg INPUT -o OUTPUT`; -1 when it can't be started.
int RunDot(const std::string& input, const std::string& output) {
  const std::string words[] = {"dot", "-Tsvg", input, "-o", output};
  char* argv[6] = {};
  for (size_t i = 0; i < std::size(words); ++i) {
    argv[i] = const_cast<char*>(words[i].c_str());
  }
  pid_t pid = 0;
  if (posix_spawnp(&pid, "dot", nullptr, nullptr, argv, environ) != 0) {
    return -1;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  // A shell-like code for a program that wasn't found after all.
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

std::string GraphAsDot(const Program& program) {
  return DotWriter(program).Write();
}

Status WriteSvg(const Program& program, const std::string& path,
                Diagnostics& diags) {
  const size_t num_nodes = program.CountNodes(Program::kRoot);
  if (num_nodes > kMaxSvgNodes) {
    return diags.Error(Rule::kUnsupported)
           << "a graph of " << num_nodes << " nodes is too large to lay out; "
           << "--dot writes up to any size";
  }
  TemporaryFile dot, svg;
  if (!dot.Write(GraphAsDot(program)) || !svg.Write("")) {
    return diags.Error(Rule::kIo)
           << "a temporary file can't be written: " << std::strerror(errno);
  }
  const int status = RunDot(dot.path(), svg.path());
  if (status == -1 || status == 127) {
    return diags.Error(Rule::kUnsupported)
           << "an SVG needs Graphviz, whose program 'dot' isn't installed; "
           << "--dot writes the graph in its language";
  }
  if (status != 0) {
    return diags.Error(Rule::kIo)
           << "Graphviz's 'dot' failed with exit code " << status;
  }
  std::string error;
  const auto content = MappedFile::Open(svg.path(), &error);
  if (content == nullptr) {
    return diags.Error(Rule::kIo) << "the SVG can't be read: " << error;
  }
  AtomicFile file;
  if (file.Open(path) && file.Write(content->bytes()) && file.Commit()) {
    return {};
  }
  return diags.Error(Rule::kIo, Place::File(path)) << file.error();
}

}  // namespace tenon::tools
