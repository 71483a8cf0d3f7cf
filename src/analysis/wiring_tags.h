// What the wiring digest is made of (analysis/digest.h): the first word of each
// hash, which says of what kind of thing it is and keeps the kinds apart.
#pragma once

#include <cstdint>

namespace tenon {

// Part of the digest's definition: values never change.
enum WiringTag : uint64_t {
  kTagLiteral = 1,
  kTagList = 2,
  kTagDict = 3,
  kTagNode = 4,
  kTagResult = 5,
  kTagUserInput = 6,
  kTagState = 7,
  kTagParameter = 8,  // an input of a nested graph
  kTagFunction = 9,   // a nested graph
  kTagVersion = 10,   // a value read after a write to its storage
  kTagDelegate = 11,
  kTagType = 12,
  kTagOutput = 13,
  kTagMutated = 14,
  kTagProgram = 15,
  kTagConvention = 16,
  kTagSpec = 17,
  kTagToken = 18,
  kTagGetState = 19,
};

}  // namespace tenon
