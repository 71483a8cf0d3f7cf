#include "tenon/model.h"

#include "analysis/digest.h"
#include "api/errors.h"
#include "api/model_impl.h"
#include "backends/backend.h"
#include "export/export.h"
#include "formats/pt2/pt2.h"
#include "runtime/binding.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

std::shared_ptr<const Program> Share(Program program) {
  return std::make_shared<const Program>(std::move(program));
}

}  // namespace

Result<Model> Model::Open(const std::string& path, const std::string& method) {
  return api::WithinMemory<Model>([&]() -> Result<Model> {
    Diagnostics diags;
    Pt2ReadOptions options;
    options.method = method;
    auto program = ReadPt2(path, std::make_shared<Context>(), options, diags);
    if (!program || !Verify(*program, VerifyOptions(), diags)) {
      return api::ErrorsOf(diags);
    }
    return Model(
        std::make_shared<const Impl>(Impl{Share(std::move(*program))}));
  });
}

std::vector<ModelLeaf> Model::inputs() const {
  const Program& program = *impl_->program;
  const std::vector<std::string> paths = UserInputPaths(program);
  std::vector<ModelLeaf> out;
  for (const uint32_t i : UserInputPositions(program)) {
    out.push_back(
        {paths[out.size()],
         PrintType(program, program.value(program.root().inputs[i]).type)});
  }
  return out;
}

std::vector<ModelLeaf> Model::outputs() const {
  const Program& program = *impl_->program;
  std::vector<ModelLeaf> out;
  const auto outputs = program.outputs(Program::kRoot);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (program.signature.outputs[i].kind != OutputKind::kUserOutput) continue;
    const ValueId v = outputs[i].value();
    out.push_back(
        {std::to_string(out.size()),
         v.valid() ? PrintType(program, program.value(v).type) : "literal"});
  }
  return out;
}

std::string Model::digest() const {
  return WiringDigest(*impl_->program).ToHex();
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
    Program program = impl_->program->Clone();
    if (!ExportProgram(&program, options, diags)) return api::ErrorsOf(diags);
    return Model(std::make_shared<const Impl>(Impl{Share(std::move(program))}));
  });
}

Result<bool> Model::Save(const std::string& path) const {
  return api::WithinMemory<bool>([&]() -> Result<bool> {
    Diagnostics diags;
    if (!WriteProved(*impl_->program, path, Pt2WriteOptions(), diags)) {
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

}  // namespace tenon
