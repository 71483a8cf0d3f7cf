#include "analysis/wiring_walk.h"

#include <algorithm>
#include <utility>

#include "analysis/wiring_tags.h"
#include "ir/call_binding.h"

namespace tenon {

Digest WiringWalk::Unread(const Arg& arg) {
  if (arg.kind == ArgKind::kList || arg.kind == ArgKind::kDict) {
    // Nested lists are rare and small: a hasher of their own.
    Hasher h;
    h.Add(uint64_t{arg.kind == ArgKind::kList ? kTagList : kTagDict});
    for (uint32_t i = 0; i < arg.list.count; ++i) {
      const Arg& item = program_.arg(arg.list[i]);
      if (arg.kind == ArgKind::kDict) h.Add(leaves_.Text(item.name));
      h.Add(Contribution(item));
    }
    return h.Finish();
  }
  if (arg.kind == ArgKind::kGraph) return Function(arg.graph);
  return leaves_.Literal(arg);
}

// --- state ---

void WiringWalk::DefineState(ValueId v, StateId state) {
  values_.DefineState(v, state_.OfEntry(state), StorageAlias(state));
  used_state_[state.index] = true;
  ++num_state_reads_;
}

AliasId WiringWalk::StorageAlias(StateId id) {
  const StorageId storage = program_.state.get(id).storage;
  if (!storage.valid()) return values_.NewAlias();
  if (storage_aliases_.empty()) {
    storage_aliases_.resize(program_.state.storages.size(), kNoAlias);
  }
  AliasId& alias = storage_aliases_[storage.index];
  if (alias == kNoAlias) alias = values_.NewAlias();
  return alias;
}

// Of the state's storage behind an alias; zero when there is none.
Digest WiringWalk::AliasIdentity(AliasId alias) {
  const auto found =
      std::find(storage_aliases_.begin(), storage_aliases_.end(), alias);
  if (found == storage_aliases_.end()) return {};
  return state_.OfStorage(
      StorageId(static_cast<size_t>(found - storage_aliases_.begin())));
}

// --- nodes ---

void WiringWalk::HashGraph(GraphId g, std::vector<WiringRoot>* effects) {
  const Graph& graph = program_.graph(g);
  for (NodeId n = graph.first; n != graph.output; n = program_.node(n).next) {
    HashNode(g, n, effects);
  }
}

// Hashes a called graph as if its nodes stood here.
void WiringWalk::Enter(NodeId call, GraphId child,
                       std::vector<WiringRoot>* effects) {
  if (entered_.size() < program_.num_graphs()) {
    entered_.resize(program_.num_graphs(), false);
  }
  const CallBinding binding(program_, call, child);
  if (!binding.faults().empty() || entered_[child.index]) {
    // Not a well-formed call: the verifier says why. Hash something.
    OpaqueCall(call, Digest{child.index, 0});
    return;
  }
  const auto& inputs = program_.graph(child).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Arg& arg = program_.arg(binding.args()[i]);
    // Calls pass storages, so the version of a written one goes in with the
    // alias; the value itself enters unversioned.
    if (arg.is_value()) {
      values_.Pass(inputs[i], arg.v.value);
    } else {
      values_.Define(inputs[i], Contribution(arg), values_.NewAlias());
    }
  }
  entered_[child.index] = true;
  HashGraph(child, effects);
  entered_[child.index] = false;
  const ValueRange results = program_.node(call).results;
  uint32_t next = 0;
  program_.ForEachArg(program_.node(program_.graph(child).output).args,
                      [&](const Arg& arg, ArgId) {
                        if (arg.has_items() || next >= results.count) return;
                        const ValueId r = results[next++];
                        if (arg.is_value()) {
                          values_.Pass(r, arg.v.value);
                        } else {
                          values_.Define(r, Contribution(arg),
                                         values_.NewAlias());
                        }
                      });
}

void WiringWalk::OpaqueCall(NodeId call, Digest target) {
  hasher_.Reset();
  hasher_.Add(uint64_t{kTagDelegate});
  hasher_.Add(target);
  const Digest head = hasher_.Finish();
  Hasher h;
  h.Add(head);
  for (const Arg& arg : program_.args(call)) h.Add(Contribution(arg));
  DefineResults(call, h.Finish(), {});
}

void WiringWalk::DefineResults(NodeId n, Digest node,
                               const std::vector<AliasId>& aliases) {
  const ValueRange results = program_.node(n).results;
  for (uint32_t i = 0; i < results.count; ++i) {
    hasher_.Reset();
    hasher_.Add(uint64_t{kTagResult});
    hasher_.Add(node);
    hasher_.Add(uint64_t{i});
    hasher_.Add(leaves_.Type(program_.value(results[i]).type));
    values_.Define(results[i], hasher_.Finish(),
                   i < aliases.size() && aliases[i] != kNoAlias
                       ? aliases[i]
                       : values_.NewAlias());
  }
}

void WiringWalk::HashNode(GraphId g, NodeId n,
                          std::vector<WiringRoot>* effects) {
  const Node& node = program_.node(n);
  switch (node.kind) {
    case NodeKind::kOp:
      HashOp(g, n, effects);
      return;
    case NodeKind::kChildCall:
      Enter(n, node.child, effects);
      return;
    case NodeKind::kDelegateCall:
      HashDelegateCall(n, effects);
      return;
    case NodeKind::kGetState:
      if (node.results.count == 1 && node.state.valid()) {
        DefineState(node.results[0], node.state);
      }
      return;
    case NodeKind::kOutput:
      return;
  }
}

// A record tells a backend what the payload's bytes leave open, such as which
// binding is which operand.
void WiringWalk::HashRecord(const Delegate& d, Hasher* h) const {
  for (const auto& [key, text] : d.metadata) {
    h->Add(context_.view(key));
    h->Add(context_.view(text));
  }
  for (const StringId name : d.input_names) h->Add(context_.view(name));
  h->Add(uint64_t{d.input_names.size()});
  for (const StringId name : d.output_names) h->Add(context_.view(name));
}

void WiringWalk::HashDelegateCall(NodeId n, std::vector<WiringRoot>* effects) {
  const Delegate& d = program_.delegates[program_.node(n).delegate.index];
  if (d.source.valid()) {
    Enter(n, d.source, effects);
    return;
  }
  Hasher h;
  h.Add(context_.view(d.backend));
  h.Add(d.payload_digest);
  if (!d.metadata.empty()) HashRecord(d, &h);
  OpaqueCall(n, h.Finish());
  const auto args = program_.args(n);
  const ValueRange results = program_.node(n).results;
  for (const DeclaredWrite& w : d.writes) {
    if (w.input >= args.size() || w.output >= results.count ||
        !args[w.input].is_value()) {
      continue;
    }
    const ValueId in = args[w.input].v.value;
    const ValueId out = results[w.output];
    const AliasId alias = values_.alias(in);
    if (alias != kNoAlias) values_.SetVersion(alias, values_.digest(out));
    values_.SetAlias(out, alias);
    values_.KeepBase(out, in);
  }
}

void WiringWalk::HashOp(GraphId g, NodeId n, std::vector<WiringRoot>* effects) {
  const Node& node = program_.node(n);
  const OpInfo& op = context_.op(node.op);
  const uint8_t traits = traits_.Of(node.op);
  op_hasher_.Reset();
  op_hasher_.Add(uint64_t{kTagNode});
  op_hasher_.Add(leaves_.Text(op.name));
  bool binds_state = false;
  if (op.is_higher_order) {
    const HigherOrderConvention* convention =
        FindHigherOrderConvention(context_.view(op.name));
    HashHigherOrderArgs(n, convention);
    binds_state = convention != nullptr;
  } else {
    for (const Arg& arg : program_.args(node.args)) {
      if (op.schema != nullptr && arg.name.valid()) {
        op_hasher_.Add(leaves_.Text(arg.name));
      }
      op_hasher_.Add(Contribution(arg));
    }
  }
  // Most operators: no effects, and results of their own.
  constexpr uint8_t kPure = OperatorTraits::kPure;
  if ((traits & (kPure | OperatorTraits::kAliases)) == kPure &&
      nested_writes_.empty()) {
    DefineResults(n, op_hasher_.Finish(), {});
    return;
  }
  NodeEffects found;
  if ((traits & kPure) == 0) found = effects_.Of(n);
  if (binds_state) {
    std::erase_if(found.writes, [&](ValueId v) { return values_.IsState(v); });
  }
  DefineWithEffects(g, n, found, effects);
}

// What is left of an operator once its arguments are hashed, where it has
// effects or results that share storage.
void WiringWalk::DefineWithEffects(GraphId g, NodeId n,
                                   const NodeEffects& found,
                                   std::vector<WiringRoot>* effects) {
  const Node& node = program_.node(n);
  const OpSchema* schema = context_.op(node.op).schema;
  const uint8_t traits = traits_.Of(node.op);
  // Draws and unknown operators keep their order among themselves.
  if (found.is_random) op_hasher_.Add(random_version_);
  if (found.is_opaque) op_hasher_.Add(opaque_version_);
  const Digest digest = op_hasher_.Finish();
  if (found.is_random) random_version_ = digest;
  if (found.is_opaque) opaque_version_ = digest;

  std::vector<AliasId> aliases;
  if ((traits & OperatorTraits::kAliases) != 0) {
    aliases = ResultAliases(program_, node, *schema, values_);
  }
  Write(found.writes, digest);
  for (const AliasId alias : std::exchange(nested_writes_, {})) {
    Hasher h;
    h.Add(uint64_t{kTagVersion});
    h.Add(digest);
    h.Add(AliasIdentity(alias));
    values_.SetVersion(alias, h.Finish());
  }
  DefineResults(n, digest, aliases);
  if ((traits & OperatorTraits::kMutates) != 0) {
    KeepBases(program_, node, *schema, &values_);
  }
  if (found.is_opaque || found.is_random || found.is_assertion) {
    WiringRoot root;
    root.kind = WiringRoot::Kind::kEffect;
    root.digest = digest;
    root.node = n;
    root.graph = g;
    effects->push_back(root);
  }
}

void WiringWalk::Write(const std::vector<ValueId>& written,
                       const Digest& digest) {
  for (size_t i = 0; i < written.size(); ++i) {
    const AliasId alias = values_.alias(written[i]);
    if (alias == kNoAlias) continue;
    hasher_.Reset();
    hasher_.Add(uint64_t{kTagVersion});
    hasher_.Add(digest);
    hasher_.Add(static_cast<uint64_t>(i));
    values_.SetVersion(alias, hasher_.Finish());
  }
}

}  // namespace tenon
