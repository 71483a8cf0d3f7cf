// Delegates, and the calling conventions of the program and its modules.
#include "text/parser.h"

namespace tenon {

bool Parser::DelegateBindings(std::vector<TypeId>* types,
                              std::vector<StringId>* names) {
  if (!Expect('(')) return false;
  if (!Items(')', [&] { return ParseType(&types->emplace_back()); })) {
    return false;
  }
  if (!Accept("names")) return true;
  if (!Expect('[')) return false;
  return Items(']', [&] { return InternString(&names->emplace_back()); });
}

bool Parser::DelegateWrite(tenon::Delegate* d) {
  DeclaredWrite w;
  if (!Expect("input") || !Uint32(&w.input) || !Expect("output") ||
      !Uint32(&w.output)) {
    return false;
  }
  if (Accept("kv_cache_update")) w.kind = WriteKind::kKvCacheUpdate;
  d->writes.push_back(w);
  return true;
}

bool Parser::ParseDelegate() {
  if (token_.kind != TokenKind::kAt) return FailExpecting("a delegate's name");
  const Mention m = MentionOf(token_);
  const uint32_t index = static_cast<uint32_t>(program_.delegates.size());
  if (!delegates_.Define(m.label, m.ordinal, DelegateId(index))) {
    return NotFound('@', m,
                    "another name: a delegate has it already, and the "
                    "second one is written with '#2' behind it");
  }
  Advance();
  tenon::Delegate d;
  d.name = m.label;
  d.payload_digest = HashBytes(nullptr, 0);
  if (!Expect("backend") || !InternString(&d.backend)) return false;
  while (true) {
    if (Accept("source")) {
      if (token_.kind != TokenKind::kAt) return FailExpecting("a graph's name");
      graph_fixups_.push_back(
          {GraphFixup::Target::kSource, index, MentionOf(token_)});
      Advance();
    } else if (Accept("payload")) {
      Blob blob;
      if (!ParseBlob(&blob)) return false;
      d.payload = blob.bytes;
      d.payload_owner = std::move(blob.owner);
      d.payload_digest = HashBytes(d.payload.data(), d.payload.size());
      if (Accept("stated_digest") && !ParseDigest(&d.payload_digest)) {
        return false;
      }
    } else if (Accept("inputs")) {
      if (!DelegateBindings(&d.inputs, &d.input_names)) return false;
    } else if (Accept("outputs")) {
      if (!DelegateBindings(&d.outputs, &d.output_names)) return false;
    } else if (Accept("write")) {
      if (!DelegateWrite(&d)) return false;
    } else if (Accept("metadata")) {
      auto& [key, text] = d.metadata.emplace_back();
      if (!InternString(&key) || !Expect('=') || !InternString(&text)) {
        return false;
      }
    } else {
      break;
    }
  }
  program_.delegates.push_back(std::move(d));
  return true;
}

bool Parser::InSpec() { return Tree(&program_.in_spec.emplace()); }
bool Parser::OutSpec() { return Tree(&program_.out_spec.emplace()); }

bool Parser::ForwardArgs() {
  program_.has_forward_arg_names = true;
  return Strings(&program_.forward_arg_names);
}

bool Parser::NoRootModuleCall() {
  program_.has_root_module_call = false;
  return true;
}

bool Parser::ModuleCallArguments(std::vector<ModuleCall::Argument>* out,
                                 bool inputs) {
  if (!Expect('(')) return false;
  return Items(')', [&] {
    ModuleCall::Argument& argument = out->emplace_back();
    if (Accept("_")) return true;
    if (token_.kind == TokenKind::kValue || token_.kind == TokenKind::kAt) {
      ModuleCallFixup fixup{
          program_.module_calls.size(), out->size() - 1, inputs, {}};
      if (token_.kind == TokenKind::kAt) {
        fixup.mention.is_foreign = true;
        fixup.mention.graph = MentionOf(token_);
        Advance();
        if (token_.kind != TokenKind::kValue) return FailExpecting("a value");
      }
      fixup.mention.value = MentionOf(token_);
      Advance();
      module_call_fixups_.push_back(fixup);
      if (!token_.is("json")) return true;
    }
    return Expect("json") && String(&argument.json);
  });
}

bool Parser::ParseModuleCall() {
  ModuleCall call;
  if (!InternString(&call.fqn)) return false;
  if (token_.is('(')) {
    call.has_signature = true;
    if (!ModuleCallArguments(&call.inputs, true) || !Expect('>') ||
        !ModuleCallArguments(&call.outputs, false)) {
      return false;
    }
    if (Accept("in_spec") && !Tree(&call.in_spec.emplace())) return false;
    if (Accept("out_spec") && !Tree(&call.out_spec.emplace())) return false;
    if (Accept("forward_args")) {
      call.has_forward_arg_names = true;
      if (!Strings(&call.forward_arg_names)) return false;
    }
  }
  program_.module_calls.push_back(std::move(call));
  return true;
}

}  // namespace tenon
