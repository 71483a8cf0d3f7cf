// A PyTorch program: opened, checked, cut over backends, written.
//
//   auto model = tenon::Model::Open("gpt2.pt2");
//   if (!model) return Show(model.errors());
//   auto hybrid = model->Export({"cpu"});
//   if (hybrid) hybrid->Save("gpt2.hybrid.pt2");
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/error.h"

namespace tenon {

// A leaf of what a caller passes or gets back.
struct ModelLeaf {
  std::string path;  // "args.0", "kwargs.mask"; of outputs, by number
  std::string type;  // "f32[s0, 5]", as in the text form
};

// Immutable and cheap to copy; copies share everything. Weights stay in the
// mapped file, which lives as long as a copy does.
class Model {
 public:
  // One method of a .pt2: "" is "model", or the only one. Every rule of the
  // verifier holds for what is opened.
  static Result<Model> Open(const std::string& path,
                            const std::string& method = "");

  std::vector<ModelLeaf> inputs() const;
  std::vector<ModelLeaf> outputs() const;
  // The wiring digest, 32 hexadecimal digits: equal digests, equal programs.
  std::string digest() const;

  // The hybrid program over the named backends, most preferred first; proved
  // equal to this one. {} cuts nothing.
  Result<Model> Export(const std::vector<std::string>& backends) const;

  // Writes a .pt2 by way of a temporary name. What was written is read again
  // and proved before it gets its name. True, or the errors.
  Result<bool> Save(const std::string& path) const;

 private:
  friend class Runner;
  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// The names of the backends in this build.
std::vector<std::string> BackendNames();

}  // namespace tenon
