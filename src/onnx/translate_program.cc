#include "onnx/translate_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/literal.h"
#include "lower/lower.h"
#include "lower/source_line.h"
#include "onnx/graph_builder.h"
#include "onnx/op_dtypes.h"
#include "onnx/remove_unread.h"
#include "onnx/value_info.h"
#include "passes/fold_constants.h"
#include "passes/remove_dead_code.h"
#include "support/counted.h"
#include "weights/state_tensor.h"

namespace tenon::onnx {
namespace {

// What folding may add to the model: a constant is loaded once, a node runs at
// every call.
constexpr uint64_t kMaxFoldGrowthBytes = uint64_t{1} << 20;
// Where engines map the file, and where vectors begin.
constexpr uint64_t kPageBytes = 4096, kVectorBytes = 64;

constexpr std::string_view kProducer = "tenon";

Expected<Program> LowerAndFold(const Program& program,
                               std::vector<std::string>* notes,
                               Diagnostics& diags) {
  Program lowered = program.Clone();
  TENON_ASSIGN(LowerReport lower, LowerProgram(&lowered, diags));
  *notes = std::move(lower.notes);
  FoldConstantsOptions fold;
  fold.weights = true;
  fold.max_growth_bytes = kMaxFoldGrowthBytes;
  TENON_TRY(FoldConstants(&lowered, fold, diags));
  RemoveDeadCode(&lowered);
  return lowered;
}

// The file format's numbers of the opsets.
int64_t IrVersionOf(int opset) {
  if (opset <= 18) return 8;
  if (opset <= 20) return 9;
  if (opset <= 22) return 10;
  return opset == 23 ? 11 : opset == 24 ? 12 : 13;
}

bool IsMutation(const OutputSpec& spec) {
  return spec.kind == OutputKind::kBufferMutation ||
         spec.kind == OutputKind::kParameterMutation ||
         spec.kind == OutputKind::kUserInputMutation;
}

class ProgramTranslator {
 public:
  ProgramTranslator(const Program& program, const TranslateOptions& options,
                    Diagnostics& diags)
      : program_(program),
        options_(options),
        diags_(diags),
        build_(program, options.widen_bfloat16) {}

  Expected<Translated> Run(const std::vector<KnownInput>& known) {
    const auto& inputs = program_.root().inputs;
    // What folding computed came in as inputs, too, so positions moved.
    uint32_t num_user = 0;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      const bool is_user =
          program_.signature.inputs[i].kind == InputKind::kUserInput;
      const uint32_t user = num_user;
      if (is_user) ++num_user;
      const auto at = std::find_if(known.begin(), known.end(),
                                   [&](auto& k) { return k.input == user; });
      if (is_user && at != known.end()) {
        AddWeight(inputs[i], at->tensor);
      } else {
        TENON_TRY(AddInput(i));
      }
    }
    std::vector<Untranslated> untranslated;
    if (!TranslateNodes(build_, Program::kRoot, &untranslated)) {
      return Refuse(untranslated);
    }
    TENON_TRY(AddOutputs());
    if (out_.outputs.empty()) {
      return Fail() << "the program gives neither tensors nor numbers, and a "
                       "model has to give something";
    }
    Graph& graph = build_.main();
    graph.name = "main";
    RemoveUnread(&graph);
    PlaceData(&graph);
    Model& model = out_.model;
    model.opset = build_.opset();
    model.ir_version = IrVersionOf(build_.opset());
    model.producer = kProducer;
    model.graph = std::move(graph);
    return std::move(out_);
  }

 private:
  DiagnosticBuilder Fail() { return diags_.Error(Rule::kUnsupported); }

  Failure Refuse(const std::vector<Untranslated>& nodes) {
    const Untranslated& first = nodes[0];
    auto error =
        diags_.Error(Rule::kUnsupported,
                     Place::Node(program_.Describe(first.graph, first.node)));
    error << Count(nodes.size(), "node")
          << " can't be said in ONNX: " << NameOf(first.node) << ": "
          << first.why;
    constexpr size_t kMaxNotes = 50;
    for (size_t i = 0; i < nodes.size() && i < kMaxNotes; ++i) {
      const std::string line = lower::ModelLine(program_, nodes[i].node);
      error.Note(Place::Node(program_.Describe(nodes[i].graph, nodes[i].node)),
                 NameOf(nodes[i].node) +
                     (line.empty() ? "" : ", from " + line) + ": " +
                     nodes[i].why);
    }
    return Failure{};
  }

  std::string NameOf(NodeId n) const {
    return program_.node(n).kind == tenon::NodeKind::kOp
               ? std::string(program_.op_name(n))
               : "a call";
  }

  bool IsChanged(StateId state) const {
    const auto& outputs = program_.signature.outputs;
    return std::any_of(outputs.begin(), outputs.end(), [&](const auto& o) {
      return IsMutation(o) && o.kind != OutputKind::kUserInputMutation &&
             o.state == state;
    });
  }

  void AddWeight(ValueId v, const Tensor& tensor) {
    const Tensor whole = tensor.Contiguous();
    TensorValue value;
    value.name = "w" + std::to_string(weights_.size());
    value.type = ElementTypeOf(whole.dtype());
    value.dims = whole.sizes();
    build_.Declare(value.name, whole.dtype());
    build_.NeedOpset(FirstOpsetOf(whole.dtype()));
    build_.Set(v, value.name);
    weights_[value.name] = whole;
    build_.main().initializers.push_back(std::move(value));
  }

  Status AddInput(uint32_t i) {
    const ValueId v = program_.root().inputs[i];
    const Type& type = program_.type(v);
    const InputSpec& spec = program_.signature.inputs[i];
    if (spec.state.valid() && !IsChanged(spec.state)) {
      return AddState(v, spec.state);
    }
    if (type.is_literal()) {
      // Fixed at export: nobody passes it.
      const Arg literal = LiteralOf(type);
      const DType dtype = DtypeOfType(type);
      if (dtype == DType::kUnknown) return {};
      build_.Set(v, literal.kind == ArgKind::kFloat
                        ? build_.Number(dtype, literal.f)
                        : build_.Number(dtype, literal.i));
      return {};
    }
    if (ElementTypeOf(DtypeOfType(type)) == ElementType::kUndefined) {
      // Whoever reads it is refused by name.
      if (program_.value(v).num_uses == 0) return {};
      return Fail() << "input " << i
                    << " is of a kind or dtype that ONNX lacks";
    }
    Port port;
    port.name = "input_" + std::to_string(out_.inputs.size());
    port_of_input_[i] = port.name;
    build_.Set(v, port.name);
    build_.Declare(port.name, DtypeOfType(type));
    build_.NeedOpset(FirstOpsetOf(DtypeOfType(type)));
    build_.main().inputs.push_back(InfoOf(program_, v, port.name));
    if (spec.state.valid()) {
      port.fqn = program_.view(program_.state.get(spec.state).fqn);
    } else {
      const auto& specs = program_.signature.inputs;
      port.user = static_cast<uint32_t>(std::count_if(
          specs.begin(), specs.begin() + i,
          [](const InputSpec& s) { return s.kind == InputKind::kUserInput; }));
    }
    Describe(port);
    out_.inputs.push_back(std::move(port));
    return {};
  }

  // What the port is, for whoever has the file alone.
  void Describe(const Port& port) {
    std::string what;
    if (port.user) what = "user " + std::to_string(*port.user);
    if (!port.fqn.empty()) what = "state " + port.fqn;
    if (!port.replaces.empty()) {
      what += (what.empty() ? "replaces " : " replaces ") + port.replaces;
    }
    out_.model.metadata.emplace_back("tenon." + port.name, std::move(what));
  }

  Status AddState(ValueId v, StateId id) {
    const StateEntry& entry = program_.state.get(id);
    const Tensor tensor = IsPlainTensor(program_, entry)
                              ? StateTensor(program_, entry)
                              : Tensor();
    if (tensor.defined() &&
        ElementTypeOf(tensor.dtype()) != ElementType::kUndefined) {
      AddWeight(v, tensor);
      return {};
    }
    if (program_.value(v).num_uses == 0) return {};
    return Fail() << "state '" << program_.view(entry.fqn)
                  << "' has no bytes, or none of a dtype that ONNX has";
  }

  // The root's input that a mutation's target is; kNoInput for other outputs.
  uint32_t TargetOf(const OutputSpec& spec) const {
    if (spec.kind == OutputKind::kUserInputMutation) return spec.input;
    if (!IsMutation(spec)) return OutputSpec::kNoInput;
    const auto& inputs = program_.signature.inputs;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].state == spec.state) return i;
    }
    return OutputSpec::kNoInput;
  }

  Status AddOutputs() {
    const auto outputs = program_.outputs(Program::kRoot);
    uint32_t num_user = 0;
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      const Arg& a = outputs[i];
      const OutputSpec& spec = program_.signature.outputs[i];
      const uint32_t user = num_user;
      if (spec.kind == OutputKind::kUserOutput) ++num_user;
      if (!a.is_value() && a.kind != ArgKind::kInt &&
          a.kind != ArgKind::kFloat && a.kind != ArgKind::kBool) {
        continue;  // None and text: the caller knows them
      }
      if (a.is_value() && !build_.Has(a.value())) {
        return Fail() << "output " << i << " is of a kind or dtype that ONNX "
                      << "lacks";
      }
      Port port;
      port.name = "output_" + std::to_string(out_.outputs.size());
      std::string source;
      ValueInfo info;
      if (a.is_value()) {
        source = build_.Get(a.value());
        info = InfoOf(program_, a.value(), port.name);
      } else {
        source = a.kind == ArgKind::kFloat
                     ? build_.Number(DType::kFloat64, a.f)
                     : build_.Number(a.kind == ArgKind::kBool ? DType::kBool
                                                              : DType::kInt64,
                                     a.i);
        info = {port.name, ElementTypeOf(build_.dtype(source)), {}};
      }
      build_.main().nodes.push_back({"Identity", {source}, {port.name}, {}});
      build_.main().outputs.push_back(std::move(info));
      if (spec.kind == OutputKind::kUserOutput) port.user = user;
      if (spec.state.valid()) {
        port.fqn = program_.view(program_.state.get(spec.state).fqn);
      }
      const auto target = port_of_input_.find(TargetOf(spec));
      if (target != port_of_input_.end()) port.replaces = target->second;
      Describe(port);
      out_.outputs.push_back(std::move(port));
    }
    return {};
  }

  // Weights into the model or beside it; views of the same bytes lie there
  // once.
  void PlaceData(Graph* graph) {
    std::map<std::pair<const std::byte*, uint64_t>, uint64_t> placed;
    for (TensorValue& t : graph->initializers) {
      const auto at = weights_.find(t.name);
      if (at == weights_.end()) continue;
      const Tensor& tensor = at->second;
      const auto size =
          static_cast<uint64_t>(tensor.numel()) * SizeBytes(tensor.dtype());
      const Bytes bytes(tensor.numel() == 0 ? nullptr : tensor.raw(), size);
      if (size < options_.min_external_bytes) {
        t.bytes = std::string(AsText(bytes));
        continue;
      }
      const auto [known, is_new] = placed.try_emplace({bytes.data(), size}, 0);
      if (is_new) {
        const uint64_t step = size < kPageBytes ? kVectorBytes : kPageBytes;
        known->second = (out_.data_bytes + step - 1) / step * step;
        out_.data.push_back({known->second, bytes, tensor.storage()});
        out_.data_bytes = known->second + size;
      }
      t.external = ExternalData{options_.data_name, known->second, size};
    }
  }

  const Program& program_;
  const TranslateOptions& options_;
  Diagnostics& diags_;
  GraphBuilder build_;
  std::map<std::string, Tensor> weights_;          // by initializer
  std::map<uint32_t, std::string> port_of_input_;  // by the root's input
  Translated out_;
};

}  // namespace

Expected<Translated> TranslateProgram(const Program& program,
                                      const std::vector<KnownInput>& known,
                                      const TranslateOptions& options,
                                      Diagnostics& diags) {
  std::vector<std::string> notes;
  TENON_ASSIGN(const Program lowered, LowerAndFold(program, &notes, diags));
  TENON_ASSIGN(Translated out,
               ProgramTranslator(lowered, options, diags).Run(known));
  out.notes = std::move(notes);
  return out;
}

}  // namespace tenon::onnx
