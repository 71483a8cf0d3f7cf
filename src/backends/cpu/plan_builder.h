// Makes a plan: walks a region with the geometry of given inputs, lowers each
// node to steps, then merges, drops and places.
//
// While planning, a tensor is a `Tensor` whose storage has a size but no bytes:
// it stands for a buffer. Geometry operators (view, permute, slice, sym_size)
// are evaluated by the reference kernels on such tensors, since those look at
// sizes and strides only. Tensors with bytes are constants; an operator whose
// tensors are all constants is computed at once, by its reference kernel, so
// that masks, ranges and position tables cost nothing at run time.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cpu/fused_convolution.h"
#include "backends/cpu/kept_values.h"
#include "backends/cpu/packed_weights.h"
#include "backends/cpu/plan.h"
#include "backends/cpu/pointwise_step.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "kernels/kernel.h"
#include "support/expected.h"

namespace tenon::cpu {

struct PlanRequest {
  const Program* region = nullptr;
  std::span<const RuntimeValue> inputs;
  // Outlives the plan.
  PackedWeights* packed_weights = nullptr;
  // Region inputs that Compile declared as written.
  std::vector<uint32_t> written_inputs;
  // Outputs that go to an input's memory, and the nodes that may write there
  // right away (backends/in_place_updates.h), by index.
  std::vector<DeclaredWrite> replaced;
  const std::vector<bool>* in_place_updates = nullptr;
  // Some input holds what isn't a finite number: activations that lose NaN
  // don't become part of a convolution.
  bool keeps_nan = false;
  // Some node counts from the start of a storage: inputs are seen with what
  // lies before their first element, and plans are for one offset.
  bool sees_storages = false;
};

struct Lowering;

// What a float32 tensor was computed from: (stored - zero) * scale.
struct StoredTensor {
  Tensor stored;  // of a narrow dtype; its sizes and strides are the other's
  // Undefined, or float32 tensors of one element, or of one per position along
  // `axis`, or, of a matrix, of one per row and group of columns.
  Tensor scale, zero;
  int64_t axis = 0;
  int64_t group = 0;  // columns in a group; 0 = no groups
};

class PlanBuilder {
 public:
  static Expected<std::unique_ptr<Plan>> Build(const PlanRequest& request,
                                               Diagnostics& diags);

  // --- for the lowering of one node ---

  // A tensor in the arena; undefined when its size overflows.
  Tensor NewTensor(DType dtype, Sizes sizes, Sizes strides);
  Tensor NewTensor(DType dtype, Sizes sizes);
  // Whether the tensor's bytes are known.
  bool is_constant(const Tensor& tensor) const;
  // The region input that the tensor lies in, or -1.
  int64_t InputOf(const Tensor& tensor) const;
  // Where a weight comes from, and whether packing it once will do.
  WeightSource SourceOf(const Tensor& weight) const;
  // Asks that what was computed of a weight's buffer so far be kept between
  // runs, if it comes from fixed weights alone. From then on it counts as
  // fixed.
  void Keep(const Tensor& weight);
  PackedWeights& packed_weights() const { return *request_.packed_weights; }
  Ref RefOf(const Tensor& tensor);
  // A tile full of a constant's only element.
  Ref TileOf(const Tensor& constant);

  void Emit(std::unique_ptr<Step> step, std::span<const Tensor> reads,
            std::span<const Tensor> writes);
  // The same for a step that touches but a part of `target`, as much as `part`
  // has.
  void EmitPartial(std::unique_ptr<Step> step, std::span<const Tensor> reads,
                   const Tensor& target, const Tensor& part);
  void EmitPointwise(TileProgram program);
  void EmitConvolution(FusedConvolutionShape shape);

  // `to` = `from`, cast and broadcast. False when there is no such cast. What
  // a region input holds there is saved before (Frame::undo_log).
  bool EmitCopy(const Tensor& from, const Tensor& to);
  // The same where the two may overlap. Nothing where they are one.
  bool EmitUpdate(const Tensor& from, const Tensor& to);
  // For reading: the tensor itself when it is contiguous, the same elements
  // elsewhere when those are, else a copy.
  Tensor Contiguous(const Tensor& tensor);

  // --- tensors with their channels last (channels_last.h) ---

  // The tensor itself, if its channels are last, or its twin; else undefined.
  Tensor FindChannelsLast(const Tensor& tensor) const;
  // A view of a tensor that has a twin, as a view of the twin; else undefined.
  Tensor ViewOfTwin(const Tensor& view) const;
  // Makes the twin if there is none. Undefined when memory or the copy fails.
  Tensor InChannelsLast(const Tensor& tensor);
  // For a step that is about to compute `result` with its channels last: what
  // to write. Undefined when it is too large.
  Tensor NewChannelsLast(const Tensor& result);
  // Once that is written: `last` is the twin of `result`, which gets a copy.
  // Nothing happens when they are one.
  void SetChannelsLast(const Tensor& result, const Tensor& last);

  // --- tensors that are stored narrower than they are computed ---

  // A half-precision tensor as float32. Undefined when it is too large.
  Tensor Widened(const Tensor& tensor);
  // A tensor in another dtype, and its twin if it has one.
  Tensor Converted(const Tensor& tensor, DType dtype);
  // Says what a float32 tensor was computed from. Whoever can reads that
  // instead, and when nobody reads the tensor, the steps that compute it are
  // dropped. Nothing happens when the two differ in strides.
  void SetStored(const Tensor& wide, StoredTensor from);
  // For a view of such a tensor, as a view of what it was computed from.
  std::optional<StoredTensor> FindStored(const Tensor& view) const;

  // --- lowering operators by others ---

  // Lowers a call of any operator that the backend has; constants and geometry
  // are evaluated.
  bool LowerCall(const Lowering& lowering, KernelCall& call);

  // --- writing in place ---

  // Whether the node that is being lowered, which gives a changed copy of its
  // first operand, is to change that itself.
  bool updates_in_place() const;
  // For an operator that overwrites part of `target`: the tensor to write.
  // Constants become arena buffers that start as a copy of them.
  Tensor Writable(const Tensor& target);
  // For an operator that gives `target` a new value: from now on every value
  // that lay in the target's buffer lies in that of `value`, `*target` too.
  // Where the target is only part of a buffer, or a region input, `value` is
  // copied into it.
  bool Overwrite(Tensor* target, const Tensor& value);

 private:
  struct PlannedStep {
    std::unique_ptr<Step> step;
    // `step`, if it is one.
    PointwiseStep* pointwise = nullptr;
    FusedConvolutionStep* convolution = nullptr;
    std::vector<uint32_t> reads, writes;
    // For listings: what it computes, how much of each buffer it reads, and
    // how much it writes.
    std::vector<NodeId> nodes;
    std::vector<std::pair<uint32_t, uint64_t>> bytes_read;
    uint64_t bytes_written = 0;
    bool is_copy = false;
  };

  // Elementwise steps that compute a buffer from fixed weights alone.
  struct FixedSteps {
    std::vector<size_t> steps;
    std::vector<uint32_t> buffers;  // that they write
    std::vector<uint32_t> inputs;   // of the region, that they read
  };

  PlanBuilder(const PlanRequest& request, bool keeps_weights)
      : request_(request), keeps_weights_(keeps_weights) {}

  // Null, with no diagnostic, if a weight that was to be kept can't be.
  static Expected<std::unique_ptr<Plan>> TryBuild(const PlanRequest& request,
                                                  bool keeps_weights,
                                                  Diagnostics& diags);

  // A tensor and the same elements with their channels last.
  struct Twins {
    Tensor tensor, last;
  };

  // A float32 tensor and what it was computed from.
  struct Origin {
    Tensor wide;
    StoredTensor from;
  };

  uint32_t AddBuffer(BufferKind kind, size_t size_bytes);
  uint32_t BufferOf(const Tensor& tensor);
  void BindInputs();
  Status LowerAll(Diagnostics& diags);
  bool LowerNode(NodeId node, std::string* error);
  RuntimeValue Read(const Arg& arg) const;
  bool Store(NodeId node, std::vector<RuntimeValue> results);
  void Retarget(const Storage* from, const std::shared_ptr<Storage>& to);
  Status PlanOutputs(Diagnostics& diags);
  bool ReplaceInput(const DeclaredWrite& write, Tensor* output,
                    std::string* error);
  void Append(PlannedStep planned);
  void ForgetTwins(uint32_t written);
  void ForgetOrigins(uint32_t written);

  // --- over all steps; in plan_passes.cc ---
  void DropUnusedSteps();
  void FindTouches();
  void MergePointwiseSteps();
  bool TryMerge(size_t producer, size_t consumer);
  bool WritesBetween(uint32_t buffer, size_t first, size_t last) const;
  Status PlaceBuffers(Diagnostics& diags);
  std::unique_ptr<Plan> Finish();

  // --- weights that are computed once; in plan_kept.cc ---
  bool IsFixedInput(uint32_t buffer) const;
  std::optional<FixedSteps> FindFixedSteps(uint32_t root) const;
  bool MakeKeptSteps();

  // --- elementwise steps into convolutions; in plan_fusion.cc ---
  void FuseConvolutions();
  size_t FindOnlyReader(size_t convolution) const;
  bool TryFuse(size_t convolution, size_t reader);
  std::optional<FusedConvolutionShape> Fused(size_t convolution,
                                             size_t reader) const;
  void SumInPlace();
  void SumInPlace(size_t convolution);
  bool PrepareConvolutions();

  const PlanRequest& request_;
  const bool keeps_weights_;
  std::set<uint32_t> kept_roots_;  // buffers
  std::vector<std::unique_ptr<KeptValues>> kept_values_;
  std::vector<RuntimeValue> values_;  // by ValueId
  std::vector<Buffer> buffers_;
  std::vector<std::shared_ptr<Storage>>
      stand_ins_;  // by buffer; keeps ids apart
  std::unordered_map<const Storage*, uint32_t> buffer_of_storage_;
  std::unordered_map<std::string, Ref> tiles_;
  std::unordered_map<uint32_t, Twins> twins_;     // by the tensor's buffer
  std::unordered_map<uint32_t, Origin> origins_;  // by the wide tensor's buffer
  std::vector<PlannedStep> steps_;
  NodeId current_;                    // that is being lowered
  bool may_update_ = false;           // nodes of PlanRequest::in_place_updates
  std::vector<Tensor> bound_inputs_;  // undefined where there is no tensor
  std::vector<PlannedOutput> outputs_;
  // While steps are merged: those that touch each buffer, in order.
  std::vector<std::vector<size_t>> touches_;
  std::vector<uint32_t> group_of_buffer_;  // buffers that share their memory
  PlanSizes sizes_;
};

}  // namespace tenon::cpu
