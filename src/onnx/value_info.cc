#include "onnx/value_info.h"

#include <utility>

#include "onnx/graph_builder.h"
#include "onnx/task.h"

namespace tenon::onnx {

ValueInfo InfoOf(const Program& program, ValueId v, std::string name) {
  const Type& type = program.type(v);
  ValueInfo info{std::move(name), ElementTypeOf(DtypeOfType(type)), {}};
  if (!type.is_tensor()) return info;
  for (const SymInt& size : type.sizes) {
    Dimension d;
    if (size.is_literal()) {
      d.value = size.value;
    } else {
      d.name = program.context().exprs.PrintInfix(size.expr);
    }
    info.dims.push_back(std::move(d));
  }
  return info;
}

}  // namespace tenon::onnx
