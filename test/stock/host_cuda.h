// What the doubles know of each other: device memory is host memory that the
// host can't touch.
//
// libtenon_host_cuda.so stands for a CUDA runtime in a process without a GPU. A
// device address lies in a range that nobody may read or write; whoever plays
// the device, a copy or a kernel, uses the same bytes at another address. So a
// host that follows a device pointer crashes, as it does on a real machine.
#pragma once

#include <cstddef>

extern "C" {

// Where the bytes of a device address are; null when `bytes` from there on
// aren't memory that is allocated on the device.
void* tenon_host_cuda_bytes(const void* device, size_t bytes);

}  // extern "C"
