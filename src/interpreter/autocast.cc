#include "interpreter/autocast.h"

#include <algorithm>
#include <functional>

#include "kernels/elements.h"

namespace tenon {
namespace {

// Operators without namespace and overload, sorted.
constexpr std::string_view kLower[] = {"_convolution",
                                       "addbmm",
                                       "addmm",
                                       "baddbmm",
                                       "bmm",
                                       "conv1d",
                                       "conv2d",
                                       "conv3d",
                                       "conv_tbc",
                                       "conv_transpose1d",
                                       "conv_transpose2d",
                                       "conv_transpose3d",
                                       "convolution",
                                       "linalg_vecdot",
                                       "linear",
                                       "matmul",
                                       "mm",
                                       "prelu",
                                       "scaled_dot_product_attention"};
constexpr std::string_view kFloat32[] = {"avg_pool3d",
                                         "binary_cross_entropy",
                                         "cdist",
                                         "cholesky",
                                         "cholesky_inverse",
                                         "cholesky_solve",
                                         "cosine_embedding_loss",
                                         "ctc_loss",
                                         "fft_fft",
                                         "fft_ifft",
                                         "fft_irfft",
                                         "fft_rfft",
                                         "fmod",
                                         "grid_sampler",
                                         "inverse",
                                         "linalg_cholesky",
                                         "linalg_cond",
                                         "linalg_det",
                                         "linalg_eigh",
                                         "linalg_inv",
                                         "linalg_matrix_norm",
                                         "linalg_matrix_rank",
                                         "linalg_multi_dot",
                                         "linalg_norm",
                                         "linalg_qr",
                                         "linalg_solve",
                                         "linalg_svd",
                                         "linalg_vector_norm",
                                         "mse_loss",
                                         "multi_margin_loss",
                                         "multilabel_margin_loss",
                                         "nanquantile",
                                         "polar",
                                         "prod",
                                         "quantile",
                                         "stft",
                                         "trace",
                                         "triplet_margin_loss",
                                         "view_as_complex"};
constexpr std::string_view kWidest[] = {"cat", "index_copy", "stack"};

bool Has(std::span<const std::string_view> list, std::string_view op) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

bool IsEligible(const RuntimeValue& v) {
  return v.is_tensor() && v.tensor().defined() &&
         IsFloating(v.tensor().dtype()) &&
         v.tensor().dtype() != DType::kFloat64;
}

void ForEachTensor(RuntimeValue* v,
                   const std::function<void(RuntimeValue*)>& visit) {
  if (IsEligible(*v)) {
    visit(v);
  } else if (v->is_list()) {
    for (RuntimeValue& item : v->list()) ForEachTensor(&item, visit);
  }
}

}  // namespace

void ApplyAutocast(DType lower, std::string_view op,
                   std::vector<RuntimeValue>* args) {
  const size_t begin = op.find('.');
  const size_t end = op.rfind('.');
  if (begin == std::string_view::npos || end <= begin) return;
  const std::string_view name = op.substr(begin + 1, end - begin - 1);
  DType to = lower;
  if (Has(kFloat32, name)) {
    to = DType::kFloat32;
  } else if (Has(kWidest, name)) {
    for (RuntimeValue& v : *args) {
      ForEachTensor(&v, [&](RuntimeValue* t) {
        if (t->tensor().dtype() == DType::kFloat32) to = DType::kFloat32;
      });
    }
  } else if (!Has(kLower, name)) {
    return;
  }
  for (RuntimeValue& v : *args) {
    ForEachTensor(&v, [&](RuntimeValue* t) {
      if (t->tensor().dtype() == to) return;
      Tensor cast = Tensor::Empty(to, t->tensor().sizes());
      CopyCast(&cast, t->tensor());
      *t = std::move(cast);
    });
  }
}

}  // namespace tenon
