// What an export did, for people and programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"
#include "support/hash.h"

namespace tenon {

// A value at a region's boundary.
struct BoundaryValue {
  std::string name;
  std::string type;  // text form
  // Bytes of the value; with symbolic sizes, at their upper bounds, and unknown
  // (-1) where one has none.
  int64_t bytes = -1;
  bool is_state = false;  // a parameter, buffer or constant passed in
};

struct RegionReport {
  std::string name;
  std::string backend;  // "" = joined back into plain operators
  uint32_t num_nodes = 0;
  std::vector<BoundaryValue> inputs, outputs;
  uint64_t payload_bytes = 0;
  std::string payload_digest;
  std::vector<DeclaredWrite> writes;
  // Why a backend gave this region up (D-7); "" when it didn't.
  std::string fallback_reason;
};

// Nodes that a backend refused for one reason.
struct RefusalGroup {
  std::string backend;
  std::string reason;  // "operator unknown"
  std::string detail;  // "aten.sort.default"
  std::vector<std::string> nodes;
};

struct MutationReport {
  std::string target;  // FQN or input path
  std::string kind;    // buffer_mutation, in_place, ...
  std::string owner;   // region that computes it, or "graph"
  bool in_place = false;
};

struct PhaseTime {
  std::string name;
  double seconds = 0;
};

struct ExportReport {
  std::vector<RegionReport> regions;
  std::vector<RefusalGroup> refusals;
  uint32_t num_nodes = 0;  // of the source's root graph
  uint32_t num_nodes_delegated = 0;
  std::vector<std::string> signature_before, signature_after;
  std::vector<MutationReport> mutations;
  Digest source_digest, result_digest;
  std::vector<PhaseTime> phases;
  std::vector<std::string> notes;
};

BoundaryValue DescribeBoundary(const Program& program, ValueId v);
// Mutations of the signature, then in-place writes to inputs and state.
std::vector<MutationReport> DescribeMutations(const Program& program);
// The signature, one line per input and output: "parameter fc.weight: f32[4,
// 3]".
std::vector<std::string> DescribeSignature(const Program& program);
// Refusals by backend, reason and detail, largest group first.
struct PartitionPlan;
std::vector<RefusalGroup> GroupRefusals(const Program& program,
                                        const PartitionPlan& plan);

}  // namespace tenon
