// Reads a pickle as data (rule V-FILE-07).
//
// A pickle is a program for a stack machine that can import and call anything.
// Here it is only taken apart: imports become Global nodes, calls become
// Reduce nodes over their arguments, and nothing is looked up or called. What
// the nodes mean is for the reader of one particular format to decide, by the
// few names that it knows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diag/diagnostics.h"
#include "diag/limits.h"
#include "support/byte_cursor.h"
#include "support/expected.h"

namespace tenon {

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInt,  // fits 64 bits
  kFloat,
  kString,
  kBytes,       // also integers of more than 64 bits
  kTuple,       // items
  kList,        // items
  kSet,         // items
  kDict,        // items: key, value, key, value, ...
  kGlobal,      // text = "module name"
  kReduce,      // items: callable, arguments
  kObject,      // items: class, arguments, perhaps keyword arguments
  kPersistent,  // items: id
};

// Index of a node in the tree.
using PickleRef = uint32_t;

struct PickleNode {
  PickleKind kind = PickleKind::kNone;
  int64_t i = 0;  // kInt, kBool
  double f = 0;
  std::string_view text;  // borrowed from the pickle, or from `owned_text`
  std::vector<PickleRef> items;
  // BUILD's argument, which sets an object's state; 0 = none.
  PickleRef state = 0;
};

class PickleTree {
 public:
  // `name` stands in messages. Errors name the byte and the opcode. The tree
  // borrows `bytes`.
  static Expected<PickleTree> Parse(Bytes bytes, const std::string& name,
                                    Diagnostics& diags,
                                    const ReadLimits& limits = {});

  const PickleNode& root() const { return nodes_[root_]; }
  const PickleNode& get(PickleRef ref) const { return nodes_[ref]; }
  // "module name" of each import, in order.
  const std::vector<std::string_view>& globals() const { return globals_; }

 private:
  friend class PickleParser;

  std::vector<PickleNode> nodes_;
  PickleRef root_ = 0;
  std::vector<std::string_view> globals_;
  // Texts of globals whose parts lie apart in the pickle. Addresses must last,
  // hence the pointers.
  std::vector<std::unique_ptr<std::string>> owned_text_;
};

}  // namespace tenon
