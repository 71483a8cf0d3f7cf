// Calls of whole programs over backend `cpu`, for comparisons.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operations.h"
#include "runtime/session.h"

namespace tenon::bench {

// A program of the folder that peers.py names, exported over `cpu` and called
// a few times, so that all is planned, packed and warm.
class LoadedModel {
 public:
  LoadedModel(const std::string& model, int64_t num_threads);
  // Of one call; the shortest of `times`.
  Duration Call(int times);

 private:
  std::unique_ptr<Session> session_;
  std::vector<RuntimeValue> inputs_;
};

}  // namespace tenon::bench
