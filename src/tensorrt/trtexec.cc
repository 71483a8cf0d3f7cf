#include "tensorrt/trtexec.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace tenon::tensorrt {
namespace {

// Sizes by the names that the model gives them.
class NamedSizes {
 public:
  explicit NamedSizes(const Program& program) : program_(program) {
    for (const SymbolRange& range : program.ranges) {
      ranges_[range.expr.index] = &range;
    }
    for (const ValueId v : program.root().inputs) {
      const Type& type = program.type(v);
      for (const SymInt& s : type.sizes) Add(s);
    }
  }

  struct Sizes {
    int64_t least = 1, likely = 1, most = 1;
  };
  Sizes Of(const onnx::Dimension& d) const {
    if (d.value) return {*d.value, *d.value, *d.value};
    const auto at = sizes_.find(d.name);
    return at == sizes_.end() ? Sizes() : at->second;
  }

 private:
  // Beyond it a range is no bound but the lack of one.
  static constexpr int64_t kOpen = int64_t{1} << 31;

  void Add(const SymInt& size) {
    if (size.is_literal()) return;
    Sizes out;
    out.likely = size.has_hint ? size.value : 1;
    out.least = At(size.expr, true).value_or(out.likely);
    out.most = At(size.expr, false).value_or(out.likely);
    if (out.least > out.most) std::swap(out.least, out.most);
    out.likely = std::clamp(out.likely, out.least, out.most);
    sizes_[program_.context().exprs.PrintInfix(size.expr)] = out;
  }

  // With every symbol at an end of its range.
  std::optional<int64_t> At(ExprId expr, bool at_least) const {
    return program_.context().exprs.EvaluateInt(
        expr, [&](ExprId symbol) -> std::optional<int64_t> {
          const auto at = ranges_.find(symbol.index);
          if (at == ranges_.end()) return std::nullopt;
          const auto end = at_least ? at->second->min : at->second->max;
          if (!end || *end > kOpen) return std::nullopt;
          return end;
        });
  }

  const Program& program_;
  std::unordered_map<uint32_t, const SymbolRange*> ranges_;  // by expression
  std::unordered_map<std::string, Sizes> sizes_;
};

std::string Option(const std::string& name, const onnx::Model& model,
                   const NamedSizes& sizes, int64_t NamedSizes::Sizes::*which) {
  std::string text;
  for (const onnx::ValueInfo& v : model.graph.inputs) {
    if (std::none_of(v.dims.begin(), v.dims.end(),
                     [](const auto& d) { return !d.value; })) {
      continue;
    }
    text += (text.empty() ? "" : ",") + v.name + ":";
    for (size_t i = 0; i < v.dims.size(); ++i) {
      text += (i == 0 ? "" : "x") + std::to_string(sizes.Of(v.dims[i]).*which);
    }
  }
  return text.empty() ? "" : " --" + name + "=" + text;
}

}  // namespace

std::string TrtexecLine(const Program& program, const onnx::Model& model,
                        const std::string& onnx_path,
                        const std::string& engine_path) {
  using Sizes = NamedSizes::Sizes;
  const NamedSizes sizes(program);
  return "trtexec --onnx=" + onnx_path + " --saveEngine=" + engine_path +
         " --stronglyTyped" + Option("minShapes", model, sizes, &Sizes::least) +
         Option("optShapes", model, sizes, &Sizes::likely) +
         Option("maxShapes", model, sizes, &Sizes::most);
}

}  // namespace tenon::tensorrt
