#include "formats/pte/pte_program.h"

namespace tenon {

std::string_view KindName(const PteValue& value) {
  return std::visit([](const auto& content) { return content.kTable; },
                    value.content);
}

bool operator==(const PteProgram& a, const PteProgram& b) {
  return a.version == b.version && a.plans == b.plans &&
         a.inline_constants == b.inline_constants &&
         a.inline_payloads == b.inline_payloads && a.segments == b.segments &&
         a.constants == b.constants && a.mutable_data == b.mutable_data &&
         a.named_data == b.named_data;
}

}  // namespace tenon
