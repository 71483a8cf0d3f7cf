#include "lower/lay_out.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/reach.h"
#include "lower/live_graphs.h"
#include "lower/node_builder.h"
#include "tensor/tensor.h"

namespace tenon::lower {
namespace {

Sizes LiteralsOf(const std::vector<SymInt>& list) {
  Sizes out;
  for (const SymInt& s : list) out.push_back(s.value);
  return out;
}

// The entry's tensor in a storage of its own.
Status StoreAgain(StateId id, Program* program, Diagnostics& diags) {
  StateEntry& entry = program->state.entries[id.index];
  const Type type = program->type(entry.type);
  const StorageRecord record = program->state.storage(entry.storage);
  Type dense = Contiguous(type, &program->context());
  const auto reach = ReachBytes(type), size = ReachBytes(dense);
  if (!reach || !size ||
      (!record.is_weightless && *reach > record.bytes.size())) {
    return diags.Error(Rule::kState04,
                       Place::Node(std::string(program->view(entry.fqn))))
           << "the tensor reaches past its storage";
  }
  StorageRecord stored;
  stored.is_weightless = record.is_weightless;
  if (!record.is_weightless) {
    Tensor to = Tensor::EmptyStrided(type.dtype, LiteralsOf(dense.sizes),
                                     LiteralsOf(dense.strides));
    const size_t item = SizeBytes(type.dtype);
    const std::byte* from = record.bytes.data();
    std::byte* out = to.mutable_raw();
    const Sizes sizes = LiteralsOf(type.sizes);
    const Sizes strides = LiteralsOf(type.strides);
    std::vector<int64_t> at(sizes.size(), 0);
    for (uint64_t done = 0; done < *size; done += item) {
      int64_t offset = type.storage_offset.value;
      for (size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
      std::copy_n(from + offset * static_cast<int64_t>(item), item, out + done);
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < sizes[d]) break;
        at[d] = 0;
      }
    }
    stored.bytes = Bytes(to.storage()->data(), *size);
    stored.owner = to.storage();
  }
  entry.storage = program->state.AddStorage(std::move(stored));
  entry.type = program->context().types.Intern(std::move(dense));
  return {};
}

// Two names of one storage can't lie in two places when one of them is written.
Status CheckWrittenState(const Program& program, Diagnostics& diags) {
  const auto is_written = [&](StateId id) {
    return std::any_of(
        program.signature.outputs.begin(), program.signature.outputs.end(),
        [&](const OutputSpec& o) {
          return o.state == id && (o.kind == OutputKind::kBufferMutation ||
                                   o.kind == OutputKind::kParameterMutation);
        });
  };
  for (const InputSpec& a : program.signature.inputs) {
    if (!a.state.valid() || !is_written(a.state)) continue;
    const StateEntry& written = program.state.get(a.state);
    for (const InputSpec& b : program.signature.inputs) {
      if (!b.state.valid() || b.state == a.state) continue;
      const StateEntry& other = program.state.get(b.state);
      if (other.storage != written.storage) continue;
      return diags.Error(Rule::kUnsupported,
                         Place::Node(std::string(program.view(written.fqn))))
             << "is written and shares its storage with '"
             << program.view(other.fqn) << "', which is read";
    }
  }
  return {};
}

}  // namespace

Status LayOutContiguously(Program* program, Diagnostics& diags) {
  TENON_TRY(CheckWrittenState(*program, diags));
  Context* context = &program->context();
  for (size_t i = 0; i < program->state.entries.size(); ++i) {
    const StateEntry& entry = program->state.entries[i];
    if (entry.kind == StateKind::kObject || !entry.storage.valid() ||
        entry.is_pickled) {
      continue;
    }
    const Type& type = program->type(entry.type);
    const bool is_whole = type.storage_offset.is_literal() &&
                          type.storage_offset.value == 0 &&
                          IsContiguous(type, context);
    if (is_whole && Contiguous(type, context) == type) continue;
    TENON_TRY(StoreAgain(StateId(i), program, diags));
  }
  const auto retype = [&](ValueId v) {
    const Type& type = program->type(v);
    if (!type.is_tensor()) return;
    Type dense = Contiguous(type, context);
    if (dense == type) return;
    program->mutable_value(v).type = context->types.Intern(std::move(dense));
  };
  for (const GraphId g : LiveGraphs(*program)) {
    for (const ValueId v : program->graph(g).inputs) retype(v);
    for (const NodeId n : program->nodes(g)) {
      const ValueRange results = program->node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) retype(results[i]);
    }
  }
  return {};
}

}  // namespace tenon::lower
