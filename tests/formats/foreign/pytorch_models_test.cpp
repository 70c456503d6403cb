// SPDX-License-Identifier: Apache-2.0
// The places of JoeyNMT's and OpenNMT-py's checkpoints, and what is refused. Their networks are compared in
// foreign_models_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/foreign/readers.h>
#include <transmute/formats/model_folder.h>
#include <transmute/tests/support/copied_model.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/zip_files.h>

#include <filesystem>
#include <string>
#include <utility>

namespace transmute {
namespace {

namespace fs = std::filesystem;

using testing::CopiedModel;
using testing::expect_read_or_refused;
using ::testing::HasSubstr;
using testing::little_endian;
using testing::refusal_with;
using testing::RefusedChanges;
using testing::write_text;

constexpr const char* kJoey = "7.ckpt";
constexpr const char* kOpenNmt = "model_step_7.pt";

TEST(JoeyCheckpoint, IsFoundByItsFolderOrItsFile) {
  const CopiedModel model("joeynmt");
  EXPECT_EQ(formats::find_joeynmt_checkpoint(model.folder()), model.path(kJoey));
  EXPECT_EQ(formats::find_joeynmt_checkpoint(model.path(kJoey)), model.path(kJoey));
  const std::string config = load_model(model.folder()).config;
  fs::copy_file(model.path(kJoey), model.path("9.ckpt"));
  EXPECT_THAT(model.refusal(), HasSubstr("has 2 checkpoints, but no best.ckpt"));
  EXPECT_EQ(load_model(model.path("9.ckpt")).config, config);
  fs::create_symlink("9.ckpt", model.path("best.ckpt"));
  EXPECT_EQ(formats::find_joeynmt_checkpoint(model.folder()), model.path("best.ckpt"));
  EXPECT_EQ(load_model(model.folder()).config, config);
}

TEST(JoeyCheckpoint, IsNotLookedForBesideWeightsOfTransmute) {
  const LoadedModel read = load_model(CopiedModel("joeynmt").folder());
  const testing::TemporaryFolder folder;
  save_model_folder(folder.path(), read.config, read.tokenizer, read.weights);
  write_text(folder / "stray.ckpt", "");
  EXPECT_EQ(load_model(folder.path()).config, read.config);
}

TEST(JoeyCheckpoint, HasWhatItsConfigurationSays) {
  const LoadedModel tied = load_model(CopiedModel("joeynmt").folder());
  EXPECT_EQ(tied.options.norm_position, NormPosition::pre);
  EXPECT_EQ(tied.options.embedding_tying, EmbeddingTying::all);
  EXPECT_EQ(tied.options.dropout, 0.3);
  EXPECT_EQ(tied.search.beam_size, 5);
  EXPECT_EQ(tied.search.length_alpha, 1);
  const LoadedModel deep = load_model(CopiedModel("joeynmt_deep").folder());
  EXPECT_EQ(deep.options.norm_position, NormPosition::deep);
  EXPECT_EQ(deep.options.activation, Activation::gelu);
  EXPECT_EQ(deep.options.embedding_tying, EmbeddingTying::none);

  // Versions before 2.0 do not name their pre-norm layers.
  const CopiedModel old("joeynmt");
  old.change("config.yaml", "layer_norm: \"pre\"", "freeze: False");
  EXPECT_EQ(load_model(old.folder()).config, tied.config);
}

TEST(JoeyCheckpoint, NamesWhatIsNotSupported) {
  for (const auto& [from, to, words] : RefusedChanges{
           {"type: \"transformer\"", "type: \"recurrent\"", "model.encoder: it is no transformer"},
           {"activation: \"relu\"", "activation: \"tanh\"", "its activation is \"tanh\""},
           {"layer_norm: \"pre\"", "layer_norm: \"middle\"", "its layer_norm is \"middle\""},
           {"layer_norm: \"pre\"", "layer_norm: \"pre\"\n        alpha: 2.5", "its alpha is not 1"},
           {"xavier_uniform", "xavier_normal", "DeepNet"},
           {"hidden_size: 8", "hidden_size: 10", "has the shape [47,8], but hidden_size is 10"},
           {"hidden_size: 8", "", "\"hidden_size\" is missing"},
           {"num_layers: 2", "num_layers: 1", "does not use the weights"},
           {"num_layers: 2", "num_layers: 3", "encoder.layers.2."},
           {"lang: \"en\"", "lang: \"en\", lowercase: True", "data.src: lowercase prepares texts"},
           {"{model_file", "{pretokenizer: \"moses\", model_file", "data.src: tokenizer_cfg.pretokenizer prepares"},
           {"level: \"bpe\"", "level: \"char\"", "its level is \"char\""},
           {"data:\n", "data:\n    special_symbols: {lang_tags: [\"<de>\"]}\n", "tags of languages"},
           {"data:\n", "data:\n    special_symbols: {pad_id: 0}\n", "its pad_id is 0"},
           {"beam_size: 5", "beam_size: 0", "testing: beam_size is \"0\""},
           {"model:\n", "mode1:\n", "has no section \"model\""},
           {"model:\n", "model: [\n", "not valid YAML"},
           {"model:\n", std::string(1 << 20, '#') + "\nmodel:\n", "config.yaml: has more than 1048576 bytes"}})
    EXPECT_THAT(refusal_with("joeynmt", "config.yaml", from, to), HasSubstr(words)) << to;
  const CopiedModel lost("joeynmt");
  fs::remove(lost.path("trg_vocab.txt"));
  EXPECT_THAT(lost.refusal(), HasSubstr("there is no trg_vocab.txt beside it"));
  EXPECT_THAT(refusal_with("joeynmt", "src_vocab.txt", "<unk>\n", "<unk>\nmore\n"),
              HasSubstr("more than the 47 pieces"));
}

TEST(OpenNmtCheckpoint, IsFoundByItsFolderOrItsFile) {
  for (const char* name : {"opennmt", "opennmt_fields"}) {
    const CopiedModel model(name);
    EXPECT_EQ(formats::find_opennmt_checkpoint(model.folder()), model.path(kOpenNmt));
    EXPECT_EQ(formats::find_opennmt_checkpoint(model.path(kOpenNmt)), model.path(kOpenNmt));
    const std::string config = load_model(model.folder()).config;
    fs::copy_file(model.path(kOpenNmt), model.path("model_step_9.pt"));
    EXPECT_THAT(model.refusal(), HasSubstr("has 2 checkpoints"));
    EXPECT_EQ(load_model(model.path("model_step_9.pt")).config, config);
  }
}

TEST(OpenNmtCheckpoint, HasWhatItsSettingsSay) {
  const LoadedModel joined = load_model(CopiedModel("opennmt").folder());
  EXPECT_EQ(joined.options.embedding_tying, EmbeddingTying::all);
  EXPECT_FALSE(joined.options.attention_bias);
  EXPECT_FALSE(joined.options.source_end);
  const LoadedModel fields = load_model(CopiedModel("opennmt_fields").folder());
  EXPECT_EQ(fields.options.embedding_tying, EmbeddingTying::none);
  EXPECT_TRUE(fields.options.attention_bias);
  EXPECT_EQ(fields.options.sinusoids.layout, PositionLayout::halves);
}

// Before version 3, torchtext's vocabularies have the counts of all words of the corpus.
TEST(OpenNmtCheckpoint, MayHaveALargeVocabulary) {
  const std::string itos = "X" + little_endian(4, 4) + "itos";
  const std::string freqs = "X" + little_endian(5, 4) + "freqs";
  std::string counts;
  for (int word = 1'000'000; word < 1'600'000; ++word)
    counts += "X" + little_endian(7, 4) + std::to_string(word) + "K\1";
  const CopiedModel model("opennmt_fields");
  const std::string config = load_model(model.folder()).config;
  model.change(kOpenNmt, itos, freqs + "}(" + counts + "us" + itos);
  EXPECT_EQ(load_model(model.folder()).config, config);

  EXPECT_THAT(refusal_with("opennmt_fields", kOpenNmt, itos,
                           freqs + "X" + little_endian(70'000'000, 4) + std::string(70'000'000, 'x') + "s" + itos),
              HasSubstr("its pickle: it is too large to describe a model"));
}

TEST(OpenNmtCheckpoint, NamesWhatIsNotSupported) {
  for (const auto& [from, to, words] : RefusedChanges{
           {"SinusoidalConcat", "SinusoidalOthers", "its position_encoding_type is \"SinusoidalOthers\""},
           {"gelu", "silu", "its pos_ffn_activation_fn is \"silu\""},
           {"scaled-dot-flash", "averaged-network", "its self_attn_type is \"averaged-network\""},
           {"vocab", "v0cab", "it has no \"vocab\", as checkpoints of OpenNMT-py do"},
           {"itos", "it0s", "it has no vocabulary \"src\""},
           {"encoder.transformer.0.self_attn.linear_keys.bias", "encoder.transformer.0.self_attn.linear_k3ys.bias",
            "encoder.transformer.0.self_attn.linear_keys.bias"}})
    EXPECT_THAT(refusal_with("opennmt_fields", kOpenNmt, from, to), HasSubstr(words)) << to;
}

TEST(PyTorchCheckpoints, AreRefusedOrReadWhateverTheirDamage) {
  for (const auto& [name, file] : {std::pair{"joeynmt", kJoey},
                                   {"joeynmt_deep", kJoey},
                                   {"joeynmt", "config.yaml"},
                                   {"joeynmt", "src_vocab.txt"},
                                   {"opennmt", kOpenNmt},
                                   {"opennmt_fields", kOpenNmt}}) {
    SCOPED_TRACE(name);
    expect_read_or_refused(CopiedModel(name), file, 200);
  }
}

}  // namespace
}  // namespace transmute
