// SPDX-License-Identifier: Apache-2.0
// Vocabularies of other programs that lack pieces, repeat them or give them wrong numbers: with each of these a model
// would translate badly without a word.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/copied_model.h>
#include <transmute/tests/support/files.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using testing::CopiedModel;
using ::testing::HasSubstr;
using testing::read_text;
using ::testing::StartsWith;
using testing::write_text;
using Json = nlohmann::ordered_json;

// A JSON file of a model, which is written back when it was changed.
template <class Change>
void change_json(const CopiedModel& model, const std::string& file, const Change& change) {
  Json json = Json::parse(read_text(model.path(file)));
  change(json);
  write_text(model.path(file), json.dump());
}

auto refused_by(const CopiedModel& model, const std::string& file, const std::string& why) {
  return AllOf(StartsWith(model.path(file) + ": "), HasSubstr(why));
}

TEST(CTranslate2Vocabulary, HasAPieceForEachRow) {
  constexpr const char* kFile = "shared_vocabulary.json";
  for (const size_t first : {0, 7, 20}) {  // wherever it was cut
    const CopiedModel model("marian_ctranslate2");
    size_t pieces = 0;
    change_json(model, kFile, [&](Json& list) {
      for (int cut = 0; cut < 5; ++cut) list.erase(first + (first == 0 ? 2 : 0));
      pieces = list.size();
    });
    EXPECT_THAT(model.refusal(), refused_by(model, kFile,
                                            "has " + std::to_string(pieces) +
                                                " pieces with the reserved ones, but the model has embeddings of " +
                                                std::to_string(pieces + 5)));
  }
  const CopiedModel number("marian_ctranslate2");
  change_json(number, kFile, [](Json& list) { list[9] = 9; });
  EXPECT_THAT(number.refusal(), refused_by(number, kFile, "piece 9 is no text"));
}

TEST(CTranslate2Vocabulary, HasEachPieceOnce) {
  constexpr const char* kFile = "shared_vocabulary.json";
  const CopiedModel model("marian_ctranslate2");
  std::string piece;
  change_json(model, kFile, [&](Json& list) {
    piece = list[5].get<std::string>();
    list[9] = piece;
  });
  EXPECT_THAT(model.refusal(), refused_by(model, kFile, "the piece \"" + piece + "\" has two numbers, 5 and 9"));
}

TEST(CTranslate2Vocabulary, HasThePieceThatTheDecoderStartsWith) {
  constexpr const char* kVocabulary = "shared_vocabulary.json";
  const CopiedModel model("marian_ctranslate2");
  change_json(model, "config.json", [](Json& config) { config["decoder_start_token"] = "<start>"; });
  EXPECT_THAT(model.refusal(), refused_by(model, kVocabulary, "has no piece \"<start>\""));
  change_json(model, "config.json", [](Json& config) { config["eos_token"] = "<end>"; });
  EXPECT_THAT(model.refusal(), refused_by(model, kVocabulary, "has no piece \"<end>\""));
}

TEST(CTranslate2Vocabulary, MayHaveTheLineEndsOfWindows) {
  const CopiedModel model("marian_ctranslate2");
  const Json list = Json::parse(read_text(model.path("shared_vocabulary.json")));
  const auto pieces_with = [&](const std::string& end) {
    std::string lines;
    for (const Json& piece : list) lines += piece.get<std::string>() + end;
    fs::remove(model.path("shared_vocabulary.json"));
    write_text(model.path("shared_vocabulary.txt"), lines);
    return load_model(model.folder()).tokenizer.source().encode("the old bridge is gone.");
  };
  EXPECT_EQ(pieces_with("\r\n"), pieces_with("\n"));
}

std::string piece_of(const Json& map, int64_t number) {
  for (const auto& [piece, of_piece] : map.items())
    if (of_piece == number) return piece;
  throw std::logic_error("no such number");
}

TEST(HuggingFaceVocabulary, GivesEachPieceItsOwnNumber) {
  for (const auto& [name, file] :
       {std::pair{"marian", "vocab.json"}, {"marian_separate", "target_vocab.json"}, {"m2m", "vocab.json"}}) {
    SCOPED_TRACE(name);
    const CopiedModel two(name), none(name), outside(name);
    change_json(two, file, [](Json& map) { map[piece_of(map, 9)] = 8; });
    EXPECT_THAT(two.refusal(), refused_by(two, file, "both have the number 8"));
    change_json(none, file, [](Json& map) { map.erase(piece_of(map, 9)); });
    EXPECT_THAT(none.refusal(), refused_by(none, file, "no piece has the number 9"));
    change_json(outside, file, [](Json& map) { map[piece_of(map, 9)] = 900; });
    EXPECT_THAT(outside.refusal(), refused_by(outside, file, "has the number 900, but the model has"));
  }
}

TEST(HuggingFaceVocabulary, HasTheSpecialPiecesWhereTheConfigurationSays) {
  for (const auto& [name, key] : {std::pair{"marian", "eos_token_id"},
                                  {"marian", "pad_token_id"},
                                  {"nllb", "eos_token_id"},
                                  {"m2m", "pad_token_id"},
                                  {"mbart", "eos_token_id"}}) {
    const CopiedModel model(name);
    change_json(model, "config.json", [&](Json& config) { config[key] = 7; });
    EXPECT_THAT(model.refusal(), refused_by(model, "config.json", std::string(key) + " is 7, but \""))
        << name << ": " << key;
  }
  // vocab.json was cut at its end, where Marian's has the padding.
  const CopiedModel cut("marian");
  change_json(cut, "vocab.json", [](Json& map) { map.erase("<pad>"); });
  EXPECT_THAT(cut.refusal(), refused_by(cut, "config.json", "which no piece has in " + cut.path("vocab.json")));
}

TEST(HuggingFaceVocabulary, AddsPiecesThatHaveNoOther) {
  const CopiedModel taken("nllb"), two("nllb");
  change_json(taken, "added_tokens.json", [](Json& added) { added["deu_Latn"] = 20; });
  EXPECT_THAT(taken.refusal(), refused_by(taken, "added_tokens.json", "\"deu_Latn\" both have the number 20"));
  change_json(two, "added_tokens.json", [](Json& added) { added["fra_Latn"] = 62; });
  EXPECT_THAT(two.refusal(), refused_by(two, "added_tokens.json", "both have the number 62"));
}

TEST(MarianVocabulary, GivesEachRowAPiece) {
  constexpr const char* kFile = "opus.vocab.yml";
  const CopiedModel two("npz"), none("npz"), cut("npz"), twice("npz");
  two.change(kFile, "\"B\": 3\n", "\"B\": 2\n");
  EXPECT_THAT(two.refusal(), refused_by(two, kFile, "both have the number 2"));
  none.change(kFile, "\"B\": 3\n", "");
  EXPECT_THAT(none.refusal(), refused_by(none, kFile, "no piece has the number 3"));
  twice.change(kFile, "\"B\": 3\n", "\"F\": 3\n");
  EXPECT_THAT(twice.refusal(), refused_by(twice, kFile, "the piece \"F\" has two numbers, 3 and 4"));
  const std::string lines = read_text(cut.path(kFile));
  const size_t last = lines.rfind('\n', lines.size() - 2);
  write_text(cut.path(kFile), lines.substr(0, last + 1));
  EXPECT_THAT(cut.refusal(),
              refused_by(cut, kFile, " pieces with the reserved ones, but the model has embeddings of "));
}

// Transformers 5 saves tokenizers like those of tests/data/formats/nllb and mbart: without a SentencePiece model.
class TokenizerJson : public ::testing::TestWithParam<const char*> {
 protected:
  TokenizerJson() : model(GetParam()) {
    for (const char* file : {"sentencepiece.bpe.model", "added_tokens.json", "special_tokens_map.json"})
      fs::remove(model.path(file));
    fs::copy(TRANSMUTE_TEST_DATA "/formats/transformers_5/" + std::string(GetParam()), model.folder(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  const CopiedModel model;
};

TEST_P(TokenizerJson, SplitsTextAsItsSentencePieceModelDoes) {
  const CopiedModel original(GetParam());
  const LoadedModel expected = load_model(original.folder());
  const LoadedModel found = load_model(model.folder());
  EXPECT_EQ(found.tokenizer.source().language_names(), expected.tokenizer.source().language_names());
  const Json lines = Json::parse(read_text(original.path("expected.json")))["lines"];
  ASSERT_GT(lines.size(), 3u);
  std::vector<std::string> texts = {"", "  two  spaces ", "the rote Brücke is geschlossen gone", "日本語 x the",
                                    "<mask> a"};
  for (const Json& line : lines)
    for (const auto& [key, value] : line.items())
      if (value.is_string()) texts.push_back(value.get<std::string>());
  for (const std::string& text : texts)
    EXPECT_EQ(found.tokenizer.source().encode(text), expected.tokenizer.source().encode(text)) << text;
}

TEST_P(TokenizerJson, IsRefusedWhereItDoesWhatSentencePieceDoesNot) {
  const std::string sound = read_text(model.path("tokenizer.json"));
  const auto refusal_with = [&](const auto& change) {
    Json json = Json::parse(sound);
    change(json);
    write_text(model.path("tokenizer.json"), json.dump());
    return model.refusal();
  };
  const auto refused = [&](const char* why) {
    return AllOf(refused_by(model, "tokenizer.json", why),
                 HasSubstr("put the model's sentencepiece.bpe.model beside it"));
  };
  EXPECT_THAT(refusal_with([](Json& json) { json["model"]["type"] = "WordPiece"; }), refused("\"WordPiece\""));
  EXPECT_THAT(refusal_with([](Json& json) { json["normalizer"] = {{"type", "Lowercase"}}; }), refused("\"Lowercase\""));
  EXPECT_THAT(refusal_with([](Json& json) { json["pre_tokenizer"]["type"] = "ByteLevel"; }), refused("\"ByteLevel\""));
  EXPECT_THAT(refusal_with([](Json& json) { json["pre_tokenizer"] = nullptr; }), refused("Metaspace"));
  EXPECT_THAT(refusal_with([](Json& json) { json["model"]["byte_fallback"] = true; }), refused("byte_fallback"));
  EXPECT_THAT(refusal_with([](Json& json) { json["model"].erase("vocab"); }), HasSubstr("tokenizer.json"));
  for (const char* broken : {"[1]", "{}", "\"x\"", "[[1, 2]]", "[[\"a\"]]"})
    EXPECT_THAT(refusal_with([&](Json& json) { json["model"]["vocab"] = Json::parse(broken); }),
                HasSubstr("tokenizer.json"))
        << broken;
}

INSTANTIATE_TEST_SUITE_P(OfTransformers5, TokenizerJson, ::testing::Values("nllb", "mbart"));

TEST(TokenizerJsonOfBpe, MergesWhatItHas) {
  const CopiedModel model("nllb");
  fs::remove(model.path("sentencepiece.bpe.model"));
  const auto write_with = [&](const auto& change) {
    Json json = Json::parse(read_text(TRANSMUTE_TEST_DATA "/formats/transformers_5/nllb/tokenizer.json"));
    change(json["model"]["merges"]);
    write_text(model.path("tokenizer.json"), json.dump());
  };
  write_with([](Json& merges) { merges[0] = "i s"; });  // as older versions write it
  EXPECT_NO_THROW(load_model(model.folder()));
  write_with([](Json& merges) { merges[0] = "is"; });
  EXPECT_THAT(model.refusal(), refused_by(model, "tokenizer.json", "a merge"));
  write_with([](Json& merges) { merges[0] = {"x", "q"}; });
  EXPECT_THAT(model.refusal(), refused_by(model, "tokenizer.json", "merges give 1 pieces that it does not have"));
  write_with([](Json& merges) { merges.push_back(Json(merges[0])); });
  EXPECT_THAT(model.refusal(), refused_by(model, "tokenizer.json", "its merges for \"is\" are in several places"));
}

}  // namespace
}  // namespace transmute
