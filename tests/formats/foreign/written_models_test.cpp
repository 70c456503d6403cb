// SPDX-License-Identifier: Apache-2.0
// Models that are written for other programs are read back as they were.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <transmute/common/zip_archive.h>
#include <transmute/formats/foreign/ctranslate2_file.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/foreign/model_languages.h>
#include <transmute/formats/foreign/writers.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/random_weights.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;

using Change = std::function<void(TransformerOptions&)>;

constexpr const char* kTexts[] = {"", "the cat sees the dog", "Unknown Ω, 12 and  spaces ", "der Hund"};

// No bias and no norm is left at 0 or 1.
LoadedModel random_model(const Change& change, Tokenizer tokenizer = testing::tiny_tokenizer()) {
  ModelConfig config;
  TransformerOptions& options = config.model;
  options.num_encoder_layers = 2;
  options.num_decoder_layers = 1;
  options.d_model = 12;
  options.num_heads = 2;
  options.d_ff = 20;
  change(options);
  ConfigSchema schema;
  config.declare(schema);
  const TransformerOptions whole = validated(with_vocabulary(options, tokenizer));
  Weights weights = testing::random_weights(whole, 3);
  for (auto& [name, array] : weights.arrays())
    for (int64_t i = 0; array.dimensions() == 1 && i < array.count(); ++i)
      array.floats()[i] += 0.3F * static_cast<float>(std::sin(5 * i + static_cast<int64_t>(name.size())));
  return make_model(std::move(tokenizer), schema.to_yaml(), "config", weights.arrays(), "weights", uint64_t{1} << 40);
}

// Parameters that the other has besides are biases of 0.
void expect_same_weights(const LoadedModel& found, const LoadedModel& wanted) {
  for (const auto& [name, array] : wanted.weights.arrays())
    EXPECT_TRUE(found.weights.float32(name).equals(array)) << name;
  for (const auto& [name, shape] : parameter_shapes(found.options)) {
    const auto is_known = [&, n = name](const auto& parameter) { return parameter.name == n; };
    const auto known = parameter_shapes(wanted.options);
    if (std::any_of(known.begin(), known.end(), is_known)) continue;
    EXPECT_THAT(name, HasSubstr("bias"));
    const Array array = found.weights.float32(name);
    for (int64_t i = 0; i < array.count(); ++i) EXPECT_EQ(array.floats()[i], 0) << name;
  }
}

void expect_same_tokens(const Tokenizer& found, const Tokenizer& wanted) {
  for (const char* text : kTexts) {
    EXPECT_EQ(found.source().encode(text), wanted.source().encode(text)) << text;
    EXPECT_EQ(found.target().encode(text), wanted.target().encode(text)) << text;
    EXPECT_EQ(found.target().decode(found.target().encode(text)), wanted.target().decode(wanted.target().encode(text)));
  }
}

std::vector<std::pair<std::string, Change>> networks_of_ctranslate2() {
  return {{"the paper's", [](auto&) {}},
          {"pre-norm, learned positions, untied",
           [](auto& o) {
             o.norm_position = NormPosition::pre;
             o.positional_encoding = PositionalEncodingKind::learned;
             o.max_positions = 30;
             o.embedding_tying = EmbeddingTying::none;
           }},
          {"biases, other positions, embedding norm",
           [](auto& o) {
             o.attention_bias = o.output_bias = o.embedding_norm = true;
             o.sinusoids = {PositionLayout::halves, PositionFrequencies::tensor2tensor, 2};
             o.embedding_tying = EmbeddingTying::target_output;
             o.activation = Activation::gelu_sigmoid;
             o.embedding_scale = o.source_end = false;
             o.source_begin = true;
             o.norm_epsilon = 1e-4;
           }},
          {"swish", [](auto& o) { o.activation = Activation::swish; }},
          {"gelu", [](auto& o) { o.activation = Activation::gelu; }},
          {"gelu_tanh", [](auto& o) { o.activation = Activation::gelu_tanh; }}};
}

TEST(WrittenCTranslate2, IsReadBackBitForBit) {
  for (const auto& [name, change] : networks_of_ctranslate2()) {
    SCOPED_TRACE(name);
    const LoadedModel model = random_model(change);
    const TemporaryFolder folder;
    formats::save_ctranslate2_folder(model, Precision::float32, folder.path());
    const LoadedModel read = load_model(folder.path());
    const TransformerOptions &found = read.options, &wanted = model.options;
    EXPECT_EQ(found.norm_position, wanted.norm_position);
    EXPECT_EQ(found.positional_encoding, wanted.positional_encoding);
    EXPECT_EQ(found.embedding_tying, wanted.embedding_tying);
    EXPECT_EQ(found.activation, wanted.activation);
    EXPECT_EQ(found.embedding_scale, wanted.embedding_scale);
    EXPECT_EQ(found.source_begin, wanted.source_begin);
    EXPECT_EQ(found.source_end, wanted.source_end);
    EXPECT_EQ(found.norm_epsilon, wanted.norm_epsilon);
    EXPECT_EQ(found.num_heads, wanted.num_heads);
    if (wanted.positional_encoding == PositionalEncodingKind::sinusoidal) {
      EXPECT_EQ(found.sinusoids.layout, wanted.sinusoids.layout);
      EXPECT_EQ(found.sinusoids.frequencies, wanted.sinusoids.frequencies);
      EXPECT_EQ(found.sinusoids.first_position, wanted.sinusoids.first_position);
    }
    expect_same_weights(read, model);
    expect_same_tokens(read.tokenizer, model.tokenizer);
  }
}

TEST(WrittenCTranslate2, RoundsEachRowToInt8) {
  const LoadedModel model = random_model([](auto&) {});
  const TemporaryFolder folder;
  formats::save_ctranslate2_folder(model, Precision::int8, folder.path());
  const LoadedModel read = load_model(folder.path());
  for (const auto& [name, wanted] : model.weights.arrays()) {
    const Array found = read.weights.float32(name);
    if (wanted.dimensions() == 1) {
      EXPECT_TRUE(found.equals(wanted)) << name;
      continue;
    }
    for (int64_t r = 0; r < wanted.size(0); ++r) {
      const float *from = wanted.floats() + r * wanted.size(1), *to = found.floats() + r * wanted.size(1);
      float largest = 0;
      for (int64_t c = 0; c < wanted.size(1); ++c) largest = std::max(largest, std::abs(from[c]));
      for (int64_t c = 0; c < wanted.size(1); ++c)
        ASSERT_NEAR(to[c], from[c], largest / 127 * 0.501F) << name << ", row " << r;
    }
  }
}

TEST(WrittenModels, OfOtherProgramsAreReadBackToo) {
  for (const char* kind : {"marian", "marian_separate", "m2m", "mbart", "npz_pre_norm", "marian_ctranslate2", "fairseq",
                           "fairseq_old_layout", "ctranslate2_source_begin", "joeynmt", "opennmt_fields"}) {
    SCOPED_TRACE(kind);
    const LoadedModel model = load_model(std::string(TRANSMUTE_TEST_DATA "/formats/") + kind);
    const TemporaryFolder folder;
    formats::save_ctranslate2_folder(model, Precision::float32, folder.path());
    const LoadedModel read = load_model(folder.path());
    expect_same_weights(read, model);
    expect_same_tokens(read.tokenizer, model.tokenizer);
    EXPECT_EQ(read.tokenizer.target().languages(), model.tokenizer.target().languages());
  }
}

TEST(WrittenCTranslate2, HasTheWordsOfAModelWithoutSentencePiece) {
  const std::string words = TRANSMUTE_TEST_DATA "/formats/joeynmt_deep", text = "the old bridge is gone.";
  const LoadedModel model = load_model(words);
  const TemporaryFolder folder;
  formats::save_ctranslate2_folder(model, Precision::float32, folder.path());
  const auto pieces = nlohmann::json::parse(testing::read_text(folder / "source_vocabulary.json"));
  EXPECT_EQ(pieces.at(4), "blue");
  EXPECT_FALSE(std::filesystem::exists(folder / "source.spm"));
  const Tokenizer tokenizer = load_model(folder.path()).tokenizer;
  expect_same_tokens(tokenizer, model.tokenizer);
  EXPECT_EQ(tokenizer.source().encode(text), model.tokenizer.source().encode(text));
  TranslationOptions options;
  options.search.min_length = 4;
  const std::string translation = Translator(words).translate(text, options);
  EXPECT_NE(translation, "");
  EXPECT_EQ(Translator(folder.path()).translate(text, options), translation);
}

// The package's files in a folder.
void unpack(const std::string& package, const std::string& folder) {
  const ZipArchive archive(package);
  for (const std::string& name : archive.names()) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    std::filesystem::create_directories(file.parent_path());
    testing::write_text(file, archive.read(name));
  }
}

TEST(WrittenArgosPackage, IsAModelWithItsDescription) {
  for (const char* kind : {"tiny", "npz_pre_norm"}) {
    SCOPED_TRACE(kind);
    const LoadedModel model = std::string(kind) == "tiny"
                                  ? random_model([](auto&) {})
                                  : load_model(std::string(TRANSMUTE_TEST_DATA "/formats/") + kind);
    const TemporaryFolder folder;
    const std::string path = folder / "en_de.argosmodel";
    formats::save_argos_package(model, Precision::float32, {"en", "de", "CC-BY-4.0", {"BLEU 41.2 on x"}}, path);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "nothing else remains";
    unpack(path, folder / "unpacked");
    const LoadedModel read = load_model(folder / "unpacked/model/");
    expect_same_weights(read, model);
    for (const char* text : kTexts)
      EXPECT_EQ(read.tokenizer.source().encode(text), model.tokenizer.source().encode(text)) << text;
    const auto metadata = nlohmann::json::parse(testing::read_text(folder / "unpacked/metadata.json"));
    EXPECT_EQ(metadata.at("from_code"), "en");
    EXPECT_EQ(metadata.at("from_name"), "English");
    EXPECT_EQ(metadata.at("to_name"), "German");
    const std::string card = testing::read_text(folder / "unpacked/README.md");
    for (const char* words : {"license: cc-by-4.0\n", "- \"en\"\n- \"de\"\n", "# English to German", "- BLEU 41.2 on x",
                              "argospm install en_de.argosmodel"})
      EXPECT_THAT(card, HasSubstr(words));
  }
}

TEST(WrittenArgosPackage, LeavesNothingThatTheNextOneDoesNotRemove) {
  const LoadedModel model = random_model([](auto&) {});
  const TemporaryFolder folder;
  const auto save = [&] {
    formats::save_argos_package(model, Precision::float32, {"en", "de", "", {}}, folder / "en_de.argosmodel");
  };
  const auto killed_at_a_full_block = [&] {
    constexpr rlimit kOneBlock{4096, 4096};
    std::signal(SIGXFSZ, SIG_DFL);
    ::setrlimit(RLIMIT_FSIZE, &kOneBlock);
    save();
  };
  EXPECT_EXIT(killed_at_a_full_block(), ::testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_FALSE(std::filesystem::is_empty(folder.path()));
  save();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(WrittenArgosPackage, IsRefusedWithoutLanguages) {
  const TemporaryFolder folder;
  const auto refusal = [&](const LoadedModel& model, const formats::ModelFacts& facts) {
    return message_of<std::invalid_argument>(
        [&] { formats::save_argos_package(model, Precision::float32, facts, folder / "a.argosmodel"); });
  };
  EXPECT_THAT(refusal(random_model([](auto&) {}), {"en", "", "", {}}), HasSubstr("--target-language"));
  EXPECT_THAT(refusal(load_model(TRANSMUTE_TEST_DATA "/formats/m2m"), {"en", "de", "", {}}),
              HasSubstr("would not tell it the target language"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ModelCards, SayWhatIsUnknown) {
  const TemporaryFolder folder;
  formats::save_hugging_face_folder(random_model([](auto&) {}), Precision::float32, folder.path());
  EXPECT_THAT(testing::read_text(folder / "README.md"),
              ::testing::AllOf(HasSubstr("License: unknown"), HasSubstr("## Scores\n\nUnknown.\n"),
                               ::testing::Not(HasSubstr("license:"))));
}

TEST(ModelsForHuggingFace, NameTheirLanguagesIfTheseAreKnown) {
  const TemporaryFolder folder;
  const auto languages = [&](const formats::ModelFacts& facts) {
    formats::save_hugging_face_folder(random_model([](auto&) {}), Precision::float32, folder.path(), facts);
    const LanguagePair found = languages_in_files(folder.path());
    return found.source + "|" + found.target;
  };
  EXPECT_EQ(languages({}), "|");
  EXPECT_EQ(languages({"en", "pt-BR", "", {}}), "en|pt-BR");
}

// MarianMT's sinusoids are in halves: the residual stream's even numbers, then its odd ones.
Array in_halves(const Array& rows) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < rows.size(0); i += 2) places.push_back(i);
  for (int64_t i = 1; i < rows.size(0); i += 2) places.push_back(i);
  return rows.gathered(places);
}

Array placed(const std::string& name, const Array& array) {
  const auto ends_in_any = [&](const std::vector<std::string>& endings) {
    return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
      return name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
    });
  };
  if (ends_in_any({"norm.weight", "norm.bias", "attention.output.bias", "outer.bias", "attention.output.weight",
                   "outer.weight"}))
    return in_halves(array);
  return array.dimensions() == 2 ? in_halves(array.transposed()).transposed() : array;
}

TEST(WrittenHuggingFace, IsReadBackBitForBit) {
  for (const EmbeddingTying tying : {EmbeddingTying::all, EmbeddingTying::target_output, EmbeddingTying::none})
    for (const PositionLayout layout : {PositionLayout::interleaved, PositionLayout::halves})
      for (const Activation activation :
           {Activation::relu, Activation::swish, Activation::gelu, Activation::gelu_tanh, Activation::gelu_sigmoid}) {
        const LoadedModel model = random_model([&](TransformerOptions& o) {
          o.embedding_tying = tying;
          o.sinusoids.layout = layout;
          o.activation = activation;
          o.attention_bias = o.output_bias = activation == Activation::swish;
          o.embedding_scale = activation != Activation::gelu;
        });
        const TemporaryFolder folder;
        const auto notes = formats::save_hugging_face_folder(model, Precision::float32, folder.path());
        EXPECT_THAT(notes, ::testing::ElementsAre(HasSubstr("model.norm_epsilon"), HasSubstr("length^0.6")));
        const LoadedModel read = load_model(folder.path());
        EXPECT_EQ(read.options.embedding_tying, tying);
        EXPECT_EQ(read.options.activation, activation);
        EXPECT_EQ(read.options.embedding_scale, model.options.embedding_scale);
        EXPECT_EQ(read.options.sinusoids.layout, PositionLayout::halves);
        EXPECT_EQ(read.search.beam_size, model.search.beam_size);
        NamedArrays wanted;
        for (const auto& [name, array] : model.weights.arrays())
          wanted.emplace_back(name, layout == PositionLayout::halves ? array : placed(name, array));
        LoadedModel moved = model;
        moved.weights = Weights(model.options, wanted, "moved");
        expect_same_weights(read, moved);
        expect_same_tokens(read.tokenizer, model.tokenizer);
      }
}

TEST(WrittenModels, AreRoundedToHalfTheBits) {
  const LoadedModel model = random_model([](TransformerOptions& o) { o.sinusoids.layout = PositionLayout::halves; });
  for (const auto& [precision, type] :
       {std::pair{Precision::bfloat16, NumberType::bfloat16}, {Precision::half, NumberType::float16}}) {
    const TemporaryFolder of_ctranslate2, of_hugging_face;
    formats::save_ctranslate2_folder(model, precision, of_ctranslate2.path());
    formats::save_hugging_face_folder(model, precision, of_hugging_face.path());
    for (const TemporaryFolder* folder : {&of_ctranslate2, &of_hugging_face}) {
      const LoadedModel read = load_model(folder->path());
      for (const auto& [name, array] : model.weights.arrays())
        EXPECT_TRUE(read.weights.float32(name).equals(rounded(array, type).to_float32())) << name;
    }
  }
}

TEST(WrittenModels, NameWhatAFormatCannotExpress) {
  const TemporaryFolder folder;
  const auto of_ctranslate2 = [&](const Change& change) {
    const LoadedModel model = random_model(change);
    return message_of<std::invalid_argument>(
        [&] { formats::save_ctranslate2_folder(model, Precision::float32, folder.path()); });
  };
  const auto of_hugging_face = [&](const Change& change) {
    const LoadedModel model = random_model(change);
    return message_of<std::invalid_argument>(
        [&] { formats::save_hugging_face_folder(model, Precision::float32, folder.path()); });
  };
  const std::vector<std::pair<std::string, Change>> of_both{
      {"model.decoder_self_attention: ssru", [](auto& o) { o.decoder_self_attention = DecoderSelfAttention::ssru; }},
      {"model.score_function: additive", [](auto& o) { o.score_function = ScoreFunction::additive; }},
      {"model.architecture: decoder_only", [](auto& o) { o.architecture = Architecture::decoder_only; }},
      {"model.d_k: 5", [](auto& o) { o.d_k = 5; }},
      {"model.d_v: 7", [](auto& o) { o.d_v = 7; }}};
  for (const auto& [words, change] : of_both) {
    EXPECT_THAT(of_ctranslate2(change), HasSubstr("CTranslate2 cannot run this model: it has " + words));
    EXPECT_THAT(of_hugging_face(change), HasSubstr("MarianMT cannot run this model: it has " + words));
  }
  const LoadedModel truecasing = random_model([](auto&) {}, testing::tiny_truecasing_tokenizer());
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { formats::save_ctranslate2_folder(truecasing, Precision::float32, folder.path()); }),
              HasSubstr("CTranslate2 cannot run this model: its vocabulary truecases"));
  const std::vector<std::pair<std::string, Change>> of_marian_mt{
      {"model.norm_position: pre", [](auto& o) { o.norm_position = NormPosition::pre; }},
      {"model.positional_encoding: learned", [](auto& o) { o.positional_encoding = PositionalEncodingKind::learned; }},
      {"model.position_frequencies: tensor2tensor",
       [](auto& o) { o.sinusoids.frequencies = PositionFrequencies::tensor2tensor; }},
      {"model.first_position: 2", [](auto& o) { o.sinusoids.first_position = 2; }},
      {"model.embedding_norm: true", [](auto& o) { o.embedding_norm = true; }},
      {"model.source_begin: true", [](auto& o) { o.source_begin = true; }},
      {"model.source_end: false", [](auto& o) { o.source_end = false; }}};
  for (const auto& [words, change] : of_marian_mt) EXPECT_THAT(of_hugging_face(change), HasSubstr(words));
}

TEST(WrittenModels, OfDeepNormsComputeTheSame) {
  const LoadedModel model = random_model([](auto& o) {
    o.norm_position = NormPosition::deep;
    o.attention_bias = true;
    o.sinusoids.layout = PositionLayout::halves;
  });
  const TemporaryFolder own, of_ctranslate2, of_hugging_face;
  save_model_folder(own.path(), model.config, model.tokenizer, model.weights);
  formats::save_ctranslate2_folder(model, Precision::float32, of_ctranslate2.path());
  formats::save_hugging_face_folder(model, Precision::float32, of_hugging_face.path());
  const std::vector<std::string> sources{"the red house is near.", "the old bridge"}, targets{"das rote Haus", "Zug"};
  const std::vector<Hypothesis> wanted = Translator(own.path()).score_batch(sources, targets);
  for (const TemporaryFolder* folder : {&of_ctranslate2, &of_hugging_face}) {
    EXPECT_EQ(load_model(folder->path()).options.norm_position, NormPosition::post);
    const std::vector<Hypothesis> found = Translator(folder->path()).score_batch(sources, targets);
    for (size_t i = 0; i < sources.size(); ++i)
      EXPECT_NEAR(found[i].log_probability, wanted[i].log_probability, 1e-4) << folder->path();
  }
}

TEST(WrittenHuggingFace, HasNoMatricesOfInt8) {
  const LoadedModel model = random_model([](auto&) {});
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { formats::save_hugging_face_folder(model, Precision::int8, folder.path()); }),
              HasSubstr("float32, bfloat16 or half, not int8"));
}

}  // namespace
}  // namespace transmute
