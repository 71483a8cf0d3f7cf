#include "conformance/ops/delegated.h"

#include <utility>

#include "conformance/ops/call_program.h"

namespace tenon {
namespace {

// The backend's flat results, in lists where `like` has lists.
std::vector<RuntimeValue> Nested(std::vector<RuntimeValue> flat,
                                 const std::vector<RuntimeValue>& like) {
  std::vector<RuntimeValue> nested;
  size_t next = 0;
  for (const RuntimeValue& value : like) {
    if (!value.is_list()) {
      nested.push_back(std::move(flat[next++]));
      continue;
    }
    RuntimeValue::List items;
    for (size_t i = 0; i < value.list().size(); ++i) {
      items.push_back(std::move(flat[next++]));
    }
    nested.emplace_back(std::move(items));
  }
  return nested;
}

}  // namespace

std::optional<std::vector<RuntimeValue>> RunDelegated(
    const Backend& backend, const OpSchema& schema,
    const std::vector<RuntimeValue>& args, const std::vector<bool>& present,
    const std::vector<RuntimeValue>& results, std::string* why) {
  const std::vector<RuntimeValue> flat = CallProgram::Flattened(results);
  if (!CallProgram::IsComparable(schema, flat)) return std::nullopt;
  CallProgram call;
  const NodeId n =
      call.Build(schema, args, present, static_cast<uint32_t>(flat.size()));
  call.Return(n, results);
  const Program& program = call.program();
  if (call.inputs().empty() || backend.Refuses(program, n)) {
    return std::nullopt;
  }
  Diagnostics diags;
  const auto compiled = backend.Compile(program, {}, diags);
  if (compiled) {
    const auto loaded = backend.Load(compiled->payload, nullptr, {}, diags);
    if (loaded) {
      const std::vector<RuntimeValue> inputs(call.inputs().begin(),
                                             call.inputs().end());
      auto got = (*loaded)->Run(inputs, diags);
      if (got && got->size() == flat.size()) {
        return Nested(std::move(*got), results);
      }
    }
  }
  *why = "backend " + std::string(backend.name()) +
         " takes it and fails: " + diags.FirstError();
  return std::nullopt;
}

}  // namespace tenon
