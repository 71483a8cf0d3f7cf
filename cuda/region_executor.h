/* Who runs the regions of libtenon_delegate.so.
 *
 * The library holds no GPU code: it reads the region that ExecuTorch's CUDA
 * delegate hands it, checks every call against the region's boundary, and
 * passes the call on. A process that can run regions offers
 *
 *   const TenonRegionExecutor* tenon_region_executor_v1(void);
 *
 * as a global symbol. Without one, loading fails and says so.
 */
#ifndef TENON_CUDA_REGION_EXECUTOR_H_
#define TENON_CUDA_REGION_EXECUTOR_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor in device memory, contiguous. */
typedef struct {
  void* data;
  int32_t dtype; /* PyTorch's ScalarType number */
  int32_t rank;
  /* Of outputs: the largest ones when the call begins; the executor writes
   * those that the result has. */
  int64_t* sizes;
} TenonRegionTensor;

/* All functions that return an int32_t: 0 = done. Otherwise `error` holds a
 * sentence that ends in a zero, and nothing else happened. */
typedef struct {
  /* `block` is a whole region (docs/formats/pte.md) and goes away afterwards.
   */
  int32_t (*load)(const uint8_t* block, size_t block_bytes, void** region,
                  char* error, size_t error_bytes);
  /* Tensors are those of the region's boundary, in order. An output may lie
   * where an input does if the region declares that write. `stream` is a
   * cudaStream_t of this delegate alone. When the function returns, the results
   * are there: delegates before and after run on streams of their own, and
   * nothing else orders them. */
  int32_t (*run)(void* region, const TenonRegionTensor* inputs,
                 size_t num_inputs, const TenonRegionTensor* outputs,
                 size_t num_outputs, void* stream, char* error,
                 size_t error_bytes);
  void (*destroy)(void* region);
} TenonRegionExecutor;

typedef const TenonRegionExecutor* (*TenonRegionExecutorFunction)(void);

#define TENON_REGION_EXECUTOR_SYMBOL "tenon_region_executor_v1"

#ifdef __cplusplus
}
#endif

#endif /* TENON_CUDA_REGION_EXECUTOR_H_ */
