#include "conformance/bugs/facts.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <vector>

#include "analysis/guards.h"
#include "ir/leaf_names.h"
#include "runtime/binding.h"
#include "verify/verify.h"

namespace tenon::conformance {
namespace {

using Json = simdjson::dom::element;
using Names = std::vector<std::string>;

Names TextsOf(Json list) {
  Names out;
  simdjson::dom::array array;
  if (list.get(array)) return out;
  for (const auto item : array) {
    std::string_view text;
    if (!item.get(text)) out.emplace_back(text);
  }
  return out;
}

std::string Join(const Names& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return "[" + out + "]";
}

std::string Differ(const std::string& what, const std::string& got,
                   const std::string& want) {
  return got == want ? "" : what + ": " + got + " instead of " + want;
}

// Facts that aren't checked here, and why. Any other name is a failure.
struct Elsewhere {
  std::string_view name, reason;
  bool is_prefix = false;
};
constexpr Elsewhere kElsewhere[] = {
    {"supported_ops", "checked with the cuts"},
    {"unsupported", "checked with the cuts"},
    {"cut_every", "checked with the cuts"},
    {"deterministic_runs", "checked with the cuts"},
    {"region_inputs", "checked with the regions"},
    {"hint_is_illegal", "checked with the regions"},
    {"hint_may_need_splitting", "checked with the regions"},
    {"regions_have_different_bodies", "the results of both calls differ"},
    {"siblings", "the results of both regions are compared"},
    {"order_outside", "the results depend on it"},
    {"read_results_after_all_runs", "results are the caller's own memory"},
    {"must_not_execute", "nothing in a file is ever executed"},
    {"acyclic", "the verifier refuses cycles"},
    {"fold_constants", "checked with the passes"},
    {"run_cleanup_passes", "checked with the passes"},
    {"set_output_names", "checked with the passes"},
    {"move_device", "checked with the passes"},
    {"initial", "checked with the passes"},
    {"after_update_", "checked with the passes", true},
    {"last_run", "checked with the passes"},
    {"sequence", "of one file: checked with last_run; of two: see methods"},
    // Not checked, for want of the feature or of a way to ask for it.
    {"methods",
     "several programs can't be written as methods of one .pte: only files of "
     "others are read and written again, nothing is lowered to it"},
    {"block_profile",
     "backends take a region's ranges from the program: there is no option by "
     "which a region could be compiled for narrower ones"},
    {"shared_cache_dir",
     "backends write compiled regions into the program and keep no cache "
     "between exports that could give one program another's"},
};

class Facts {
 public:
  Facts(const Program& program, const std::string& path)
      : p_(program), path_(path) {}

  std::string Check(std::string_view name, Json want) {
    const std::string what(name);
    if (name == "state_dict_keys") {
      return Differ(what, Sorted(Fqns(&InStateDict)), Sorted(TextsOf(want)));
    }
    if (name == "parameters") {
      return Differ(what, Sorted(Fqns(&IsParameter)), Sorted(TextsOf(want)));
    }
    if (name == "buffers") {
      return Differ(what, Sorted(Fqns(&IsBuffer)), Sorted(TextsOf(want)));
    }
    if (name == "n_constants")
      return Count(what, Fqns(&IsConstant).size(), want);
    if (name == "distinct_payloads") return Payloads(what, want);
    if (name == "requires_grad") return RequiresGrad(want);
    if (name == "param_dtype") return DTypes(want);
    if (name == "constants") return Constants(want);
    if (name == "input_kinds") return InputKinds(what, want);
    if (name == "n_user_inputs") {
      return Count(what, UserInputPositions(p_).size(), want);
    }
    if (name == "n_buffer_mutations") return Mutations(what, want);
    if (name == "guards_code") return Guards();
    if (name == "has_sample_inputs") return Samples(want);
    if (name == "max_file_bytes") return FileSize(what, want);
    if (name == "warn_unused_user_inputs") return UnusedInputs(want);
    if (name == "input_names") {
      return Differ(what, Join(p_.forward_arg_names), Join(TextsOf(want)));
    }
    if (name == "opaque_container") return Container(want);
    if (name == "custom_obj") return Objects(want);
    if (name == "payload_bytes") return ObjectBytes(what, want);
    if (name == "fields") return Fields(want);
    if (name == "leaf_order") return LeafOrder(TextsOf(want));
    for (const Elsewhere& e : kElsewhere) {
      if (e.name == name || (e.is_prefix && name.starts_with(e.name))) {
        return "";
      }
    }
    return "the fact '" + what + "' isn't known to this driver";
  }

 private:
  using Predicate = bool (*)(const StateEntry&);
  static bool InStateDict(const StateEntry& e) { return e.in_state_dict(); }
  static bool IsParameter(const StateEntry& e) {
    return e.kind == StateKind::kParameter;
  }
  static bool IsBuffer(const StateEntry& e) {
    return e.kind == StateKind::kPersistentBuffer ||
           e.kind == StateKind::kNonPersistentBuffer;
  }
  static bool IsConstant(const StateEntry& e) { return !e.in_state_dict(); }

  Names Fqns(Predicate wanted) const {
    Names out;
    for (const StateEntry& e : p_.state.entries) {
      if (wanted(e)) out.emplace_back(p_.view(e.fqn));
    }
    return out;
  }
  static std::string Sorted(Names names) {
    std::sort(names.begin(), names.end());
    return Join(names);
  }
  static std::string Count(const std::string& what, size_t got, Json want) {
    return Differ(what, std::to_string(got), simdjson::minify(want));
  }
  const StateEntry* Find(std::string_view fqn) const {
    for (const StateEntry& e : p_.state.entries) {
      if (p_.view(e.fqn) == fqn) return &e;
    }
    return nullptr;
  }

  // Of the entries that the program's tensors lie in.
  std::string Payloads(const std::string& what, Json want) const {
    std::set<uint32_t> storages;
    for (const StateEntry& e : p_.state.entries) {
      if (e.storage.valid()) storages.insert(e.storage.index);
    }
    return Count(what, storages.size(), want);
  }

  std::string RequiresGrad(Json want) const {
    simdjson::dom::object object;
    if (want.get(object)) return "requires_grad: no object";
    for (const auto field : object) {
      const StateEntry* e = Find(field.key);
      bool flag = false;
      if (e == nullptr || field.value.get(flag) ||
          p_.type(e->type).requires_grad != flag) {
        return "requires_grad of " + std::string(field.key);
      }
    }
    return "";
  }

  std::string DTypes(Json want) const {
    simdjson::dom::object object;
    if (want.get(object)) return "param_dtype: no object";
    for (const auto field : object) {
      const StateEntry* e = Find(field.key);
      std::string_view dtype;
      if (e == nullptr || field.value.get(dtype) ||
          Name(p_.type(e->type).dtype) != dtype) {
        return "dtype of " + std::string(field.key);
      }
    }
    return "";
  }

  // name: [dtype, sizes, strides]
  std::string Constants(Json want) const {
    simdjson::dom::object object;
    if (want.get(object)) return "constants: no object";
    for (const auto field : object) {
      const StateEntry* e = Find(field.key);
      if (e == nullptr) return "no constant " + std::string(field.key);
      const Type& type = p_.type(e->type);
      std::string got = "[\"" + std::string(Name(type.dtype)) + "\",[";
      for (const auto* list : {&type.sizes, &type.strides}) {
        if (list == &type.strides) got += ",[";
        for (size_t d = 0; d < list->size(); ++d) {
          got += (d > 0 ? "," : "") + std::to_string((*list)[d].value);
        }
        got += "]";
      }
      got += "]";
      const std::string why = Differ("constant " + std::string(field.key), got,
                                     simdjson::minify(field.value));
      if (!why.empty()) return why;
    }
    return "";
  }

  std::string InputKinds(const std::string& what, Json want) const {
    Names got;
    for (const InputSpec& spec : p_.signature.inputs) {
      got.emplace_back(Pt2Tag(spec.kind));
    }
    return Differ(what, Join(got), Join(TextsOf(want)));
  }

  std::string Mutations(const std::string& what, Json want) const {
    const auto count =
        std::count_if(p_.signature.outputs.begin(), p_.signature.outputs.end(),
                      [](const OutputSpec& spec) {
                        return spec.kind == OutputKind::kBufferMutation;
                      });
    return Count(what, static_cast<size_t>(count), want);
  }

  // There are some, and each is understood.
  std::string Guards() const {
    if (p_.file.guards_code.empty()) return "guards_code: none";
    return ParseGuards(p_).size() == p_.file.guards_code.size()
               ? ""
               : "guards_code: one isn't understood";
  }

  std::string Samples(Json want) const {
    bool flag = false;
    if (want.get(flag)) return "has_sample_inputs: no flag";
    const bool has = std::any_of(
        p_.file.members.begin(), p_.file.members.end(), [](const auto& m) {
          return m.name.starts_with("data/sample_inputs/") && !m.bytes.empty();
        });
    return has == flag ? "" : "has_sample_inputs";
  }

  std::string FileSize(const std::string& what, Json want) const {
    uint64_t limit = 0;
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(path_, error);
    if (want.get(limit) || error) return what + ": can't be told";
    return size <= limit ? "" : what + ": " + std::to_string(size) + " bytes";
  }

  // Each input that nothing reads is told by its name.
  std::string UnusedInputs(Json want) const {
    Diagnostics diags;
    VerifyOptions options;
    options.lint = true;
    (void)Verify(p_, options, diags);
    for (const std::string& name : TextsOf(want)) {
      const bool told = std::any_of(
          diags.all().begin(), diags.all().end(), [&](const Diagnostic& d) {
            return d.rule == Rule::kLintInput01 &&
                   d.ToString().find(name) != std::string::npos;
          });
      if (!told) return "no warning of the unused input " + name;
    }
    return "";
  }

  static bool HasType(const TreeSpec& spec, std::string_view type) {
    if (!spec.is_leaf && spec.type == type) return true;
    return std::any_of(
        spec.children.begin(), spec.children.end(),
        [&](const TreeSpec& child) { return HasType(child, type); });
  }
  std::string Container(Json want) const {
    std::string_view type;
    if (want.get(type)) return "opaque_container: no name";
    const bool has = (p_.in_spec && HasType(*p_.in_spec, type)) ||
                     (p_.out_spec && HasType(*p_.out_spec, type));
    return has ? "" : "no container of type " + std::string(type);
  }

  // Of the opaque objects' records.
  std::string ObjectBytes(const std::string& what, Json want) const {
    size_t bytes = 0;
    for (const StateEntry& e : p_.state.entries) {
      if (e.kind == StateKind::kObject && e.storage.valid()) {
        bytes += p_.state.storage(e.storage).bytes.size();
      }
    }
    return Count(what, bytes, want);
  }

  // Leaves that stand side by side, in this order, in the call and in what it
  // returns.
  std::string LeafOrder(const Names& want) const {
    if (!p_.in_spec || !p_.out_spec) return "leaf_order: no specs";
    for (const Names& names : {CallLeafNames(*p_.in_spec, p_.forward_arg_names),
                               ReturnLeafNames(*p_.out_spec)}) {
      if (std::search(names.begin(), names.end(), want.begin(), want.end()) ==
          names.end()) {
        return "leaf_order: " + Join(names);
      }
    }
    return "";
  }

  // Names that a container's context has to hold.
  std::string Fields(Json want) const {
    for (const std::string& field : TextsOf(want)) {
      const bool has = (p_.in_spec && HasField(*p_.in_spec, field)) ||
                       (p_.out_spec && HasField(*p_.out_spec, field));
      if (!has) return "no container with the field " + field;
    }
    return "";
  }
  static bool HasField(const TreeSpec& spec, const std::string& field) {
    return spec.context.find("\"" + field + "\"") != std::string::npos ||
           std::any_of(
               spec.children.begin(), spec.children.end(),
               [&](const TreeSpec& child) { return HasField(child, field); });
  }

  std::string Objects(Json want) const {
    simdjson::dom::object object;
    if (want.get(object)) return "custom_obj: no object";
    for (const auto field : object) {
      std::string_view type;
      if (field.value.get(type)) return "custom_obj: no class";
      const bool has = std::any_of(
          p_.root().inputs.begin(), p_.root().inputs.end(), [&](ValueId v) {
            const Type& t = p_.type(v);
            return t.kind == TypeKind::kObject && p_.view(t.text) == type;
          });
      if (!has) return "no object of class " + std::string(type);
    }
    return "";
  }

  const Program& p_;
  const std::string& path_;
};

}  // namespace

std::string CheckFacts(const simdjson::dom::object& expect,
                       const Program& program, const std::string& path) {
  Facts facts(program, path);
  for (const auto field : expect) {
    const std::string why = facts.Check(field.key, field.value);
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace tenon::conformance
