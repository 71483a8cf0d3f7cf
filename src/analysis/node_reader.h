// The parameters of an operator call as plain numbers, defaults included.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace tenon {

// "aten.permute_copy.default" -> "aten.permute.default": an operator and its
// copying form give the same here.
std::string PlainName(std::string_view op);

// The sizes, where all are known.
std::optional<std::vector<int64_t>> LiteralSizes(const Program& program,
                                                 ValueId v);
// The same, with what the exporter saw in the place of a size that varies;
// nothing where it saw none.
std::optional<std::vector<int64_t>> SeenSizes(const Program& program,
                                              ValueId v);

class NodeReader {
 public:
  NodeReader(const Program& program, NodeId node)
      : program_(program), node_(node), schema_(program.schema(node)) {}

  // Invalid where there is none: left out, or None.
  ValueId value(std::string_view parameter) const;
  std::vector<ValueId> values(std::string_view parameter) const;

  // Nothing where the argument is no literal of the kind.
  std::optional<int64_t> Int(std::string_view parameter) const;
  std::optional<double> Number(std::string_view parameter) const;
  std::optional<bool> Bool(std::string_view parameter) const;
  // A single number stands for a list of one.
  std::optional<std::vector<int64_t>> Ints(std::string_view parameter) const;
  std::optional<std::vector<double>> Numbers(std::string_view parameter) const;
  // Left out or None.
  bool IsNone(std::string_view parameter) const;

 private:
  const SchemaDefault* DefaultOf(std::string_view parameter) const;

  const Program& program_;
  NodeId node_;
  const OpSchema* schema_;
};

}  // namespace tenon
