// Recurrent networks, step by step: there is no kernel for the whole.
//
// The input's part of all gates is one product over all steps; only the state's
// part is computed per step.
#include <string>
#include <utility>
#include <vector>

#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

enum class Cell : uint8_t { kLstm, kGru, kTanh, kRelu };

int64_t NumGates(Cell cell) {
  return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1;
}

// Each step is some ten nodes; what is longer is for a loop.
constexpr int64_t kMaxSteps = 2048;

class Network {
 public:
  Network(NodeRewrite& r, Cell cell) : r_(r), cell_(cell) {}

  // (input, hx, params, has_biases, layers, dropout, train, bidirectional,
  // batch_first)
  Rewritten Unroll() {
    if (!Read()) return Rewritten::kSkip;
    ValueId x = r_.tensor(0);
    if (batch_first_) x = r_.build.Permute(x, std::vector<int64_t>{1, 0, 2});
    std::vector<ValueId> hidden_out, cell_out;
    for (int64_t layer = 0; layer < num_layers_; ++layer) {
      std::vector<ValueId> directions;
      for (int64_t d = 0; d < num_directions_; ++d) {
        const int64_t at = layer * num_directions_ + d;
        State state;
        state.hidden = Slice(hidden_, at);
        if (cell_ == Cell::kLstm) state.cell = Slice(cells_, at);
        directions.push_back(Direction(x, at, d == 1, &state));
        hidden_out.push_back(AsPart(state.hidden));
        if (cell_ == Cell::kLstm) cell_out.push_back(AsPart(state.cell));
      }
      x = Joined(directions, 2);
    }
    if (batch_first_) x = r_.build.Permute(x, std::vector<int64_t>{1, 0, 2});
    r_.Give(0, x);
    r_.Give(1, Joined(hidden_out, 0));
    if (cell_ == Cell::kLstm) r_.Give(2, Joined(cell_out, 0));
    return Rewritten::kDone;
  }

 private:
  struct State {
    ValueId hidden, cell;
  };

  bool Read() {
    const auto layers = r_.Int(4);
    const auto dropout = r_.Number(5);
    if (!r_.tensor(0).valid() || r_.type(0).rank() != 3 || !layers ||
        *layers < 1 || !dropout || (r_.Bool(6) && *dropout != 0) ||
        !r_.arg(2).is_list || !IsFloating(r_.type(0).dtype)) {
      return false;
    }
    has_biases_ = r_.Bool(3);
    num_layers_ = *layers;
    num_directions_ = r_.Bool(7) ? 2 : 1;
    batch_first_ = r_.Bool(8);
    dtype_ = r_.type(0).dtype;
    const Shape& sizes = r_.type(0).sizes;
    const SymInt steps = sizes[batch_first_ ? 1 : 0];
    batch_ = sizes[batch_first_ ? 0 : 1];
    if (!steps.is_literal() || steps.value < 1) return false;
    num_steps_ = steps.value;
    if (num_steps_ * num_layers_ * num_directions_ > kMaxSteps) return false;
    for (const Operand& p : r_.arg(2).items) params_.push_back(p.value);
    const size_t expected = static_cast<size_t>(num_layers_ * num_directions_) *
                            (has_biases_ ? 4 : 2);
    if (params_.size() != expected) return false;
    if (cell_ == Cell::kLstm) {
      if (!r_.arg(1).is_list || r_.arg(1).items.size() != 2) return false;
      hidden_ = r_.arg(1).items[0].value;
      cells_ = r_.arg(1).items[1].value;
    } else {
      hidden_ = r_.tensor(1);
    }
    if (!hidden_.valid() || TypeOf(hidden_).rank() != 3) return false;
    width_ = TypeOf(hidden_).sizes[2];
    // A projection makes states and gates of different widths.
    return width_.is_literal() && TypeOf(params_[0]).rank() == 2 &&
           TypeOf(params_[0]).sizes[0].is_literal() &&
           TypeOf(params_[0]).sizes[0].value ==
               NumGates(cell_) * width_.value &&
           (cell_ != Cell::kLstm ||
            TypeOf(cells_).sizes[2] == TypeOf(hidden_).sizes[2]);
  }

  const Type& TypeOf(ValueId v) const { return r_.program().type(v); }
  TypeId StateType() { return r_.build.TensorType(dtype_, {batch_, width_}); }

  ValueId Slice(ValueId states, int64_t at) {
    return r_.build.Call("aten.select_copy.int",
                         {states, Operand::Int(0), Operand::Int(at)},
                         StateType());
  }
  // A state as one of several along a dimension in front.
  ValueId AsPart(ValueId state) {
    return *r_.build.Reshape(state, {SymInt::Literal(1), batch_, width_});
  }
  ValueId Joined(const std::vector<ValueId>& parts, int64_t dim) {
    if (parts.size() == 1) return parts[0];
    Shape sizes = TypeOf(parts[0]).sizes;
    const auto at = static_cast<size_t>(dim);
    sizes[at] =
        SymInt::Literal(sizes[at].value * static_cast<int64_t>(parts.size()));
    return r_.build.Call("aten.cat.default",
                         {Operand::Tensors(parts), Operand::Int(dim)},
                         r_.build.TensorType(dtype_, sizes));
  }

  // All steps of one layer in one direction: [steps, batch, width].
  ValueId Direction(ValueId x, int64_t at, bool backwards, State* state) {
    const size_t first =
        static_cast<size_t>(at) * (has_biases_ ? size_t{4} : size_t{2});
    const SymInt gates = SymInt::Literal(NumGates(cell_) * width_.value);
    const auto bias = [&](size_t i) {
      return has_biases_ ? Operand(params_[first + i]) : Operand();
    };
    const ValueId input = r_.build.Call(
        "aten.linear.default", {x, params_[first], bias(2)},
        r_.build.TensorType(dtype_,
                            {SymInt::Literal(num_steps_), batch_, gates}));
    const TypeId row = r_.build.TensorType(dtype_, {batch_, gates});
    std::vector<ValueId> out(static_cast<size_t>(num_steps_));
    for (int64_t i = 0; i < num_steps_; ++i) {
      const int64_t t = backwards ? num_steps_ - 1 - i : i;
      const ValueId now =
          r_.build.Call("aten.select_copy.int",
                        {input, Operand::Int(0), Operand::Int(t)}, row);
      const ValueId before =
          r_.build.Call("aten.linear.default",
                        {state->hidden, params_[first + 1], bias(3)}, row);
      Step(now, before, row, state);
      out[static_cast<size_t>(t)] = AsPart(state->hidden);
    }
    return Joined(out, 0);
  }

  ValueId Gate(ValueId gates, int64_t i) {
    if (NumGates(cell_) == 1) return gates;
    return r_.build.Call(
        "aten.slice_copy.Tensor",
        {gates, Operand::Int(1), Operand::Int(i * width_.value),
         Operand::Int((i + 1) * width_.value), Operand::Int(1)},
        StateType());
  }
  ValueId Apply(std::string_view op, std::vector<Operand> operands) {
    return r_.build.Call(op, std::move(operands), StateType());
  }

  void Step(ValueId now, ValueId before, TypeId row, State* state) {
    if (cell_ == Cell::kGru) return GruStep(now, before, state);
    const ValueId sum = r_.build.Call("aten.add.Tensor", {now, before}, row);
    if (cell_ != Cell::kLstm) {
      state->hidden = Apply(
          cell_ == Cell::kTanh ? "aten.tanh.default" : "aten.relu.default",
          {sum});
      return;
    }
    const ValueId in = Apply("aten.sigmoid.default", {Gate(sum, 0)});
    const ValueId forget = Apply("aten.sigmoid.default", {Gate(sum, 1)});
    const ValueId fresh = Apply("aten.tanh.default", {Gate(sum, 2)});
    const ValueId out = Apply("aten.sigmoid.default", {Gate(sum, 3)});
    state->cell = Apply("aten.add.Tensor",
                        {Apply("aten.mul.Tensor", {forget, state->cell}),
                         Apply("aten.mul.Tensor", {in, fresh})});
    state->hidden = Apply("aten.mul.Tensor",
                          {out, Apply("aten.tanh.default", {state->cell})});
  }

  // h' = n + z (h - n), n = tanh(input + r state)
  void GruStep(ValueId now, ValueId before, State* state) {
    const auto both = [&](int64_t i) {
      return Apply("aten.sigmoid.default",
                   {Apply("aten.add.Tensor", {Gate(now, i), Gate(before, i)})});
    };
    const ValueId reset = both(0), update = both(1);
    const ValueId fresh =
        Apply("aten.tanh.default",
              {Apply("aten.add.Tensor",
                     {Gate(now, 2),
                      Apply("aten.mul.Tensor", {reset, Gate(before, 2)})})});
    const ValueId gap = Apply("aten.sub.Tensor", {state->hidden, fresh});
    state->hidden = Apply("aten.add.Tensor",
                          {fresh, Apply("aten.mul.Tensor", {update, gap})});
  }

  NodeRewrite& r_;
  const Cell cell_;
  bool has_biases_ = false, batch_first_ = false;
  int64_t num_layers_ = 1, num_directions_ = 1, num_steps_ = 0;
  DType dtype_ = DType::kUnknown;
  SymInt batch_, width_;
  std::vector<ValueId> params_;
  ValueId hidden_, cells_;
};

RewriteRule Unrolled(Cell cell) {
  return [cell](NodeRewrite& r) { return Network(r, cell).Unroll(); };
}

}  // namespace

std::vector<RuleRow> RecurrentRules() {
  return {
      {"aten.lstm.input", Unrolled(Cell::kLstm)},
      {"aten.gru.input", Unrolled(Cell::kGru)},
      {"aten.rnn_tanh.input", Unrolled(Cell::kTanh)},
      {"aten.rnn_relu.input", Unrolled(Cell::kRelu)},
  };
}

}  // namespace tenon::lower
