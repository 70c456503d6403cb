// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/folder_fixture.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tokenizer/tokenizer.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::names_in;
using ::testing::Not;
using testing::read_text;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::tiny_english;
using testing::tiny_german;
using testing::tiny_tokenizer;
using testing::tiny_tokenizer_options;
using testing::write_text;
using TokenizerFiles = testing::InFolder;

class EachTokenizer : public ::testing::TestWithParam<std::tuple<SubwordAlgorithm, VocabularySharing>> {
 protected:
  static TokenizerOptions options() {
    TokenizerOptions options = tiny_tokenizer_options();
    std::tie(options.algorithm, options.vocabulary) = GetParam();
    if (options.algorithm == SubwordAlgorithm::unigram) options.vocab_size = 55;  // it finds fewer pieces
    if (options.vocabulary == VocabularySharing::separate) options.vocab_size = 35;
    return options;
  }

  const Tokenizer tokenizer = tiny_tokenizer(options());
};

INSTANTIATE_TEST_SUITE_P(AlgorithmAndSharing, EachTokenizer,
                         ::testing::Combine(::testing::Values(SubwordAlgorithm::bpe, SubwordAlgorithm::unigram),
                                            ::testing::Values(VocabularySharing::shared, VocabularySharing::separate)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) == SubwordAlgorithm::bpe ? "bpe" : "unigram") +
                                  (std::get<1>(info.param) == VocabularySharing::shared ? "Shared" : "Separate");
                         });

TEST_P(EachTokenizer, HasTagsForTheLanguagesThatItIsToldOf) {
  TokenizerOptions given = options();
  given.languages = {"de", "pt_BR"};
  const Tokenizer tokenizer = tiny_tokenizer(given);
  const SubwordModel& source = tokenizer.source();
  EXPECT_EQ(source.languages(), LanguagePieces::tags);
  EXPECT_THAT(source.language_names(), ElementsAre("de", "pt_BR"));
  Ids expected = source.encode("the house");
  expected.insert(expected.begin(), source.language("pt_BR"));
  EXPECT_EQ(source.encode(">>pt_BR<< the house"), expected);
  EXPECT_EQ(source.encode(" \t>>pt_BR<<the house"), expected);
  EXPECT_EQ(tokenizer.target().languages(), tokenizer.shared() ? LanguagePieces::tags : LanguagePieces::none);
}

class ASubwordModel : public ::testing::Test {
 protected:
  const Tokenizer tokenizer = tiny_tokenizer();
};

TEST_F(ASubwordModel, KnowsTagsFromQuotedWords) {
  TokenizerOptions options = tiny_tokenizer_options();
  options.languages = {"de", "pt_BR"};
  const Tokenizer tokenizer = tiny_tokenizer(options);
  const SubwordModel& source = tokenizer.source();
  const SubwordModel::Tag tag = source.tag_of("  >>pt_BR<< the house");
  EXPECT_EQ(tag.place, ByteSpan(2, 11));
  EXPECT_EQ(tag.id, source.language("pt_BR"));
  const SegmentedText segmented = source.segment("  >>pt_BR<< the");
  EXPECT_EQ(segmented.pieces.front(), ">>pt_BR<<");
  EXPECT_EQ(segmented.spans.front(), ByteSpan(2, 11));
  EXPECT_EQ(segmented.spans.back().second, 15U);
  for (const char* text : {">>por<< the house", " >>zh_Hant<<", ">>pt-br<<\tthe"}) {
    EXPECT_EQ(source.tag_of(text).id, special_ids::kUnknown) << text;
    EXPECT_GT(source.tag_of(text).place.second, 0U) << text;
  }
  for (const char* text : {">>Titanic<< sank", ">>ja<<, the house", ">>the house<< the", ">>de the house", ">> the", "",
                           ">><< the", ">>pt_\xc3\xa9<< the", "the >>de<< house", "  "}) {
    EXPECT_EQ(source.tag_of(text).place, ByteSpan()) << text;
    EXPECT_EQ(source.encode(text), source.encode_within(text)) << text;
  }
}

// Longer texts are encoded piece by piece; words do not know of it.
TEST_P(EachTokenizer, EncodesALongTextAsItsWords) {
  const SubwordModel& model = tokenizer.source();
  std::string text;
  Ids ids;
  std::vector<std::string> pieces;
  std::vector<std::pair<size_t, size_t>> spans;
  while (text.size() < 200'000)
    for (const std::string& line : tiny_english()) {
      const size_t at = text.size();
      text += (text.empty() ? "" : " ") + line;
      for (const int64_t id : model.encode(line)) ids.push_back(id);
      for (const std::string& piece : model.segment(line).pieces) pieces.push_back(piece);
      for (const auto& [begin, end] : model.segment(at == 0 ? line : " " + line).spans)
        spans.emplace_back(at + begin, at + end);
    }
  EXPECT_EQ(model.encode(text), ids);
  EXPECT_EQ(model.segment(text).pieces, pieces);
  EXPECT_EQ(model.segment(text).ids, ids);
  const auto found = model.segment(text).spans;
  ASSERT_EQ(found.size(), spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    ASSERT_EQ(found[i].second, spans[i].second);
    ASSERT_NEAR(static_cast<double>(found[i].first), static_cast<double>(spans[i].first), 1) << "the space before it";
  }
}

// SentencePiece alone takes time with the square of such a text's length: half a minute for a megabyte.
TEST_P(EachTokenizer, EncodesUnknownCharactersInLinearTime) {
  std::string text;
  for (int i = 0; i < 250'000; ++i) text += "\xf0\x92\x80\x80";
  const auto seconds_for = [&](size_t bytes) {
    const std::clock_t start = std::clock();  // CPU time: other processes count for less
    for (const int64_t id : tokenizer.source().encode(text.substr(0, bytes))) EXPECT_LT(id, tokenizer.source().size());
    EXPECT_EQ(tokenizer.source().segment(text.substr(0, bytes)).spans.back().second, bytes);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  const double sixteenth = std::min(seconds_for(62'500), seconds_for(62'500));
  EXPECT_LT(std::min(seconds_for(1'000'000), seconds_for(1'000'000)), 64 * sixteenth) << "256 were it quadratic";
}

TEST_P(EachTokenizer, DecodesWhatItEncoded) {
  for (const auto& line : tiny_english()) EXPECT_EQ(tokenizer.source().decode(tokenizer.source().encode(line)), line);
  for (const auto& line : tiny_german()) EXPECT_EQ(tokenizer.target().decode(tokenizer.target().encode(line)), line);
  const std::string unseen = "there the house closed. bridge";
  EXPECT_EQ(tokenizer.source().decode(tokenizer.source().encode(unseen)), unseen);
}

TEST_P(EachTokenizer, HasTheSizeThatWasAskedFor) {
  EXPECT_EQ(tokenizer.source().size(), options().vocab_size);
  EXPECT_EQ(tokenizer.target().size(), options().vocab_size);
  EXPECT_EQ(tokenizer.shared(), options().vocabulary == VocabularySharing::shared);
}

TEST_P(EachTokenizer, IsTheSameEveryTime) {
  const Tokenizer first = tiny_tokenizer(options());
  const Tokenizer second = tiny_tokenizer(options());
  EXPECT_TRUE(first.source().serialized() == second.source().serialized());
  EXPECT_TRUE(first.target().serialized() == second.target().serialized());
}

TEST_P(EachTokenizer, LoadsWhatItSaved) {
  const TemporaryFolder folder;
  EXPECT_FALSE(Tokenizer::exists(folder.path()));
  tokenizer.save(folder.path());
  EXPECT_TRUE(Tokenizer::exists(folder.path()));
  if (tokenizer.shared()) {
    EXPECT_THAT(names_in(folder.path()), ElementsAre("tokenizer.model"));
  } else {
    EXPECT_THAT(names_in(folder.path()), ElementsAre("tokenizer.source.model", "tokenizer.target.model"));
  }
  const Tokenizer loaded = Tokenizer::load(folder.path());
  EXPECT_EQ(loaded.shared(), tokenizer.shared());
  for (const auto& line : tiny_english()) EXPECT_EQ(loaded.source().encode(line), tokenizer.source().encode(line));
  for (const auto& line : tiny_german()) EXPECT_EQ(loaded.target().encode(line), tokenizer.target().encode(line));
}

TEST_P(EachTokenizer, NamesTheSizeToChooseWhereTheVocabularyIsTooLarge) {
  TokenizerOptions too_large = options();
  too_large.vocab_size = 5000;
  const std::string message = message_of<std::invalid_argument>([&] { tiny_tokenizer(too_large); });
  std::smatch match;
  ASSERT_TRUE(std::regex_search(message, match, std::regex("^tokenizer\\.vocab_size 5000 .* set it to at most (\\d+)")))
      << message;
  // Taking the advice works. Separate vocabularies may each have a say.
  TokenizerOptions advised = too_large;
  advised.vocab_size = std::stoll(match[1].str());
  if (advised.vocabulary == VocabularySharing::shared) {
    EXPECT_EQ(tiny_tokenizer(advised).source().size(), advised.vocab_size);
    ++advised.vocab_size;
    EXPECT_THROW(tiny_tokenizer(advised), std::invalid_argument) << "one more is too many";
  }
}

TEST_P(EachTokenizer, NamesTheLeastSizeWhereTheVocabularyIsTooSmall) {
  TokenizerOptions too_small = options();
  too_small.vocab_size = 10;
  const std::string message = message_of<std::invalid_argument>([&] { tiny_tokenizer(too_small); });
  std::smatch match;
  ASSERT_TRUE(
      std::regex_search(message, match, std::regex("^tokenizer\\.vocab_size 10 is less than the (\\d+) pieces")))
      << message;
  EXPECT_GT(std::stoll(match[1].str()), 20) << "the text's letters alone are more";
  EXPECT_THAT(message, HasSubstr("character_coverage"));
}

TEST_F(ASubwordModel, ReservesTheAgreedIds) {
  EXPECT_EQ(tokenizer.source().piece(special_ids::kPad), "<pad>");
  EXPECT_EQ(tokenizer.source().piece(special_ids::kUnknown), "<unk>");
  EXPECT_EQ(tokenizer.source().piece(special_ids::kBegin), "<s>");
  EXPECT_EQ(tokenizer.source().piece(special_ids::kEnd), "</s>");
  for (const auto& line : tiny_english())
    EXPECT_THAT(tokenizer.source().encode(line), Each(Ge(special_ids::kCount))) << "none of them stands in text";
  EXPECT_THAT(tokenizer.source().encode("<s> the </s> <pad>"), Not(Contains(special_ids::kEnd)))
      << "nor can text spell them";
}

TEST_F(ASubwordModel, PassesOverReservedIdsWhenItDecodes) {
  Ids ids = tokenizer.source().encode("the red house");
  ids.insert(ids.begin(), special_ids::kBegin);
  ids.insert(ids.begin() + 2, special_ids::kPad);
  ids.push_back(special_ids::kEnd);
  ids.push_back(special_ids::kPad);
  EXPECT_EQ(tokenizer.source().decode(ids), "the red house");
}

TEST_F(ASubwordModel, RefusesIdsOutsideTheVocabulary) {
  for (const int64_t id : {int64_t{-1}, tokenizer.source().size(), int64_t{1} << 32}) {
    EXPECT_THAT(message_of<std::invalid_argument>([&] { tokenizer.source().decode({id}); }),
                HasSubstr(std::to_string(id)));
    EXPECT_THAT(message_of<std::invalid_argument>([&] { tokenizer.source().piece(id); }),
                HasSubstr(std::to_string(id)));
  }
}

TEST_F(ASubwordModel, EncodesTextWithoutContentAsNothing) {
  for (const char* text : {"", " ", " \t  ", "\u3000\u00a0"}) EXPECT_THAT(tokenizer.source().encode(text), IsEmpty());
  EXPECT_EQ(tokenizer.source().decode({}), "");
}

TEST_F(ASubwordModel, NormalizesText) {
  // Full-width letters, a run of spaces, a no-break space: NFKC and SentencePiece's treatment of spaces.
  EXPECT_EQ(tokenizer.source().encode(" the  \uff52\uff45\uff44\u00a0house "),
            tokenizer.source().encode("the red house"));
}

TEST_F(ASubwordModel, GivesOnePiecePerId) {
  for (const auto& line : tiny_german()) {
    const Ids ids = tokenizer.target().encode(line);
    const std::vector<std::string> pieces = tokenizer.target().segment(line).pieces;
    ASSERT_EQ(pieces.size(), ids.size());
    for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(tokenizer.target().piece(ids[i]), pieces[i]);
  }
}

TEST_F(ASubwordModel, TakesUnknownCharactersForUnknownOrSpellsThemAsBytes) {
  const std::string text = "the 汉 house";
  const Tokenizer plain = tiny_tokenizer();
  EXPECT_THAT(plain.source().encode(text), Contains(special_ids::kUnknown));

  TokenizerOptions options = tiny_tokenizer_options();
  options.byte_fallback = true;
  options.vocab_size = 80 + 256;
  const Tokenizer spelling = tiny_tokenizer(options);
  const Ids ids = spelling.source().encode(text);
  EXPECT_THAT(ids, Not(Contains(special_ids::kUnknown)));
  EXPECT_EQ(spelling.source().decode(ids), text);
  EXPECT_EQ(spelling.source().segment(text).pieces.size(), ids.size());
}

TEST_F(ASubwordModel, KeepsUserDefinedSymbolsWhole) {
  TokenizerOptions options = tiny_tokenizer_options();
  options.user_defined_symbols = {"<2de>", "a,b", "say\"hi\"", "@@"};
  options.vocab_size = 84;
  const Tokenizer tokenizer = tiny_tokenizer(options);
  for (const auto& symbol : options.user_defined_symbols) {
    const std::string text = "the " + symbol + " house";
    EXPECT_THAT(tokenizer.source().segment(text).pieces, Contains(symbol)) << text;
    EXPECT_EQ(tokenizer.source().decode(tokenizer.source().encode(text)), text);
  }
}

TEST_F(ASubwordModel, KeepsSymbolsWithSpacesWhole) {
  TokenizerOptions options = tiny_tokenizer_options();
  options.user_defined_symbols = {"New York"};
  options.vocab_size = 84;
  const Tokenizer tokenizer = tiny_tokenizer(options);
  const std::string text = "the New York house";
  EXPECT_THAT(tokenizer.source().segment(text).pieces, Contains("New\u2581York"));
  EXPECT_EQ(tokenizer.source().decode(tokenizer.source().encode(text)), text);
}

TEST_F(ASubwordModel, RefusesSymbolsThatCannotBeFound) {
  for (const std::string& symbol : {std::string(), std::string("a\nb"), std::string("a\0b", 3), std::string("<s>")}) {
    TokenizerOptions options = tiny_tokenizer_options();
    options.user_defined_symbols = {symbol};
    EXPECT_THAT(message_of<std::invalid_argument>([&] { tiny_tokenizer(options); }),
                HasSubstr("tokenizer.user_defined_symbols"))
        << symbol;
  }
  TokenizerOptions options = tiny_tokenizer_options();
  options.user_defined_symbols = {"a b", "a b"};
  EXPECT_THAT(message_of<std::invalid_argument>([&] { tiny_tokenizer(options); }), HasSubstr("twice"));
}

TEST_F(ASubwordModel, EncodesTheSameFromManyThreads) {
  std::vector<std::string> lines = tiny_english();
  const std::vector<std::string> german = tiny_german();
  lines.insert(lines.end(), german.begin(), german.end());
  std::vector<Ids> expected;
  for (const auto& line : lines) expected.push_back(tokenizer.source().encode(line));

  constexpr size_t kThreads = 8;
  std::vector<std::vector<Ids>> found(kThreads);
  std::vector<std::vector<std::string>> decoded(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        found[t].clear();
        decoded[t].clear();
        for (const auto& line : lines) {
          found[t].push_back(tokenizer.source().encode(line));
          decoded[t].push_back(tokenizer.source().decode(found[t].back()));
        }
      }
    });
  for (auto& thread : threads) thread.join();
  for (size_t t = 0; t < kThreads; ++t) {
    EXPECT_EQ(found[t], expected);
    EXPECT_EQ(decoded[t], lines);
  }
}

TEST_F(TokenizerFiles, NameWhatIsMissing) {
  EXPECT_THAT(message_of<std::runtime_error>([&] { Tokenizer::load(folder_.path()); }),
              StartsWith(folder_ / "tokenizer.model"));
  TokenizerOptions options = tiny_tokenizer_options();
  options.vocabulary = VocabularySharing::separate;
  options.vocab_size = 50;
  tiny_tokenizer(options).save(folder_.path());
  std::filesystem::remove(folder_ / "tokenizer.target.model");
  EXPECT_FALSE(Tokenizer::exists(folder_.path()));
  EXPECT_THAT(message_of<std::runtime_error>([&] { Tokenizer::load(folder_.path()); }),
              StartsWith(folder_ / "tokenizer.target.model"));
}

TEST_F(TokenizerFiles, NameTheOneThatIsDamaged) {
  tiny_tokenizer().save(folder_.path());
  const std::string path = folder_ / "tokenizer.model";
  const std::string whole = read_text(path);
  for (const std::string& content : {std::string(), std::string("no model at all"), whole.substr(0, whole.size() / 2),
                                     whole.substr(0, whole.size() - 1), whole.substr(0, 20)}) {
    write_text(path, content);
    EXPECT_THAT(message_of<std::runtime_error>([&] { Tokenizer::load(folder_.path()); }),
                AllOf(StartsWith(path), HasSubstr("damaged")))
        << content.size() << " of " << whole.size() << " bytes";
  }
}

// SentencePiece throws there, where other damage is a status.
TEST_F(TokenizerFiles, NameTheOneWithAPieceOfNoLength) {
  TokenizerOptions options = tiny_tokenizer_options();
  options.algorithm = SubwordAlgorithm::unigram;
  options.vocab_size = 50;
  tiny_tokenizer(options).save(folder_.path());
  const std::string path = folder_ / "tokenizer.model";
  std::string content = read_text(path);
  content.at(content.rfind("\xe2\x96\x81")) = '\0';
  write_text(path, content);
  EXPECT_THAT(message_of<std::runtime_error>([&] { Tokenizer::load(folder_.path()); }),
              AllOf(StartsWith(path), HasSubstr("damaged")));
}

TEST_F(TokenizerFiles, RefuseOtherReservedIds) {
  std::string lines;
  for (const auto& line : tiny_english()) lines += line + "\n";
  write_text(folder_ / "text", lines);
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      std::unordered_map<std::string, std::string>{{"input", folder_ / "text"},
                                                   {"model_prefix", folder_ / "tokenizer"},
                                                   {"vocab_size", "40"},
                                                   {"model_type", "bpe"},
                                                   {"minloglevel", "2"}});
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_THAT(message_of<std::runtime_error>([&] { Tokenizer::load(folder_.path()); }),
              AllOf(StartsWith(folder_ / "tokenizer.model"), HasSubstr("-1, 0, 1, 2; transmute needs 0, 1, 2, 3"),
                    HasSubstr("--pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3")));
}

TEST_P(EachTokenizer, EncodesBytesThatAreNoText) {
  for (const std::string& bytes : {std::string(70'000, '\x80'), "a" + std::string(70'000, '\xbf')})
    EXPECT_FALSE(tokenizer.source().encode(bytes).empty());
}

}  // namespace
}  // namespace transmute
