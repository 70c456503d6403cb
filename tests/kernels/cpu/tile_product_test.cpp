// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/kernels/cpu/tile_product.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/row_products.h>

#include <cmath>
#include <thread>
#include <vector>

namespace transmute {
namespace {

using kernels::best_simd;
using kernels::Bfloat16Matrix;
using kernels::Simd;
using kernels::SimdLimit;

class TileProduct : public ::testing::Test {
 protected:
  void SetUp() override {
    torch::manual_seed(1);
    if (best_simd() < Simd::amx) GTEST_SKIP() << "this machine has no AMX";
  }
};

// The same numbers, column by column in memory.
torch::Tensor the_other_way(const torch::Tensor& x) {
  return x.t().contiguous().t();
}

// Lies in the middle of a wider matrix.
torch::Tensor with_margins(const torch::Tensor& x) {
  torch::Tensor wide = torch::full({x.size(0) + 2, x.size(1) + 7}, NAN, x.options());
  torch::Tensor inner = wide.narrow(0, 1, x.size(0)).narrow(1, 3, x.size(1));
  inner.copy_(x);
  return inner;
}

Bfloat16Matrix matrix_of(const torch::Tensor& x) {
  return {static_cast<const uint16_t*>(x.data_ptr()), x.size(0), x.size(1), x.stride(0), x.stride(1)};
}

torch::Tensor product_of(const torch::Tensor& a, const torch::Tensor& b) {
  constexpr int64_t kBeyond = 64;
  const int64_t count = a.size(0) * b.size(1);
  torch::Tensor memory = torch::full({count + 2 * kBeyond}, 7.0, torch::kBFloat16);
  tile_product(matrix_of(a), matrix_of(b), static_cast<uint16_t*>(memory.data_ptr()) + kBeyond);
  for (const int64_t outside : {int64_t{0}, kBeyond + count})
    EXPECT_TRUE(memory.narrow(0, outside, kBeyond).eq(7.0).all().item<bool>()) << "written beyond the result";
  return memory.narrow(0, kBeyond, count).view({a.size(0), b.size(1)});
}

struct Sizes {
  int64_t rows, depth, columns;
};
// About tiles, pairs of tiles, depth blocks, and columns and rows that do not fit the caches at once.
const Sizes kProductSizes[] = {{1, 1, 1},       {16, 32, 16},     {32, 64, 32},   {31, 65, 33},   {33, 31, 17},
                               {100, 300, 70},  {48, 257, 1},     {1, 513, 100},  {65, 1000, 40}, {300, 2058, 300},
                               {70, 256, 2100}, {10, 9000, 1300}, {600, 500, 64}, {5, 0, 40},     {0, 40, 5}};

// Sums of small whole numbers are exact, in whatever order: the results must be the same bits.
TEST_F(TileProduct, IsTheProductToTheBitInEveryLayout) {
  for (const auto& [rows, depth, columns] : kProductSizes) {
    const torch::Tensor left = torch::randint(-3, 4, {rows, depth}, torch::kDouble);
    const torch::Tensor right = torch::randint(-3, 4, {depth, columns}, torch::kDouble);
    const torch::Tensor expected = torch::mm(left, right).to(torch::kFloat).to(torch::kBFloat16);
    const torch::Tensor a = left.to(torch::kBFloat16), b = right.to(torch::kBFloat16);
    for (const auto& some_a : {a, the_other_way(a), with_margins(a), with_margins(a.t().contiguous()).t()})
      for (const auto& some_b : {b, the_other_way(b), with_margins(b), with_margins(b.t().contiguous()).t()})
        ASSERT_TRUE(torch::equal(product_of(some_a, some_b), expected))
            << rows << " x " << depth << " x " << columns << ", strides " << some_a.strides() << some_b.strides();
  }
}

TEST_F(TileProduct, SumsInFloat32AndRoundsOnce) {
  for (const auto& [rows, depth, columns] : kProductSizes) {
    if (rows * depth == 0) continue;
    const torch::Tensor a = torch::randn({rows, depth}).to(torch::kBFloat16);
    const torch::Tensor b = torch::randn({depth, columns}).to(torch::kBFloat16);
    const torch::Tensor expected = torch::mm(a.to(torch::kDouble), b.to(torch::kDouble));
    const torch::Tensor error = (product_of(a, b).to(torch::kDouble) - expected).abs();
    const torch::Tensor sizes = torch::mm(a.to(torch::kDouble).abs(), b.to(torch::kDouble).abs());
    // Half a unit of bfloat16's last place, and float32's in each sum.
    const torch::Tensor allowed = expected.abs() * 0x1p-8 + sizes * static_cast<double>(depth) * 0x1p-24;
    EXPECT_TRUE(error.le(allowed).all().item<bool>()) << rows << " x " << depth << " x " << columns;
  }
}

TEST_F(TileProduct, GivesARowTheSameBitsWhateverStandsBesideIt) {
  const torch::Tensor a = torch::randn({150, 700}).to(torch::kBFloat16);
  const torch::Tensor b = torch::randn({700, 90}).to(torch::kBFloat16);
  for (const auto& left : {a, the_other_way(a)}) {
    const torch::Tensor all = product_of(left, b);
    for (const auto& [begin, count] : std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {37, 1}, {149, 1}, {20, 80}})
      EXPECT_TRUE(torch::equal(product_of(left.narrow(0, begin, count), b), all.narrow(0, begin, count)));
  }
}

TEST_F(TileProduct, KeepsWhatIsNoNumberInItsRow) {
  torch::Tensor a = torch::ones({40, 100}, torch::kBFloat16);
  a[33][99] = NAN;
  const torch::Tensor found = product_of(a, torch::ones({100, 50}, torch::kBFloat16));
  EXPECT_TRUE(found[33].isnan().all().item<bool>());
  EXPECT_EQ(found.isnan().sum().item<int64_t>(), 50);
  EXPECT_EQ(found[32][0].item<float>(), 100);
}

TEST_F(TileProduct, RunsInManyThreads) {
  const torch::Tensor a = torch::randn({130, 520}).to(torch::kBFloat16),
                      b = torch::randn({520, 300}).to(torch::kBFloat16);
  const torch::Tensor expected = product_of(a, b);
  std::vector<std::thread> threads;
  std::vector<torch::Tensor> found(4);
  for (auto& own : found)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) own = product_of(a, b);
    });
  for (auto& thread : threads) thread.join();
  for (const auto& own : found) EXPECT_TRUE(torch::equal(own, expected));
}

TEST_F(TileProduct, RefusesWhatDoesNotFit) {
  const torch::Tensor a = torch::ones({4, 6}, torch::kBFloat16);
  EXPECT_THROW(product_of(a, a), std::invalid_argument);
  EXPECT_THROW(product_of(a.slice(1, 0, 6, 2), torch::ones({3, 2}, torch::kBFloat16)), std::invalid_argument);
}

// Whatever multiplies them: tiles, or oneDNN in steps of rows.
TEST(RowProducts, AreProductsOnEveryInstructionSet) {
  torch::manual_seed(2);
  for (const Simd level : {Simd::avx512_bf16, Simd::amx}) {
    const SimdLimit limit(level);
    for (const torch::Dtype type : {torch::kFloat, torch::kBFloat16})
      for (const int64_t rows : {1, 64, 100}) {
        const auto random = [&](int64_t n, int64_t m) { return torch::randn({n, m}).to(type); };
        const torch::Tensor x = random(rows, 48), y = random(rows, 40), weight = random(40, 48);
        const auto expect_close = [&](const torch::Tensor& found, const torch::Tensor& a, const torch::Tensor& b) {
          const torch::Tensor expected = torch::mm(a.to(torch::kDouble), b.to(torch::kDouble));
          ASSERT_EQ(found.scalar_type(), type);
          const double tolerance = type == torch::kFloat ? 1e-4 : 2e-2;
          EXPECT_TRUE(torch::allclose(found.to(torch::kDouble), expected, tolerance, tolerance * 4)) << rows << " rows";
        };
        expect_close(kernels::rows_by_transposed(x, weight), x, weight.t());
        expect_close(kernels::rows_by(y, weight), y, weight);
        expect_close(kernels::outer_products(y, x), y.t(), x);
        torch::Tensor out = torch::empty({40, rows}, x.options());
        kernels::multiply_into(out, weight, x.t());
        expect_close(out, weight, x.t());
        if (type == torch::kBFloat16 && best_simd() >= Simd::amx && level == Simd::amx) {
          torch::Tensor wrong = torch::empty({rows, 41}, x.options());
          EXPECT_THROW(kernels::multiply_into(wrong, x, weight.t()), c10::ValueError);
        }
      }
  }
}

}  // namespace
}  // namespace transmute
