// Recurrent networks: LSTM, GRU and plain RNNs of several layers, in one or
// both directions.
//
// What comes from the inputs is one matrix product for all time steps. The rest
// can only go step by step: one plan step per layer and direction runs through
// time, multiplies the state by its weights, and applies the cell.
#include <algorithm>
#include <string>

#include "backends/cpu/gemm.h"
#include "backends/cpu/loops/library_tiles.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/narrow_types.h"
#include "backends/cpu/plan_chain.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

enum class Cell { kLstm, kGru, kTanh, kRelu };

constexpr int64_t NumGates(Cell cell) {
  return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1;
}

// One layer in one direction.
struct LayerShape {
  Cell cell = Cell::kLstm;
  int64_t time = 0, batch = 0, hidden = 0;
  bool is_backward = false;
  bool has_bias = false;
  int64_t out_step = 0;   // between the output's rows, in elements
  Ref gates;              // [time, batch, gates * hidden], from the inputs
  Ref weight, bias;       // [gates * hidden, hidden], [gates * hidden]
  Ref state, cell_state;  // [batch, hidden]; the latter of an LSTM
  Ref out;                // rows of `hidden` elements, [time, batch]
  Ref work;               // [batch, gates * hidden]
  Ref scratch;

  int64_t width() const { return NumGates(cell) * hidden; }
  // The state's product with its weights, without pointers.
  GemmArgs Product() const {
    GemmArgs g;
    g.m = batch;
    g.n = width();
    g.k = hidden;
    g.a_row = hidden;
    g.b_row = 1;
    g.b_column = hidden;
    g.c_row = width();
    return g;
  }
};

class RecurrentStep : public Step {
 public:
  explicit RecurrentStep(const LayerShape& shape)
      : s_(shape),
        sigmoid_(FindTileLoop(TileOp::kSigmoid, DType::kFloat32)),
        tanh_(FindTileLoop(TileOp::kTanh, DType::kFloat32)) {}

  bool Run(Frame& frame) override {
    float* state = frame.at<float>(s_.state);
    float* work = frame.at<float>(s_.work);
    GemmArgs product = s_.Product();
    product.a = state;
    product.b = frame.at<float>(s_.weight);
    product.c = work;
    if (s_.has_bias) product.bias = frame.at<float>(s_.bias);
    for (int64_t i = 0; i < s_.time; ++i) {
      const int64_t t = s_.is_backward ? s_.time - 1 - i : i;
      Multiply(product, frame.at<float>(s_.scratch));
      const float* gates =
          frame.at<float>(s_.gates) + t * s_.batch * s_.width();
      for (int64_t n = 0; n < s_.batch; ++n) {
        float* h = state + n * s_.hidden;
        float* c = s_.cell == Cell::kLstm
                       ? frame.at<float>(s_.cell_state) + n * s_.hidden
                       : nullptr;
        Update(gates + n * s_.width(), work + n * s_.width(), h, c);
        std::copy_n(h, s_.hidden,
                    frame.at<float>(s_.out) + (t * s_.batch + n) * s_.out_step);
      }
    }
    return true;
  }
  std::string_view name() const override { return "recurrent"; }

 private:
  static void Apply(TileFn f, float* values, int64_t count) {
    const void* in[] = {values};
    f(values, in, nullptr, count);
  }

  // `x` are the gates from the input, `s` those from the state, which are
  // overwritten.
  void Update(const float* x, float* s, float* h, float* c) const {
    const int64_t size = s_.hidden;
    const int64_t summed = s_.cell == Cell::kGru ? 2 * size : s_.width();
    for (int64_t i = 0; i < summed; ++i) s[i] += x[i];
    switch (s_.cell) {
      case Cell::kLstm: {  // input, forget, cell, output
        Apply(sigmoid_, s, 2 * size);
        Apply(tanh_, s + 2 * size, size);
        Apply(sigmoid_, s + 3 * size, size);
        float* bent = s + 2 * size;
        for (int64_t i = 0; i < size; ++i) {
          c[i] = s[size + i] * c[i] + s[i] * bent[i];
          bent[i] = c[i];
        }
        Apply(tanh_, bent, size);
        for (int64_t i = 0; i < size; ++i) h[i] = s[3 * size + i] * bent[i];
        return;
      }
      case Cell::kGru: {  // reset, update, new
        Apply(sigmoid_, s, 2 * size);
        float* fresh = s + 2 * size;
        for (int64_t i = 0; i < size; ++i) {
          fresh[i] = x[2 * size + i] + s[i] * fresh[i];
        }
        Apply(tanh_, fresh, size);
        for (int64_t i = 0; i < size; ++i) {
          h[i] = fresh[i] + s[size + i] * (h[i] - fresh[i]);
        }
        return;
      }
      case Cell::kTanh:
        Apply(tanh_, s, size);
        std::copy_n(s, size, h);
        return;
      case Cell::kRelu:
        for (int64_t i = 0; i < size; ++i) h[i] = s[i] < 0 ? 0.0f : s[i];
        return;
    }
  }

  const LayerShape s_;
  const TileFn sigmoid_, tanh_;
};

// The arguments that all recurrent operators share.
struct Network {
  Cell cell = Cell::kLstm;
  std::vector<Tensor> params;
  bool has_biases = false;
  int64_t num_layers = 1, num_directions = 1;
  int64_t hidden = 0;

  int64_t cells() const { return num_layers * num_directions; }
  int64_t params_per_cell() const { return has_biases ? 4 : 2; }
  const Tensor& param(int64_t of_cell, int64_t kind) const {
    return params[static_cast<size_t>(of_cell * params_per_cell() + kind)];
  }
};

// `input` is [time, batch, width].
bool CheckNetwork(KernelCall& call, const Network& net, const Tensor& input,
                  const std::vector<Tensor>& states) {
  if (net.num_layers < 1 || net.num_layers > (1 << 20) ||
      static_cast<int64_t>(net.params.size()) !=
          net.cells() * net.params_per_cell()) {
    return call.Fail("rnn: " + std::to_string(net.params.size()) +
                     " parameters don't fit the number of layers");
  }
  if (input.size(0) == 0) return call.Fail("rnn: an empty sequence");
  const Sizes expected = {net.cells(), input.size(1), net.hidden};
  for (const Tensor& state : states) {
    if (state.sizes() != expected || state.dtype() != input.dtype()) {
      return call.Fail("rnn: expected a state of sizes " + ToText(expected) +
                       ", found " + state.ToString());
    }
  }
  const int64_t gates = NumGates(net.cell) * net.hidden;
  for (int64_t cell = 0; cell < net.cells(); ++cell) {
    const int64_t width = cell < net.num_directions
                              ? input.size(2)
                              : net.hidden * net.num_directions;
    for (int64_t kind = 0; kind < net.params_per_cell(); ++kind) {
      const Tensor& t = net.param(cell, kind);
      const Sizes sizes = kind == 0   ? Sizes{gates, width}
                          : kind == 1 ? Sizes{gates, net.hidden}
                                      : Sizes{gates};
      if (t.sizes() != sizes || t.dtype() != input.dtype()) {
        return call.Fail("rnn: expected a parameter of sizes " + ToText(sizes) +
                         ", found " + t.ToString());
      }
    }
  }
  return true;
}

class RecurrentLowering {
 public:
  RecurrentLowering(PlanBuilder& b, KernelCall& call, const Network& net)
      : b_(b), call_(call), chain_(b, call), net_(net) {}

  // The last layer's output for the sequence [time, batch, width]; `states`,
  // which are the operator's own, become the final ones. Undefined after
  // call.Fail.
  Tensor Run(Tensor sequence, const std::vector<Tensor>& states) {
    const int64_t out_width = net_.hidden * net_.num_directions;
    for (int64_t layer = 0; layer < net_.num_layers; ++layer) {
      const Tensor out = b_.NewTensor(
          DType::kFloat32, {sequence.size(0), sequence.size(1), out_width});
      if (!out.defined()) return Fail();
      for (int64_t d = 0; d < net_.num_directions; ++d) {
        if (!RunLayer(layer * net_.num_directions + d, sequence, states, d == 1,
                      Narrowed(out, 2, d * net_.hidden, net_.hidden), out)) {
          return Tensor();
        }
      }
      sequence = out;
    }
    return sequence;
  }

 private:
  Tensor Fail() {
    call_.Fail("rnn: the result is too large");
    return Tensor();
  }

  Tensor Param(int64_t cell, int64_t kind) {
    return chain_.To(net_.param(cell, kind), DType::kFloat32);
  }

  bool RunLayer(int64_t cell, const Tensor& sequence,
                const std::vector<Tensor>& states, bool is_backward,
                const Tensor& part, const Tensor& out) {
    RuntimeValue bias;
    if (net_.has_biases) bias = Param(cell, 2);
    const Tensor gates =
        chain_("aten.linear.default", {sequence, Param(cell, 0), bias});
    const Tensor weight = b_.Contiguous(Param(cell, 1));
    Tensor state_bias;
    if (net_.has_biases) state_bias = b_.Contiguous(Param(cell, 3));
    if (!chain_.ok()) return false;
    LayerShape s;
    s.cell = net_.cell;
    s.time = sequence.size(0);
    s.batch = sequence.size(1);
    s.hidden = net_.hidden;
    s.is_backward = is_backward;
    s.has_bias = net_.has_biases;
    s.out_step = out.size(2);
    const Tensor work = b_.NewTensor(DType::kFloat32, {s.batch, s.width()});
    const Tensor scratch = NewScratch(b_, ScratchBytesFor(s.Product()));
    if (!work.defined() || !scratch.defined()) return Fail().defined();
    if (out.numel() == 0) return true;
    const Tensor state = Selected(states[0], 0, cell);
    s.gates = b_.RefOf(gates);
    s.weight = b_.RefOf(weight);
    if (s.has_bias) s.bias = b_.RefOf(state_bias);
    s.state = b_.RefOf(state);
    if (net_.cell == Cell::kLstm) {
      s.cell_state = b_.RefOf(Selected(states[1], 0, cell));
    }
    s.out = b_.RefOf(part);
    s.work = b_.RefOf(work);
    s.scratch = b_.RefOf(scratch);
    // Other layers and directions lie in the same buffers: what they wrote
    // there stays.
    std::vector<Tensor> reads = {gates, weight, state_bias, out, states[0]};
    std::vector<Tensor> writes = {out, states[0], work, scratch};
    if (net_.cell == Cell::kLstm) {
      reads.push_back(states[1]);
      writes.push_back(states[1]);
    }
    b_.Emit(std::make_unique<RecurrentStep>(s), reads, writes);
    return true;
  }

  PlanBuilder& b_;
  KernelCall& call_;
  PlanChain chain_;
  const Network& net_;
};

// (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
// batch_first); hx is one tensor or a list of two.
template <Cell kCell>
bool Recurrent(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const std::vector<Tensor> given = call.Tensors(1);
  constexpr size_t kStates = kCell == Cell::kLstm ? 2 : 1;
  Tensor input = call.tensor(0);
  if (given.size() != kStates || given[0].dim() != 3 || input.dim() != 3) {
    return call.Fail("rnn: expected " + std::to_string(kStates) +
                     " states and an input of rank 3");
  }
  if (call.Bool(6) && call.Float(5) > 0) return call.Fail("it is random");
  const Network net = {kCell,       call.Tensors(2),      call.Bool(3),
                       call.Int(4), call.Bool(7) ? 2 : 1, given[0].size(2)};
  const bool is_batch_first = call.Bool(8);
  if (is_batch_first) input = Transposed(input, 0, 1);
  if (!CheckNetwork(call, net, input, given)) return false;
  const DType dtype = input.dtype();
  std::vector<Tensor> states;
  for (const Tensor& t : given) {
    states.push_back(b.NewTensor(DType::kFloat32, t.sizes()));
    if (!states.back().defined() || !b.EmitCopy(t, states.back())) {
      return call.Fail("cannot copy a state");
    }
  }
  PlanChain chain(b, call);
  const Tensor sequence = chain.To(input, DType::kFloat32);
  if (!chain.ok()) return false;
  Tensor out = RecurrentLowering(b, call, net).Run(sequence, states);
  if (!out.defined()) return false;
  out = chain.To(out, dtype);
  for (Tensor& state : states) state = chain.To(state, dtype);
  if (!chain.ok()) return false;
  call.Return(is_batch_first ? Transposed(out, 0, 1) : out);
  for (const Tensor& state : states) call.Return(state);
  return true;
}

// What is random, or isn't computed in float32.
std::optional<Refusal> RefuseOthers(const Program& program, NodeId node) {
  const Arg* input = program.FindArg(node, "input");
  if (input != nullptr && input->is_value() &&
      program.type(input->value()).dtype == DType::kFloat64) {
    return Refusal{RefusalReason::kDtype, "float64"};
  }
  const Arg* train = program.FindArg(node, "train");
  const Arg* dropout = program.FindArg(node, "dropout");
  const bool drops = dropout != nullptr &&
                     !(dropout->kind == ArgKind::kFloat && dropout->f == 0) &&
                     !(dropout->kind == ArgKind::kInt && dropout->i == 0);
  const bool trains =
      train != nullptr && !(train->kind == ArgKind::kBool && train->i == 0);
  if (drops && trains) {
    return Refusal{RefusalReason::kEffect, "dropout in training is random"};
  }
  // An LSTM with projections has a fifth matrix per cell.
  const Arg* params = program.FindArg(node, "params");
  const Arg* has_biases = program.FindArg(node, "has_biases");
  const Arg* num_layers = program.FindArg(node, "num_layers");
  const Arg* both = program.FindArg(node, "bidirectional");
  if (params == nullptr || has_biases == nullptr || num_layers == nullptr ||
      both == nullptr || !params->has_items()) {
    return std::nullopt;
  }
  const int64_t expected =
      num_layers->i * (both->i != 0 ? 2 : 1) * (has_biases->i != 0 ? 4 : 2);
  if (num_layers->kind != ArgKind::kInt ||
      static_cast<int64_t>(params->list.count) == expected) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kAttributeValue, "an LSTM with projections"};
}

constexpr Lowering Op(std::string_view name, LowerFn lower) {
  return {name,          LoweringKind::kPure, lower, DTypeRule::kFloating,
          TileOp::kCopy, RefuseOthers};
}

constexpr Lowering kLowerings[] = {
    Op("aten.lstm.input", Recurrent<Cell::kLstm>),
    Op("aten.gru.input", Recurrent<Cell::kGru>),
    Op("aten.rnn_tanh.input", Recurrent<Cell::kTanh>),
    Op("aten.rnn_relu.input", Recurrent<Cell::kRelu>),
};

}  // namespace

std::span<const Lowering> RecurrentLowerings() { return kLowerings; }

}  // namespace tenon::cpu
