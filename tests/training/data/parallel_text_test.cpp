// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/token_lists.h>
#include <transmute/training/data/batcher.h>
#include <transmute/training/data/parallel_text.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ids_at;
using testing::message_of;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::tiny_english;
using testing::tiny_german;
using testing::tiny_tokenizer;
using testing::tiny_tokenizer_options;
using testing::write_text;

std::string lines(const std::vector<std::string>& list) {
  std::string text;
  for (const auto& line : list) text += line + "\n";
  return text;
}

class ParallelTextFiles : public ::testing::Test {
 protected:
  // Writes a file and returns its path.
  std::string file(const std::string& name, const std::vector<std::string>& content) {
    write_text(folder / name, lines(content));
    return folder / name;
  }

  LoadedText load(const TextFiles& files, const LengthLimits& limits = {}, int workers = 1) {
    WorkerCrew crew(workers);
    return load_parallel_text(files, tokenizer, limits, crew);
  }

  std::string refusal(const TextFiles& files, const LengthLimits& limits = {}, int workers = 1) {
    return message_of<std::runtime_error>([&] { load(files, limits, workers); });
  }

  const TemporaryFolder folder;
  const Tokenizer tokenizer = tiny_tokenizer();
};

TEST_F(ParallelTextFiles, AreTokenizedInTheirOrder) {
  const TextFiles files{{file("1.en", tiny_english()), file("2.en", {"the house", "the river"})},
                        {file("1.de", tiny_german()), file("2.de", {"das Haus", "das Fluss"})}};
  const LoadedText loaded = load(files);
  ASSERT_EQ(loaded.text.size(), tiny_english().size() + 2);
  EXPECT_EQ(loaded.left_out.total(), 0);
  size_t tokens = 0;
  for (size_t i = 0; i < tiny_english().size(); ++i) {
    EXPECT_EQ(ids_at(loaded.text.source, i), tokenizer.source().encode(tiny_english()[i]));
    EXPECT_EQ(ids_at(loaded.text.target, i), tokenizer.target().encode(tiny_german()[i]));
    tokens += loaded.text.source.length(i);
  }
  const size_t last = loaded.text.size() - 1;
  EXPECT_EQ(ids_at(loaded.text.source, last), tokenizer.source().encode("the river"));
  EXPECT_EQ(ids_at(loaded.text.target, last), tokenizer.target().encode("das Fluss"));
  tokens += loaded.text.source.length(last - 1) + loaded.text.source.length(last);
  EXPECT_EQ(loaded.text.source.total_tokens(), tokens);
}

TEST_F(ParallelTextFiles, AreTheSameWithAnyNumberOfWorkers) {
  // More than one block of the reader, and some pairs to leave out.
  const std::vector<std::string> words{"the", "red", "house", "is near", "old"};
  std::vector<std::string> english, german;
  for (size_t i = 0; i < 40'000; ++i) {
    english.push_back(i % 101 == 0 ? "" : words[i % 5]);
    german.push_back(words[i / 5 % 5] + " " + words[i / 25 % 5]);
  }
  const TextFiles files{{file("en", english)}, {file("de", german)}};
  const LoadedText one = load(files, {}, 1);
  const LoadedText three = load(files, {}, 3);
  EXPECT_EQ(one.left_out.empty, (40'000 + 100) / 101);
  EXPECT_EQ(three.left_out.empty, one.left_out.empty);
  ASSERT_EQ(three.text.size(), one.text.size());
  for (size_t i = 0; i < one.text.size(); ++i) {
    ASSERT_EQ(ids_at(three.text.source, i), ids_at(one.text.source, i));
    ASSERT_EQ(ids_at(three.text.target, i), ids_at(one.text.target, i));
  }
}

TEST_F(ParallelTextFiles, MustHaveEquallyManyLines) {
  const TextFiles first_is_longer{{file("en", {"a", "b", "c", "d", "e"})}, {file("de", {"a", "b", "c"})}};
  EXPECT_THAT(refusal(first_is_longer),
              AllOf(HasSubstr((folder / "en") + " has 5 lines"), HasSubstr((folder / "de") + " has 3")));
  const TextFiles second_is_longer{{file("en", {"a"})}, {file("de", {"a", "b", "c"})}};
  EXPECT_THAT(refusal(second_is_longer),
              AllOf(HasSubstr((folder / "en") + " has 1 line,"), HasSubstr((folder / "de") + " has 3")));
}

TEST_F(ParallelTextFiles, MustBeEqualFileByFile) {
  // Together they would be equal.
  const TextFiles files{{file("1.en", {"the", "the"}), file("2.en", {"the"})},
                        {file("1.de", {"das"}), file("2.de", {"das", "das"})}};
  EXPECT_THAT(refusal(files), AllOf(HasSubstr("1.en has 2 lines"), HasSubstr("1.de has 1")));
}

TEST_F(ParallelTextFiles, CountWhatIsLeftOutByReason) {
  const auto source_length = [&](const char* text) {
    return static_cast<int64_t>(tokenizer.source().encode(text).size());
  };
  const std::string longer = "the old bridge is closed.";
  LengthLimits limits;
  limits.source_tokens = source_length("the red house");
  limits.target_tokens = static_cast<int64_t>(tokenizer.target().encode("das rote Haus").size());
  ASSERT_GT(source_length(longer.c_str()), limits.source_tokens);
  const TextFiles files{
      {file("en", {"the red house", "", "the", " \t ", longer, "the", longer, "", "the red house"})},
      {file("de", {"das rote Haus", "das", "", "das", "das", "das grüne Haus ist geschlossen.",
                   "das grüne Haus ist geschlossen.", "das grüne Haus ist geschlossen.", "das rote Haus"})}};
  const LoadedText loaded = load(files, limits);
  EXPECT_EQ(loaded.left_out.empty, 4);
  EXPECT_EQ(loaded.left_out.long_source, 2) << "one of them also has a long target, and counts once";
  EXPECT_EQ(loaded.left_out.long_target, 1);
  EXPECT_EQ(loaded.left_out.total(), 7);
  EXPECT_EQ(loaded.text.size(), 2u) << "a sentence as long as the limit stays";
}

TEST_F(ParallelTextFiles, LeaveOutPairsWhoseSidesAreTooUnequal) {
  const auto length = [&](const std::string& text) { return tokenizer.source().encode(text).size(); };
  const std::string longer = "the old bridge is closed. the old bridge is closed.";
  LengthLimits limits;
  limits.ratio = static_cast<double>(length(longer)) / static_cast<double>(length("the"));
  const TextFiles files{{file("en", {longer, "the", "the old", longer})},
                        {file("de", {"the", longer, longer, longer})}};
  EXPECT_EQ(load(files, limits).left_out.total(), 0) << "as much as the limit is allowed, on either side";
  limits.ratio -= 0.01;
  const LoadedText loaded = load(files, limits);
  EXPECT_EQ(loaded.left_out.unequal, 2);
  EXPECT_EQ(loaded.left_out.total(), 2);
  EXPECT_EQ(loaded.text.size(), 2u);
}

TEST_F(ParallelTextFiles, MayBeTheColumnsOfATable) {
  const std::string table = file("text.tsv", {"the house\tdas Haus\tmore", "the river\tdas Fluss"});
  const LoadedText loaded = load({{TextFile(table, 0)}, {TextFile(table, 1)}});
  ASSERT_EQ(loaded.text.size(), 2u);
  EXPECT_EQ(ids_at(loaded.text.source, 1), tokenizer.source().encode("the river"));
  EXPECT_EQ(ids_at(loaded.text.target, 0), tokenizer.target().encode("das Haus"));
  EXPECT_THAT(refusal({{TextFile(table, 0)}, {TextFile(table, 2)}}),
              HasSubstr("text.tsv:2: a line must be source<tab>target"));
}

TEST_F(ParallelTextFiles, WithoutASourceArePlainTextWhoseLinesAreTargets) {
  const std::string path = file("plain", {"the red house is near.", "", "the old train", "the blue river is far."});
  const int64_t limit = static_cast<int64_t>(tokenizer.target().encode("the old train").size());
  const LoadedText loaded = load({{}, {path}}, {1, limit}, 2);
  EXPECT_EQ(loaded.left_out.empty, 1);
  EXPECT_EQ(loaded.left_out.long_target, 2);
  EXPECT_EQ(loaded.left_out.long_source, 0);
  ASSERT_EQ(loaded.text.size(), 1U);
  EXPECT_TRUE(loaded.text.is_plain());
  EXPECT_EQ(ids_at(loaded.text.target, 0), tokenizer.target().encode("the old train"));

  const Batch batch = make_batch(loaded.text, {0});
  EXPECT_EQ(batch.source.sizes(), torch::IntArrayRef({1, 0}));
  EXPECT_EQ(batch.source_tokens, 0);
  EXPECT_EQ(batch.target_tokens, limit + 1);
  EXPECT_EQ(batch.target_in[0][0].item<int64_t>(), special_ids::kBegin);
  EXPECT_EQ(batch.target_out[0][limit].item<int64_t>(), special_ids::kEnd);

  EXPECT_THAT(refusal({{}, {path}}, {1, 1}),
              AllOf(StartsWith(path),
                    HasSubstr("no usable line (1 empty, 3 of over 1 tokens); the limit is data.max_target_tokens")));
}

TEST_F(ParallelTextFiles, TakeNoMemoryForTheLinksOfPairsThatAreLeftOut) {
  std::string word;  // of thousands of pieces, whose product is the number of its links
  for (int i = 0; i < 3000; ++i) word += "thee"[i * i % 7 % 4];
  ASSERT_GT(tokenizer.source().encode(word).size(), 1500U);
  const AlignedFiles files{file("en", {"the house", word}), file("de", {"das Haus", word}),
                           file("align", {"0-0 1-1", "0-0"})};
  const auto most_kilobytes = [] {
    struct rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  WorkerCrew crew(1);
  std::vector<TokenizedPair> kept;
  const long before = most_kilobytes();
  const LeftOut left_out =
      tokenize_files(files, tokenizer, {}, crew, [&](const TokenizedPair& pair) { kept.push_back(pair); });
  EXPECT_LT(most_kilobytes() - before, 100'000);
  EXPECT_EQ(left_out.long_source, 1);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_FALSE(kept.front().links.empty());

  file("align", {"0-0 1-1", "0-1"});
  EXPECT_THAT(message_of<std::runtime_error>([&] { tokenize_files(files, tokenizer, {}, crew, [](auto&) {}); }),
              HasSubstr("align:2: 0-1: the target line has 1 words"))
      << "what is wrong with the alignment is said nevertheless";
}

TEST_F(ParallelTextFiles, OfSeveralLanguagesHaveTheTagOfTheirTargetBeforeTheirSources) {
  TokenizerOptions options = tiny_tokenizer_options();
  options.languages = {"de", "en"};
  const Tokenizer tagging = tiny_tokenizer(options);
  WorkerCrew crew(2);
  const TextFiles files{{file("1.en", {"the house", ""}), file("2.de", {"das Haus"})},
                        {file("1.de", {"das Haus", "das"}), file("2.en", {"the house"})},
                        {"en-de", "de-en"}};
  const LoadedText loaded = load_parallel_text(files, tagging, {}, crew);
  ASSERT_EQ(loaded.text.size(), 2U);
  EXPECT_EQ(loaded.left_out.empty, 1) << "a tag is no content";
  EXPECT_EQ(ids_at(loaded.text.source, 0), tagging.source().encode(">>de<< the house"));
  EXPECT_EQ(ids_at(loaded.text.source, 1), tagging.source().encode(">>en<< das Haus"));
  EXPECT_EQ(ids_at(loaded.text.target, 1), tagging.target().encode("the house"));
  EXPECT_EQ(tagging.source().piece(ids_at(loaded.text.source, 1).front()), ">>en<<");

  EXPECT_THAT(message_of<std::invalid_argument>([&] { load(files); }),
              HasSubstr("a vocabulary with tags such as >>de<<"));
  const TextFiles french{{folder / "1.en"}, {folder / "1.de"}, {"en-fr"}};
  EXPECT_THAT(message_of<std::invalid_argument>([&] { load_parallel_text(french, tagging, {}, crew); }),
              HasSubstr("no language \"fr\"; it has de, en"));
}

TEST_F(ParallelTextFiles, KeepTheirLinksBehindATag) {
  TokenizerOptions options = tiny_tokenizer_options();
  options.languages = {"de"};
  const Tokenizer tagging = tiny_tokenizer(options);
  WorkerCrew crew(1);
  const auto links_of = [&](const std::string& language) {
    const AlignedFiles files{file("en", {"the house"}), file("de", {"das Haus"}), file("align", {"0-0 1-1"}), language};
    Ids links;
    tokenize_files(files, tagging, {}, crew, [&](const TokenizedPair& pair) { links = pair.links; });
    return links;
  };
  Ids expected = links_of("");
  ASSERT_FALSE(expected.empty());
  for (size_t i = 1; i < expected.size(); i += 2) ++expected[i];  // the list is target, source, target, source
  EXPECT_EQ(links_of("de"), expected);
}

TEST_F(ParallelTextFiles, MustHoldSomethingUsable) {
  const TextFiles files{{file("en", {"", "the red house"})}, {file("de", {"das", "das"})}};
  LengthLimits limits;
  limits.source_tokens = 1;
  EXPECT_THAT(refusal(files, limits),
              AllOf(HasSubstr(folder / "en"), HasSubstr("no usable sentence pair"), HasSubstr("1 empty"),
                    HasSubstr("1 with a source over 1 tokens"), HasSubstr("data.max_source_tokens")));
  EXPECT_THAT(refusal({{file("en", {})}, {file("de", {})}}), HasSubstr("no usable sentence pair"));
}

TEST_F(ParallelTextFiles, MustBeNamedInPairs) {
  EXPECT_THROW(load({}), std::invalid_argument);
  EXPECT_THROW(load({{file("en", {"the"})}, {}}), std::invalid_argument);
}

TEST_F(ParallelTextFiles, NameTheLineThatIsNotUtf8) {
  const TextFiles files{{file("en", {"the", "th\xe9"})}, {file("de", {"das", "das"})}};
  EXPECT_THAT(refusal(files, {}, 2), StartsWith((folder / "en") + ":2:"));
}

TEST_F(ParallelTextFiles, GiveTheirLinesOneAfterTheOther) {
  const LineSource next = transmute::lines_of({file("1", {"a", "", "b"}), file("2", {}), file("3", {"c"})});
  std::vector<std::string> found;
  for (std::string line; next(line);) found.push_back(line);
  EXPECT_THAT(found, ElementsAre("a", "", "b", "c"));
}

}  // namespace
}  // namespace transmute
