// The payload that the built-in backends share: a header line and the region's
// text form.
//
//   tenon-region 1 cpu\n                or, with outputs that replace inputs,
//   tenon-region 1 cpu replaces 0:2 3:1\n     input:output
//   <PrintProgram of the region, without metadata and state>
//
// The text is parsed again at load time into a context of its own, so that a
// payload needs nothing but itself.
#pragma once

#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

// `region` must not have state: a region's weights are inputs like others.
std::vector<std::byte> WriteRegionPayload(
    std::string_view backend, const Program& region,
    std::span<const DeclaredWrite> replaced = {});

// Fails on any bytes that aren't the payload of a well-formed region for
// `backend`. The program passed the verifier; each replaced input is a tensor
// of the type of the output that replaces it, and neither stands twice. Without
// `replaced`, a payload must not have any.
Expected<Program> ReadRegionPayload(
    std::string_view backend, Bytes payload, Diagnostics& diags,
    std::vector<DeclaredWrite>* replaced = nullptr);

// The number of inputs must be that of the region, tensors of the stated rank
// must stand where the region's types say tensors, and each must lie inside its
// storage. Dtypes may differ from the stated ones, see HaveStatedDtypes.
Status CheckRegionInputs(const Program& region,
                         std::span<const RuntimeValue> inputs,
                         Diagnostics& diags);

// Whether every tensor has the dtype that the region's types say. A program
// states what PyTorch's shape functions told its exporter, and for some
// operators they and the kernels disagree: batch normalisation of half numbers
// states float32 statistics and returns halves, layer normalisation with wider
// weights does it the other way round. Uncut, such a program computes with what
// comes; a backend that prepares itself for stated dtypes has to ask first.
// Inputs that CheckRegionInputs refuses must not come here.
bool HaveStatedDtypes(const Program& region,
                      std::span<const RuntimeValue> inputs);

}  // namespace tenon
