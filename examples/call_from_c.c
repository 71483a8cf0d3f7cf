/* Opens a program and calls it on ones, from C.
 *
 *   call_from_c MODEL.pt2 */
#include <stdio.h>
#include <stdlib.h>

#include "tenon/tenon.h"

/* A tensor with its sizes and elements behind it, in one block. */
static void FreeBlock(DLManagedTensor* self) { free(self); }

static DLManagedTensor* Ones(const tenon_leaf* leaf) {
  size_t count = 1;
  for (int32_t d = 0; d < leaf->ndim; ++d) {
    count *= leaf->sizes[d] < 0 ? 2 : (size_t)leaf->sizes[d];
  }
  const size_t head = sizeof(DLManagedTensor) + 8 * (size_t)leaf->ndim;
  DLManagedTensor* made = calloc(1, head + count * sizeof(float));
  if (made == NULL) return NULL;
  int64_t* sizes = (int64_t*)(made + 1);
  float* elements = (float*)(sizes + leaf->ndim);
  for (int32_t d = 0; d < leaf->ndim; ++d) {
    sizes[d] = leaf->sizes[d] < 0 ? 2 : leaf->sizes[d];
  }
  for (size_t i = 0; i < count; ++i) elements[i] = 1.0f;
  made->dl_tensor.data = elements;
  made->dl_tensor.device.device_type = kDLCPU;
  made->dl_tensor.ndim = leaf->ndim;
  made->dl_tensor.dtype = leaf->dl_dtype;
  made->dl_tensor.shape = sizes;
  made->deleter = FreeBlock;
  return made;
}

static int Fail(tenon_errors* errors) {
  fputs(tenon_errors_text(errors), stderr);
  tenon_errors_free(errors);
  return 1;
}

int main(int argc, char** argv) {
  tenon_errors* errors = NULL;
  tenon_model* model = NULL;
  tenon_runner* runner = NULL;
  if (argc != 2) return 2;
  if (tenon_model_open(argv[1], NULL, &model, &errors) != TENON_OK) {
    return Fail(errors);
  }
  printf("%s -> %s\n", tenon_model_signature(model),
         tenon_model_returns(model));
  if (tenon_runner_load(model, 1, &runner, &errors) != TENON_OK) {
    return Fail(errors);
  }
  for (size_t i = 0; i < tenon_model_num_inputs(model); ++i) {
    tenon_leaf leaf;
    tenon_model_input(model, i, &leaf, sizeof leaf);
    if (leaf.is_fixed || leaf.kind != TENON_TENSOR) continue;
    if (tenon_runner_set(runner, leaf.path, Ones(&leaf), &errors) != TENON_OK) {
      return Fail(errors);
    }
  }
  if (tenon_runner_run(runner, &errors) != TENON_OK) return Fail(errors);
  for (size_t i = 0; i < tenon_runner_num_results(runner); ++i) {
    DLManagedTensor* result = NULL;
    if (tenon_runner_result(runner, i, &result, &errors) != TENON_OK) {
      return Fail(errors);
    }
    printf("%.6f\n", (double)*(const float*)result->dl_tensor.data);
    result->deleter(result);
  }
  tenon_runner_free(runner);
  tenon_model_free(model);
  return 0;
}
