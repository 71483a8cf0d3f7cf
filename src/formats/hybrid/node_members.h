// The members of one node of a hybrid graph.
#pragma once

#include <string_view>

#include "formats/hybrid/graph_reader.h"

namespace tenon::hybrid {

struct GraphReader::NodeMembers {
  std::string_view op, name, target, of;
  JsonElement args, kwargs, val, meta;
  bool has_args = false, has_kwargs = false, has_val = false, has_meta = false;
  bool has_target = false;

  static Expected<NodeMembers> Read(const JsonInput& json,
                                    const JsonElement& node,
                                    const JsonPath& path);
};

}  // namespace tenon::hybrid
