// What is fuzzed: one function per kind of input, over any bytes.
//
// A function returns when the bytes were handled as they deserve, and aborts
// when a property doesn't hold. It keeps nothing between calls.
#pragma once

#include <span>
#include <string_view>

#include "support/byte_cursor.h"

namespace tenon::fuzz {

struct Target {
  std::string_view name;  // also of its folders under corpus and regressions
  void (*run)(Bytes bytes);
  // Inputs are JSON, or hold JSON: whole values are moved about, too.
  bool is_json = false;
};

std::span<const Target> AllTargets();
// Null when there is none of that name.
const Target* FindTarget(std::string_view name);

// Aborts with the sentence, and with `details` where there are any.
void Expect(bool condition, std::string_view sentence,
            std::string_view details = {});

// One per file of the same name.
void FuzzEngine(Bytes bytes);
void FuzzExpression(Bytes bytes);
void FuzzGenerated(Bytes bytes);
void FuzzGuard(Bytes bytes);
void FuzzHybrid(Bytes bytes);
void FuzzModel(Bytes bytes);
void FuzzNpy(Bytes bytes);
void FuzzPickle(Bytes bytes);
void FuzzPt2(Bytes bytes);
void FuzzPte(Bytes bytes);
void FuzzSafetensors(Bytes bytes);
void FuzzText(Bytes bytes);
void FuzzZip(Bytes bytes);

}  // namespace tenon::fuzz
