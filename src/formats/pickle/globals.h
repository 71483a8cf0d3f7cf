// What a pickle's import of `module.name` can do, told from the two names
// alone (rule V-FILE-07, and the scan's X-PICKLE rules).
//
// Lists of known evil callables are never complete: Python's library alone has
// hundreds of ways to a shell. So it goes the other way round. What is known to
// build data is listed; in libraries that are everywhere (Python's own, torch,
// numpy) all else counts as acting, since that is where an attacker finds what
// he needs. Of other libraries nothing is known but their name.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {

enum class ImportKind : uint8_t {
  kPlain,      // what plain tensors, arrays and containers need
  kUnpickles,  // torch.storage._load_from_bytes: reads a pickle inside
  kData,       // builds other objects, and does nothing else
  kUnknown,    // code of a library that isn't known
  kActing,     // can reach the machine, other code or attributes of anything
};

ImportKind JudgeImport(std::string_view module, std::string_view name);

// Whether the first part of a dotted module name is a module of Python's own,
// under a name of Python 2 or 3.
bool IsPythonModule(std::string_view module);

}  // namespace tenon
