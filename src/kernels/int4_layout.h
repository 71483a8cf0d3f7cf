// Where weights lie in an int4 pack,
// `aten._convert_weight_to_int4pack_for_cpu`.
#pragma once

#include <cstdint>

namespace tenon {

// Weight (row, column) of a pack [rows, columns]. PyTorch packs for the vector
// width of the CPU: blocks of rows, and in each column by column, the rows of a
// full block by halves and those of a shorter one in pairs. A file doesn't say
// for which CPU it was packed; up to 16 rows all layouts agree.
class Int4Layout {
 public:
  Int4Layout(int64_t rows, int64_t columns) : rows_(rows), columns_(columns) {}

  struct Place {
    int64_t byte;
    bool is_high;  // half of it
  };
  Place Find(int64_t row, int64_t column) const;

  // Rows from `first` on that share a half of consecutive bytes, or all of a
  // block that lies in pairs. In the next column they lie `step` bytes on.
  struct Run {
    int64_t size;
    bool is_paired;
    int64_t step;
  };
  Run FindRun(int64_t first) const;

 private:
  int64_t rows_, columns_;
};

}  // namespace tenon
