#include "formats/pickle/pickle_scan.h"

#include <algorithm>
#include <iterator>

#include "formats/pickle/pickle_tree.h"
#include "formats/pickle/torch_save.h"
#include "formats/zip/zip_reader.h"

namespace tenon {
namespace {

constexpr std::string_view kPlainGlobals[] = {
    "__builtin__ bool",
    "__builtin__ dict",
    "__builtin__ float",
    "__builtin__ int",
    "__builtin__ list",
    "__builtin__ set",
    "__builtin__ str",
    "__builtin__ tuple",
    "builtins bool",
    "builtins dict",
    "builtins float",
    "builtins int",
    "builtins list",
    "builtins set",
    "builtins str",
    "builtins tuple",
    "collections OrderedDict",
    "collections defaultdict",
    "collections deque",
    "torch Size",
    "torch Tensor",
    "torch device",
    "torch.nn.parameter Parameter",
    "torch._tensor _rebuild_from_type_v2",
    "torch._utils _rebuild_parameter",
    "torch._utils _rebuild_sparse_tensor",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_tensor_v3",
    "torch.serialization _get_layout",
    "torch.storage UntypedStorage",
};

// Top-level modules through which a pickle can reach the machine.
constexpr std::string_view kActingModules[] = {
    "__builtin__",
    "_io",
    "_pickle",
    "_posixsubprocess",
    "asyncio",
    "builtins",
    "code",
    "codeop",
    "commands",
    "ctypes",
    "fileinput",
    "ftplib",
    "functools",
    "http",
    "importlib",
    "inspect",
    "io",
    "marshal",
    "multiprocessing",
    "nt",
    "operator",
    "os",
    "pathlib",
    "pdb",
    "pickle",
    "pip",
    "pkgutil",
    "platform",
    "posix",
    "posixpath",
    "pty",
    "pydoc",
    "runpy",
    "shelve",
    "shutil",
    "signal",
    "site",
    "smtplib",
    "socket",
    "ssl",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "timeit",
    "types",
    "urllib",
    "webbrowser",
    "zipimport",
};

bool IsPlain(std::string_view global) {
  if (std::find(std::begin(kPlainGlobals), std::end(kPlainGlobals), global) !=
      std::end(kPlainGlobals)) {
    return true;
  }
  if (global.substr(0, 6) != "torch ") return false;
  const std::string_view name = global.substr(6);
  return DTypeOfStorageClass(name).has_value() || FindTorchDType(name);
}

bool CanAct(std::string_view global) {
  if (IsPlain(global)) return false;
  const std::string_view module = global.substr(0, global.find(' '));
  const std::string_view top = module.substr(0, module.find('.'));
  return std::find(std::begin(kActingModules), std::end(kActingModules), top) !=
         std::end(kActingModules);
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
    if (IsPlain(global)) continue;
    *reason = "it imports '" + std::string(global) + "'";
    return false;
  }
  return true;
}

Status CheckCarriedPickle(Bytes bytes, const std::string& name,
                          Diagnostics& diags) {
  if (bytes.empty()) return {};
  TENON_ASSIGN(const ZipContent pickle, FindPickle(bytes, name, diags));
  Diagnostics reasons;
  if (!PickleTree::Parse(pickle.bytes, name, reasons) &&
      reasons.num_errors() > 0 && reasons.all()[0].place.offset == 0) {
    // No unpickler gets past a first byte that is no opcode: these bytes are
    // something else, and nothing can run them.
    return {};
  }
  TENON_ASSIGN(const PickleTree tree,
               PickleTree::Parse(pickle.bytes, name, diags));
  for (const std::string_view global : tree.globals()) {
    if (!CanAct(global)) continue;
    return diags.Error(Rule::kFile07, Place::File(name))
           << "the import of '" << global << "' is not allowed";
  }
  return {};
}

}  // namespace tenon
