// Programs of peers.py's folder as files for ExecuTorch with XNNPACK.
#pragma once

#include <string>

#include "formats/pte/pte_program.h"
#include "ir/program.h"
#include "operations.h"

namespace tenon::bench {

class PteExports {
 public:
  explicit PteExports(const std::string& model);

  // From the program in memory to the file MODEL.tenon.pte, with all checks of
  // it; the shortest of `times`, as below.
  Duration Export(int times) const;
  // Only the last step: tables laid out, and all written.
  Duration Write(int times) const;
  // The bytes of that file, from one block of memory: what no writer is below.
  Duration Copy(int times) const;

 private:
  std::string path_;
  Program program_;
  PteProgram made_;
  std::string bytes_;
};

}  // namespace tenon::bench
