// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/engine/inference_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/translation/open_models.h>
#include <transmute/translation/translator.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
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
    return open_models(models, Device(), Architecture::encoder_decoder, TranslatorOptions()).precision;
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

// Matrices of 32 outputs adjoin each other in the file and are multiplied where it is mapped, at once; others are not.
TEST(Int8Folders, TranslateAsTheNetworkThatTheyWereMadeOf) {
  const Tokenizer tokenizer = testing::tiny_tokenizer();
  const std::vector<std::string> texts{"the red house is near.", "a", "we see the small dog and the old man."};
  for (const auto& [d_model, is_mapped] : {std::pair(int64_t{32}, true), {64, false}, {64, true}, {24, true}})
    for (const EmbeddingTying tying : {EmbeddingTying::all, EmbeddingTying::none}) {
      TransformerOptions options = testing::tiny_transformer_options();
      options.d_model = d_model;
      options.num_heads = 2;
      options.embedding_tying = tying;
      const Weights weights = weights_of(testing::tiny_transformer(tokenizer, 5, options));
      const TemporaryFolder float32, int8;
      save_model_folder(float32.path(), testing::tiny_config(options), tokenizer, weights);
      save_model_folder(int8.path(), testing::tiny_config(options), tokenizer, weights.stored_as(Precision::int8));
      TranslatorOptions in_int8;
      in_int8.precision = Precision::int8;
      TranslationOptions few_tokens;
      few_tokens.guard = Guard::off;          // what an untrained model says looks wrong
      few_tokens.protect = Protection::none;  // its vocabulary lacks many characters
      few_tokens.search.max_extra_length = 8;
      TranslatorOptions as_stored;
      as_stored.map_weights = is_mapped;
      const Translator stored(int8.path(), as_stored), packed(float32.path(), in_int8);
      for (const std::string& text : texts)
        EXPECT_EQ(stored.translate(text, few_tokens), packed.translate(text, few_tokens)) << d_model;
    }
}

// The network holds the file's own pages.
TEST(Int8Folders, AreMultipliedWhereTheyAreMapped) {
  const Tokenizer tokenizer = testing::tiny_tokenizer();
  for (const auto& [d_model, adjoin] : {std::pair(int64_t{32}, true), std::pair(int64_t{24}, false)}) {
    TransformerOptions options = testing::tiny_transformer_options();
    options.d_model = d_model;
    options.num_heads = 2;
    const TemporaryFolder folder;
    save_model_folder(folder.path(), testing::tiny_config(options), tokenizer,
                      weights_of(testing::tiny_transformer(tokenizer, 5, options)).stored_as(Precision::int8));
    Weights weights = std::move(load_model_folder(folder.path()).weights);
    const auto memory_of = [&](const std::string& part) -> std::weak_ptr<const void> {
      return weights.numbers("encoder.layers.0.self_attention." + part + ".weight").memory();
    };
    const auto query = memory_of("query"), key = memory_of("key"), value = memory_of("value");
    const auto output = memory_of("output");
    const InferenceModel model(std::move(weights), Precision::int8, one_by_one, WeightUse::taken);
    for (const auto& joined : {query, key, value}) EXPECT_EQ(!joined.expired(), adjoin) << d_model;
    EXPECT_FALSE(output.expired());
  }
}

}  // namespace
}  // namespace transmute
