// Recurrent networks: LSTM, GRU and plain RNNs of several layers, in one or
// both directions; and the weight normalisation that they are used with.
#include <algorithm>
#include <cmath>

#include "kernels/compose.h"
#include "kernels/gemm.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

enum class Cell { kLstm, kGru, kTanh, kRelu };

int64_t NumGates(Cell cell) {
  return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1;
}

// The arguments that all recurrent operators share, from `first` on: params,
// has_biases, num_layers, dropout, train, bidirectional, batch_first.
struct Network {
  Cell cell = Cell::kLstm;
  std::vector<Tensor> params;
  bool has_biases = false;
  int64_t num_layers = 1;
  double dropout = 0;
  bool train = false;
  int64_t num_directions = 1;
  bool batch_first = false;
  int64_t hidden = 0;  // size of a state

  size_t params_per_cell() const { return has_biases ? 4 : 2; }
};

template <typename C>
C Sigmoid(C x) {
  return C(1) / (C(1) + std::exp(-x));
}

// One layer in one direction. Rows of `state` and `cell_state` are samples.
template <typename C>
class Layer {
 public:
  Layer(Cell cell, const Tensor* params, bool has_biases, int64_t batch,
        int64_t hidden)
      : cell_(cell),
        input_weight_(Transposed(params[0], 0, 1)),
        hidden_weight_(Transposed(params[1], 0, 1)),
        width_(params[0].size(1)),
        batch_(batch),
        hidden_(hidden),
        gates_(NumGates(cell) * hidden) {
    if (has_biases) {
      input_bias_ = ReadAll<C>(params[2]);
      hidden_bias_ = ReadAll<C>(params[3]);
    }
  }

  // Updates the state with one time step of the input, [batch, width].
  void Step(const C* input, C* state, C* cell_state) {
    const std::vector<C> from_input =
        Linear(input, input_weight_, width_, input_bias_);
    const std::vector<C> from_state =
        Linear(state, hidden_weight_, hidden_, hidden_bias_);
    for (int64_t b = 0; b < batch_; ++b) {
      for (int64_t h = 0; h < hidden_; ++h) {
        const int64_t at = b * hidden_ + h;
        Update(from_input.data() + b * gates_ + h,
               from_state.data() + b * gates_ + h, state + at,
               cell_state == nullptr ? nullptr : cell_state + at);
      }
    }
  }

 private:
  std::vector<C> Linear(const C* rows, const Values<C>& weight, int64_t width,
                        const std::vector<C>& bias) const {
    std::vector<C> out(static_cast<size_t>(batch_ * gates_), C(0));
    MultiplyAdd(rows, weight.data(), out.data(), batch_, gates_, width);
    for (size_t i = 0; i < out.size() && !bias.empty(); ++i) {
      out[i] += bias[i % bias.size()];
    }
    return out;
  }

  // `x` and `s` point at the first gate of one unit; gates are hidden_ apart.
  void Update(const C* x, const C* s, C* state, C* cell_state) const {
    const auto sum = [&](int64_t gate) {
      return x[gate * hidden_] + s[gate * hidden_];
    };
    switch (cell_) {
      case Cell::kLstm: {  // input, forget, cell, output
        *cell_state =
            Sigmoid(sum(1)) * *cell_state + Sigmoid(sum(0)) * std::tanh(sum(2));
        *state = Sigmoid(sum(3)) * std::tanh(*cell_state);
        return;
      }
      case Cell::kGru: {  // reset, update, new
        const C reset = Sigmoid(sum(0)), update = Sigmoid(sum(1));
        const C fresh = std::tanh(x[2 * hidden_] + reset * s[2 * hidden_]);
        *state = fresh + update * (*state - fresh);
        return;
      }
      case Cell::kTanh:
        *state = std::tanh(sum(0));
        return;
      case Cell::kRelu:
        *state = sum(0) < C(0) ? C(0) : sum(0);
        return;
    }
  }

  Cell cell_;
  Values<C> input_weight_, hidden_weight_;
  std::vector<C> input_bias_, hidden_bias_;
  int64_t width_, batch_, hidden_, gates_;
};

bool CheckNetwork(KernelCall& call, const Network& net, const Tensor& input,
                  const std::vector<Tensor>& states) {
  if (input.dim() != 3 || !IsFloating(input.dtype())) {
    return call.Fail("rnn: expected a floating input of rank 3, found " +
                     input.ToString());
  }
  const int64_t cells = net.num_layers * net.num_directions;
  if (net.num_layers < 1 || net.num_layers > (1 << 20) ||
      static_cast<int64_t>(net.params.size()) !=
          cells * static_cast<int64_t>(net.params_per_cell())) {
    return call.Fail("rnn: " + std::to_string(net.params.size()) +
                     " parameters don't fit the number of layers (projections "
                     "are not supported)");
  }
  const int64_t batch = input.size(net.batch_first ? 0 : 1);
  for (const Tensor& state : states) {
    if (state.sizes() != Sizes{cells, batch, net.hidden} ||
        state.dtype() != input.dtype()) {
      return call.Fail("rnn: expected a state of sizes " +
                       ToText({cells, batch, net.hidden}) + ", found " +
                       state.ToString());
    }
  }
  const int64_t gates = NumGates(net.cell) * net.hidden;
  for (size_t i = 0; i < net.params.size(); ++i) {
    const size_t kind = i % net.params_per_cell();
    const bool first_layer =
        i / net.params_per_cell() < static_cast<size_t>(net.num_directions);
    const int64_t width =
        first_layer ? input.size(2) : net.hidden * net.num_directions;
    const Sizes expected = kind == 0   ? Sizes{gates, width}
                           : kind == 1 ? Sizes{gates, net.hidden}
                                       : Sizes{gates};
    if (net.params[i].sizes() != expected ||
        net.params[i].dtype() != input.dtype()) {
      return call.Fail("rnn: expected parameter " + std::to_string(i) +
                       " of sizes " + ToText(expected) + ", found " +
                       net.params[i].ToString());
    }
  }
  return true;
}

// Runs all layers. `sequence` is [time, batch, width] and becomes the last
// layer's output; `states` are updated.
template <typename C>
bool RunLayers(KernelCall& call, const Network& net, const Tensor& input,
               const std::vector<Tensor>& states, Tensor* output,
               std::vector<Tensor>* final_states) {
  const int64_t time = input.size(0), batch = input.size(1);
  const int64_t hidden = net.hidden;
  const int64_t out_width = hidden * net.num_directions;
  std::vector<std::vector<C>> values;
  for (const Tensor& state : states) values.push_back(ReadAll<C>(state));
  std::vector<C> sequence = ReadAll<C>(input);
  int64_t width = input.size(2);
  for (int64_t layer = 0; layer < net.num_layers; ++layer) {
    std::vector<C> next(static_cast<size_t>(time * batch * out_width));
    for (int64_t d = 0; d < net.num_directions; ++d) {
      const int64_t cell = layer * net.num_directions + d;
      Layer<C> runner(net.cell,
                      net.params.data() +
                          cell * static_cast<int64_t>(net.params_per_cell()),
                      net.has_biases, batch, hidden);
      C* state = values[0].data() + cell * batch * hidden;
      C* cell_state = values.size() > 1
                          ? values[1].data() + cell * batch * hidden
                          : nullptr;
      for (int64_t i = 0; i < time; ++i) {
        const int64_t t = d == 0 ? i : time - 1 - i;
        runner.Step(sequence.data() + t * batch * width, state, cell_state);
        for (int64_t b = 0; b < batch; ++b) {
          std::copy_n(state + b * hidden, hidden,
                      next.data() + (t * batch + b) * out_width + d * hidden);
        }
      }
    }
    sequence = std::move(next);
    width = out_width;
    const bool last = layer + 1 == net.num_layers;
    if (!last && net.train && net.dropout > 0) {
      Tensor whole, dropped;
      if (!Allocate(call, input.dtype(), {time, batch, width}, &whole)) {
        return false;
      }
      WriteAll(&whole, sequence);
      if (!CallKernel(call, "aten.dropout.default", {whole, net.dropout, true},
                      &dropped)) {
        return false;
      }
      sequence = ReadAll<C>(dropped);
    }
  }
  if (!Allocate(call, input.dtype(), {time, batch, out_width}, output)) {
    return false;
  }
  WriteAll(output, sequence);
  for (size_t i = 0; i < states.size(); ++i) {
    Tensor state;
    if (!Allocate(call, input.dtype(), states[i].sizes(), &state)) {
      return false;
    }
    WriteAll(&state, values[i]);
    final_states->push_back(state);
  }
  return true;
}

template <Cell kCell>
bool Recurrent(KernelCall& call) {
  const std::vector<Tensor> states = call.Tensors(1);
  Network net{
      kCell,         call.Tensors(2), call.Bool(3),         call.Int(4),
      call.Float(5), call.Bool(6),    call.Bool(7) ? 2 : 1, call.Bool(8)};
  const size_t expected = kCell == Cell::kLstm ? 2 : 1;
  if (states.size() != expected || states[0].dim() != 3) {
    return call.Fail("rnn: expected " + std::to_string(expected) +
                     " states of rank 3");
  }
  net.hidden = states[0].size(2);
  Tensor input = call.tensor(0);
  if (!CheckNetwork(call, net, input, states)) return false;
  if (net.batch_first) input = Transposed(input, 0, 1);
  if (input.size(0) == 0) return call.Fail("rnn: an empty sequence");
  Tensor output;
  std::vector<Tensor> final_states;
  const bool good = DispatchReal(input.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return RunLayers<C>(call, net, input, states, &output, &final_states);
  });
  if (!good) return false;
  call.Return(net.batch_first ? Transposed(output, 0, 1) : output);
  for (const Tensor& state : final_states) call.Return(state);
  return true;
}

// v · g / ‖v‖, the norm over all dimensions but `dim`.
bool WeightNorm(KernelCall& call) {
  const Tensor &v = call.tensor(0), &g = call.tensor(1);
  int64_t dim = call.Int(2);
  if (!IsFloating(v.dtype()) || v.dtype() != g.dtype()) {
    return call.Fail("_weight_norm: expected floating tensors of one dtype");
  }
  if (!WrapDim(call, v.dim(), &dim)) return false;
  if (v.dim() == 0 || g.numel() != v.size(dim)) {
    return call.Fail("_weight_norm: g should have one element per slice");
  }
  Tensor out;
  if (!Allocate(call, v.dtype(), v.sizes(), &out)) return false;
  std::vector<double> values = ReadAll<double>(v);
  const std::vector<double> scale = ReadAll<double>(g);
  std::vector<double> squares(scale.size());
  const int64_t inner = out.stride(dim);
  const auto slice = [&](size_t i) {
    return static_cast<size_t>(static_cast<int64_t>(i) / inner % v.size(dim));
  };
  for (size_t i = 0; i < values.size(); ++i) {
    squares[slice(i)] += values[i] * values[i];
  }
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] *= scale[slice(i)] / std::sqrt(squares[slice(i)]);
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.lstm.input", Recurrent<Cell::kLstm>},
    {"aten.gru.input", Recurrent<Cell::kGru>},
    {"aten.rnn_tanh.input", Recurrent<Cell::kTanh>},
    {"aten.rnn_relu.input", Recurrent<Cell::kRelu>},
    {"aten._weight_norm.default", WeightNorm},
};

}  // namespace

std::span<const KernelEntry> RecurrentKernels() { return kEntries; }

}  // namespace tenon
