// Calls a program: inputs from the caller's memory, state kept between calls.
//
//   auto runner = tenon::Runner::Load(*model);
//   runner->Set("mask", tenon::TensorView{"bool", {1, 8}, {}, mask});
//   auto results = runner->Run({{"args.0", x}});
//   const float* y = static_cast<const float*>((*results)[0].tensor().data);
//
// Threads: a runner is one thread's at a time. To call a model from several
// threads at once, load a runner in each. That is cheap: all runners of a model
// share the program, the loaded regions, the weights, and the copies of weights
// that backends packed. A runner's own are the state that calls write, and the
// plans and the memory of intermediate results.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/error.h"
#include "tenon/model.h"
#include "tenon/value.h"

namespace tenon {

struct RunnerOptions {
  // That one call may use, this thread included.
  int num_threads = 1;
};

class Runner {
 public:
  // Inputs by leaf path ("args.0", "kwargs.mask", "args.1.past.k"), by a
  // parameter's name in the place of "args.N" or "kwargs.NAME" ("mask",
  // "past.k"), or by number ("0").
  using Inputs = std::vector<std::pair<std::string, CallValue>>;
  // By number, counting all that Model::outputs lists.
  using Outputs = std::vector<std::pair<size_t, TensorView>>;

  static Result<Runner> Load(const Model& model,
                             const RunnerOptions& options = {});
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  // Sets an input for all calls from now on, or changes it. Elements aren't
  // copied: each call reads them where they lie, so they have to live as long.
  // True, or why there is no such input or the view isn't one.
  Result<bool> Set(const std::string& address, CallValue value);
  Result<bool> Set(size_t position, CallValue value);
  void ClearInputs();

  // One value per output, in order. Inputs that weren't set come here, in any
  // order, each once; an input that was set may be given all the same. Nothing
  // is copied; inputs that the program writes are written in place. A missing,
  // unknown or unfitting input is an error, and leaves state and inputs as they
  // were.
  //
  // A result owns its bytes, with three exceptions: a view of an input lies in
  // the caller's memory and lives as long as that; a view of the state is for
  // reading and changes with it; and see below.
  Result<std::vector<CallValue>> Run(const Inputs& inputs = {});
  // The same, with results in the caller's memory. A result is computed and
  // then copied once. A buffer of another dtype or other sizes, and two that
  // share memory, are errors, and leave state and inputs as they were.
  Result<std::vector<CallValue>> Run(const Inputs& inputs,
                                     const Outputs& outputs);

  // Puts the state back to what the file holds.
  void ResetState();

 private:
  struct Impl;
  explicit Runner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon
