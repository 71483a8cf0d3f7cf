#include <algorithm>
#include <utility>

#include "analysis/wiring_tags.h"
#include "analysis/wiring_walk.h"

namespace tenon {
namespace {

// Which arguments of control flow a nested graph gets as its inputs.
struct Operands {
  // In the order of the inputs; invalid where an input is a slice of one.
  std::vector<ValueId> values;
  // By argument: passed on as it is.
  std::vector<bool> is_passed;
};

// `convention` is null where it isn't known.
Operands OperandsOf(const Program& program, NodeId n,
                    const HigherOrderConvention* convention) {
  const auto args = program.args(n);
  Operands out;
  out.is_passed.resize(args.size(), false);
  if (convention == nullptr) return out;
  for (const OperandGroup& group : convention->groups) {
    const auto add = [&](const Arg& arg) {
      out.values.push_back(group.is_sliced ? ValueId() : arg.value());
    };
    const size_t end = group.is_rest
                           ? args.size()
                           : std::min<size_t>(group.arg + 1, args.size());
    for (size_t i = group.arg; i < end; ++i) {
      out.is_passed[i] = !group.is_sliced;
      if (args[i].kind == ArgKind::kList) {
        for (const Arg& item : program.args(args[i].list)) add(item);
      } else {
        add(args[i]);
      }
    }
  }
  return out;
}

// Moves what `from` holds behind what `to` holds already, nothing twice.
void Merge(std::vector<AliasId>* to, std::vector<AliasId> from) {
  for (const AliasId alias : from) {
    if (std::find(to->begin(), to->end(), alias) == to->end()) {
      to->push_back(alias);
    }
  }
}

}  // namespace

// A nested graph as a function of its inputs. State that it is passed counts
// as state that it refers to itself, so that lifting keeps the digest:
// `operands[i]` is what input i stands for; invalid, or missing: anything.
Digest WiringWalk::Function(GraphId g, std::span<const ValueId> operands) {
  if (std::any_of(operands.begin(), operands.end(),
                  [&](ValueId v) { return values_.IsState(v); })) {
    return HashFunction(g, operands);
  }
  if (function_known_[g.index]) return functions_[g.index];
  const uint64_t state_reads = num_state_reads_;
  const Digest digest = HashFunction(g, operands);
  if (state_reads == num_state_reads_) {
    function_known_[g.index] = true;
    functions_[g.index] = digest;
  }
  return digest;
}

Digest WiringWalk::HashFunction(GraphId g, std::span<const ValueId> operands) {
  const WiringValues::Nesting nesting = values_.BeginNested();
  const std::vector<AliasId> parameters = DefineParameters(g, operands);
  std::vector<WiringRoot> effects;
  // What was drawn before a call is part of the call, not of the function.
  const Digest random = std::exchange(random_version_, Digest());
  const Digest opaque = std::exchange(opaque_version_, Digest());
  HashGraph(g, &effects);
  random_version_ = random;
  opaque_version_ = opaque;
  Hasher h;
  h.Add(uint64_t{kTagFunction});
  h.Add(uint64_t{parameters.size()});
  h.Add(uint64_t{program_.graph(g).returns_single});
  for (const Arg& arg : program_.outputs(g)) h.Add(Contribution(arg));
  for (const AliasId alias : parameters) h.Add(values_.Version(alias));
  std::vector<Digest> sorted = EndNested(nesting);
  for (const WiringRoot& effect : effects) sorted.push_back(effect.digest);
  std::sort(sorted.begin(), sorted.end());
  for (const Digest& d : sorted) h.Add(d);
  return h.Finish();
}

// The inputs of a nested graph that don't stand for state; their storages.
std::vector<AliasId> WiringWalk::DefineParameters(
    GraphId g, std::span<const ValueId> operands) {
  const auto& inputs = program_.graph(g).inputs;
  std::vector<AliasId> out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i < operands.size() && values_.IsState(operands[i])) {
      values_.Pass(inputs[i], operands[i]);
      continue;
    }
    Hasher h;
    h.Add(uint64_t{kTagParameter});
    h.Add(uint64_t{out.size()});
    h.Add(leaves_.Type(program_.value(inputs[i]).type));
    out.push_back(values_.NewAlias());
    values_.Define(inputs[i], h.Finish(), out.back());
  }
  return out;
}

// Ends what a nested graph wrote to storages of the graphs around it: their
// versions are as before, and the writing node will give them new ones.
std::vector<Digest> WiringWalk::EndNested(
    const WiringValues::Nesting& nesting) {
  std::vector<Digest> out;
  values_.EndNested(nesting, [&](AliasId alias) {
    if (std::find(nested_writes_.begin(), nested_writes_.end(), alias) !=
        nested_writes_.end()) {
      return;
    }
    nested_writes_.push_back(alias);
    Hasher h;
    h.Add(uint64_t{kTagMutated});
    h.Add(AliasIdentity(alias));
    h.Add(values_.Version(alias));
    out.push_back(h.Finish());
  });
  return out;
}

// Arguments of control flow: state among the operands belongs to the graphs.
void WiringWalk::HashHigherOrderArgs(NodeId n,
                                     const HigherOrderConvention* convention) {
  const auto args = program_.args(n);
  const Operands operands = OperandsOf(program_, n, convention);
  const auto is_bound = [&](const Arg& arg) {
    return arg.is_value() && values_.IsState(arg.v.value);
  };
  // Nested nodes use the hasher of nodes, too.
  std::vector<Digest> parts;
  std::vector<AliasId> written;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].kind == ArgKind::kGraph) {
      parts.push_back(Function(args[i].graph, operands.values));
      Merge(&written, std::exchange(nested_writes_, {}));
    } else if (!operands.is_passed[i]) {
      parts.push_back(Contribution(args[i]));
    } else if (args[i].kind == ArgKind::kList) {
      Hasher h;
      h.Add(uint64_t{kTagList});
      for (const Arg& item : program_.args(args[i].list)) {
        if (!is_bound(item)) h.Add(Contribution(item));
      }
      parts.push_back(h.Finish());
    } else if (!is_bound(args[i])) {
      parts.push_back(Contribution(args[i]));
    }
  }
  nested_writes_ = std::move(written);
  op_hasher_.Reset();
  op_hasher_.Add(uint64_t{kTagNode});
  op_hasher_.Add(leaves_.Text(context_.op(program_.node(n).op).name));
  for (const Digest& part : parts) op_hasher_.Add(part);
}

}  // namespace tenon
