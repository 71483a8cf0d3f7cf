// The typed ids of the IR. Each indexes one table of a Program or its Context.
#pragma once

#include "support/id.h"
#include "support/string_pool.h"

namespace tenon {

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using GraphId = Id<struct GraphTag>;
using ArgId = Id<struct ArgTag>;
using UseId = Id<struct UseTag>;
using CallerId = Id<struct CallerTag>;
using TypeId = Id<struct TypeIdTag>;
using ExprId = Id<struct ExprTag>;
using OpId = Id<struct OpTag>;      // an interned operator name
using FormId = Id<struct FormTag>;  // result structure of a node
using MetadataId = Id<struct MetadataTag>;
using StorageId = Id<struct StorageTag>;
using StateId = Id<struct StateTag>;
using DelegateId = Id<struct DelegateTag>;
using RegionId = Id<struct RegionTag>;

using ArgRange = IdRange<ArgTag>;
using ValueRange = IdRange<ValueTag>;

}  // namespace tenon
