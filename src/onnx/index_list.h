// What aten.index and aten.index_put are given: for each dimension a tensor of
// places, or None.
//
//   x[:, i, j]   x's dimensions 1 and 2 are replaced by those of i and j,
//                spread to each other's sizes
//
// ONNX looks up rows: with the indexed dimensions in front, the places of an
// element are a row of a matrix, [.., k].
#pragma once

#include <string>
#include <vector>

#include "onnx/task.h"

namespace tenon::onnx {

struct IndexList {
  // Of the tensor: those that are indexed, in order; then the others.
  std::vector<int64_t> dims, rest;
  std::vector<std::string> places;  // per indexed dimension, int64
  int64_t rank = 0;                 // of the places, spread
  // Whether the places' dimensions stand where the first indexed one was; else
  // they come first.
  bool stays = true;

  // Indexed dimensions, then the others.
  std::vector<int64_t> FrontOrder() const;
  // Where each dimension of what indexing gives is in [places.., rest..].
  std::vector<int64_t> ResultOrder() const;
};

// Masks become the places where they are true.
WhyNot ReadIndexList(Task& t, IndexList* out);

// [.., k]: the places side by side.
std::string JoinPlaces(GraphBuilder& build, const IndexList& list);

}  // namespace tenon::onnx
