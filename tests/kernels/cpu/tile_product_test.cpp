// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/kernels/cpu/tile_product.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/matrix_product.h>

#include <cmath>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace transmute {
namespace {

using kernels::best_simd;
using kernels::MatrixView;
using kernels::Simd;
using kernels::SimdLimit;

// In AMX's tiles, and in vectors, bfloat16 and float32.
struct Way {
  Simd simd;
  torch::Dtype type;
};

class TileProduct : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    torch::manual_seed(1);
    if (best_simd() < GetParam().simd) GTEST_SKIP() << "this machine does not have " << simd_name(GetParam().simd);
    limit_.emplace(GetParam().simd);
  }
  torch::Dtype type() const { return GetParam().type; }

 private:
  std::optional<SimdLimit> limit_;
};

INSTANTIATE_TEST_SUITE_P(Ways, TileProduct,
                         ::testing::Values(Way{Simd::amx, torch::kBFloat16}, Way{Simd::avx512_bf16, torch::kBFloat16},
                                           Way{Simd::avx512, torch::kFloat}),
                         [](const ::testing::TestParamInfo<Way>& info) {
                           return std::string(info.param.simd == Simd::amx ? "tiles" : "vectors") +
                                  (info.param.type == torch::kFloat ? "_float32" : "_bfloat16");
                         });

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

template <class T>
void multiply(const torch::Tensor& a, const torch::Tensor& b, void* out, bool adds) {
  const auto view_of = [](const torch::Tensor& x) {
    return MatrixView<T>{static_cast<const T*>(x.data_ptr()), x.size(0), x.size(1), x.stride(0), x.stride(1)};
  };
  tile_product(view_of(a), view_of(b), static_cast<T*>(out), adds);
}

// a b, or `addend` + a b.
torch::Tensor product_of(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& addend = {}) {
  constexpr int64_t kBeyond = 64;
  const int64_t count = a.size(0) * b.size(1);
  torch::Tensor memory = torch::full({count + 2 * kBeyond}, 7.0, a.options());
  torch::Tensor out = memory.narrow(0, kBeyond, count);
  if (addend.defined()) out.copy_(addend.flatten());
  if (a.scalar_type() == torch::kFloat)
    multiply<float>(a, b, out.data_ptr(), addend.defined());
  else
    multiply<uint16_t>(a, b, out.data_ptr(), addend.defined());
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
TEST_P(TileProduct, IsTheProductToTheBitInEveryLayout) {
  for (const auto& [rows, depth, columns] : kProductSizes) {
    const torch::Tensor left = torch::randint(-3, 4, {rows, depth}, torch::kDouble);
    const torch::Tensor right = torch::randint(-3, 4, {depth, columns}, torch::kDouble);
    const torch::Tensor expected = torch::mm(left, right).to(torch::kFloat).to(type());
    const torch::Tensor a = left.to(type()), b = right.to(type());
    for (const auto& some_a : {a, the_other_way(a), with_margins(a), with_margins(a.t().contiguous()).t()})
      for (const auto& some_b : {b, the_other_way(b), with_margins(b), with_margins(b.t().contiguous()).t()})
        ASSERT_TRUE(torch::equal(product_of(some_a, some_b), expected))
            << rows << " x " << depth << " x " << columns << ", strides " << some_a.strides() << some_b.strides();
    const torch::Tensor addend = torch::randint(-300, 300, {rows, columns}, torch::kDouble).to(type());
    ASSERT_TRUE(torch::equal(product_of(a, b, addend), addend + expected))
        << rows << " x " << depth << " x " << columns;
  }
}

TEST_P(TileProduct, SumsInFloat32AndRoundsOnce) {
  for (const auto& [rows, depth, columns] : kProductSizes) {
    if (rows * depth == 0) continue;
    const torch::Tensor a = torch::randn({rows, depth}).to(type());
    const torch::Tensor b = torch::randn({depth, columns}).to(type());
    const torch::Tensor expected = torch::mm(a.to(torch::kDouble), b.to(torch::kDouble));
    const torch::Tensor error = (product_of(a, b).to(torch::kDouble) - expected).abs();
    const torch::Tensor sizes = torch::mm(a.to(torch::kDouble).abs(), b.to(torch::kDouble).abs());
    // Half a unit of bfloat16's last place, and float32's in each sum.
    const torch::Tensor allowed =
        expected.abs() * (type() == torch::kFloat ? 0x1p-24 : 0x1p-8) + sizes * static_cast<double>(depth) * 0x1p-24;
    EXPECT_TRUE(error.le(allowed).all().item<bool>()) << rows << " x " << depth << " x " << columns;
  }
}

TEST_P(TileProduct, GivesARowTheSameBitsWhateverStandsBesideIt) {
  const torch::Tensor a = torch::randn({150, 700}).to(type());
  const torch::Tensor b = torch::randn({700, 90}).to(type());
  for (const auto& left : {a, the_other_way(a)}) {
    const torch::Tensor all = product_of(left, b);
    for (const auto& [begin, count] : std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {37, 1}, {149, 1}, {20, 80}})
      EXPECT_TRUE(torch::equal(product_of(left.narrow(0, begin, count), b), all.narrow(0, begin, count)));
  }
}

TEST_P(TileProduct, KeepsWhatIsNoNumberInItsRow) {
  torch::Tensor a = torch::ones({40, 100}, type());
  a[33][99] = NAN;
  const torch::Tensor found = product_of(a, torch::ones({100, 50}, type()));
  EXPECT_TRUE(found[33].isnan().all().item<bool>());
  EXPECT_EQ(found.isnan().sum().item<int64_t>(), 50);
  EXPECT_EQ(found[32][0].item<float>(), 100);
}

TEST_P(TileProduct, RunsInManyThreads) {
  const torch::Tensor a = torch::randn({130, 520}).to(type()), b = torch::randn({520, 300}).to(type());
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

TEST_P(TileProduct, RefusesWhatDoesNotFit) {
  const torch::Tensor a = torch::ones({4, 6}, type());
  EXPECT_THROW(product_of(a, a), std::invalid_argument);
  EXPECT_THROW(product_of(a.slice(1, 0, 6, 2), torch::ones({3, 2}, type())), std::invalid_argument);
}

TEST(MatrixProduct, IsTheProductOnEveryInstructionSet) {
  torch::manual_seed(2);
  for (const Simd level : kernels::available_simd()) {
    const SimdLimit limit(level);
    for (const torch::Dtype type : {torch::kFloat, torch::kBFloat16, torch::kDouble})
      for (const int64_t rows : {1, 64, 100}) {
        const auto random = [&](int64_t n, int64_t m) { return torch::randn({n, m}).to(type); };
        const torch::Tensor x = random(rows, 48), weight = random(40, 48);
        const torch::Tensor expected = torch::mm(x.to(torch::kDouble), weight.t().to(torch::kDouble));
        const auto expect_close = [&](const torch::Tensor& found, const torch::Tensor& wanted) {
          ASSERT_EQ(found.scalar_type(), type);
          const double tolerance = type == torch::kBFloat16 ? 2e-2 : 1e-4;
          EXPECT_TRUE(torch::allclose(found.to(torch::kDouble), wanted, tolerance, tolerance * 4))
              << rows << " rows, " << simd_name(level);
        };
        torch::Tensor sum = kernels::matrix_product(x, weight.t());
        expect_close(sum, expected);
        kernels::add_product(sum, x, weight.t());
        expect_close(sum, 2 * expected);
        torch::Tensor out = torch::empty({40, rows}, x.options());
        kernels::multiply_into(out, weight, x.t());
        expect_close(out, expected.t());
      }
  }
}

TEST(MatrixProduct, RefusesWhatDoesNotFit) {
  if (!kernels::has_tile_product<float>()) GTEST_SKIP() << "LibTorch's products are LibTorch's to check";
  torch::Tensor wrong = torch::empty({4, 7});
  EXPECT_THROW(kernels::multiply_into(wrong, torch::ones({4, 6}), torch::ones({6, 8})), c10::ValueError);
  EXPECT_THROW(kernels::matrix_product(torch::ones({4, 6}), torch::ones({7, 8})), c10::ValueError);
  EXPECT_THROW(kernels::matrix_product(torch::ones({4, 6}), torch::ones({6, 8}, torch::kDouble)), c10::ValueError);
}

}  // namespace
}  // namespace transmute
