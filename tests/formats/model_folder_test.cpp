// SPDX-License-Identifier: Apache-2.0
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/model_folder.h>
#include <transmute/formats/tensor_file.h>
#include <transmute/tests/support/default_dtype.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::message_of;
using testing::modules_of;
using testing::names_in;
using testing::read_text;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::tiny_config;
using testing::tiny_tokenizer;
using testing::tiny_tokenizer_options;
using testing::tiny_transformer;
using testing::tiny_transformer_options;
using testing::write_text;

// A model folder of a tiny model, and what differs from it.
class ModelFolder : public ::testing::Test {
 protected:
  ModelFolder() {
    fs::create_directory(path);
    save_model_folder(path, tiny_config(), tokenizer, weights_of(transformer));
  }

  std::string refusal() { return refusal(path); }
  static std::string refusal(const std::string& of_folder) {
    return message_of<std::runtime_error>([&] { load_model_folder(of_folder); });
  }

  // Writes the weights anew, changed.
  template <class Change>
  void change_weights(const Change& change) {
    NamedTensors weights = to_tensors(read_tensor_file(weights_path));
    change(weights);
    write_tensor_file(weights_path, to_arrays(weights));
    fs::remove(checksums_path);
  }

  // Changes it as somebody does who means it.
  void change_config(const std::string& config) {
    write_text(config_path, config);
    fs::remove(checksums_path);
  }

  const TemporaryFolder folder;
  const std::string path = folder / "model";
  const std::string weights_path = path + "/weights.safetensors";
  const std::string config_path = path + "/config.yaml";
  const std::string checksums_path = path + "/checksums.txt";
  const Tokenizer tokenizer = tiny_tokenizer();
  Transformer transformer = tiny_transformer(tokenizer, 1);
  const torch::Tensor source = torch::tensor({{5, 6, 7, 3}, {8, 9, 3, 0}});
  const torch::Tensor target = torch::tensor({{2, 10, 11}, {2, 12, 13}});
};

TEST_F(ModelFolder, HoldsConfigTokenizerAndWeights) {
  EXPECT_THAT(names_in(path), ElementsAre("checksums.txt", "config.yaml", "tokenizer.model", "weights.safetensors"));
}

// Each bit is changed in turn, in some hundred places of each file.
TEST_F(ModelFolder, IsRefusedWhereAnyFileIsOtherThanItWasSaved) {
  for (const char* name : {"checksums.txt", "config.yaml", "tokenizer.model", "weights.safetensors"}) {
    const std::string file = path + "/" + name;
    const std::string sound = read_text(file);
    for (size_t i = 0; i < 120; ++i) {
      std::string changed = sound;
      const size_t at = i < 60 ? i % sound.size() : sound.size() * i / 120;  // headers, and everywhere
      changed[at] = static_cast<char>(changed[at] ^ (1 << i % 8));
      write_text(file, changed);
      EXPECT_THROW(load_model_folder(path), std::exception) << name << ", bit " << i % 8 << " of " << at;
    }
    write_text(file, sound);
  }
  EXPECT_NO_THROW(load_model_folder(path));
}

TEST_F(ModelFolder, WithAConfigThatWasEditedSaysSoAndHowToAcceptIt) {
  std::string config = tiny_config();
  const std::string heads = "num_heads: 2";
  ASSERT_NE(config.find(heads), std::string::npos);
  write_text(config_path, config.replace(config.find(heads), heads.size(), "num_heads: 4"));
  EXPECT_THAT(refusal(),
              AllOf(StartsWith(config_path + ": is not what was saved"), HasSubstr("delete " + checksums_path)));
  fs::remove(checksums_path);
  EXPECT_EQ(load_model_folder(path).options.num_heads, 4);
}

TEST_F(ModelFolder, WithoutALineForAFileIsRefused) {
  const std::string sound = read_text(checksums_path);
  for (const char* name : {"config.yaml", "tokenizer.model", "weights.safetensors"}) {
    std::string lines = sound;
    const size_t end = lines.find('\n', lines.find(name));
    lines.erase(end - std::string(name).size() - 10, std::string(name).size() + 11);
    write_text(checksums_path, lines);
    EXPECT_THAT(refusal(), AllOf(StartsWith(checksums_path), HasSubstr(name))) << lines;
  }
}

TEST_F(ModelFolder, WithAWeightThatIsNotFiniteIsRefused) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto type : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16})
    for (const float value : {std::nanf(""), kInfinity, -kInfinity}) {
      NamedTensors weights = parameters_of(transformer);
      const torch::Tensor changed = weights.back().second.detach().clone();
      changed.flatten()[-1] = value;
      const std::string name = weights.back().first;
      weights.back().second = changed.to(type);
      write_tensor_file(weights_path, to_arrays(weights));
      fs::remove(checksums_path);
      EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path), HasSubstr("'" + name + "' has numbers")));
    }
}

TEST_F(ModelFolder, WithWeightsThatAreWholeNumbersIsRefused) {
  for (const auto type : {torch::kInt, torch::kLong, torch::kByte, torch::kBool}) {
    save_model_folder(path, tiny_config(), tokenizer, weights_of(transformer));
    std::string name;
    change_weights([&](NamedTensors& weights) {
      name = weights.front().first;
      weights.front().second = weights.front().second.to(type);
    });
    EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path), HasSubstr("\"" + name + "\" has numbers of type")));
  }
}

// Before the network is made: it would have 2^40 parameters.
TEST_F(ModelFolder, WithAConfigOfALargerModelThanItsFileIsRefusedBeforeMemoryIsTaken) {
  TransformerOptions options = tiny_transformer_options();
  options.num_encoder_layers = 1000;
  options.d_model = options.d_ff = 1 << 14;
  change_config(tiny_config(options));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("parameters"), HasSubstr("do not belong together")));
}

TEST_F(ModelFolder, GivesTheSameLogitsBitForBit) {
  const LoadedModel loaded = load_model_folder(path);
  Transformer modules = modules_of(loaded);
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::equal(modules->forward(source, target), transformer->forward(source, target)));
  EXPECT_FALSE(modules->is_training());
  for (const auto& parameter : modules->parameters()) EXPECT_FALSE(parameter.requires_grad());
  EXPECT_EQ(loaded.tokenizer.source().encode("the red house"), tokenizer.source().encode("the red house"));
}

TEST_F(ModelFolder, LoadedInInferenceModeIsUsableInItAndOutsideIt) {
  const torch::Tensor expected = transformer->forward(source, target).detach();
  for (const bool by_name : {false, true}) {
    std::optional<c10::InferenceMode> of_the_application(std::in_place, true);
    LoadedModel loaded = by_name ? load_model(path) : load_model_folder(path);
    Transformer modules = modules_of(loaded);
    Transformer twin = replica_of(modules, torch::TensorOptions(torch::kCPU).dtype(torch::kBFloat16));
    twin->eval();
    EXPECT_TRUE(torch::equal(modules->forward(source, target), expected));
    EXPECT_NO_THROW(twin->forward(source, target));
    of_the_application.reset();
    EXPECT_TRUE(torch::equal(modules->forward(source, target), expected));
    EXPECT_NO_THROW(twin->forward(source, target));
  }
}

TEST_F(ModelFolder, IsOfFloat32WhateverTheApplicationsDefaultTypeIs) {
  const torch::Tensor expected = transformer->forward(source, target).detach();
  for (const torch::Dtype dtype : testing::kDefaultDtypes) {
    const testing::DefaultDtype of_the_application(dtype);
    LoadedModel loaded = load_model_folder(path);
    EXPECT_TRUE(torch::equal(modules_of(loaded)->forward(source, target), expected)) << dtype;
  }
}

TEST_F(ModelFolder, StoresTheMatricesOfProductsInFewerBits) {
  const auto whole_size = fs::file_size(weights_path);
  for (const auto& [stored, steps, type] : {std::tuple(Precision::bfloat16, 256.0, NumberType::bfloat16),
                                            {Precision::half, 2048.0, NumberType::float16},
                                            {Precision::int8, 127.0, NumberType::int8}}) {
    fs::remove_all(path);
    fs::create_directory(path);
    save_model_folder(path, tiny_config(), tokenizer, weights_of(transformer).stored_as(stored));
    for (const auto& [name, value] : read_tensor_file(weights_path)) {
      const bool is_of_a_layer = name.find("layers") != std::string::npos;
      const bool is_product = (is_of_a_layer && value.dimensions() > 1) || name == "embedding.weight_int8";
      EXPECT_EQ(value.type(), is_product ? type : NumberType::float32) << name;
    }
    // In panels, which are filled up, the small matrices of this network take more than their own numbers do.
    if (stored != Precision::int8) {
      EXPECT_LT(fs::file_size(weights_path), whole_size);
    }

    const LoadedModel loaded = load_model_folder(path);
    EXPECT_EQ(loaded.weights.stored(), stored);
    const auto parameters = modules_of(loaded)->named_parameters();
    Transformer assigned = tiny_transformer(tokenizer, 2);
    assign_parameters(assigned, read_tensor_file(weights_path), weights_path);
    for (const auto& [name, value] : parameters_of(transformer)) {
      const torch::Tensor found = parameters[name];
      EXPECT_EQ(found.scalar_type(), torch::kFloat);
      EXPECT_LE((found - value).abs().max().item<double>(), value.abs().max().item<double>() / steps) << name;
      if (name.find("layers") == std::string::npos || value.dim() == 1) {
        EXPECT_TRUE(torch::equal(found, value)) << name;
      }
      EXPECT_TRUE(torch::equal(assigned->named_parameters()[name], found)) << name;
    }
  }
}

TEST_F(ModelFolder, IsNotWrittenInAPrecisionThatItsWeightsExceed) {
  const auto save = [&](float value, Precision stored) {
    const torch::NoGradGuard no_grad;
    transformer->named_parameters()["encoder.layers.0.feed_forward.inner.weight"][0][0] = value;
    save_model_folder(path, tiny_config(), tokenizer, weights_of(transformer).stored_as(stored));
  };
  const std::string name = "\"encoder.layers.0.feed_forward.inner.weight\"";
  EXPECT_THAT(message_of<std::runtime_error>([&] { save(1e5F, Precision::half); }),
              AllOf(HasSubstr(name), HasSubstr("for the precision half; choose bfloat16")));
  EXPECT_THAT(message_of<std::runtime_error>([&] { save(3.4e38F, Precision::bfloat16); }),
              AllOf(HasSubstr(name), HasSubstr("for the precision bfloat16; choose float32")));
  save(1e5F, Precision::bfloat16);
  load_model_folder(path);
}

TEST_F(ModelFolder, NamesInt8WeightsWithoutTheirScales) {
  save_model_folder(path, tiny_config(), tokenizer, weights_of(transformer).stored_as(Precision::int8));
  const std::string scale = "encoder.layers.0.self_attention.query.weight_scale";
  const auto change_scale = [&](const torch::Tensor& value) {
    change_weights([&](NamedTensors& weights) {
      const auto found = std::find_if(weights.begin(), weights.end(), [&](const auto& w) { return w.first == scale; });
      ASSERT_NE(found, weights.end());
      if (value.defined()) {
        found->second = value;
      } else {
        weights.erase(found);
      }
    });
  };
  change_scale(torch::ones({3}));
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path + ": \"" + scale + "\""), HasSubstr("shape [3]")));
  change_scale({});
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path), HasSubstr("has no \"" + scale + "\"")));
}

TEST_F(ModelFolder, BringsEveryOptionOfTheModel) {
  TokenizerOptions separate = tiny_tokenizer_options();
  separate.vocabulary = VocabularySharing::separate;
  separate.vocab_size = 50;
  const Tokenizer two = tiny_tokenizer(separate);
  TransformerOptions options = tiny_transformer_options();
  options.d_k = 6;
  options.d_v = 10;
  options.score_function = ScoreFunction::additive;
  options.norm_position = NormPosition::pre;
  options.positional_encoding = PositionalEncodingKind::learned;
  options.max_positions = 12;
  options.embedding_tying = EmbeddingTying::none;
  options.norm_epsilon = 1e-3;
  Transformer odd = tiny_transformer(two, 3, options);
  fs::remove_all(path);
  fs::create_directory(path);
  save_model_folder(path, tiny_config(options), two, weights_of(odd));
  LoadedModel loaded = load_model_folder(path);
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::equal(modules_of(loaded)->forward(source, target), odd->forward(source, target)));
  EXPECT_FALSE(loaded.tokenizer.shared());
}

TEST_F(ModelFolder, NamesAFileOfTheModelThatIsMissing) {
  for (const std::string file : {"tokenizer.model", "config.yaml"}) {
    const std::string place = path + "/" + file, content = read_text(place);
    fs::remove(place);
    EXPECT_THAT(refusal(), AllOf(StartsWith(place + ": is missing, though "), HasSubstr("restore the file")));
    write_text(place, content);
  }
  EXPECT_NO_THROW(load_model_folder(path));
}

TEST_F(ModelFolder, AcceptsTheConfigOfATraining) {
  change_config(tiny_config() + "data:\n  folder: x\ntraining:\n  seed: 1\nvalidation:\n  every: 5\n");
  EXPECT_NO_THROW(load_model_folder(path));
}

TEST_F(ModelFolder, OfATimeBeforeThereWereLanguageModelsIsATranslator) {
  std::string config = tiny_config();
  const std::string line = "  architecture: encoder_decoder\n";
  ASSERT_NE(config.find(line), std::string::npos) << config;
  change_config(config.erase(config.find(line), line.size()));
  const LoadedModel loaded = load_model_folder(path);
  EXPECT_EQ(loaded.options.architecture, Architecture::encoder_decoder);
  EXPECT_TRUE(modules_of(loaded)->encoder);
}

TEST_F(ModelFolder, NamesATensorOfAnotherShape) {
  std::string name;
  change_weights([&](NamedTensors& weights) {
    name = weights.back().first;
    weights.back().second = torch::zeros({2, 3});
  });
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path + ": \"" + name + "\""), HasSubstr("shape [2,3]")));
}

TEST_F(ModelFolder, NamesATensorThatIsMissing) {
  std::string name;
  change_weights([&](NamedTensors& weights) {
    name = weights[1].first;
    weights.erase(weights.begin() + 1);
  });
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path), HasSubstr("has no \"" + name + "\"")));
}

TEST_F(ModelFolder, NamesATensorThatIsTooMany) {
  change_weights([](NamedTensors& weights) { weights.emplace_back("surplus.weight", torch::zeros({2})); });
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path), HasSubstr("holds \"surplus.weight\"")));
}

TEST_F(ModelFolder, NamesBothVersionsWhereTheyDiffer) {
  for (const char* keys : {"", "model:\n  key_of_version_2: 1\n"}) {
    change_config(std::string("format_version: 2\n") + keys);
    EXPECT_THAT(refusal(), AllOf(StartsWith(config_path), HasSubstr("format version 2"), HasSubstr("reads version 1")));
  }
}

TEST_F(ModelFolder, NamesTheLineOfADamagedConfig) {
  for (const char* damage : {"model:\n  d_modle: 5\n", "model:\n  d_model: many\n", "model:\n  d_model: [\n"}) {
    change_config(tiny_config() + damage);
    EXPECT_THAT(refusal(), StartsWith(config_path + ":")) << damage;
    change_config(std::string("format_version: 1\n") + damage);
    EXPECT_THAT(refusal(), StartsWith(config_path + ":")) << damage;
  }
}

TEST_F(ModelFolder, NamesAMissingFolder) {
  EXPECT_THAT(refusal(folder / "absent"), AllOf(StartsWith(folder / "absent"), HasSubstr("no such model folder")));
  EXPECT_THAT(refusal("en-absent"), AllOf(StartsWith("en-absent: "), HasSubstr("'transmute get'")));
  EXPECT_THAT(refusal("en-absent"), HasSubstr("not in the Python package"));
}

TEST_F(ModelFolder, PointsFromTheRunFolderToItsModel) {
  EXPECT_THAT(refusal(folder.path()), AllOf(StartsWith(folder.path() + ": "), HasSubstr(folder.path() + "/model")));
}

TEST_F(ModelFolder, OfARunThatHasNotFinishedIsItsNewestCheckpoint) {
  const std::string run = folder / "run";
  fs::create_directories(run + "/checkpoints");
  write_text(run + "/config.yaml", read_text(config_path));
  EXPECT_THAT(refusal(run), HasSubstr("has not finished; it has no checkpoint yet"));
  for (const char* name : {"step-000000900", "step-000001000", "step-000001100.partial-1f"})
    fs::copy(path, run + "/checkpoints/" + name);
  EXPECT_THAT(refusal(run), EndsWith("is " + run + "/checkpoints/step-000001000"));
}

TEST_F(ModelFolder, NamesAFolderOfOtherThings) {
  fs::create_directory(folder / "other");
  EXPECT_THAT(refusal(folder / "other"), AllOf(StartsWith(folder / "other"), HasSubstr("weights.safetensors")));
}

TEST_F(ModelFolder, NamesEachFileThatIsMissing) {
  for (const std::string& file : {config_path, path + "/tokenizer.model"}) {
    const std::string content = read_text(file);
    fs::remove(file);
    EXPECT_THAT(refusal(), HasSubstr(file));
    write_text(file, content);
  }
  EXPECT_NO_THROW(load_model_folder(path));
}

// A pipe would be waited for, for ever.
TEST_F(ModelFolder, NamesEachFileThatIsNone) {
  for (const std::string& file : {config_path, path + "/tokenizer.model", checksums_path, weights_path}) {
    const std::string content = read_text(file);
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_THAT(refusal(), AllOf(StartsWith(file + ": "), HasSubstr("is a pipe or a device")));
    fs::remove(file);
    fs::create_directory(file);
    EXPECT_THAT(refusal(), AllOf(StartsWith(file + ": "), HasSubstr("is a folder")));
    fs::remove(file);
    fs::create_symlink(fs::path(file).filename(), file);
    EXPECT_THAT(message_of<std::runtime_error>([&] { load_model(path); }),
                AllOf(StartsWith(file + ": cannot be "), HasSubstr("Too many levels of symbolic links")));
    fs::remove(file);
    write_text(file, content);
  }
  EXPECT_NO_THROW(load_model_folder(path));
}

TEST_F(ModelFolder, WithAConfigOfNoNetworkNamesTheConfig) {
  std::string config = read_text(config_path);
  const size_t heads = config.find("num_heads: ");
  change_config(config.replace(heads, config.find('\n', heads) - heads, "num_heads: 7"));
  EXPECT_THAT(refusal(), AllOf(StartsWith(config_path + ": "), HasSubstr("is not a multiple of model.num_heads 7")));
}

// They are computed where they are needed.
TEST_F(ModelFolder, TakesNoMemoryForPositionsThatItsConfigNames) {
  TransformerOptions options = tiny_transformer_options();
  options.max_positions = 1 << 24;
  change_config(tiny_config(options));
  const LoadedModel loaded = load_model_folder(path);
  for (const auto& buffer : modules_of(loaded)->named_buffers())
    EXPECT_LT(buffer.value().nbytes(), size_t{1} << 24) << buffer.key();
}

TEST_F(ModelFolder, HasNoChecksumsWithoutEnd) {
  write_text(checksums_path, std::string(2 << 20, '\n'));
  EXPECT_THAT(refusal(), StartsWith(checksums_path + ": has more than 1048576 bytes"));
}

TEST_F(ModelFolder, NamesDamagedWeights) {
  std::string content = read_text(weights_path);
  content.back() = static_cast<char>(content.back() ^ 1);
  write_text(weights_path, content);
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path), HasSubstr("damaged")));
}

TEST_F(ModelFolder, MayBeSharedByThreads) {
  Transformer modules = modules_of(load_model_folder(path));
  const torch::Tensor expected = modules->forward(source, target);
  std::vector<std::thread> threads;
  std::vector<char> equal(4, 0);
  for (size_t t = 0; t < equal.size(); ++t)
    threads.emplace_back([&, t] {
      const torch::NoGradGuard no_grad;
      bool all = true;
      for (int i = 0; i < 20; ++i) all = all && torch::equal(modules->forward(source, target), expected);
      equal[t] = all;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(equal, ::testing::Each(1));
}

}  // namespace
}  // namespace transmute
