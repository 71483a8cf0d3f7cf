#include "programs.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>

namespace tenon::bench {
namespace {

class Maker {
 public:
  explicit Maker(std::shared_ptr<Context> context)
      : context_(*context),
        program_(std::move(context)),
        add_(context_.InternOp("aten.add.Tensor")),
        mul_(context_.InternOp("aten.mul.Tensor")),
        self_(context_.Intern("self")),
        other_(context_.Intern("other")),
        type_(context_.types.Intern(FourFloats())) {}

  Program Hybrid(const HybridShape& shape) {
    const ValueId x = StartRoot();
    std::pair<ValueId, ValueId> last = {x, x};
    for (uint32_t c = 0; c < shape.num_children; ++c) {
      last = Call(Program::kRoot, MakeChild(c, shape.ops_per_child), last);
    }
    return FinishRoot({last.first, last.second});
  }

  Program Dag(uint32_t num_nodes, uint32_t width) {
    std::vector<ValueId> values = {StartRoot()};
    std::mt19937 random(0);
    for (uint32_t i = 0; i < num_nodes; ++i) {
      const size_t back = 1 + random() % std::min<size_t>(width, values.size());
      values.push_back(Op(Program::kRoot, add_, values.back(),
                          values[values.size() - back]));
    }
    return FinishRoot({values.back()});
  }

 private:
  Type FourFloats() {
    Type t;
    t.kind = TypeKind::kTensor;
    t.dtype = DType::kFloat32;
    t.device.type = context_.Intern("cpu");
    t.sizes = {SymInt::Literal(4)};
    t.strides = {SymInt::Literal(1)};
    t.storage_offset = SymInt::Literal(0);
    return t;
  }

  ValueId StartRoot() {
    const GraphId root = program_.AddGraph("main");
    program_.signature.inputs.resize(1);
    program_.in_spec = TreeSpec::Tuple(
        {TreeSpec::Tuple({TreeSpec::Leaf()}), TreeSpec::Dict({}, {})});
    return program_.AddInput(root, type_, context_.Intern("x"));
  }

  Program FinishRoot(const std::vector<ValueId>& outputs) {
    Return(Program::kRoot, outputs);
    program_.signature.outputs.resize(outputs.size());
    program_.out_spec = TreeSpec::Tuple(
        std::vector<TreeSpec>(outputs.size(), TreeSpec::Leaf()));
    return std::move(program_);
  }

  GraphId MakeChild(uint32_t number, uint32_t num_ops) {
    const std::string name = "_run_on_gpu_" + std::to_string(number);
    const GraphId g = program_.AddGraph(name);
    ValueId t = program_.AddInput(g, type_, context_.Intern("p"));
    ValueId v = program_.AddInput(g, type_, context_.Intern("q"));
    for (uint32_t i = 0; i < num_ops; ++i) {
      const ValueId next =
          i == 0
              ? Op(g, mul_, t, Weight(g, name + ".w" + std::to_string(number)))
              : Op(g, add_, t, v);
      v = std::exchange(t, next);
    }
    Return(g, {t, v});
    return g;
  }

  ValueId Weight(GraphId g, const std::string& fqn) {
    static const std::vector<std::byte> kFourOnes(16, std::byte{0x3F});
    StateEntry entry;
    entry.fqn = context_.Intern(fqn);
    entry.kind = StateKind::kParameter;
    entry.is_param = true;
    entry.type = type_;
    entry.storage = program_.state.AddStorage(
        {Bytes(kFourOnes.data(), kFourOnes.size()), nullptr, false});
    const NodeId n = program_.NewNode(NodeKind::kGetState);
    program_.mutable_node(n).state = program_.state.Add(entry);
    return Results(g, n, 1)[0];
  }

  ValueId Op(GraphId g, OpId op, ValueId a, ValueId b) {
    const NodeId n = program_.NewOp(op, StringId());
    SetArgs(n, a, b);
    program_.SetArgLabel(program_.node(n).args[0], self_,
                         PassKind::kPositional);
    program_.SetArgLabel(program_.node(n).args[1], other_,
                         PassKind::kPositional);
    return Results(g, n, 1)[0];
  }

  std::pair<ValueId, ValueId> Call(GraphId g, GraphId child,
                                   std::pair<ValueId, ValueId> args) {
    const NodeId n = program_.NewNode(NodeKind::kChildCall);
    program_.mutable_node(n).child = child;
    SetArgs(n, args.first, args.second);
    const ValueRange results = Results(g, n, 2);
    return {results[0], results[1]};
  }

  void SetArgs(NodeId n, ValueId a, ValueId b) {
    const ArgRange args = program_.NewArgs(2);
    program_.SetArgRange(n, args);
    program_.SetValueArg(args[0], n, a);
    program_.SetValueArg(args[1], n, b);
  }

  ValueRange Results(GraphId g, NodeId n, uint32_t count) {
    const ValueRange results = program_.NewResults(n, count);
    for (uint32_t i = 0; i < count; ++i) {
      program_.mutable_value(results[i]).type = type_;
    }
    program_.Append(g, n);
    return results;
  }

  void Return(GraphId g, const std::vector<ValueId>& outputs) {
    const ArgRange args =
        program_.NewArgs(static_cast<uint32_t>(outputs.size()));
    const NodeId output = program_.graph(g).output;
    for (uint32_t i = 0; i < args.count; ++i) {
      program_.SetValueArg(args[i], output, outputs[i]);
    }
    program_.SetOutputs(g, args);
  }

  Context& context_;
  Program program_;
  const OpId add_, mul_;
  const StringId self_, other_;
  const TypeId type_;
};

}  // namespace

Program MakeHybrid(const HybridShape& shape, std::shared_ptr<Context> context) {
  return Maker(std::move(context)).Hybrid(shape);
}

Program MakeDag(uint32_t num_nodes, uint32_t width,
                std::shared_ptr<Context> context) {
  return Maker(std::move(context)).Dag(num_nodes, width);
}

}  // namespace tenon::bench
