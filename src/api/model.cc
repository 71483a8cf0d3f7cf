#include "tenon/model.h"

#include "analysis/digest.h"
#include "api/errors.h"
#include "api/model_impl.h"
#include "backends/backend.h"
#include "export/call_text.h"
#include "export/export.h"
#include "export/expression_text.h"
#include "formats/pt2/pt2.h"
#include "runtime/binding.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

LeafKind KindOf(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTensor:
      return LeafKind::kTensor;
    case TypeKind::kSymInt:
    case TypeKind::kInt:
      return LeafKind::kInt;
    case TypeKind::kSymFloat:
    case TypeKind::kFloat:
      return LeafKind::kFloat;
    case TypeKind::kSymBool:
    case TypeKind::kBool:
      return LeafKind::kBool;
    case TypeKind::kString:
      return LeafKind::kString;
    case TypeKind::kNone:
      return LeafKind::kNone;
    case TypeKind::kObject:
      return LeafKind::kObject;
  }
  return LeafKind::kObject;
}

ModelLeaf LeafOf(const Program& program, std::string path, TypeId id) {
  const Type& type = program.type(id);
  ModelLeaf leaf;
  leaf.path = std::move(path);
  leaf.type = PrintType(program, id);
  leaf.kind = KindOf(type.kind);
  leaf.is_fixed = type.is_literal();
  if (!type.is_tensor()) return leaf;
  leaf.dtype = Name(type.dtype);
  for (const SymInt& size : type.sizes) {
    leaf.sizes.push_back(size.is_literal() ? size.value : ModelLeaf::kDynamic);
  }
  return leaf;
}

// An output that is a literal of the graph.
ModelLeaf LiteralLeaf(const Program& program, std::string path,
                      const Arg& arg) {
  ModelLeaf leaf;
  leaf.path = std::move(path);
  leaf.type = ExpressionText(program, arg, 0);
  leaf.is_fixed = true;
  leaf.kind = arg.kind == ArgKind::kInt      ? LeafKind::kInt
              : arg.kind == ArgKind::kFloat  ? LeafKind::kFloat
              : arg.kind == ArgKind::kBool   ? LeafKind::kBool
              : arg.kind == ArgKind::kString ? LeafKind::kString
              : arg.kind == ArgKind::kNone   ? LeafKind::kNone
                                             : LeafKind::kObject;
  return leaf;
}

// What Session counts as results.
bool IsResult(OutputKind kind) {
  switch (kind) {
    case OutputKind::kUserOutput:
    case OutputKind::kLossOutput:
    case OutputKind::kGradientToParameter:
    case OutputKind::kGradientToUserInput:
      return true;
    case OutputKind::kBufferMutation:
    case OutputKind::kParameterMutation:
    case OutputKind::kUserInputMutation:
    case OutputKind::kToken:
      return false;
  }
  return false;
}

std::vector<ModelLeaf> InputsOf(const Program& program) {
  const std::vector<std::string> paths = UserInputPaths(program);
  std::vector<ModelLeaf> out;
  for (const uint32_t i : UserInputPositions(program)) {
    out.push_back(LeafOf(program, paths[out.size()],
                         program.value(program.root().inputs[i]).type));
  }
  return out;
}

std::vector<ModelLeaf> OutputsOf(const Program& program) {
  const std::vector<std::string> paths = UserOutputPaths(program);
  std::vector<ModelLeaf> out;
  const auto outputs = program.outputs(Program::kRoot);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i < program.signature.outputs.size() &&
        !IsResult(program.signature.outputs[i].kind)) {
      continue;
    }
    std::string path =
        out.size() < paths.size() ? paths[out.size()] : std::to_string(i);
    const ValueId v = outputs[i].value();
    out.push_back(v.valid() ? LeafOf(program, path, program.value(v).type)
                            : LiteralLeaf(program, path, outputs[i]));
  }
  return out;
}

}  // namespace

Model::Impl::Impl(Program p)
    : program(std::make_shared<const Program>(std::move(p))),
      signature(CallText(*program)),
      returns(ReturnText(*program)),
      inputs(InputsOf(*program)),
      outputs(OutputsOf(*program)) {}

Program Model::Impl::Private() const {
  const std::lock_guard<std::mutex> lock(mutex);
  return program->CloneApart();
}

Expected<std::unique_ptr<Session>> Model::Impl::NewSession(
    int num_threads, Diagnostics& diags) const {
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Session>& first = loaded[num_threads];
  if (first == nullptr) {
    SessionOptions options;
    options.backend.num_threads = num_threads;
    TENON_ASSIGN(first, Session::Load(program, options, diags));
  }
  return first->Fork(diags);
}

Result<std::vector<std::string>> Model::Methods(const std::string& path) {
  using Names = std::vector<std::string>;
  return api::WithinMemory<Names>([&]() -> Result<Names> {
    Diagnostics diags;
    auto methods = ListPt2Methods(path, diags);
    if (!methods) return api::ErrorsOf(diags);
    return std::move(*methods);
  });
}

Result<Model> Model::Open(const std::string& path, const std::string& method) {
  return api::WithinMemory<Model>([&]() -> Result<Model> {
    Diagnostics diags;
    Pt2ReadOptions options;
    options.method = method;
    auto program = ReadPt2(path, std::make_shared<Context>(), options, diags);
    if (!program || !Verify(*program, VerifyOptions(), diags)) {
      return api::ErrorsOf(diags);
    }
    return Model(std::make_shared<const Impl>(std::move(*program)));
  });
}

std::string Model::method() const { return impl_->program->name; }
std::string Model::signature() const { return impl_->signature; }
std::string Model::returns() const { return impl_->returns; }
std::vector<ModelLeaf> Model::inputs() const { return impl_->inputs; }
std::vector<ModelLeaf> Model::outputs() const { return impl_->outputs; }

std::string Model::digest() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->digest) {
    impl_->digest = WiringDigest(impl_->program->CloneApart()).ToHex();
  }
  return *impl_->digest;
}

Result<Model> Model::Export(const std::vector<std::string>& backends) const {
  return api::WithinMemory<Model>([&]() -> Result<Model> {
    Diagnostics diags;
    ExportOptions options;
    for (const std::string& name : backends) {
      const Backend* backend = FindBackend(name);
      if (backend == nullptr) {
        diags.Error(Rule::kUsage)
            << "this build has no backend '" << name << "'";
        return api::ErrorsOf(diags);
      }
      options.backends.push_back({});
      options.backends.back().backend = backend;
    }
    Program program = impl_->Private();
    if (!ExportProgram(&program, options, diags)) return api::ErrorsOf(diags);
    return Model(std::make_shared<const Impl>(std::move(program)));
  });
}

Result<bool> Model::Save(const std::string& path) const {
  return api::WithinMemory<bool>([&]() -> Result<bool> {
    Diagnostics diags;
    if (!WriteProved(impl_->Private(), path, Pt2WriteOptions(), diags)) {
      return api::ErrorsOf(diags);
    }
    return true;
  });
}

std::vector<std::string> BackendNames() {
  std::vector<std::string> out;
  for (const std::string_view name : AllBackendNames()) out.emplace_back(name);
  return out;
}

std::string Version() { return TENON_VERSION; }

}  // namespace tenon
