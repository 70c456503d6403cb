// SPDX-License-Identifier: Apache-2.0
// All weights of another program's file are used, under each name that it may give them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/model_folder.h>
#include <transmute/formats/tensor_file.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/copied_model.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/zip_files.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using testing::CopiedModel;
using ::testing::HasSubstr;
using testing::modules_of;
using ::testing::StartsWith;

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kShared = "model.shared.weight";
constexpr const char* kOfEncoder = "model.encoder.embed_tokens.weight";
constexpr const char* kOfDecoder = "model.decoder.embed_tokens.weight";
constexpr const char* kOfOutput = "lm_head.weight";

// The parameters of a model after its tables of embeddings got other names.
NamedTensors parameters_with(const CopiedModel& model, const std::vector<std::string>& names) {
  const std::set<std::string> tables = {kShared, kOfEncoder, kOfDecoder, kOfOutput};
  NamedTensors weights;
  torch::Tensor table;
  for (const auto& [name, tensor] : to_tensors(read_tensor_file(model.path(kWeights))))
    if (tables.count(name) > 0) {
      table = tensor;
    } else {
      weights.emplace_back(name, tensor);
    }
  for (const std::string& name : names) weights.emplace_back(name, table.clone());
  write_tensor_file(model.path(kWeights), to_arrays(weights));
  return parameters_of(modules_of(load_model(model.folder())));
}

void expect_equal_parameters(const NamedTensors& found, const NamedTensors& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t p = 0; p < found.size(); ++p) {
    EXPECT_EQ(found[p].first, expected[p].first);
    EXPECT_TRUE(torch::equal(found[p].second, expected[p].second)) << found[p].first;
  }
}

// Transformers ties what a file does not have to what it has.
TEST(HuggingFaceWeights, HaveATiedTableUnderAnyOfItsNames) {
  for (const char* kind : {"marian", "m2m", "nllb", "mbart"}) {
    const CopiedModel model(kind);
    const NamedTensors expected = parameters_of(modules_of(load_model(model.folder())));
    for (const std::vector<std::string>& names : {std::vector<std::string>{kShared},
                                                  {kOfEncoder},
                                                  {kOfDecoder},
                                                  {kOfOutput},
                                                  {kShared, kOfOutput},
                                                  {kOfEncoder, kOfDecoder},
                                                  {kShared, kOfEncoder, kOfDecoder, kOfOutput}}) {
      SCOPED_TRACE(std::string(kind) + " " + names.front());
      expect_equal_parameters(parameters_with(model, names), expected);
    }
  }
}

TEST(HuggingFaceWeights, HaveTheTargetsTableOfSeparateVocabulariesUnderEitherName) {
  for (const auto& [from, to] : {std::pair{kOfDecoder, kOfOutput}, {kOfOutput, kOfDecoder}}) {
    const CopiedModel model("marian_separate");
    const NamedTensors expected = parameters_of(modules_of(load_model(model.folder())));
    NamedTensors weights = to_tensors(read_tensor_file(model.path(kWeights)));
    const auto named = [&](const std::string& name) {
      return std::find_if(weights.begin(), weights.end(), [&](const auto& weight) { return weight.first == name; });
    };
    if (named(from) == weights.end()) named(to)->first = from;
    if (named(to) != weights.end()) weights.erase(named(to));
    named(from)->first = to;
    write_tensor_file(model.path(kWeights), to_arrays(weights));
    expect_equal_parameters(parameters_of(modules_of(load_model(model.folder()))), expected);
  }
}

// Transformers 5 does not tie tables that the file has with different values, whatever the configuration says.
TEST(HuggingFaceWeights, AreNotTiedWhereTheyDiffer) {
  const CopiedModel model("marian");
  parameters_with(model, {kShared, kOfOutput});
  NamedTensors weights = to_tensors(read_tensor_file(model.path(kWeights)));
  for (auto& [name, tensor] : weights)
    if (name == kOfOutput) tensor = tensor * 2;
  write_tensor_file(model.path(kWeights), to_arrays(weights));
  const LoadedModel loaded = load_model(model.folder());
  EXPECT_EQ(loaded.options.embedding_tying, EmbeddingTying::none);
  const auto parameters = modules_of(loaded)->named_parameters();
  EXPECT_TRUE(torch::equal(parameters["output.weight"], parameters["target_embedding.weight"] * 2));
  EXPECT_TRUE(torch::equal(parameters["source_embedding.weight"], parameters["target_embedding.weight"]));
}

TEST(HuggingFaceWeights, AreAllUsed) {
  for (const auto& [kind, stack] : {std::pair{"marian", "decoder"}, {"m2m", "encoder"}, {"mbart", "decoder"}}) {
    const CopiedModel model(kind);
    NamedTensors weights = to_tensors(read_tensor_file(model.path(kWeights)));
    const std::string layer = std::string("model.") + stack + ".layers.";
    // The file has one layer more than the configuration.
    std::string last;
    NamedTensors more;
    for (const auto& [name, tensor] : weights)
      if (name.rfind(layer + "0.", 0) == 0) more.emplace_back(layer + "9" + name.substr(layer.size() + 1), tensor);
    ASSERT_FALSE(more.empty());
    weights.insert(weights.end(), more.begin(), more.end());
    write_tensor_file(model.path(kWeights), to_arrays(weights));
    EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.folder() + ": "),
                                       HasSubstr("does not use the weights \"" + layer + "9."), HasSubstr(" others;")))
        << kind;
  }
  // Transformers once saved more tensors.
  const CopiedModel old("marian");
  NamedTensors weights = to_tensors(read_tensor_file(old.path(kWeights)));
  for (const char* name : {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight",
                           "model.encoder.version", "model.decoder.version"})
    weights.emplace_back(name, torch::ones({2, 2}));
  write_tensor_file(old.path(kWeights), to_arrays(weights));
  EXPECT_NO_THROW(load_model(old.folder()));
}

TEST(MarianWeights, AreAllUsed) {
  const CopiedModel model("npz");
  auto records = testing::read_zip(model.path("model.npz"));
  const auto layer = std::find_if(records.begin(), records.end(),
                                  [](const auto& record) { return record.first.rfind("decoder_l1_", 0) == 0; });
  ASSERT_NE(layer, records.end());
  const std::string array = layer->second, name = "decoder_l9_" + layer->first.substr(11);
  records.emplace_back("encoder_l1_self_Wq_QuantMultA.npy", array);
  testing::write_zip(model.path("model.npz"), records);
  EXPECT_NO_THROW(load_model(model.folder())) << "the range of an activation is no weight";
  records.emplace_back(name, array);
  testing::write_zip(model.path("model.npz"), records);
  EXPECT_THAT(model.refusal(),
              AllOf(StartsWith(model.path("model.npz") + ": "), HasSubstr("does not use the weights \"decoder_l9_")));
}

TEST(CTranslate2Weights, AreAllUsed) {
  const CopiedModel model("marian_ctranslate2");
  // The decoder's last layer, which then is none.
  model.change("model.bin", "decoder/layer_1/ffn/linear_0/weight", "decoder/layer_X/ffn/linear_0/weight");
  EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.path("model.bin") + ": "),
                                     HasSubstr("does not use the weights \"decoder/layer_1/")));
}

}  // namespace
}  // namespace transmute
