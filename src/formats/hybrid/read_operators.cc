// Operator calls of a hybrid graph, and the types of what they give.
#include <algorithm>

#include "formats/hybrid/node_members.h"
#include "ir/higher_order.h"

namespace tenon::hybrid {
namespace {

// The IR's name of a target: "operator.mul" is Python's module "_operator".
std::string OpName(std::string_view target) {
  if (target.substr(0, 9) == "operator.") return "_" + std::string(target);
  return std::string(target);
}

// What a scalar operator gives has a scalar's type, fixed or not.
TypeId AsSymbolic(Context& context, TypeId id) {
  Type type = context.types.get(id);
  switch (type.kind) {
    case TypeKind::kInt:
      type.kind = TypeKind::kSymInt;
      break;
    case TypeKind::kFloat:
      type.kind = TypeKind::kSymFloat;
      break;
    case TypeKind::kBool:
      type.kind = TypeKind::kSymBool;
      break;
    case TypeKind::kTensor:
    case TypeKind::kSymInt:
    case TypeKind::kSymFloat:
    case TypeKind::kSymBool:
    case TypeKind::kObject:
    case TypeKind::kNone:
    case TypeKind::kString:
      return id;
  }
  return context.types.Intern(std::move(type));
}

// A tensor of another dtype or shape than what is inferred completely.
bool IsOtherTensor(const Type& stated, const InferredType& inferred) {
  if (!stated.is_tensor() || inferred.kind != TypeKind::kTensor) return false;
  if (stated.dtype != inferred.dtype || stated.rank() != inferred.rank) {
    return true;
  }
  for (size_t d = 0; d < stated.sizes.size(); ++d) {
    const SymInt& a = stated.sizes[d];
    const InferredSize& b = inferred.sizes[d];
    if (b.is_literal() ? !a.is_literal() || a.value != b.value
                       : a.expr != b.expr) {
      return true;
    }
  }
  return false;
}

}  // namespace

Expected<Item> GraphReader::CallOperator(Scope* scope, const NodeMembers& m,
                                         const JsonPath& path) {
  if (m.target.empty()) return json_.Error(path) << "no member 'target'";
  TENON_ASSIGN(std::vector<Item> args, ReadArgs(scope, m, path));
  TENON_ASSIGN(auto keywords, ReadKeywords(scope, m, path));
  const OpId op = context_.InternOp(OpName(m.target));
  const OpSchema* schema = context_.op(op).schema;
  if (context_.op(op).is_higher_order) {
    TENON_TRY(ReadNestedGraphs(scope, context_.op_name(op), &args, path));
  }
  const NodeId n = program_.NewOp(op, context_.Intern(m.name));
  program_.mutable_node(n).metadata = scope->metadata;
  const ArgRange range =
      program_.NewArgs(static_cast<uint32_t>(args.size() + keywords.size()));
  program_.SetArgRange(n, range);
  const JsonPath args_path(path, "args");
  for (uint32_t i = 0; i < args.size(); ++i) {
    const SchemaArg* parameter = schema != nullptr && i < schema->args.size()
                                     ? &schema->args[i]
                                     : nullptr;
    if (schema != nullptr && parameter == nullptr) {
      return json_.Error(JsonPath(args_path, i), Rule::kOp02)
             << context_.op_name(op) << " takes " << schema->args.size()
             << " arguments at most";
    }
    const StringId name =
        parameter == nullptr ? StringId() : context_.Intern(parameter->name);
    program_.SetArgLabel(range[i], name, PassKind::kPositional);
    TENON_TRY(
        Store(scope, n, range[i], args[i], parameter, JsonPath(args_path, i)));
  }
  const JsonPath kwargs_path(path, "kwargs");
  for (uint32_t k = 0; k < keywords.size(); ++k) {
    const auto& [key, item] = keywords[k];
    const int at = schema == nullptr ? -1 : schema->FindArg(key);
    if (schema != nullptr && at < 0) {
      return json_.Error(JsonPath(kwargs_path, k), Rule::kOp02)
             << context_.op_name(op) << " has no parameter '" << key << "'";
    }
    const ArgId to = range[static_cast<uint32_t>(args.size()) + k];
    program_.SetArgLabel(to, context_.Intern(key), PassKind::kKeyword);
    TENON_TRY(Store(scope, n, to, item,
                    at < 0 ? nullptr : &schema->args[static_cast<size_t>(at)],
                    JsonPath(kwargs_path, k)));
  }
  return Results(scope, n, m.has_val ? &m.val : nullptr, path);
}

Status GraphReader::ReadNestedGraphs(Scope* scope, std::string_view op,
                                     std::vector<Item>* args,
                                     const JsonPath& path) {
  const HigherOrderConvention* convention = FindHigherOrderConvention(op);
  if (convention == nullptr) {
    return json_.Error(path, Rule::kUnsupported)
           << "how " << op << " passes operands to its graphs isn't known";
  }
  // Operands go in flat, without literals: those become part of the graphs.
  std::vector<Item> operands;
  for (const OperandGroup& group : convention->groups) {
    const size_t end = group.is_rest
                           ? args->size()
                           : std::min<size_t>(group.arg + 1, args->size());
    for (size_t i = group.arg; i < end; ++i) {
      const Item& item = (*args)[i];
      const bool is_list = item.is_sequence() && !group.is_rest;
      const std::vector<Item> one = {item};
      for (const Item& operand : is_list ? item.items : one) {
        operands.push_back(operand);
        if (!group.is_sliced) continue;
        ForEachLeaf(operands.back(), [&](Arg& arg) {
          if (arg.is_value()) arg.v.value = SliceStandIn(arg.v.value);
        });
      }
    }
  }
  for (uint32_t g = convention->first_graph;
       g < convention->first_graph + convention->num_graphs; ++g) {
    if (g >= args->size() || (*args)[g].kind != Item::Kind::kModule) {
      return json_.Error(path, Rule::kOp09)
             << "argument " << g << " of " << op << " isn't a graph";
    }
    TENON_ASSIGN(const Instance* instance,
                 NestedGraph(scope, (*args)[g].module, operands, path));
    (*args)[g] = Item(Arg::OfGraph(instance->graph));
    nested_returns_ = instance->returns;
  }
  for (const OperandGroup& group : convention->groups) {
    for (size_t i = group.arg; i < args->size(); ++i) {
      Flatten(&(*args)[i], group.is_rest);
      if (!group.is_rest) break;
    }
  }
  if (!convention->groups.empty() && convention->groups.back().is_rest) {
    UnrollRest(convention->groups.back().arg, args);
  }
  return {};
}

// A list operand becomes the list of its value leaves.
void GraphReader::Flatten(Item* item, bool is_rest) {
  std::vector<Item> leaves;
  ForEachLeaf(*item, [&](const Arg& arg) {
    if (arg.is_value()) leaves.push_back(Item(arg));
  });
  if (is_rest && item->is_value()) return;
  *item = Item::Structure(Item::Kind::kList, std::move(leaves));
}

// Trailing operands are arguments of their own.
void GraphReader::UnrollRest(size_t from, std::vector<Item>* args) {
  std::vector<Item> rest;
  for (size_t i = from; i < args->size(); ++i) {
    if ((*args)[i].is_leaf()) {
      rest.push_back((*args)[i]);
      continue;
    }
    rest.insert(rest.end(), (*args)[i].items.begin(), (*args)[i].items.end());
  }
  args->resize(std::min(from, args->size()));
  args->insert(args->end(), rest.begin(), rest.end());
}

// A value outside any graph with the type of a slice of `v`.
ValueId GraphReader::SliceStandIn(ValueId v) {
  Type type = program_.type(v);
  if (type.is_tensor() && type.rank() > 0) {
    type.sizes.erase(type.sizes.begin());
    type.strides.erase(type.strides.begin());
  }
  const NodeId n = program_.NewNode(NodeKind::kOp);
  const ValueId out = program_.NewResults(n, 1)[0];
  program_.mutable_value(out).type = context_.types.Intern(std::move(type));
  return out;
}

// --- results ---

TypeId GraphReader::CompleteType(const InferredType& inferred) {
  if (inferred.kind != TypeKind::kTensor) {
    Type type;
    type.kind = inferred.kind;
    return type.is_symbolic_scalar() ? TypeId()
                                     : context_.types.Intern(std::move(type));
  }
  std::vector<SymInt> sizes;
  for (int d = 0; d < inferred.rank; ++d) {
    const InferredSize& s = inferred.sizes[static_cast<size_t>(d)];
    sizes.push_back(s.is_literal() ? SymInt::Literal(s.value)
                                   : SymInt::Symbolic(s.expr, std::nullopt));
  }
  return context_.types.Intern(
      Types::Contiguous(&program_, inferred.dtype, std::move(sizes)));
}

// What the document states, unless it is known to be otherwise: `val` is that
// of one call, and a child may be called with other shapes.
Expected<TypeId> GraphReader::ResultType(NodeId n, size_t i,
                                         const JsonElement* val,
                                         const JsonPath& path) {
  const auto all = inference_.Infer(n);
  const InferredType* inferred =
      i < all.size() && all[i].is_complete() ? &all[i] : nullptr;
  if (val == nullptr || val->is_null()) {
    const TypeId type =
        inferred == nullptr ? TypeId() : CompleteType(*inferred);
    if (type.valid()) return type;
    return json_.Error(path, Rule::kGraph01)
           << "the type of result " << i << " of " << program_.op_name(n)
           << " isn't stated by 'val', and doesn't follow from its arguments";
  }
  TENON_ASSIGN(const TypeId stated, types_.Read(*val, path));
  if (inferred != nullptr && IsOtherTensor(program_.type(stated), *inferred)) {
    return CompleteType(*inferred);
  }
  return AsSymbolic(context_, stated);
}

Item GraphReader::AddResults(Scope* scope, NodeId n,
                             const std::vector<TypeId>& types,
                             Item::Kind kind) {
  const ValueRange results =
      program_.NewResults(n, static_cast<uint32_t>(types.size()));
  Item out = Item::Structure(kind, {});
  for (uint32_t i = 0; i < results.count; ++i) {
    program_.mutable_value(results[i]).type = types[i];
    program_.mutable_value(results[i]).name = context_.Intern(scope->node);
    out.items.push_back(Item::Value(results[i]));
  }
  program_.Append(scope->graph, n);
  return out;
}

Expected<Item> GraphReader::Results(Scope* scope, NodeId n,
                                    const JsonElement* val,
                                    const JsonPath& path) {
  const OpInfo& op = context_.op(program_.node(n).op);
  const JsonPath val_path(path, "val");
  if (op.is_higher_order) {
    return HigherOrderResults(scope, n, val, path);
  }
  const bool is_list_val = val != nullptr && val->is_array();
  if (op.schema == nullptr && !op.is_python_function && is_list_val) {
    return ListResults(scope, n, val, path);
  }
  if (op.schema != nullptr) {
    const auto& returns = op.schema->returns;
    if (returns.empty()) {
      AddResults(scope, n, {}, Item::Kind::kTuple);
      return Item(Arg::None());
    }
    if (returns.size() > 1 || returns[0].is_list) {
      return ListResults(scope, n, val, path);
    }
  }
  TENON_ASSIGN(const TypeId type, ResultType(n, 0, val, val_path));
  Item all = AddResults(scope, n, {type}, Item::Kind::kTuple);
  return std::move(all.items[0]);
}

// Several returns, or one that is a list.
Expected<Item> GraphReader::ListResults(Scope* scope, NodeId n,
                                        const JsonElement* val,
                                        const JsonPath& path) {
  const OpSchema* schema = program_.schema(n);
  const bool is_list_return = schema != nullptr && schema->returns.size() == 1;
  const JsonPath val_path(path, "val");
  std::vector<JsonElement> stated;
  if (val != nullptr && !val->is_null()) {
    TENON_ASSIGN(const JsonArray array, json_.Array(*val, val_path));
    for (const auto item : array) stated.push_back(item);
  }
  size_t count = is_list_return || schema == nullptr ? stated.size()
                                                     : schema->returns.size();
  if (is_list_return && stated.empty()) count = inference_.Infer(n).size();
  if (count == 0 || (!stated.empty() && stated.size() != count)) {
    return json_.Error(path, Rule::kOp07)
           << "how many results " << program_.op_name(n)
           << " gives isn't stated by 'val', and doesn't follow from its "
              "arguments";
  }
  std::vector<TypeId> types;
  Form form;
  std::vector<bool> is_none(count, false);
  for (size_t i = 0; i < count; ++i) {
    if (!stated.empty() && IsNoneVal(stated[i])) {
      is_none[i] = true;
      form.push_back({FormItem::Kind::kNone, 0});
      continue;
    }
    TENON_ASSIGN(const TypeId type,
                 ResultType(n, i, stated.empty() ? nullptr : &stated[i],
                            JsonPath(val_path, i)));
    types.push_back(type);
    form.push_back({FormItem::Kind::kValue, 0});
  }
  if (is_list_return) {
    form = {{FormItem::Kind::kList, static_cast<uint32_t>(count)}};
  }
  if (is_list_return || types.size() != count) {
    program_.mutable_node(n).form = context_.InternForm(std::move(form));
  }
  Item values = AddResults(
      scope, n, types, is_list_return ? Item::Kind::kList : Item::Kind::kTuple);
  if (types.size() == count) return values;
  Item out = Item::Structure(values.kind, {});
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    out.items.push_back(is_none[i] ? Item(Arg::None())
                                   : std::move(values.items[next++]));
  }
  return out;
}

bool GraphReader::IsNoneVal(const JsonElement& val) {
  return val.is_null() || val["const"].is_null();
}

// One result per output of the nested graph that gives them, in its structure.
// Where the graph sees slices, `val` states the stacked types, flat.
Expected<Item> GraphReader::HigherOrderResults(Scope* scope, NodeId n,
                                               const JsonElement* val,
                                               const JsonPath& path) {
  const HigherOrderConvention& convention =
      *FindHigherOrderConvention(program_.op_name(n));
  std::vector<TypeId> types;
  const uint32_t last = convention.first_graph + convention.num_graphs - 1;
  for (const Arg& output : program_.outputs(program_.args(n)[last].graph)) {
    types.push_back(program_.value(output.v.value).type);
  }
  const bool is_stacking =
      std::any_of(convention.groups.begin(), convention.groups.end(),
                  [](const OperandGroup& group) { return group.is_sliced; });
  if (is_stacking) {
    const JsonPath val_path(path, "val");
    if (val == nullptr) {
      return json_.Error(path, Rule::kGraph01)
             << "the types of the results of " << program_.op_name(n)
             << " aren't stated by 'val'";
    }
    TENON_ASSIGN(const JsonArray array, json_.Array(*val, val_path));
    if (array.size() != types.size()) {
      return json_.Error(val_path, Rule::kOp10)
             << array.size() << " results stated, the graph returns "
             << types.size();
    }
    size_t i = 0;
    for (const auto item : array) {
      TENON_ASSIGN(types[i], types_.Read(item, JsonPath(val_path, i)));
      ++i;
    }
  }
  program_.mutable_node(n).single_return = SingleReturn::kFalse;
  const Item values = AddResults(scope, n, types, Item::Kind::kTuple);
  Item out = std::move(nested_returns_);
  ForEachLeaf(out, [&](Arg& arg) {
    if (arg.is_value()) arg = values.items[arg.v.value.index].arg;
  });
  return out;
}

}  // namespace tenon::hybrid
