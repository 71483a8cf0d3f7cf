#include "formats/pickle/pickle_scan.h"

#include "formats/pickle/globals.h"
#include "formats/pickle/pickle_tree.h"
#include "formats/pickle/torch_save.h"

namespace tenon {
namespace {

// "module name", as the tree has it.
ImportKind Judge(std::string_view global) {
  const size_t space = global.find(' ');
  return JudgeImport(global.substr(0, space), global.substr(space + 1));
}

}  // namespace

bool IsPlainTorchSave(Bytes bytes, std::string* reason) {
  if (bytes.empty()) return true;
  Diagnostics diags;
  const auto pickle = FindPickle(bytes, "pickle", diags);
  const auto tree = pickle ? PickleTree::Parse(pickle->bytes, "data.pkl", diags)
                           : Expected<PickleTree>(Failure{});
  if (!tree) {
    *reason = "it can't be read: " + diags.FirstError();
    return false;
  }
  for (const std::string_view global : tree->globals()) {
    if (Judge(global) == ImportKind::kPlain) continue;
    *reason = "it imports '" + std::string(global) + "'";
    return false;
  }
  return true;
}

Status CheckCarriedPickle(Bytes bytes, const std::string& name,
                          Diagnostics& diags, const ReadLimits& limits) {
  if (bytes.empty()) return {};
  TENON_ASSIGN(const ZipContent pickle, FindPickle(bytes, name, diags, limits));
  Diagnostics reasons;
  if (!PickleTree::Parse(pickle.bytes, name, reasons, limits) &&
      reasons.num_errors() > 0 && reasons.all()[0].place.offset == 0) {
    // No unpickler gets past a first byte that is no opcode: these bytes are
    // something else, and nothing can run them.
    return {};
  }
  TENON_ASSIGN(const PickleTree tree,
               PickleTree::Parse(pickle.bytes, name, diags, limits));
  for (const std::string_view global : tree.globals()) {
    if (Judge(global) != ImportKind::kActing) continue;
    return diags.Error(Rule::kFile07, Place::File(name))
           << "the import of '" << global << "' is not allowed";
  }
  return {};
}

}  // namespace tenon
