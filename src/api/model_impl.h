// What a public Model holds.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "runtime/session.h"
#include "tenon/model.h"

namespace tenon {

// Everything that a model is asked for is made before anybody else can see it,
// or from a copy of the program with a context of its own: printing, analysing
// and exporting add to a context, which isn't made for several threads.
struct Model::Impl {
  explicit Impl(Program p);

  const std::shared_ptr<const Program> program;
  std::string signature, returns;
  std::vector<ModelLeaf> inputs, outputs;

  // A copy of the program that the calling thread may do with as it likes.
  Program Private() const;
  // A session for one runner: a fork of the one that was loaded first.
  Expected<std::unique_ptr<Session>> NewSession(int num_threads,
                                                Diagnostics& diags) const;

  mutable std::mutex mutex;  // of what follows, and of making copies
  mutable std::optional<std::string> digest;
  // Never run; by number of threads.
  mutable std::map<int, std::unique_ptr<Session>> loaded;
};

}  // namespace tenon
