#include "ir/higher_order.h"

namespace tenon {
namespace {

constexpr OperandGroup kCond[] = {{3}};
constexpr OperandGroup kWhileLoop[] = {{2}, {3}};
constexpr OperandGroup kMap[] = {{1, false, true}, {2}};
constexpr OperandGroup kScan[] = {{1}, {2, false, true}, {3}};
// The combining function gets two elements at a time.
constexpr OperandGroup kAssociativeScan[] = {
    {1, false, true}, {1, false, true}, {2}};
constexpr OperandGroup kRestFrom1[] = {{1, true}};
constexpr OperandGroup kRestFrom2[] = {{2, true}};
constexpr OperandGroup kRestFrom5[] = {{5, true}};

constexpr HigherOrderConvention kConventions[] = {
    {"higher_order.cond", 1, 2, kCond},
    {"higher_order.while_loop", 0, 2, kWhileLoop},
    {"higher_order.map_impl", 0, 1, kMap},
    {"higher_order.map", 0, 1, kMap},
    {"higher_order.scan", 0, 1, kScan},
    {"higher_order.associative_scan", 0, 1, kAssociativeScan},
    {"higher_order.invoke_subgraph", 0, 1, kRestFrom2},
    {"higher_order.wrap_with_set_grad_enabled", 1, 1, kRestFrom2},
    {"higher_order.wrap_with_autocast", 4, 1, kRestFrom5},
    {"higher_order.tag_activation_checkpoint", 0, 1, kRestFrom1},
};

}  // namespace

const HigherOrderConvention* FindHigherOrderConvention(std::string_view op) {
  for (const HigherOrderConvention& c : kConventions) {
    if (c.op == op) return &c;
  }
  return nullptr;
}

}  // namespace tenon
