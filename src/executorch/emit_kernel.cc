// Kernel calls: arguments by the kernel's schema, defaults filled in, results
// as out tensors.
#include <string>
#include <variant>

#include "analysis/bound_args.h"
#include "executorch/kernel_limits.h"
#include "executorch/plan_emitter.h"
#include "support/assert.h"

namespace tenon::executorch {
namespace {

constexpr int64_t kContiguousFormat = 0;
constexpr int64_t kPreserveFormat = 1;

bool IsOut(const SchemaArg& arg) { return arg.is_written; }

}  // namespace

int32_t PlanEmitter::EmitInts(const std::vector<int32_t>& items) {
  return draft_.Add(PteIntList{{items.begin(), items.end()}});
}

std::optional<int32_t> PlanEmitter::EmitScalarArg(const SchemaArg& parameter,
                                                  const Arg& arg) {
  switch (arg.kind) {
    case ArgKind::kNone:
      return draft_.Add(PteNull{});
    case ArgKind::kValue:
      return IndexOf(arg.value());
    case ArgKind::kInt:
      if (parameter.type == SchemaType::kFloat) {
        return draft_.Add(PteDouble{static_cast<double>(arg.i)});
      }
      if (parameter.type == SchemaType::kBool) return draft_.AddBool(arg.i);
      return draft_.AddInt(arg.i);
    case ArgKind::kBool:
      if (parameter.type == SchemaType::kInt) return draft_.AddInt(arg.i);
      if (parameter.type == SchemaType::kFloat) {
        return draft_.Add(PteDouble{static_cast<double>(arg.i)});
      }
      return draft_.AddBool(arg.i != 0);
    case ArgKind::kFloat:
      if (parameter.type == SchemaType::kInt ||
          parameter.type == SchemaType::kBool) {
        return std::nullopt;
      }
      return draft_.Add(PteDouble{arg.f});
    case ArgKind::kString:
      return draft_.Add(PteString{std::string(program_.view(arg.text))});
    case ArgKind::kDtype: {
      const auto type = ToPteType(arg.dtype());
      if (!type) return std::nullopt;
      return draft_.AddInt(static_cast<int64_t>(*type));
    }
    case ArgKind::kMemoryFormat:
      if (arg.memory_format() == MemoryFormat::kPreserve) {
        return draft_.AddInt(kPreserveFormat);
      }
      return draft_.AddInt(kContiguousFormat);
    default:
      return std::nullopt;
  }
}

std::optional<int32_t> PlanEmitter::EmitDefault(const SchemaArg& parameter) {
  const auto& value = parameter.default_value.value;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    std::vector<int32_t> items;
    for (const int64_t v : *list) items.push_back(draft_.AddInt(v));
    return EmitInts(items);
  }
  if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    return draft_.Add(PteDoubleList{*list});
  }
  if (const auto* v = std::get_if<int64_t>(&value)) {
    if (parameter.is_list) {
      const int count = parameter.fixed_size > 0 ? parameter.fixed_size : 1;
      std::vector<int32_t> items;
      for (int i = 0; i < count; ++i) items.push_back(draft_.AddInt(*v));
      return EmitInts(items);
    }
    return EmitScalarArg(parameter, Arg::Int(*v));
  }
  if (const auto* v = std::get_if<double>(&value)) {
    return EmitScalarArg(parameter, Arg::Float(*v));
  }
  if (const auto* v = std::get_if<bool>(&value)) {
    return EmitScalarArg(parameter, Arg::Bool(*v));
  }
  if (const auto* v = std::get_if<std::string>(&value)) {
    if (parameter.type == SchemaType::kString) {
      return draft_.Add(PteString{*v});
    }
    return std::nullopt;
  }
  return draft_.Add(PteNull{});
}

std::optional<int32_t> PlanEmitter::EmitList(GraphId, NodeId,
                                             const SchemaArg& parameter,
                                             const Arg& arg) {
  if (arg.kind != ArgKind::kList) {
    // One number stands for all.
    const int count = parameter.fixed_size > 0 ? parameter.fixed_size : 1;
    if (parameter.type == SchemaType::kTensor) return std::nullopt;
    SchemaArg one = parameter;
    one.is_list = false;
    std::vector<int32_t> items;
    for (int i = 0; i < count; ++i) {
      const auto item = EmitScalarArg(one, arg);
      if (!item) return std::nullopt;
      items.push_back(*item);
    }
    return EmitInts(items);
  }
  const auto items = program_.args(arg.list);
  switch (parameter.type) {
    case SchemaType::kTensor: {
      std::vector<int32_t> out;
      bool has_none = parameter.element_optional;
      for (const Arg& item : items) {
        if (item.is_value()) {
          out.push_back(IndexOf(item.value()));
        } else {
          out.push_back(PteOptionalTensorList::kNone);
          has_none = true;
        }
      }
      if (has_none) return draft_.Add(PteOptionalTensorList{std::move(out)});
      return draft_.Add(PteTensorList{std::move(out)});
    }
    case SchemaType::kFloat: {
      std::vector<double> out;
      for (const Arg& item : items) {
        if (item.kind == ArgKind::kFloat) {
          out.push_back(item.f);
        } else if (item.kind == ArgKind::kInt) {
          out.push_back(static_cast<double>(item.i));
        } else {
          return std::nullopt;
        }
      }
      return draft_.Add(PteDoubleList{std::move(out)});
    }
    case SchemaType::kBool: {
      std::vector<bool> out;
      for (const Arg& item : items) {
        if (item.kind != ArgKind::kBool) return std::nullopt;
        out.push_back(item.i != 0);
      }
      return draft_.Add(PteBoolList{std::move(out)});
    }
    case SchemaType::kInt: {
      std::vector<int32_t> out;
      for (const Arg& item : items) {
        const auto index = EmitScalarArg(parameter, item);
        if (!index) return std::nullopt;
        out.push_back(*index);
      }
      return EmitInts(out);
    }
    default:
      return std::nullopt;
  }
}

std::optional<int32_t> PlanEmitter::EmitArg(GraphId graph, NodeId n,
                                            const SchemaArg& parameter,
                                            const Arg* arg) {
  if (arg == nullptr) return EmitDefault(parameter);
  if (arg->kind == ArgKind::kNone) return draft_.Add(PteNull{});
  if (parameter.is_list) return EmitList(graph, n, parameter, *arg);
  if (parameter.type == SchemaType::kTensor && !arg->is_value()) {
    return std::nullopt;
  }
  return EmitScalarArg(parameter, *arg);
}

bool PlanEmitter::EmitKernel(GraphId graph, NodeId n) {
  const PteKernel* kernel = FindPteKernelOf(program_.op_name(n));
  const OpSchema* schema = program_.schema(n);
  if (kernel == nullptr || schema == nullptr) {
    return Refuse(graph, n, Rule::kPte31,
                  "'" + std::string(program_.op_name(n)) + "' has no kernel");
  }
  const std::string why = WhyNotInKernel(program_, n, kernel->name);
  if (!why.empty()) {
    return Refuse(graph, n, Rule::kPte31,
                  "the kernel '" + std::string(kernel->name) + "' " + why);
  }
  if (kernel->library == "runtime") {
    return EmitRuntimeKernel(graph, n, *kernel);
  }
  ArgBinder binder(program_);
  BoundArgs bound;
  if (!binder.Bind(n, &bound)) {
    return Refuse(graph, n, Rule::kUnsupported,
                  "its arguments don't follow the schema");
  }
  const Node node = program_.node(n);
  std::vector<int32_t> results;
  for (uint32_t i = 0; i < node.results.count; ++i) {
    const auto out = NewResult(graph, n, node.results[i]);
    if (!out) return false;
    results.push_back(*out);
  }
  std::string_view name = kernel->name;
  // Over its first argument, the kernel that writes only what changes.
  if (name == "aten::index_put.out" && bound[0] != nullptr &&
      bound[0]->is_value() && IndexOf(bound[0]->value()) == results[0]) {
    name = "aten::index_put_";
    kernel = FindPteKernel(name);
  }
  std::vector<int32_t> args;
  for (const SchemaArg& parameter : kernel->schema.args) {
    const int at = schema->FindArg(parameter.name);
    if (at < 0 && IsOut(parameter)) {
      if (parameter.is_list) {
        args.push_back(draft_.Add(PteTensorList{results}));
      } else {
        const size_t k =
            args.size() - (kernel->schema.args.size() - results.size());
        TENON_ASSERT(k < results.size(), "a kernel has an out per result");
        args.push_back(results[k]);
      }
      continue;
    }
    const auto index = EmitArg(
        graph, n, parameter, at < 0 ? nullptr : bound[static_cast<size_t>(at)]);
    if (!index || *index < 0) {
      return Refuse(graph, n, Rule::kPte26,
                    "the kernel '" + std::string(name) +
                        "' can't take what "
                        "the program passes as '" +
                        parameter.name + "'");
    }
    args.push_back(*index);
  }
  const bool is_list = results.size() != 1 ||
                       (!schema->returns.empty() && schema->returns[0].is_list);
  args.push_back(is_list ? draft_.Add(PteTensorList{results}) : results[0]);
  draft_.CallKernel(name, std::move(args));
  return true;
}

// Primitives with one number as their result: sym_size, sym_numel, item.
bool PlanEmitter::EmitRuntimeKernel(GraphId graph, NodeId n,
                                    const PteKernel& kernel) {
  ArgBinder binder(program_);
  BoundArgs bound;
  if (!binder.Bind(n, &bound)) {
    return Refuse(graph, n, Rule::kUnsupported,
                  "its arguments don't follow the schema");
  }
  std::vector<int32_t> args;
  for (size_t i = 0; i < kernel.schema.args.size(); ++i) {
    const auto index = EmitArg(graph, n, kernel.schema.args[i], bound[i]);
    if (!index) {
      return Refuse(graph, n, Rule::kPte26, "an argument that isn't a number");
    }
    args.push_back(*index);
  }
  const ValueId v = program_.node(n).results[0];
  SetIndex(v, NewScalar(program_.type(v)));
  args.push_back(IndexOf(v));
  draft_.CallKernel(kernel.name, std::move(args));
  return true;
}

}  // namespace tenon::executorch
