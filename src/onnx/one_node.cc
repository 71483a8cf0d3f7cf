#include "onnx/one_node.h"

#include <unordered_map>
#include <vector>

#include "ir/clone.h"

namespace tenon::onnx {
namespace {

class Extractor {
 public:
  explicit Extractor(const Program& from)
      : from_(from), out_(from.shared_context()) {
    out_.AddGraph("main");
  }

  Program Run(NodeId source) && {
    const Node& node = from_.node(source);
    from_.ForEachOperand(source, [&](ValueId v) {
      if (inputs_.contains(v.index)) return;
      inputs_[v.index] =
          out_.AddInput(Program::kRoot, from_.value(v).type, StringId());
    });
    const NodeId n = out_.NewNode(node.kind);
    out_.mutable_node(n).op = node.op;
    out_.mutable_node(n).form = node.form;
    out_.mutable_node(n).metadata = node.metadata;
    out_.mutable_node(n).single_return = node.single_return;
    out_.SetArgRange(n, Copy(node.args, n));
    const ValueRange results = out_.NewResults(n, node.results.count);
    for (uint32_t i = 0; i < results.count; ++i) {
      out_.mutable_value(results[i]).type = from_.value(node.results[i]).type;
    }
    out_.Append(Program::kRoot, n);
    std::vector<ValueId> read;
    for (uint32_t i = 0; i < results.count; ++i) {
      if (from_.value(node.results[i]).num_uses > 0) read.push_back(results[i]);
    }
    const NodeId output = out_.root().output;
    const ArgRange outputs = out_.NewArgs(static_cast<uint32_t>(read.size()));
    for (uint32_t i = 0; i < outputs.count; ++i) {
      out_.SetValueArg(outputs[i], output, read[i]);
    }
    out_.SetOutputs(Program::kRoot, outputs);
    out_.ranges = from_.ranges;
    out_.signature.inputs.resize(out_.root().inputs.size());
    out_.signature.outputs.resize(outputs.count);
    return std::move(out_);
  }

 private:
  ArgRange Copy(ArgRange range, NodeId user) {
    const ArgRange copy = out_.NewArgs(range.count);
    for (uint32_t i = 0; i < range.count; ++i) {
      Arg arg = from_.arg(range[i]);
      out_.SetArgLabel(copy[i], arg.name, arg.pass);
      if (arg.is_value()) {
        out_.SetValueArg(copy[i], user, inputs_[arg.value().index]);
        continue;
      }
      if (arg.has_items()) arg.list = Copy(arg.list, user);
      if (arg.kind == ArgKind::kGraph) {
        arg.graph = CloneGraph(from_, arg.graph, &out_, &clones_);
      }
      out_.SetArg(copy[i], arg);
    }
    return copy;
  }

  const Program& from_;
  Program out_;
  std::unordered_map<uint32_t, ValueId> inputs_;  // by original value
  CloneMap clones_;
};

}  // namespace

Program ExtractNode(const Program& program, NodeId node) {
  return Extractor(program).Run(node);
}

}  // namespace tenon::onnx
