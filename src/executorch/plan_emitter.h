// One lowered program as the values and instructions of a method.
//
// A value of the program is a value of the plan; views and results in place are
// further values over the same memory. What a kernel writes is an out tensor of
// its own. Nested graphs are laid into the one chain of instructions: their
// inputs are the operands themselves, and what a branch gives is written where
// the caller reads it, so that no value ever stands for the memory of another
// (the stock exporter moves handles there, and miscompiles two conditionals in
// a row).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "diag/diagnostics.h"
#include "executorch/delegate_regions.h"
#include "executorch/export_pte.h"
#include "executorch/plan_draft.h"
#include "executorch/shared_state.h"
#include "executorch/size_bounds.h"
#include "executorch/stored_data.h"
#include "executorch/weights.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon::executorch {

// Nothing for dtypes that no kernel takes.
std::optional<PteScalarType> ToPteType(DType dtype);
// Nothing when the number doesn't fit.
std::optional<uint64_t> BytesOf(const PteTensor& tensor);
// Whether the runtime has a primitive for one of Python's functions on numbers.
bool HasPrimitive(std::string_view python);

class PlanEmitter {
 public:
  // What is emitted: `program` is lowered and holds all rules, `delegates` are
  // its regions, compiled. All of it outlives the emitter.
  struct Source {
    std::string_view method;
    const Program& program;
    const std::vector<DelegateRegion>& delegates;
    // Bounds of sizes are those of the program, and the ones in here.
    const PteExportOptions& options;
    // Null: state lies in the first arena.
    const StateArena* state = nullptr;
  };
  // Bytes of constants and state go to the two collections.
  PlanEmitter(const Source& source, Weights* weights, StoredData* mutable_data,
              Diagnostics& diags);

  // The plan with its memory. Reports everything that can't be written.
  Expected<PtePlan> Emit();

  // How many mutations are written in place, and which are copied back.
  uint32_t num_in_place() const { return num_in_place_; }
  const std::vector<PteStateCopy>& copies() const { return copies_; }
  // Outputs that keep a place although the caller was to give one.
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<DeviceState>& device_state() const { return device_state_; }
  // Those that fill it, at the first call.
  InstructionRange fills() const { return fills_; }
  // The most bytes that are alive at one instruction.
  uint64_t peak_live_bytes() const { return peak_live_bytes_; }

 private:
  // plan_emitter.cc: inputs, outputs, graphs.
  bool EmitInputs();
  bool EmitInput(uint32_t i);
  bool EmitState(ValueId input, StateId state, bool is_written);
  bool EmitGraph(GraphId graph);
  bool EmitNode(GraphId graph, NodeId n);
  bool EmitView(GraphId graph, NodeId n);
  bool EmitDelegate(GraphId graph, NodeId n);  // emit_delegate.cc
  void AddDelegateCall(NodeId n, PteDelegateCall call);

  // emit_device.cc: values on a device.
  // Which buffers stay there from call to call (state_chains.h).
  void FindDeviceState();
  static void PutOnDevice(int8_t device, PteTensor* tensor);
  // A buffer that stays on a device, and how its initial bytes get there.
  void EmitDeviceState(ValueId input, std::string name, PteTensor tensor,
                       Bytes data, std::shared_ptr<const void> owner);
  void FillDeviceState();
  // A new tensor for a value, not its index.
  std::optional<int32_t> NewTensorOn(int8_t device, ValueId v,
                                     const Place& place);
  // Where a value lies on the device; copied there if it doesn't yet.
  std::optional<int32_t> OnDevice(GraphId graph, NodeId n, ValueId v,
                                  int8_t device);
  // Copies a value that lies on a device alone.
  bool ToHost(ValueId v, const Place& place);
  bool OperandsToHost(GraphId graph, NodeId n);
  bool EmitDeviceDelegate(GraphId graph, NodeId n);
  // Writes a value from a device over a buffer on the host.
  void CopyBack(ValueId from, ValueId state);

  std::optional<PteTensor> TensorOf(const Type& type, const Place& place);
  // A new tensor in planned memory for a result, or where it lies in place.
  std::optional<int32_t> NewResult(GraphId graph, NodeId n, ValueId v);
  // A number that instructions set.
  int32_t NewScalar(const Type& type);

  // emit_outputs.cc
  bool EmitOutputs();
  bool WriteStateBack();
  void StoreMutation(const OutputSpec& spec, ValueId from, ValueId target);
  // With outputs left to the caller: those that can be.
  void LeaveOutputsToCaller();
  // What made a value: "region_0 (XnnpackBackend)", or an operator.
  std::string MakerOf(ValueId v) const;

  // emit_kernel.cc: kernel calls and their arguments.
  bool EmitKernel(GraphId graph, NodeId n);
  bool EmitRuntimeKernel(GraphId graph, NodeId n, const PteKernel& kernel);
  std::optional<int32_t> EmitArg(GraphId graph, NodeId n,
                                 const SchemaArg& parameter, const Arg* arg);
  std::optional<int32_t> EmitDefault(const SchemaArg& parameter);
  std::optional<int32_t> EmitList(GraphId graph, NodeId n,
                                  const SchemaArg& parameter, const Arg& arg);
  // A literal, or the index of a value.
  std::optional<int32_t> EmitScalarArg(const SchemaArg& parameter,
                                       const Arg& arg);
  int32_t EmitInts(const std::vector<int32_t>& items);

  // emit_scalar.cc: Python's functions on numbers.
  bool EmitScalarNode(GraphId graph, NodeId n);
  bool EmitNotEqual(GraphId graph, NodeId n);
  int32_t CallPrimitive(std::string_view name, std::vector<int32_t> args,
                        PteContent result);

  // emit_control.cc
  bool EmitCond(GraphId graph, NodeId n);
  bool EmitWhile(GraphId graph, NodeId n);
  bool EmitScan(GraphId graph, NodeId n);  // emit_scan.cc; map, too
  std::optional<int32_t> NewPlace(GraphId graph, NodeId n, ValueId v);
  void CarryOver(const std::vector<int32_t>& from,
                 const std::vector<int32_t>& to);
  bool BindOperands(GraphId graph, NodeId n, GraphId body,
                    const std::vector<ArgId>& operands);
  // The graph's nodes, its outputs written to `targets`.
  bool EmitBody(GraphId body, const std::vector<int32_t>& targets);
  bool StoreTo(GraphId graph, const Arg& source, int32_t target);
  int32_t AlwaysFalse();

  bool Refuse(GraphId graph, NodeId n, Rule rule, const std::string& why);
  Place PlaceOf(GraphId graph, NodeId n) const {
    return Place::Node(program_.Describe(graph, n));
  }
  int32_t IndexOf(ValueId v) const { return index_of_[v.index]; }
  void SetIndex(ValueId v, int32_t index) { index_of_[v.index] = index; }

  const Program& program_;
  const std::vector<DelegateRegion>& delegates_;
  const PteExportOptions& options_;
  const StateArena* state_;
  const std::string method_;
  const std::vector<bool> absorbed_;  // by value: nobody but payloads reads it
  Weights* weights_;
  StoredData* mutable_data_;
  Diagnostics& diags_;
  SizeBounds bounds_;
  PlanDraft draft_;
  std::vector<int32_t> index_of_;   // by value; -1: not emitted
  std::vector<int32_t> target_of_;  // by value: where it has to lie, or -1
  std::vector<ValueId> in_place_;   // by value (in_place.h)
  // By value: where it lies on a device, or -1; of buffers, on which they stay.
  std::vector<int32_t> device_index_;
  std::vector<int8_t> resident_on_;
  // Initial bytes, as a constant, and the buffer on a device.
  std::vector<std::pair<int32_t, int32_t>> to_fill_;
  int32_t always_false_ = -1;
  int depth_ = 0;
  uint64_t peak_live_bytes_ = 0;
  uint32_t num_in_place_ = 0;
  std::vector<PteStateCopy> copies_;
  std::vector<std::string> notes_;
  std::vector<DeviceState> device_state_;
  InstructionRange fills_;
};

}  // namespace tenon::executorch
