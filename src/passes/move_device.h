// A program for another device.
//
// Every device that a program states becomes another one: in the types of all
// values (nested graphs, children and what delegates take included), of state
// entries, and in arguments: `device=` of factories and conversions, what
// aten._assert_tensor_metadata asserts, defaults of parameters, the device type
// of an autocast region. A factory without a device argument makes its tensor
// on the default device; it gets the argument.
//
//   %z : f32[2] = aten.zeros.default([2], device=device("cpu"))
//     ->
//   %z : f32[2] device cuda:0 =
//       aten.zeros.default([2], device=device("cuda", 0))
//
// Moving back gives the same program, if all of it was on one device and each
// factory named it. State's bytes stay where they are: a file has none of a
// device's memory. Example inputs of a file are an archive member of PyTorch's
// and stay as they are, too.
//
// Errors, all kUnsupported: a delegate, whose payload was compiled for its
// device; a guard about a device, which no call could satisfy afterwards.
//
// Linear in values and arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

struct MoveDeviceOptions {
  // What is moved. Without an index: of any index. Nothing: all devices.
  std::optional<Device> from;
  Device to;
};

struct MoveDeviceReport {
  uint64_t num_types = 0;      // values and state entries that were moved
  uint64_t num_arguments = 0;  // that were changed or added
};

// On failure the program is unchanged.
Expected<MoveDeviceReport> MoveDevice(Program* program,
                                      const MoveDeviceOptions& options,
                                      Diagnostics& diags);

// "cpu", "cuda:0"; nullopt for what is no device's name.
std::optional<Device> ParseDevice(std::string_view text, Context* context);

}  // namespace tenon
