// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/translation/open_models.h>

#include <filesystem>
#include <string>
#include <vector>

namespace transmute {
namespace {

using testing::TemporaryFolder;

class EnsemblesPrecision : public ::testing::Test {
 protected:
  std::string stored_in(Precision precision) {
    const std::string path = folder_ / precision_name(precision);
    std::filesystem::create_directories(path);
    const Tokenizer tokenizer = testing::tiny_tokenizer();
    save_model_folder(path, testing::tiny_config(), tokenizer,
                      weights_of(testing::tiny_transformer(tokenizer, 7)).stored_as(precision));
    return path;
  }

  static Precision of(const std::vector<std::string>& models) {
    return open_models(models, Device(), Architecture::encoder_decoder, std::nullopt).precision;
  }

  TemporaryFolder folder_;
};

TEST_F(EnsemblesPrecision, IsTheOneThatAllModelsAreStoredIn) {
  const std::string int8 = stored_in(Precision::int8), float32 = stored_in(Precision::float32);
  EXPECT_EQ(of({int8, int8}), Precision::int8);
  EXPECT_EQ(of({float32, float32}), Precision::float32);
}

TEST_F(EnsemblesPrecision, IsFloat32WhereTheyDifferInWhicheverOrder) {
  const std::string int8 = stored_in(Precision::int8), float32 = stored_in(Precision::float32);
  EXPECT_EQ(of({int8, float32}), Precision::float32);
  EXPECT_EQ(of({float32, int8}), Precision::float32);
}

}  // namespace
}  // namespace transmute
