// A PyTorch program: opened, checked, cut over backends, written.
//
//   auto model = tenon::Model::Open("gpt2.pt2");
//   if (!model) return Show(model.errors());
//   auto hybrid = model->Export({"cpu"});
//   if (hybrid) hybrid->Save("gpt2.hybrid.pt2");
//
// Threads: every member may be called from several threads at once, on one
// model or on copies of it. Nothing is global: a process may hold any number.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/error.h"

namespace tenon {

enum class LeafKind : uint8_t {
  kTensor,
  kInt,
  kFloat,
  kBool,
  kString,
  kNone,
  kObject,  // an opaque object: can't be passed
};

// A leaf of what a caller passes or gets back.
struct ModelLeaf {
  static constexpr int64_t kDynamic = -1;

  // "args.0", "kwargs.mask"; of outputs "0", "y.0", and "" for a single one.
  std::string path;
  std::string type;  // "f32[s0, 5]", as in the text form
  LeafKind kind = LeafKind::kTensor;
  // An input that was fixed at export: calls may leave it out, and may pass
  // nothing else. An output that is the same in every call.
  bool is_fixed = false;
  std::string dtype;           // of tensors: "float32"
  std::vector<int64_t> sizes;  // of tensors; kDynamic where they vary
};

// Immutable and cheap to copy; copies share everything. Weights stay in the
// mapped file, which lives as long as a copy, or a runner of one, does.
class Model {
 public:
  // The names of the methods in a .pt2, in the file's order.
  static Result<std::vector<std::string>> Methods(const std::string& path);
  // One method of a .pt2: "" is "model", or the only one. Every rule of the
  // verifier holds for what is opened.
  static Result<Model> Open(const std::string& path,
                            const std::string& method = "");

  std::string method() const;
  // The calling convention as Python has it: "forward(x: f32[s0, 4], *, flag:
  // bool = True)", and what comes back: "{y: f32[s0], n: SymInt(s0)}".
  std::string signature() const;
  std::string returns() const;
  // The same leaf by leaf, in order.
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
// "0.1.0".
std::string Version();

}  // namespace tenon
