// What `tenon info` says about a program, before it is text or JSON.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "support/hash.h"

namespace tenon::tools {

struct InputSummary {
  std::string path;  // "args.0"; the FQN of state
  std::string name;  // of user inputs: "past.keys[0]", as leaf_names.h has it
  std::string kind;
  std::string type;
  bool is_used = true;
};

struct OutputSummary {
  std::string path;  // of user outputs; the target of mutations
  std::string name;  // of user outputs, as above
  std::string kind;
  std::string value;  // a type, or a literal
};

struct SymbolSummary {
  std::string expression;
  std::string min, max;  // "-oo", "oo" where unbounded
};

struct StateSummary {
  std::string kind;
  uint64_t count = 0;
  uint64_t elements = 0;
  uint64_t bytes = 0;  // of the tensors; shared storages count several times
};

struct DelegateSummary {
  std::string name, backend;
  uint64_t payload_bytes = 0;
  size_t num_inputs = 0, num_outputs = 0, num_calls = 0;
  size_t num_source_nodes = 0;  // of the graph that it was compiled from
  bool has_source = false;
};

struct Summary {
  std::string call, returns;
  std::vector<InputSummary> inputs;
  std::vector<OutputSummary> outputs;
  std::vector<SymbolSummary> symbols;
  std::vector<StateSummary> state;
  size_t num_storages = 0;
  uint64_t storage_bytes = 0;
  bool is_weightless = false;
  // Most frequent first; nested graphs and children included.
  std::vector<std::pair<std::string, uint64_t>> operators;
  std::vector<DelegateSummary> delegates;
  // Of the tensors that the graphs compute with, most frequent first.
  std::vector<std::pair<std::string, uint64_t>> dtypes;
  std::vector<std::pair<std::string, uint64_t>> devices;
  // Operators that run nested graphs: cond, while_loop.
  std::vector<std::pair<std::string, uint64_t>> control_flow;
  // Operators that PyTorch itself doesn't have: a library must be imported
  // that defines them. Sorted.
  std::vector<std::string> custom_operators;
  size_t num_graphs = 0, num_nodes = 0, num_values = 0;
  Digest digest;
};

Summary Summarise(const Program& program);

}  // namespace tenon::tools
