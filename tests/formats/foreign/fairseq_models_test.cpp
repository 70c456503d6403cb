// SPDX-License-Identifier: Apache-2.0
// The places of fairseq's checkpoints and dictionaries, and what is refused. Their networks are compared in
// foreign_models_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/foreign/readers.h>
#include <transmute/tests/support/copied_model.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>

#include <filesystem>
#include <string>

namespace transmute {
namespace {

namespace fs = std::filesystem;

using testing::CopiedModel;
using testing::expect_read_or_refused;
using ::testing::HasSubstr;
using testing::read_text;
using testing::RefusedChanges;

constexpr const char* kCheckpoint = "checkpoint_best.pt";

// A pickle in its file may become longer.
CopiedModel copied() {
  return CopiedModel("fairseq_old_layout");
}

TEST(FairseqCheckpoint, IsFoundByItsFolderOrItsFile) {
  for (const char* name : {"fairseq", "fairseq_old_layout"}) {
    const CopiedModel model(name);
    EXPECT_EQ(formats::find_fairseq_checkpoint(model.folder()), model.path(kCheckpoint));
    EXPECT_EQ(formats::find_fairseq_checkpoint(model.path(kCheckpoint)), model.path(kCheckpoint));
    const std::string config = load_model(model.folder()).config;

    fs::create_directory(model.path("data-bin"));
    for (const char* dictionary : {"dict.en.txt", "dict.de.txt"})
      fs::rename(model.path(dictionary), model.path("data-bin") + "/" + dictionary);
    EXPECT_EQ(load_model(model.path(kCheckpoint)).config, config);

    fs::copy_file(model.path(kCheckpoint), model.path("checkpoint7.pt"));
    EXPECT_EQ(formats::find_fairseq_checkpoint(model.folder()), model.path(kCheckpoint));
    fs::rename(model.path(kCheckpoint), model.path("checkpoint8.pt"));
    EXPECT_THAT(model.refusal(), HasSubstr("has 2 checkpoints"));
    EXPECT_EQ(load_model(model.path("checkpoint7.pt")).config, config);

    fs::remove_all(model.path("data-bin"));
    EXPECT_EQ(formats::find_fairseq_checkpoint(model.path("checkpoint7.pt")), "");
  }
}

TEST(FairseqCheckpoint, HasThePiecesOfItsDictionaries) {
  const LoadedModel joined = load_model(CopiedModel("fairseq").folder());
  EXPECT_EQ(joined.options.embedding_tying, EmbeddingTying::all);
  EXPECT_EQ(joined.options.dropout, 0.3);
  const LoadedModel separate = load_model(copied().folder());
  EXPECT_EQ(separate.options.embedding_tying, EmbeddingTying::none);
  EXPECT_EQ(separate.options.positional_encoding, PositionalEncodingKind::learned);
  EXPECT_EQ(separate.options.max_positions, 60);

  const auto dictionary_with = [](const std::string& from, const std::string& to) {
    const CopiedModel model = copied();
    model.change("dict.de.txt", from, to);
    return model.refusal();
  };
  const std::string first =
      read_text(copied().path("dict.de.txt")).substr(0, read_text(copied().path("dict.de.txt")).find('\n'));
  EXPECT_THAT(dictionary_with(first + "\n", ""), HasSubstr("has 31 pieces with the reserved ones"));
  EXPECT_THAT(dictionary_with(first, first + "\nmore 1"), HasSubstr("more than the 32 pieces"));
  EXPECT_THAT(dictionary_with(first, "word"), HasSubstr("line 1 is not a piece and its count"));
  EXPECT_THAT(dictionary_with(first, "word many"), HasSubstr("line 1 is not a piece and its count"));
  EXPECT_THAT(dictionary_with("\ne 75", "\ns 75"), HasSubstr("has two numbers"));

  // The later piece of the same text takes the place of the earlier.
  const CopiedModel replaced = copied();
  replaced.change("dict.de.txt", "\ns 73", "\ne 73 #fairseq:overwrite");
  EXPECT_EQ(load_model(replaced.folder()).tokenizer.target().size(), separate.tokenizer.target().size());
  EXPECT_THAT(dictionary_with("\n▁the 74\ns 73", "\ne 74\ne 73 #fairseq:overwrite"), HasSubstr("has two numbers"));

  const CopiedModel lost = copied();
  fs::remove(lost.path("dict.de.txt"));
  EXPECT_THAT(lost.refusal(), HasSubstr("its target_lang is \"de\", for which there is no dictionary"));
}

TEST(FairseqCheckpoint, NamesWhatIsNotSupported) {
  for (const auto& [from, to, words] : RefusedChanges{
           {"translation", "pretraining", "the task \"pretraining\""},
           {"transformer_iwslt_de_en", "lightconvol_iwslt_de_en", "the architecture \"lightconvol_iwslt_de_en\""},
           {"gelu", "tanh", "activation_fn is \"tanh\""},
           {"encoder.layers.0.fc1.weight", "encoder.layers.0.fc9.weight", "encoder.layers.0.fc1.weight"},
           {"source_lang", "sOurce_lang", "its source_lang is \"\""}}) {
    const CopiedModel model = copied();
    // The record of the task may have it as well as that of the model.
    model.change_all(kCheckpoint, from, to);
    EXPECT_THAT(model.refusal(), HasSubstr(words)) << to;
  }
}

// A class or a function that a pickle names is a record's name, whatever it would do in Python.
TEST(FairseqCheckpoint, RunsNothing) {
  const CopiedModel model = copied();
  const std::string config = load_model(model.folder()).config;
  model.change(kCheckpoint, "cargparse\nNamespace\n", "cposix\nsystem\n");
  EXPECT_EQ(load_model(model.folder()).config, config);

  const CopiedModel calling = copied();
  const std::string trace = calling.path("must-not-be-there"), command = "touch " + trace;
  const std::string text = "X" + std::string(1, static_cast<char>(command.size())) + std::string(3, '\0') + command;
  calling.change(kCheckpoint, "cargparse\nNamespace\n", "cposix\nsystem\n(" + text + "tR0cargparse\nNamespace\n");
  EXPECT_THAT(calling.refusal(), HasSubstr("operation 0x30"));  // nothing would use the result
  EXPECT_FALSE(fs::exists(trace));
}

TEST(FairseqCheckpoint, IsRefusedOrReadWhateverItsDamage) {
  for (const char* name : {"fairseq", "fairseq_old_layout"})
    expect_read_or_refused(CopiedModel(name), kCheckpoint, 300);
}

}  // namespace
}  // namespace transmute
