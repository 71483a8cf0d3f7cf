// A program's user inputs, gathered from files, settings and chance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"
#include "tensor/value.h"

namespace tenon::tools {

// Inputs are addressed by leaf path ("args.0", "kwargs.mask", "args.1.past.k"),
// by a parameter's name in place of "args.N" or "kwargs.NAME" ("mask"), or by
// number. Literals that were fixed at export needn't be given.
class CallInputs {
 public:
  // The program must outlive this.
  CallInputs(const Program& program, Diagnostics& diags);

  // All tensors of a safetensors file, each named by an address.
  Status AddSafetensors(const std::string& path);
  // "args.0=x.npy".
  Status AddNpy(std::string_view assignment);
  // "kwargs.flag=True": int, float, True or False, text, None; for a tensor
  // without dimensions its element.
  Status AddSetting(std::string_view assignment);
  // Draws what is missing: sizes within their ranges, small numbers.
  Status FillRandomly(uint64_t seed);

  // One value per user input, in order. An input without a value is an error.
  Expected<std::vector<RuntimeValue>> Take();

 private:
  struct Input {
    std::string path;
    TypeId type;
    std::optional<RuntimeValue> value;
  };

  Input* Find(std::string_view address, const Place& place);
  Status Set(std::string_view address, RuntimeValue value, const Place& place);
  const Type& type(const Input& input) const {
    return program_.type(input.type);
  }
  bool TryFill(uint64_t seed, std::vector<RuntimeValue>* out) const;

  const Program& program_;
  Diagnostics& diags_;
  std::vector<Input> inputs_;
};

}  // namespace tenon::tools
