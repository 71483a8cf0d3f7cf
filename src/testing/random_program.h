// A random program: inputs and state of many kinds, a random graph, mutations,
// nested results.
#pragma once

#include <memory>

#include "ir/program.h"
#include "testing/choices.h"
#include "testing/generator.h"

namespace tenon::testing {

Program GenerateRandomProgram(const GeneratorOptions& options, Choices* choices,
                              std::shared_ptr<Context> context);

}  // namespace tenon::testing
