// Quantised operators by the plain operators that define them, for whoever runs
// or plans such chains: promotion and rounding then agree step by step.
//
// Each function reads the arguments of its call, checks what PyTorch checks,
// and returns the results. False after call.Fail.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/compose.h"

namespace tenon::quantized {

using ChainFn = bool (*)(OperatorChain& chain, KernelCall& call);

// A kernel that runs the chain.
template <ChainFn kChain>
bool RunChain(KernelCall& call) {
  KernelChain chain(call);
  return kChain(chain, call);
}

// --- quantized_decomposed (quantized_decomposed.cc) ---
bool QuantizePerTensor(OperatorChain& chain, KernelCall& call);
bool QuantizePerChannel(OperatorChain& chain, KernelCall& call);
bool QuantizePerToken(OperatorChain& chain, KernelCall& call);
bool QuantizePerChannelGroup(OperatorChain& chain, KernelCall& call);
bool DequantizePerTensor(OperatorChain& chain, KernelCall& call);
bool DequantizePerChannel(OperatorChain& chain, KernelCall& call);
bool DequantizePerToken(OperatorChain& chain, KernelCall& call);
bool DequantizePerChannelGroup(OperatorChain& chain, KernelCall& call);
bool FakeQuantPerChannel(OperatorChain& chain, KernelCall& call);
bool ChooseQparams(OperatorChain& chain, KernelCall& call);
bool ChooseQparamsSymmetric(OperatorChain& chain, KernelCall& call);
bool ChooseQparamsPerToken(OperatorChain& chain, KernelCall& call);
bool ChooseQparamsPerTokenAsymmetric(OperatorChain& chain, KernelCall& call);
bool ConvertElementType(OperatorChain& chain, KernelCall& call);

// --- look-ups in quantised tables (quantized_embedding.cc) ---
bool EmbeddingByte(OperatorChain& chain, KernelCall& call);
bool Embedding4Bit(OperatorChain& chain, KernelCall& call);
bool Embedding2Bit(OperatorChain& chain, KernelCall& call);

// --- torchao (quantized_affine.cc) ---
bool QuantizeAffine(OperatorChain& chain, KernelCall& call);
bool DequantizeAffine(OperatorChain& chain, KernelCall& call);
bool ChooseQparamsAffine(OperatorChain& chain, KernelCall& call);

// The axis of a call's input that argument `i` names.
bool AxisAt(KernelCall& call, size_t i, int64_t* axis);

// The columns of an input that share their parameters, where `group_size` is
// what the caller asked for: no more than there are.
bool GroupOf(KernelCall& call, int64_t group_size, int64_t* group);

}  // namespace tenon::quantized
