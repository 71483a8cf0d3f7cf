#include "backends/cpu/plan_builder.h"
namespace tenon::cpu {}
