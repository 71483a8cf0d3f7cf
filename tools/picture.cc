#include "picture.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "json_writer.h"
#include "support/atomic_file.h"
#include "support/mapped_file.h"
#include "text/text.h"

extern char** environ;

namespace tenon::tools {
namespace {

constexpr size_t kMaxSvgNodes = 2000;

constexpr std::string_view kColors[] = {"#cfe2f3", "#d9ead3", "#fff2cc",
                                        "#f4cccc", "#d9d2e9", "#fce5cd"};

class DotWriter {
 public:
  explicit DotWriter(const Program& program) : program_(program) {}

  std::string Write() {
    out_ =
        "digraph program {\n"
        "  rankdir=TB;\n"
        "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
        "  edge [fontname=\"sans-serif\", fontsize=8, color=\"#666666\"];\n";
    const Graph& root = program_.root();
    for (const ValueId v : root.inputs) {
      if (IsState(v)) continue;
      out_ += "  " + Source(v) + " [shape=ellipse, label=" +
              JsonQuote(program_.view(program_.value(v).name)) + "];\n";
    }
    for (const NodeId n : program_.nodes(Program::kRoot)) WriteNode(n);
    return out_ + "}\n";
  }

 private:
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

  std::string_view ColorOf(std::string_view backend) {
    const auto [it, added] = colors_.try_emplace(backend, colors_.size());
    return kColors[it->second % std::size(kColors)];
  }

  void WriteNode(NodeId n) {
    const Node& node = program_.node(n);
    std::string label, style;
    switch (node.kind) {
      case NodeKind::kOp:
        label = program_.op_name(n);
        break;
      case NodeKind::kChildCall:
        label = program_.view(program_.graph(node.child).name);
        label += "\n" + std::to_string(program_.CountNodes(node.child)) +
                 " nodes";
        style = Filled(RegionBackend(node));
        break;
      case NodeKind::kDelegateCall: {
        const Delegate& d = program_.delegates[node.delegate.index];
        label = std::string(program_.view(d.name)) + " (" +
                std::string(program_.view(d.backend)) + ")";
        if (d.source.valid()) {
          label += "\n" + std::to_string(program_.CountNodes(d.source)) +
                   " nodes";
        }
        style = Filled(program_.view(d.backend));
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
    out_ += "  " + NodeName(n) + " [label=" + JsonQuote(label) + style +
            "];\n";
    program_.ForEachOperand(n, [&](ValueId v) {
      const Value& value = program_.value(v);
      if (value.is_input() && IsState(v)) return;
      out_ += "  " + Source(v) + " -> " + NodeName(n) + " [label=" +
              JsonQuote(PrintType(program_, value.type)) + "];\n";
    });
  }

  std::string_view RegionBackend(const Node& node) const {
    if (node.region.index >= program_.regions.size()) return "";
    return program_.view(program_.regions[node.region.index].backend);
  }

  std::string Filled(std::string_view backend) {
    return ", style=filled, fillcolor=\"" + std::string(ColorOf(backend)) +
           "\"";
  }

  const Program& program_;
  std::string out_;
  std::unordered_map<std::string_view, size_t> colors_;
};

// A file that is gone at the end of the scope.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr ? folder : "/tmp") +
            "/tenon-XXXXXX";
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
