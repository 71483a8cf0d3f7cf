// Recurrent layers: the sequence, and the states after its last step.
#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// The input's sizes but the last, which is that of the state, once per
// direction; then the states as they came. Of the two states of an lstm only
// the dtype: up to torch 2.9 its meta function gives them a dimension of one
// more, which programs state and kernels don't give.
void Recurrent(InferCall& call, uint32_t) {
  constexpr size_t kBidirectional = 7;
  const Type* input = call.Self();
  const auto list = call.Items(1);
  const Type* single = call.Tensor(1);
  const Type* state = single != nullptr ? single
                      : list.empty()    ? nullptr
                                        : call.TensorOf(&list[0]);
  const auto bidirectional = call.Bool(kBidirectional);
  if (input == nullptr || state == nullptr || state->rank() < 1 ||
      input->rank() < 1) {
    return;
  }
  InferredType& out = call.AddLike(
      *input, input->dtype == state->dtype ? input->dtype : DType::kUnknown);
  out.sizes[out.rank - 1] =
      bidirectional ? Times(SizeAt(*state, -1),
                            InferredSize::Literal(*bidirectional ? 2 : 1))
                    : InferredSize::Unknown();
  if (single != nullptr) call.AddLike(*single);
  for (const Arg& item : list) {
    const Type* t = call.TensorOf(&item);
    if (t == nullptr) return;
    call.AddLike(*t).rank = -1;
  }
}

constexpr InferRow kRows[] = {
    {"aten.lstm.input", Recurrent},
    {"aten.gru.input", Recurrent},
    {"aten.rnn_tanh.input", Recurrent},
    {"aten.rnn_relu.input", Recurrent},
};

}  // namespace

std::span<const InferRow> RecurrentRows() { return kRows; }

}  // namespace tenon
