// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/common/hash.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/training/rank_sync.h>

#include <cmath>
#include <string>

namespace transmute {
namespace {

TEST(RankSync, TellsTensorsAndTextsApartByTheirBits) {
  const torch::Tensor values = torch::arange(1001, torch::kFloat);
  torch::Tensor other = values.clone();
  EXPECT_EQ(fingerprint_of({values}), fingerprint_of({other}));
  other.data_ptr<float>()[1000] = std::nextafter(1000.0F, 0.0F);
  EXPECT_NE(fingerprint_of({values}), fingerprint_of({other}));
  EXPECT_NE(hash_text("a"), hash_text(std::string("a\0", 2)));
}

}  // namespace
}  // namespace transmute
