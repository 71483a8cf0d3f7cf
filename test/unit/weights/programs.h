// Programs for tests of weights: any state over a graph that returns its input.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "text/text.h"

namespace tenon {

// `state` in the text form: storages and entries.
inline Program ProgramWith(const std::string& state) {
  const std::string text = "tenon 1\n" + state +
                           "in_spec ((*,), {})\nout_spec *\n"
                           "forward_args [\"x\"]\n"
                           "graph @main(%x : f32[2]) {\n  return (%x)\n}\n";
  Diagnostics diags;
  const auto none = [](const Digest&) {
    return std::pair<Bytes, std::shared_ptr<const void>>();
  };
  auto program =
      ParseProgram(text, "test", std::make_shared<Context>(), none, diags);
  EXPECT_TRUE(program.ok()) << diags.ToString();
  return std::move(*program);
}

// With all bytes.
inline std::string TextOf(const Program& program) {
  PrintOptions options;
  options.inline_limit_bytes = SIZE_MAX;
  return PrintProgram(program, options);
}

template <typename T>
std::vector<T> ValuesOf(const StorageRecord& storage) {
  std::vector<T> values(storage.bytes.size() / sizeof(T));
  if (!values.empty()) {
    std::memcpy(values.data(), storage.bytes.data(), storage.bytes.size());
  }
  return values;
}

}  // namespace tenon
