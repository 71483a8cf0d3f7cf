// NumPy's .npy format: one array.
//
//   "\x93NUMPY" major minor, u16 (version 1) or u32 (2, 3) header size,
//   a Python dict literal {'descr': '<f4', 'fortran_order': False,
//   'shape': (2, 3), }, padded with spaces and a newline, then the elements.
//
// Only plain little-endian kinds are read: no objects, records or strings.
// float16 is '<f2'; bfloat16 and float8 have no name in NumPy.
#pragma once

#include <memory>
#include <string>

#include "diag/diagnostics.h"
#include "support/byte_cursor.h"
#include "support/expected.h"
#include "tensor/tensor.h"

namespace tenon {

// The tensor borrows `bytes`, which `keep_alive` holds, or a copy where they
// aren't aligned. fortran_order becomes column-major strides.
Expected<Tensor> ReadNpy(Bytes bytes, std::shared_ptr<const void> keep_alive,
                         const std::string& file, Diagnostics& diags);
Expected<Tensor> OpenNpy(const std::string& path, Diagnostics& diags);

// Version 1.0, row-major.
Status WriteNpy(const std::string& path, const Tensor& tensor,
                Diagnostics& diags);

}  // namespace tenon
