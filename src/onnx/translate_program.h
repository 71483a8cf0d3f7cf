// A program, or a region of one, as an ONNX model (docs/formats/onnx.md).
//
//   1 lower      operators that have translations, functional form
//                (lower/lower.h); what can be computed once is
//   2 translate  node by node, family by family (task.h)
//   3 clean      nodes and constants that nothing reads go
//
// Inputs and outputs of the model are those of the program, in order: what the
// caller passes and gets, and beside it state that a call changes, as an input
// with the old and an output with the new value. State that no call changes
// is an initializer. Names are positions: input_0, output_0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/onnx/onnx_model.h"
#include "ir/program.h"
#include "onnx/task.h"
#include "support/byte_cursor.h"
#include "support/expected.h"
#include "tensor/tensor.h"

namespace tenon::onnx {

struct TranslateOptions {
  // Arithmetic of bfloat16 in float32 (graph_builder.h).
  bool widen_bfloat16 = false;
  // Tensors of fewer bytes lie in the model's own file.
  uint64_t min_external_bytes = 1024;
  // What the model calls the file of the others, which lies beside it.
  std::string data_name = "model.onnx.data";
};

// An input of a region whose value is known.
struct KnownInput {
  uint32_t input = 0;  // among the user inputs, which all of a region's are
  Tensor tensor;
};

// Bytes that lie at `offset` of the data file.
struct DataPiece {
  uint64_t offset = 0;
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

// An input or output of the model, and what it is to the program.
struct Port {
  std::string name;  // "input_0"
  // The position among what the caller passes or gets, counted in leaves.
  std::optional<uint32_t> user;
  // State that calls change: its FQN, "" for user inputs that they change.
  std::string fqn;
  // Of an output that is a new value: the input with the old one.
  std::string replaces;
};

struct Translated {
  Model model;
  std::vector<DataPiece> data;  // ascending, apart from each other
  uint64_t data_bytes = 0;
  std::vector<std::string> notes;
  std::vector<Port> inputs, outputs;  // in the model's order
};

// Reports every node that has no translation, with its line in the model's
// source, as one error. The bytes of `data` are those of the program's storages
// and of `known`, not copied.
Expected<Translated> TranslateProgram(const Program& program,
                                      const std::vector<KnownInput>& known,
                                      const TranslateOptions& options,
                                      Diagnostics& diags);

}  // namespace tenon::onnx
