// The operations that benchmarks time: each on a program of any size.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "diag/diagnostics.h"
#include "ir/program.h"

namespace tenon::bench {

// Programs of one size, made when first asked for.
class Case {
 public:
  explicit Case(int64_t num_nodes) : num_nodes_(num_nodes) {}
  ~Case();
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  int64_t num_nodes() const { return num_nodes_; }
  // A deep network, with a weight for every other node.
  const Program& layers();
  // Children of 20 operators, or one child of all (programs.h).
  const Program& hybrid();
  const Program& single_child();
  // Sums of earlier values, out of the last one or the last sixteen.
  const Program& chain();
  const Program& dense();

  // `layers` as text and as a file, `chain` as a file.
  const std::string& text();
  const std::string& file();
  const std::string& graph_file();
  // A path to write to.
  const std::string& path();

 private:
  const std::string& FileOf(const Program& program, const std::string& shape);

  const int64_t num_nodes_;
  std::optional<Program> layers_, hybrid_, single_child_, chain_, dense_;
  std::string text_, path_;
  std::map<std::string, std::string> files_;  // by shape
};

// An operation that fails measures nothing, so it says why and ends.
void Check(bool ok, const Diagnostics& diags, const char* what);

// Where files lie that peers.py or the other side of a comparison wrote.
std::string PeersFolder();

struct Duration {
  double wall_s = 0;
  double cpu_s = 0;  // of the whole process
};

// What an operation costs without what it takes to prepare and check it.
class Stopwatch {
 public:
  // Runs `what` and adds its time. Not inlined: callgrind counts by function.
  void Time(const std::function<void()>& what);
  Duration total() const { return total_; }

 private:
  Duration total_;
};

struct Operation {
  const char* name;
  void (*run)(Case& c, Stopwatch& watch);
  // Costs what the boundary does, however many nodes there are.
  bool is_flat = false;
  // Works on a file of the other side of a comparison.
  bool needs_peer = false;
  // How good what it makes is, where that is a question: size to least size.
  double (*ratio)(Case& c) = nullptr;
};

// Makes the allocator keep what is freed. Otherwise runs on large programs, but
// not those on small ones, would get new memory from the kernel each time, and
// its page faults, up to ten times what copying a program costs, would be all
// that growth shows.
void KeepFreedMemory();

std::span<const Operation> AllOperations();
// Null when there is none of that name.
const Operation* FindOperation(std::string_view name);

// The shortest of `times` runs, each clock for itself.
Duration BestOf(const Operation& operation, Case& c, int times);

}  // namespace tenon::bench
