// The blocked matrix product of every instruction set that the machine has,
// against a plain loop.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/gemm.h"
#include "region_builder.h"

namespace tenon::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// What lies between the elements of a matrix isn't a number, so that reading it
// shows.
struct Matrix {
  int64_t row = 0, column = 0;
  std::vector<float> elements;

  float& at(int64_t i, int64_t j) {
    return elements[static_cast<size_t>(i * row + j * column)];
  }
};

// Ends with its last element.
Matrix RandomMatrix(RandomTensors& random, int64_t rows, int64_t columns,
                    int64_t row, int64_t column) {
  Matrix matrix{row, column, {}};
  matrix.elements.assign(
      static_cast<size_t>((rows - 1) * row + (columns - 1) * column + 1), kNan);
  const Tensor values = random.Floats({rows, columns});
  const float* value = values.data<float>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) matrix.at(i, j) = *value++;
  }
  return matrix;
}

struct Shape {
  int64_t m, n, k;
  bool b_is_transposed;
  // Elements between the end of a row and the next.
  int64_t gap;
  float alpha;
  bool has_bias;
};

std::string ToText(const Shape& s) {
  return std::to_string(s.m) + " x " + std::to_string(s.n) + " x " +
         std::to_string(s.k) + (s.b_is_transposed ? ", transposed" : "") +
         (s.has_bias ? ", bias" : "") + ", gap " + std::to_string(s.gap);
}

struct ScratchMemory {
  explicit ScratchMemory(int64_t size_bytes)
      : count(static_cast<size_t>(size_bytes) / sizeof(float)),
        bytes(Storage::Allocate((count + kGuard) * sizeof(float), false)),
        floats(reinterpret_cast<float*>(bytes->mutable_data())) {
    std::fill_n(floats, count, kNan);
    std::fill_n(floats + count, kGuard, 7.0f);
  }
  bool is_guard_intact() const {
    return std::all_of(floats + count, floats + count + kGuard,
                       [](float f) { return f == 7; });
  }

  static constexpr size_t kGuard = 64;
  const size_t count;
  std::shared_ptr<Storage> bytes;
  float* const floats;
};

// `loops` may differ from the exact result by the roundings of any order.
void Check(const Shape& s, RandomTensors& random) {
  Matrix a = RandomMatrix(random, s.m, s.k, s.k + s.gap, 1);
  Matrix b = s.b_is_transposed ? RandomMatrix(random, s.k, s.n, 1, s.k + s.gap)
                               : RandomMatrix(random, s.k, s.n, s.n + s.gap, 1);
  Matrix bias = RandomMatrix(random, 1, s.n, s.n, 1);
  GemmArgs g;
  g.m = s.m;
  g.n = s.n;
  g.k = s.k;
  g.a = a.elements.data();
  g.a_row = a.row;
  g.b = b.elements.data();
  g.b_row = b.row;
  g.b_column = b.column;
  g.c_row = s.n + s.gap;
  g.alpha = s.alpha;
  if (s.has_bias) g.bias = bias.elements.data();

  std::vector<double> expected, error;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      double sum = 0, size = 0;
      for (int64_t p = 0; p < s.k; ++p) {
        const double product = double{a.at(i, p)} * b.at(p, j);
        sum += product;
        size += std::abs(product);
      }
      const double offset = s.has_bias ? bias.at(0, j) : 0;
      expected.push_back(s.alpha * sum + offset);
      error.push_back((std::abs(s.alpha) * size + std::abs(offset)) *
                      static_cast<double>(s.k + 4) * std::ldexp(1, -24));
    }
  }
  for (const Loops* const* set = SupportedLoops(); *set != nullptr; ++set) {
    const std::string what = std::string((*set)->name) + ", " + ToText(s);
    ScratchMemory scratch((*set)->gemm_scratch_bytes(g));
    std::vector<float> c(static_cast<size_t>((s.m - 1) * g.c_row + s.n + s.gap),
                         -3.5f);
    g.c = c.data();
    (*set)->gemm(g, scratch.floats);
    ASSERT_TRUE(scratch.is_guard_intact()) << what;
    for (int64_t i = 0, at = 0; i < s.m; ++i) {
      const float* row = c.data() + i * g.c_row;
      for (int64_t j = 0; j < s.n; ++j, ++at) {
        const auto n = static_cast<size_t>(at);
        ASSERT_NEAR(row[j], expected[n], error[n])
            << what << " at " << i << ", " << j;
      }
      for (int64_t j = s.n; j < s.n + s.gap; ++j) {
        ASSERT_EQ(row[j], -3.5f) << what << ": written after row " << i;
      }
    }
  }
}

TEST(CpuGemmTest, EverySizeAndLayout) {
  RandomTensors random;
  int number = 0;
  for (const int64_t m : {1, 2, 3, 4, 7, 9, 70}) {
    for (const int64_t n : {1, 2, 5, 8, 9, 17, 48, 50, 100}) {
      for (const int64_t k : {1, 3, 8, 37, 64, 129}) {
        for (const bool b_is_transposed : {false, true}) {
          const int variant = number++ % 5;
          Check({m, n, k, b_is_transposed, variant % 2 == 0 ? 0 : 5,
                 variant < 3 ? 1.0f : -0.75f, variant != 2},
                random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(CpuGemmTest, SeveralBlocks) {
  RandomTensors random;
  for (const bool b_is_transposed : {false, true}) {
    // More than one block along k, along n, and both.
    Check({70, 30, 600, b_is_transposed, 3, 0.5f, true}, random);
    Check({75, 1001, 20, b_is_transposed, 0, 1, true}, random);
    Check({9, 500, 300, b_is_transposed, 1, 2, true}, random);
    Check({130, 490, 259, b_is_transposed, 0, 1, false}, random);
    Check({100, 300, 800, b_is_transposed, 2, 1, true}, random);
    Check({128, 145, 385, b_is_transposed, 0, -1, true}, random);
    Check({33, 260, 1024, b_is_transposed, 0, 1, true}, random);
  }
}

TEST(CpuGemmTest, ThreadsShareColumns) {
  const int before = omp_get_max_threads();
  RandomTensors random;
  for (const bool b_is_transposed : {false, true}) {
    // Fewer groups of columns than threads, and a last one that isn't whole.
    for (const int64_t n : {40, 500}) {
      MatmulShape shape;
      shape.m = 70;
      shape.n = n;
      shape.k = 2000;
      shape.a_row = shape.k;
      shape.b_row = b_is_transposed ? 1 : n;
      shape.b_column = b_is_transposed ? shape.k : 1;
      shape.has_bias = true;
      shape.a_offsets = shape.b_offsets = shape.c_offsets = {0};
      Tensor tensors[] = {
          random.Floats({shape.m, shape.k}), random.Floats({shape.k, n}),
          Tensor::Empty(DType::kFloat32, {shape.m, n}), random.Floats({n})};
      Ref* const refs[] = {&shape.a, &shape.b, &shape.c, &shape.bias};
      std::byte* bases[5] = {};
      for (uint32_t i = 0; i < 4; ++i) {
        bases[i] =
            reinterpret_cast<std::byte*>(tensors[i].mutable_data<float>());
        refs[i]->buffer = i;
      }
      std::vector<float> results[2];
      for (const int threads : {1, 3}) {
        omp_set_num_threads(threads);
        ScratchMemory scratch(MatmulStep::ScratchBytes(shape));
        bases[4] = reinterpret_cast<std::byte*>(scratch.floats);
        MatmulStep step(shape, Ref{4, 0});
        Frame frame;
        frame.bases = bases;
        ASSERT_TRUE(step.Run(frame));
        EXPECT_TRUE(scratch.is_guard_intact());
        const float* c = tensors[2].data<float>();
        results[threads == 1 ? 0 : 1].assign(c, c + shape.m * n);
      }
      for (size_t i = 0; i < results[0].size(); ++i) {
        ASSERT_NEAR(results[0][i], results[1][i], 1e-3f) << n << ", " << i;
      }
    }
  }
  omp_set_num_threads(before);
}

TEST(CpuGemmTest, RowsMayBeOne) {
  // A matrix whose rows are one, as an expanded tensor's.
  RandomTensors random;
  Matrix row = RandomMatrix(random, 1, 40, 40, 1);
  Matrix b = RandomMatrix(random, 40, 50, 50, 1);
  GemmArgs g;
  g.m = 9;
  g.n = 50;
  g.k = 40;
  g.a = row.elements.data();
  g.a_row = 0;
  g.b = b.elements.data();
  g.b_row = 50;
  g.b_column = 1;
  g.c_row = 50;
  std::vector<float> c(9 * 50);
  g.c = c.data();
  ScratchMemory scratch(ScratchBytesFor(g));
  Multiply(g, scratch.floats);
  for (size_t i = 1; i < 9; ++i) {
    for (size_t j = 0; j < 50; ++j) {
      EXPECT_NEAR(c[i * 50 + j], c[j], 1e-5f) << i << ", " << j;
    }
  }
}

TEST(CpuGemmTest, NothingToSum) {
  const float bias[] = {1, 2, 3};
  float c[6] = {};
  GemmArgs g;
  g.m = 2;
  g.n = 3;
  g.c = c;
  g.c_row = 3;
  g.b_column = 1;
  g.bias = bias;
  EXPECT_EQ(ScratchBytesFor(g), 0);
  Multiply(g, nullptr);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(c[i], bias[i % 3]);
  g.bias = nullptr;
  Multiply(g, nullptr);
  for (const float f : c) EXPECT_EQ(f, 0);
}

TEST(CpuGemmTest, SmallerProductsNeedNoMoreScratch) {
  const int64_t sizes[] = {1,  2,  3,   4,   8,   9,   31,  32, 48,
                           64, 65, 128, 129, 255, 256, 384, 500};
  const auto bytes = [](const Loops& set, int64_t m, int64_t n, int64_t k,
                        bool b_is_transposed) {
    GemmArgs g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.a_row = k;
    g.b_row = b_is_transposed ? 1 : n;
    g.b_column = b_is_transposed ? k : 1;
    return set.gemm_scratch_bytes(g);
  };
  for (const Loops* const* set = SupportedLoops(); *set != nullptr; ++set) {
    for (const bool t : {false, true}) {
      for (size_t i = 1; i < std::size(sizes); ++i) {
        const int64_t less = sizes[i - 1], more = sizes[i];
        for (const int64_t x : sizes) {
          for (const int64_t y : sizes) {
            EXPECT_LE(bytes(**set, less, x, y, t), bytes(**set, more, x, y, t));
            if (t) {
              EXPECT_LE(bytes(**set, x, less, y, t),
                        bytes(**set, x, more, y, t));
            } else {
              EXPECT_LE(bytes(**set, y, x, less, t),
                        bytes(**set, y, x, more, t));
            }
          }
        }
      }
      // However large the operands are.
      EXPECT_LE(bytes(**set, 1 << 20, 1 << 20, 1 << 20, t), 1 << 20);
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
