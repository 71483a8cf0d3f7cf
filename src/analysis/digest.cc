#include "analysis/digest.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "analysis/effects.h"
#include "ir/call_binding.h"
#include "ir/higher_order.h"

namespace tenon {
namespace {

// What kind of thing a hash is of; a first word that keeps them apart. Part of
// the digest's definition: values never change.
enum Tag : uint64_t {
  kTagLiteral = 1,
  kTagList = 2,
  kTagDict = 3,
  kTagNode = 4,
  kTagResult = 5,
  kTagUserInput = 6,
  kTagState = 7,
  kTagParameter = 8,  // an input of a nested graph
  kTagFunction = 9,   // a nested graph
  kTagVersion = 10,   // a value read after a write to its storage
  kTagDelegate = 11,
  kTagType = 12,
  kTagOutput = 13,
  kTagMutated = 14,
  kTagProgram = 15,
  kTagConvention = 16,
  kTagSpec = 17,
  kTagToken = 18,
  kTagGetState = 19,
};

// A written storage class: the digest of its last write.
using AliasId = uint32_t;
constexpr AliasId kNoAlias = 0xFFFFFFFFu;

// An input or state entry that values can be, before or after writes to it.
using BaseId = uint32_t;
constexpr BaseId kNoBase = 0;

bool SharesLetter(std::string_view a, std::string_view b) {
  return std::any_of(a.begin(), a.end(), [&](char c) {
    return c == '*' || b.find(c) != std::string_view::npos;
  });
}

class WiringHasher {
 public:
  explicit WiringHasher(const Program& program)
      : program_(program),
        context_(program.context()),
        effects_(program),
        digests_(program.num_values()),
        aliases_(program.num_values(), kNoAlias),
        bases_(program.num_values(), kNoBase),
        is_state_value_(program.num_values(), false),
        used_state_(program.state.entries.size(), false),
        functions_(program.num_graphs()),
        function_known_(program.num_graphs(), false) {}

  Wiring Run() {
    HashInputs();
    std::vector<WiringRoot> effects;
    HashGraph(Program::kRoot, &effects);
    Wiring out;
    out.calling_convention = HashConvention();
    AddOutputs(&out.roots);
    AddMutatedInputs(&effects);
    // Independent effects have no order among themselves.
    std::sort(effects.begin(), effects.end(),
              [](const WiringRoot& a, const WiringRoot& b) {
                return a.digest < b.digest;
              });
    for (size_t i = 0; i < effects.size(); ++i) {
      effects[i].index = static_cast<uint32_t>(i);
      out.roots.push_back(effects[i]);
    }
    hasher_.Reset();
    hasher_.Add(uint64_t{kTagProgram});
    hasher_.Add(out.calling_convention);
    for (const WiringRoot& root : out.roots) hasher_.Add(root.digest);
    out.digest = hasher_.Finish();
    return out;
  }

  std::vector<Digest> TakeValueDigests() { return std::move(digests_); }

 private:
  // --- leaves ---

  // Of names of operators and parameters, again and again the same few.
  const Digest& Text(StringId id) {
    KnownText& known = texts_[id.index % texts_.size()];
    if (known.id != id || !id.valid()) {
      const std::string_view text = context_.view(id);
      known = {id, HashBytes(text.data(), text.size())};
    }
    return known.digest;
  }

  void AddText(StringId id) {
    if (id.valid()) {
      hasher_.Add(Text(id));
    } else {
      hasher_.Add(uint64_t{0});
    }
  }

  void AddSymInt(const SymInt& s, Hasher* h) {
    if (s.is_literal()) {
      h->Add(uint64_t{0});
      h->Add(static_cast<uint64_t>(s.value));
    } else {
      h->Add(uint64_t{1});
      h->Add(std::string_view(context_.exprs.PrintSrepr(s.expr)));
    }
  }

  Digest TypeDigest(TypeId id) {
    if (!id.valid()) return {};
    if (id.index >= types_.size()) types_.resize(context_.types.size());
    Digest& known = types_[id.index];
    if (!(known == Digest())) return known;
    const Type& t = program_.type(id);
    Hasher h;
    h.Add(uint64_t{kTagType});
    h.Add(static_cast<uint64_t>(t.kind));
    h.Add(static_cast<uint64_t>(Code(t.dtype)));
    h.Add(static_cast<uint64_t>(Code(t.layout)));
    h.Add(static_cast<uint64_t>(t.requires_grad));
    h.Add(context_.view(t.device.type));
    h.Add(static_cast<uint64_t>(static_cast<int64_t>(t.device.index)));
    h.Add(static_cast<uint64_t>(t.sizes.size()));
    for (const SymInt& s : t.sizes) AddSymInt(s, &h);
    for (const SymInt& s : t.strides) AddSymInt(s, &h);
    if (t.is_symbolic_scalar()) {
      // Hints are examples, not meaning.
      if (t.sym.expr.valid()) AddSymInt(t.sym, &h);
    } else {
      AddSymInt(t.sym, &h);
      h.Add(t.real);
    }
    h.Add(context_.view(t.text));
    return known = h.Finish();
  }

  // --- arguments: one digest each, so that a literal that is bound to a
  // child's input hashes as if it stood in the child ---

  Digest Contribution(const Arg& arg) {
    if (arg.is_value()) return Read(arg.v.value);
    if (arg.kind == ArgKind::kList || arg.kind == ArgKind::kDict) {
      // Nested lists are rare and small: a hasher of their own.
      Hasher h;
      h.Add(uint64_t{arg.kind == ArgKind::kList ? kTagList : kTagDict});
      for (uint32_t i = 0; i < arg.list.count; ++i) {
        const Arg& item = program_.arg(arg.list[i]);
        if (arg.kind == ArgKind::kDict) h.Add(Text(item.name));
        h.Add(Contribution(item));
      }
      return h.Finish();
    }
    if (arg.kind == ArgKind::kGraph) return Function(arg.graph);
    Hasher h;
    h.Add(uint64_t{kTagLiteral});
    h.Add(static_cast<uint64_t>(arg.kind));
    switch (arg.kind) {
      case ArgKind::kNone:
        break;
      case ArgKind::kInt:
      case ArgKind::kBool:
        h.Add(static_cast<uint64_t>(arg.i));
        break;
      case ArgKind::kDtype:
        h.Add(static_cast<uint64_t>(Code(arg.dtype())));
        break;
      case ArgKind::kLayout:
        h.Add(static_cast<uint64_t>(Code(arg.layout())));
        break;
      case ArgKind::kMemoryFormat:
        h.Add(static_cast<uint64_t>(Code(arg.memory_format())));
        break;
      case ArgKind::kFloat:
        h.Add(arg.f);
        break;
      case ArgKind::kString:
        h.Add(Text(arg.text));
        break;
      case ArgKind::kComplex:
        for (const Arg& part : program_.args(arg.list)) h.Add(part.f);
        break;
      case ArgKind::kDevice:
        h.Add(Text(arg.device.type));
        h.Add(static_cast<uint64_t>(static_cast<int64_t>(arg.device.index)));
        break;
      case ArgKind::kOperator:
        h.Add(Text(context_.op(arg.op).name));
        break;
      case ArgKind::kObject:
        h.Add(Text(arg.object.name));
        h.Add(context_.view(arg.object.class_fqn));
        break;
      case ArgKind::kValue:
      case ArgKind::kGraph:
      case ArgKind::kList:
      case ArgKind::kDict:
        break;
    }
    return h.Finish();
  }

  // What reading the value gives now: after a write to its storage, that too.
  Digest Read(ValueId v) {
    const AliasId alias = aliases_[v.index];
    if (Version(alias) == Digest()) return digests_[v.index];
    Hasher h;
    h.Add(uint64_t{kTagVersion});
    h.Add(digests_[v.index]);
    h.Add(Version(alias));
    return h.Finish();
  }

  AliasId NewAlias() { return num_aliases_++; }

  BaseId NewBase(const Digest& digest) {
    base_digests_.push_back(digest);
    return static_cast<BaseId>(base_digests_.size() - 1);
  }
  const Digest& Base(ValueId v) const { return base_digests_[bases_[v.index]]; }

  void Define(ValueId v, const Digest& digest, AliasId alias,
              BaseId base = kNoBase) {
    digests_[v.index] = digest;
    aliases_[v.index] = alias;
    bases_[v.index] = base;
    is_state_value_[v.index] = false;
  }
  // `to` is `from`, under another id.
  void Pass(ValueId to, ValueId from) {
    Define(to, digests_[from.index], aliases_[from.index], bases_[from.index]);
    is_state_value_[to.index] = is_state_value_[from.index];
  }

  // Zero when nothing wrote it.
  Digest Version(AliasId alias) const {
    return alias < versions_.size() ? versions_[alias] : Digest();
  }
  void SetVersion(AliasId alias, const Digest& version) {
    if (alias >= versions_.size()) versions_.resize(num_aliases_);
    if (is_nested_) journal_.emplace_back(alias, versions_[alias]);
    versions_[alias] = version;
  }

  // --- inputs and state ---

  // A state entry is its FQN, its type, and which other entries share its
  // storage: the first of them stands for the storage.
  const Digest& StateIdentity(StateId id) {
    if (state_digests_.empty()) {
      state_digests_.resize(program_.state.entries.size());
      storage_identities_.resize(program_.state.storages.size());
      std::vector<StringId> first_fqn(program_.state.storages.size());
      for (size_t i = 0; i < program_.state.entries.size(); ++i) {
        const StateEntry& e = program_.state.entries[i];
        Hasher h;
        h.Add(uint64_t{kTagState});
        h.Add(static_cast<uint64_t>(e.kind));
        h.Add(context_.view(e.fqn));
        h.Add(TypeDigest(e.type));
        if (e.type.valid()) AddSymInt(program_.type(e.type).storage_offset, &h);
        bool is_first = false;
        if (e.storage.valid()) {
          StringId& first = first_fqn[e.storage.index];
          is_first = !first.valid();
          if (is_first) {
            first = e.fqn;
          } else {
            h.Add(context_.view(first));
          }
        }
        state_digests_[i] = h.Finish();
        // By position in the table: two entries may have one name.
        if (is_first) storage_identities_[e.storage.index] = state_digests_[i];
      }
    }
    return state_digests_[id.index];
  }

  AliasId StorageAlias(StateId id) {
    const StorageId storage = program_.state.get(id).storage;
    if (!storage.valid()) return NewAlias();
    if (storage_aliases_.empty()) {
      storage_aliases_.resize(program_.state.storages.size(), kNoAlias);
    }
    AliasId& alias = storage_aliases_[storage.index];
    if (alias == kNoAlias) alias = NewAlias();
    return alias;
  }

  void HashInputs() {
    uint64_t num_user = 0, num_tokens = 0;
    const auto& inputs = program_.root().inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const InputSpec spec = i < program_.signature.inputs.size()
                                 ? program_.signature.inputs[i]
                                 : InputSpec();
      if (spec.state.valid()) {
        DefineState(inputs[i], spec.state);
        continue;
      }
      hasher_.Reset();
      const bool token = spec.kind == InputKind::kToken;
      hasher_.Add(uint64_t{token ? kTagToken : kTagUserInput});
      hasher_.Add(token ? num_tokens++ : num_user++);
      hasher_.Add(TypeDigest(program_.value(inputs[i]).type));
      const Digest digest = hasher_.Finish();
      Define(inputs[i], digest, NewAlias(), NewBase(digest));
      if (!token) user_inputs_.push_back(inputs[i]);
    }
  }

  void DefineState(ValueId v, StateId state) {
    const Digest identity = StateIdentity(state);
    Define(v, identity, StorageAlias(state), NewBase(identity));
    is_state_value_[v.index] = true;
    used_state_[state.index] = true;
    ++num_state_reads_;
  }

  // --- graphs ---

  void HashGraph(GraphId g, std::vector<WiringRoot>* effects) {
    const Graph& graph = program_.graph(g);
    for (NodeId n = graph.first; n != graph.output; n = program_.node(n).next) {
      HashNode(g, n, effects);
    }
  }

  // A nested graph as a function of its inputs. State that it is passed counts
  // as state that it refers to itself, so that lifting keeps the digest:
  // `operands[i]` is what input i stands for; invalid, or missing: anything.
  Digest Function(GraphId g, std::span<const ValueId> operands = {}) {
    const auto& inputs = program_.graph(g).inputs;
    const bool binds_state = std::any_of(operands.begin(), operands.end(),
                                         [&](ValueId v) { return IsState(v); });
    if (!binds_state && function_known_[g.index]) return functions_[g.index];
    const uint64_t state_reads = num_state_reads_;
    uint64_t num_parameters = 0;
    std::vector<AliasId> input_aliases;
    const AliasId num_outer = num_aliases_;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i < operands.size() && IsState(operands[i])) {
        Pass(inputs[i], operands[i]);
        continue;
      }
      Hasher h;
      h.Add(uint64_t{kTagParameter});
      h.Add(num_parameters++);
      h.Add(TypeDigest(program_.value(inputs[i]).type));
      input_aliases.push_back(NewAlias());
      Define(inputs[i], h.Finish(), input_aliases.back());
    }
    std::vector<WiringRoot> effects;
    // What was drawn before a call is part of the call, not of the function.
    const Digest random = std::exchange(random_version_, Digest());
    const Digest opaque = std::exchange(opaque_version_, Digest());
    const bool was_nested = std::exchange(is_nested_, true);
    const size_t journal_start = journal_.size();
    HashGraph(g, &effects);
    random_version_ = random;
    opaque_version_ = opaque;
    Hasher h;
    h.Add(uint64_t{kTagFunction});
    h.Add(num_parameters);
    h.Add(uint64_t{program_.graph(g).returns_single});
    for (const Arg& arg : program_.outputs(g)) h.Add(Contribution(arg));
    for (const AliasId alias : input_aliases) h.Add(Version(alias));
    std::vector<Digest> sorted = TakeNestedWrites(journal_start, num_outer);
    is_nested_ = was_nested;
    for (const WiringRoot& effect : effects) sorted.push_back(effect.digest);
    std::sort(sorted.begin(), sorted.end());
    for (const Digest& d : sorted) h.Add(d);
    const Digest digest = h.Finish();
    if (!binds_state && state_reads == num_state_reads_) {
      function_known_[g.index] = true;
      functions_[g.index] = digest;
    }
    return digest;
  }

  // Ends what a nested graph wrote to storages of the graphs around it: their
  // versions are as before, and the writing node will give them new ones.
  std::vector<Digest> TakeNestedWrites(size_t journal_start,
                                       AliasId num_outer) {
    std::vector<Digest> out;
    for (size_t i = journal_.size(); i-- > journal_start;) {
      const auto [alias, before] = journal_[i];
      if (alias >= num_outer) continue;
      const bool is_last =
          std::find(nested_writes_.begin(), nested_writes_.end(), alias) ==
          nested_writes_.end();
      if (is_last) {
        nested_writes_.push_back(alias);
        Hasher h;
        h.Add(uint64_t{kTagMutated});
        h.Add(AliasIdentity(alias));
        h.Add(versions_[alias]);
        out.push_back(h.Finish());
      }
      versions_[alias] = before;
    }
    journal_.resize(journal_start);
    return out;
  }

  // Of the state's storage behind an alias; zero when there is none.
  Digest AliasIdentity(AliasId alias) {
    for (size_t s = 0; s < storage_aliases_.size(); ++s) {
      if (storage_aliases_[s] == alias) return storage_identities_[s];
    }
    return {};
  }

  // Whether the value is a state entry, not a result of writing to one.
  bool IsState(ValueId v) const {
    return v.valid() && is_state_value_[v.index];
  }

  // Hashes a called graph as if its nodes stood here.
  void Enter(NodeId call, GraphId child, std::vector<WiringRoot>* effects) {
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
        Pass(inputs[i], arg.v.value);
      } else {
        Define(inputs[i], Contribution(arg), NewAlias());
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
                            Pass(r, arg.v.value);
                          } else {
                            Define(r, Contribution(arg), NewAlias());
                          }
                        });
  }

  void OpaqueCall(NodeId call, Digest target) {
    hasher_.Reset();
    hasher_.Add(uint64_t{kTagDelegate});
    hasher_.Add(target);
    const Digest head = hasher_.Finish();
    Hasher h;
    h.Add(head);
    for (const Arg& arg : program_.args(call)) h.Add(Contribution(arg));
    DefineResults(call, h.Finish(), {});
  }

  void DefineResults(NodeId n, Digest node,
                     const std::vector<AliasId>& aliases) {
    const ValueRange results = program_.node(n).results;
    for (uint32_t i = 0; i < results.count; ++i) {
      hasher_.Reset();
      hasher_.Add(uint64_t{kTagResult});
      hasher_.Add(node);
      hasher_.Add(uint64_t{i});
      hasher_.Add(TypeDigest(program_.value(results[i]).type));
      Define(results[i], hasher_.Finish(),
             i < aliases.size() && aliases[i] != kNoAlias ? aliases[i]
                                                          : NewAlias());
    }
  }

  void HashNode(GraphId g, NodeId n, std::vector<WiringRoot>* effects) {
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
  void HashRecord(const Delegate& d, Hasher* h) {
    for (const auto& [key, text] : d.metadata) {
      h->Add(context_.view(key));
      h->Add(context_.view(text));
    }
    for (const StringId name : d.input_names) h->Add(context_.view(name));
    h->Add(uint64_t{d.input_names.size()});
    for (const StringId name : d.output_names) h->Add(context_.view(name));
  }

  void HashDelegateCall(NodeId n, std::vector<WiringRoot>* effects) {
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
      const AliasId alias = aliases_[args[w.input].v.value.index];
      const ValueId out = results[w.output];
      if (alias != kNoAlias) SetVersion(alias, digests_[out.index]);
      aliases_[out.index] = alias;
      bases_[out.index] = bases_[args[w.input].v.value.index];
    }
  }

  void HashOp(GraphId g, NodeId n, std::vector<WiringRoot>* effects_found) {
    const Node& node = program_.node(n);
    const OpInfo& op = context_.op(node.op);
    const uint8_t traits = TraitsOf(node.op);
    op_hasher_.Reset();
    op_hasher_.Add(uint64_t{kTagNode});
    op_hasher_.Add(Text(op.name));
    const HigherOrderConvention* convention =
        op.is_higher_order ? FindHigherOrderConvention(context_.view(op.name))
                           : nullptr;
    if (op.is_higher_order) {
      HashHigherOrderArgs(n, convention);
    } else {
      for (const Arg& arg : program_.args(node.args)) {
        if (op.schema != nullptr && arg.name.valid()) {
          op_hasher_.Add(Text(arg.name));
        }
        op_hasher_.Add(Contribution(arg));
      }
    }
    // Most operators: no effects, and results of their own.
    if ((traits & (kPure | kAliases)) == kPure && nested_writes_.empty()) {
      DefineResults(n, op_hasher_.Finish(), {});
      return;
    }
    NodeEffects effects;
    if ((traits & kPure) == 0) effects = effects_.Of(n);
    if (convention != nullptr) {
      std::erase_if(effects.writes, [&](ValueId v) { return IsState(v); });
    }
    // Draws and unknown operators keep their order among themselves.
    if (effects.is_random) op_hasher_.Add(random_version_);
    if (effects.is_opaque) op_hasher_.Add(opaque_version_);
    const Digest digest = op_hasher_.Finish();
    if (effects.is_random) random_version_ = digest;
    if (effects.is_opaque) opaque_version_ = digest;

    std::vector<AliasId> aliases;
    if ((traits & kAliases) != 0) aliases = ResultAliases(node, *op.schema);
    Write(effects.writes, digest);
    for (const AliasId alias : std::exchange(nested_writes_, {})) {
      Hasher h;
      h.Add(uint64_t{kTagVersion});
      h.Add(digest);
      h.Add(AliasIdentity(alias));
      SetVersion(alias, h.Finish());
    }
    DefineResults(n, digest, aliases);
    if ((traits & kMutates) != 0) KeepBases(node, *op.schema);
    if (effects.is_opaque || effects.is_random || effects.is_assertion) {
      WiringRoot root;
      root.kind = WiringRoot::Kind::kEffect;
      root.digest = digest;
      root.node = n;
      root.graph = g;
      effects_found->push_back(root);
    }
  }

  // Arguments of control flow: state among the operands belongs to the graphs.
  // `convention` is null where it isn't known.
  void HashHigherOrderArgs(NodeId n, const HigherOrderConvention* convention) {
    const auto args = program_.args(n);
    std::vector<ValueId> operands;
    std::vector<bool> is_operand(args.size(), false);
    const auto groups = convention == nullptr ? std::span<const OperandGroup>()
                                              : convention->groups;
    for (const OperandGroup& group : groups) {
      const size_t end = group.is_rest
                             ? args.size()
                             : std::min<size_t>(group.arg + 1, args.size());
      for (size_t i = group.arg; i < end; ++i) {
        is_operand[i] = !group.is_sliced;
        const auto add = [&](const Arg& arg) {
          operands.push_back(group.is_sliced ? ValueId() : arg.value());
        };
        if (args[i].kind == ArgKind::kList) {
          for (const Arg& item : program_.args(args[i].list)) add(item);
        } else {
          add(args[i]);
        }
      }
    }
    const auto is_bound = [&](const Arg& arg) {
      return arg.is_value() && IsState(arg.v.value);
    };
    // Nested nodes use the hasher of nodes, too.
    std::vector<Digest> parts;
    std::vector<AliasId> written;
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].kind == ArgKind::kGraph) {
        parts.push_back(Function(args[i].graph, operands));
        for (const AliasId alias : std::exchange(nested_writes_, {})) {
          if (std::find(written.begin(), written.end(), alias) ==
              written.end()) {
            written.push_back(alias);
          }
        }
      } else if (!is_operand[i]) {
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
    op_hasher_.Add(Text(program_.context().op(program_.node(n).op).name));
    for (const Digest& part : parts) op_hasher_.Add(part);
  }

  // What holds of an operator, whatever its arguments.
  enum Traits : uint8_t {
    kKnown = 1,
    kPure = 2,     // no effects
    kAliases = 4,  // a result may share storage with an argument
    kMutates = 8,
  };
  uint8_t TraitsOf(OpId id) {
    if (id.index >= traits_.size()) traits_.resize(context_.num_ops(), 0);
    uint8_t& known = traits_[id.index];
    if (known != 0) return known;
    const OpInfo& op = context_.op(id);
    const std::string_view name = context_.view(op.name);
    known = kKnown;
    if (op.schema == nullptr) return known;
    const bool mutates = op.schema->is_mutating();
    // Norms write running statistics that their schemas don't declare.
    if (!mutates && !op.schema->nondeterministic &&
        !op.schema->returns.empty() &&
        name.find("_norm.") == std::string_view::npos &&
        name.find("assert") == std::string_view::npos) {
      known |= kPure;
    }
    if (mutates) known |= kMutates | kAliases;
    if (op.schema->is_view()) known |= kAliases;
    return known;
  }

  // The storage class of the value passed as schema argument `i`.
  AliasId ArgAlias(const Node& node, const OpSchema& schema, size_t i) {
    for (uint32_t k = 0; k < node.args.count; ++k) {
      const Arg& arg = program_.arg(node.args[k]);
      if (program_.view(arg.name) != schema.args[i].name) continue;
      if (arg.is_value()) return aliases_[arg.v.value.index];
      if (arg.kind == ArgKind::kList && arg.list.count > 0) {
        const Arg& first = program_.arg(arg.list[0]);
        if (first.is_value()) return aliases_[first.v.value.index];
      }
    }
    return kNoAlias;
  }

  std::vector<AliasId> ResultAliases(const Node& node, const OpSchema& schema) {
    std::vector<AliasId> out(node.results.count, kNoAlias);
    for (uint32_t r = 0; r < node.results.count; ++r) {
      // A list result stands for all of its elements.
      const size_t k = std::min<size_t>(r, schema.returns.size() - 1);
      if (schema.returns.empty() || schema.returns[k].alias_set.empty()) {
        continue;
      }
      for (size_t i = 0; i < schema.args.size(); ++i) {
        if (SharesLetter(schema.args[i].alias_set,
                         schema.returns[k].alias_set)) {
          out[r] = ArgAlias(node, schema, i);
          break;
        }
      }
    }
    return out;
  }

  // What an in-place operator writes and returns is what it was given.
  void KeepBases(const Node& node, const OpSchema& schema) {
    const size_t count =
        std::min<size_t>(node.results.count, schema.returns.size());
    for (size_t r = 0; r < count; ++r) {
      if (!schema.returns[r].is_written) continue;
      for (size_t i = 0; i < schema.args.size(); ++i) {
        if (schema.args[i].alias_set != schema.returns[r].alias_set) continue;
        for (const Arg& arg : program_.args(node.args)) {
          if (arg.is_value() &&
              program_.view(arg.name) == schema.args[i].name) {
            bases_[node.results[static_cast<uint32_t>(r)].index] =
                bases_[arg.v.value.index];
          }
        }
      }
    }
  }

  void Write(const std::vector<ValueId>& written, const Digest& digest) {
    for (size_t i = 0; i < written.size(); ++i) {
      const AliasId alias = aliases_[written[i].index];
      if (alias == kNoAlias) continue;
      hasher_.Reset();
      hasher_.Add(uint64_t{kTagVersion});
      hasher_.Add(digest);
      hasher_.Add(static_cast<uint64_t>(i));
      SetVersion(alias, hasher_.Finish());
    }
  }

  // --- the program's outside ---

  static bool IsMutation(OutputKind kind) {
    return kind == OutputKind::kBufferMutation ||
           kind == OutputKind::kParameterMutation ||
           kind == OutputKind::kUserInputMutation;
  }

  // What a mutation or gradient is of, whatever else the program takes.
  Digest Target(const OutputSpec& spec) {
    if (spec.state.valid()) return StateIdentity(spec.state);
    return spec.input < program_.root().inputs.size()
               ? Base(program_.root().inputs[spec.input])
               : Digest();
  }

  // A mutation whose value is the target itself, written in place, says what
  // the write says: programs that declare it and programs that don't are one.
  bool IsWrittenInPlace(size_t i, const Arg& arg) {
    if (i >= program_.signature.outputs.size() || !arg.is_value()) return false;
    const OutputSpec& spec = program_.signature.outputs[i];
    return IsMutation(spec.kind) && Base(arg.v.value) == Target(spec);
  }

  WiringRoot Output(size_t i, uint64_t position, const Arg& arg) {
    WiringRoot root;
    root.index = static_cast<uint32_t>(i);
    root.graph = Program::kRoot;
    if (arg.is_value()) {
      root.value = arg.v.value;
      root.node = program_.value(root.value).def;
    }
    const Digest contribution = Contribution(arg);
    Hasher h;
    h.Add(uint64_t{kTagOutput});
    if (i < program_.signature.outputs.size()) {
      const OutputSpec& spec = program_.signature.outputs[i];
      h.Add(static_cast<uint64_t>(spec.kind));
      h.Add(IsMutation(spec.kind) ? uint64_t{0} : position);
      h.Add(Target(spec));
    }
    h.Add(contribution);
    root.digest = h.Finish();
    return root;
  }

  void AddOutputs(std::vector<WiringRoot>* roots) {
    const auto outputs = program_.outputs(Program::kRoot);
    uint64_t position = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (IsWrittenInPlace(i, outputs[i])) continue;
      roots->push_back(Output(i, position, outputs[i]));
      if (i >= program_.signature.outputs.size() ||
          !IsMutation(program_.signature.outputs[i].kind)) {
        ++position;
      }
    }
  }

  void AddMutated(const Digest& what, AliasId alias, ValueId v,
                  std::vector<WiringRoot>* effects) {
    if (Version(alias) == Digest()) return;
    hasher_.Reset();
    hasher_.Add(uint64_t{kTagMutated});
    hasher_.Add(what);
    hasher_.Add(Version(alias));
    WiringRoot root;
    root.kind = WiringRoot::Kind::kEffect;
    root.digest = hasher_.Finish();
    root.graph = Program::kRoot;
    root.value = v;
    effects->push_back(root);
  }

  // Inputs and state that the program writes in place.
  void AddMutatedInputs(std::vector<WiringRoot>* effects) {
    for (const ValueId v : user_inputs_) {
      AddMutated(digests_[v.index], aliases_[v.index], v, effects);
    }
    for (size_t s = 0; s < storage_aliases_.size(); ++s) {
      if (storage_aliases_[s] == kNoAlias) continue;
      AddMutated(storage_identities_[s], storage_aliases_[s], ValueId(),
                 effects);
    }
  }

  void AddSpec(const TreeSpec& spec, Hasher* h) {
    h->Add(uint64_t{kTagSpec});
    h->Add(uint64_t{spec.is_leaf});
    if (spec.is_leaf) return;
    h->Add(std::string_view(spec.type));
    h->Add(std::string_view(spec.context));
    h->Add(static_cast<uint64_t>(spec.children.size()));
    for (const TreeSpec& child : spec.children) AddSpec(child, h);
  }

  Digest HashConvention() {
    Hasher h;
    h.Add(uint64_t{kTagConvention});
    h.Add(static_cast<uint64_t>(user_inputs_.size()));
    for (const ValueId v : user_inputs_) {
      h.Add(TypeDigest(program_.value(v).type));
    }
    // State that the program reads or names as an input, lifted or not.
    // In whatever order: a sum.
    Digest sum;
    uint64_t num_used = 0;
    for (uint32_t i = 0; i < used_state_.size(); ++i) {
      if (!used_state_[i]) continue;
      const Digest& d = StateIdentity(StateId(i));
      ++num_used;
      sum.low += d.low;
      sum.high += d.high + (sum.low < d.low ? 1 : 0);
    }
    h.Add(num_used);
    h.Add(sum);
    for (const auto* spec : {&program_.in_spec, &program_.out_spec}) {
      h.Add(uint64_t{spec->has_value()});
      if (spec->has_value()) AddSpec(**spec, &h);
    }
    std::vector<Digest> ranges;
    for (const SymbolRange& range : program_.ranges) {
      Hasher r;
      if (range.expr.valid()) {
        r.Add(std::string_view(context_.exprs.PrintSrepr(range.expr)));
      } else {
        r.Add(std::string_view(range.key));
      }
      for (const auto& bound : {range.min, range.max}) {
        r.Add(uint64_t{bound.has_value()});
        r.Add(static_cast<uint64_t>(bound.value_or(0)));
      }
      ranges.push_back(r.Finish());
    }
    std::sort(ranges.begin(), ranges.end());
    for (const Digest& d : ranges) h.Add(d);
    return h.Finish();
  }

  const Program& program_;
  const Context& context_;
  EffectAnalysis effects_;
  std::vector<uint8_t> traits_;  // by operator; 0 = not looked at yet
  Hasher hasher_, op_hasher_;
  std::vector<Digest> digests_;   // by value
  std::vector<AliasId> aliases_;  // by value
  // By value: the input or state that the value is, before or after writes to
  // it; zero for others.
  std::vector<BaseId> bases_;
  std::vector<Digest> base_digests_ = {Digest()};  // by base; kNoBase is zero
  // Inside nested graphs: versions as they were before each write.
  bool is_nested_ = false;
  std::vector<std::pair<AliasId, Digest>> journal_;
  std::vector<AliasId> nested_writes_;  // by the nested graphs of this node
  std::vector<bool> is_state_value_;    // by value
  std::vector<bool> used_state_;        // by state entry
  uint64_t num_state_reads_ = 0;
  AliasId num_aliases_ = 0;
  // By alias: its last write, zero = none; as long as writes needed so far.
  std::vector<Digest> versions_;
  struct KnownText {
    StringId id;
    Digest digest;
  };
  std::array<KnownText, 256> texts_;  // by the low bits of the string's id
  std::vector<Digest> types_;         // by type, zero = not computed
  std::vector<Digest> functions_;     // by graph
  std::vector<bool> function_known_;
  std::vector<bool> entered_;  // by graph: being hashed now
  std::vector<Digest> state_digests_;
  std::vector<Digest> storage_identities_;  // of the first entry over it
  std::vector<ValueId> user_inputs_;
  std::vector<AliasId> storage_aliases_;
  Digest random_version_, opaque_version_;
};

}  // namespace

Wiring ComputeWiring(const Program& program) {
  return WiringHasher(program).Run();
}

std::vector<Digest> ComputeValueDigests(const Program& program) {
  WiringHasher hasher(program);
  hasher.Run();
  return hasher.TakeValueDigests();
}

}  // namespace tenon
