// What unpickling would import and call, found without doing it.
//
// A pickle is a program for a stack machine. The walk runs it over an abstract
// stack on which an entry only says what kind of thing it is, so that it knows
// which import a call calls, whatever detours over memo and stack the program
// takes. It knows all opcodes of protocols 0 to 5. It stops where Python's
// unpickler would: at STOP, or at the first thing that can't be done. What was
// found until then counts, since Python does as it reads.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "support/byte_cursor.h"

namespace tenon {

struct PickleImport {
  std::string module, name;
  uint64_t at = 0;         // of the first one
  bool is_called = false;  // or made an object of, or given state
};

// What no writer of data does.
struct PickleOddity {
  enum class Kind : uint8_t {
    kComputedImport,  // the names of an import come out of a call
    kCallOfResult,    // what a call returned is called
    kChangedImport,   // an imported thing is itself changed
    kExtension,       // a class by its number in the reader's process
  };
  Kind kind;
  uint64_t at = 0;
  std::string text;  // of changed imports "module.name", else ""
};

struct PickleWalkLimits {
  uint64_t max_opcodes = 100'000'000;
  // Entries of the stack, and of the memo.
  size_t max_entries = 4'000'000;
  // Different imports and oddities.
  size_t max_facts = 10'000;
};

struct PickleFacts {
  int protocol = 0;                   // as PROTO says; 0 without one
  std::vector<PickleImport> imports;  // each once, in order
  std::vector<PickleOddity> oddities;
  uint64_t num_opcodes = 0;
  uint64_t end = 0;        // behind STOP, or where the walk ended
  std::string problem;     // "" when it reached STOP
  bool hit_limit = false;  // the problem is a limit
  // Literals whose spelling isn't their value; the others lie in the pickle.
  std::deque<std::string> owned;
};

// Called with each literal of bytes or text: it may hold a pickle of its own.
// The bytes last as long as the pickle and the facts.
using PickleLiteral = std::function<void(Bytes literal, uint64_t at)>;

PickleFacts WalkPickle(Bytes bytes, uint64_t offset,
                       const PickleWalkLimits& limits,
                       const PickleLiteral& on_literal);

}  // namespace tenon
