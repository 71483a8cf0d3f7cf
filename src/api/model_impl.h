// What a public Model holds.
#pragma once

#include <memory>

#include "ir/program.h"
#include "tenon/model.h"

namespace tenon {

struct Model::Impl {
  std::shared_ptr<const Program> program;
};

}  // namespace tenon
