// What stops a graph from being handed over, as the binding reports it.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "diag/rules.h"

namespace tenon::python {

// The binding's only exception; module.cc turns it into a Python one.
class HybridError : public std::exception {
 public:
  HybridError(Rule rule, std::string node, std::string message)
      : rule_(rule), node_(std::move(node)), message_(std::move(message)) {}

  Rule rule() const { return rule_; }
  const std::string& node() const { return node_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Rule rule_;
  std::string node_, message_;
};

}  // namespace tenon::python
