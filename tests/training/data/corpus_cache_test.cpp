// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/corpora.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/training/data/corpus_cache.h>
#include <transmute/training/data/training_text.h>
#include <transmute/training/run_folder.h>

#include <climits>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;
using testing::all_pairs_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::names_in;
using testing::Pair;
using testing::pair_at;
using testing::read_text;
using ::testing::SizeIs;
using testing::TemporaryFolder;
using testing::tiny_english;
using testing::tiny_german;
using testing::tiny_tokenizer;
using testing::write_text;

class CorpusFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    write_lines("en", tiny_english());
    write_lines("de", tiny_german());
  }

  void write_lines(const std::string& name, const std::vector<std::string>& lines) const {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    write_text(folder / name, text);
  }

  std::shared_ptr<const TokenShards> open(const Tokenizer& with, const LengthLimits& limits = {}) const {
    CorpusCache cache(cache_folder);
    return open(cache, with, limits);
  }

  std::shared_ptr<const TokenShards> open(CorpusCache& cache, const Tokenizer& with,
                                          const LengthLimits& limits = {}) const {
    WorkerCrew crew(2);
    return cache.open({folder / "en", folder / "de", {}}, with, limits, crew);
  }

  // Folders of corpora.
  std::vector<std::string> corpora() const {
    std::vector<std::string> found;
    if (fs::exists(cache_folder))
      for (const auto& name : names_in(cache_folder))
        if (fs::is_directory(cache_folder + "/" + name)) found.push_back(cache_folder + "/" + name);
    return found;
  }

  void expect_whole(const TokenShards& shards) const {
    WorkerCrew crew(1);
    const LoadedText expected = load_parallel_text({{folder / "en"}, {folder / "de"}}, tokenizer, {}, crew);
    const std::vector<Pair> found = all_pairs_of(shards);
    ASSERT_EQ(found.size(), expected.text.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], pair_at(expected.text, i));
  }

  const TemporaryFolder folder;
  const std::string cache_folder = folder / "cache";
  const Tokenizer tokenizer = tiny_tokenizer();
};

TEST_F(CorpusFiles, AreTokenizedOnce) {
  expect_whole(*open(tokenizer));
  ASSERT_THAT(corpora(), SizeIs(1));
  const auto made = fs::last_write_time(corpora().front());
  // Would show if it were made again.
  write_text(corpora().front() + "/mark", "");
  expect_whole(*open(tokenizer));
  write_lines("en", tiny_english());  // another time, the same content
  expect_whole(*open(tokenizer));
  ASSERT_THAT(corpora(), SizeIs(1));
  EXPECT_TRUE(fs::exists(corpora().front() + "/mark"));
  EXPECT_GE(fs::last_write_time(corpora().front()), made);
}

TEST_F(CorpusFiles, AreTokenizedAnewWhereTextTokenizerOrLimitsChange) {
  open(tokenizer);
  std::vector<std::string> lines = tiny_english();
  lines.front() = "the end";
  write_lines("en", lines);
  expect_whole(*open(tokenizer));
  EXPECT_THAT(corpora(), SizeIs(2));

  TokenizerOptions other = testing::tiny_tokenizer_options();
  other.vocab_size = 60;
  const Tokenizer smaller = tiny_tokenizer(other);
  EXPECT_EQ(all_pairs_of(*open(smaller)).at(5).first, smaller.source().encode(lines[5]));
  EXPECT_THAT(corpora(), SizeIs(3));

  LengthLimits limits;
  limits.source_tokens = static_cast<int64_t>(tokenizer.source().encode("the end").size());
  const auto short_only = open(tokenizer, limits);
  EXPECT_THAT(corpora(), SizeIs(4));
  EXPECT_EQ(short_only->size() + static_cast<size_t>(short_only->counts().left_out.long_source), lines.size());
  EXPECT_LT(short_only->size(), lines.size());
}

TEST_F(CorpusFiles, OfPlainTextComeBackFromTheirCache) {
  WorkerCrew crew(2);
  CorpusCache cache(folder / "plain_cache");
  const auto made = cache.open({"", folder / "de", ""}, tokenizer, {}, crew);
  const auto again = cache.open({"", folder / "de", ""}, tokenizer, {}, crew);
  EXPECT_EQ(made->key(), again->key());
  EXPECT_NE(made->key(), cache.open({folder / "de", folder / "de", ""}, tokenizer, {}, crew)->key());
  const LoadedText expected = load_parallel_text({{}, {folder / "de"}}, tokenizer, {}, crew);
  const std::vector<Pair> pairs = all_pairs_of(*again);
  ASSERT_EQ(pairs.size(), expected.text.size());
  for (size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(pairs[i], pair_at(expected.text, i));
}

TEST_F(CorpusFiles, AreTokenizedAgainWhereTheCacheIsDamaged) {
  open(tokenizer);
  const std::string corpus = corpora().front();
  for (const char* name : {"/00000.tokens", "/index.json"}) {
    fs::resize_file(corpus + name, 20);
    expect_whole(*open(tokenizer));
    fs::remove(corpus + name);
    fs::create_directory(corpus + name);
    expect_whole(*open(tokenizer));
  }
  fs::remove_all(corpus);
  write_text(corpus, "a file");
  expect_whole(*open(tokenizer));
  write_text(cache_folder + "/contents.json", "[");
  expect_whole(*open(tokenizer));
}

TEST_F(CorpusFiles, LeaveNothingWhereTheyDoNotFit) {
  write_lines("de", {"das Haus"});
  EXPECT_THROW(open(tokenizer), std::runtime_error);
  EXPECT_THAT(corpora(), IsEmpty());
  fs::remove(folder / "de");
  EXPECT_THAT(message_of<std::runtime_error>([&] { open(tokenizer); }),
              HasSubstr((folder / "de") + ": cannot be opened"));
}

TEST_F(CorpusFiles, AreNotTakenFromWhatACrashLeftBehind) {
  open(tokenizer);
  const std::string corpus = corpora().front();
  const std::string partial = corpus + ".partial-0123abcd";
  fs::rename(corpus, partial);
  fs::remove(partial + "/index.json");
  expect_whole(*open(tokenizer));
  EXPECT_THAT(corpora(), ::testing::ElementsAre(corpus));
}

TEST_F(CorpusFiles, MayHaveNamesOfAnyLength) {
  const std::string name(NAME_MAX, 'n');
  fs::rename(folder / "en", folder / name);
  WorkerCrew crew(1);
  CorpusCache cache(cache_folder);
  const auto made = cache.open({folder / name, folder / "de", {}}, tokenizer, {}, crew);
  EXPECT_EQ(made->size(), tiny_english().size());
}

TEST_F(CorpusFiles, MayBeKeptInTheFolderOfARunThatHasItsLock) {
  open(tokenizer);
  ASSERT_FALSE(fs::exists(cache_folder + "/lock")) << "the run's, for which the cache would wait";
  const auto lock = RunFolder(cache_folder).lock();
  expect_whole(*open(tokenizer));
}

TEST_F(CorpusFiles, AreHashedBeforeTheyAreOpenedAndNotedOnce) {
  std::vector<AlignedFiles> all;
  for (const std::string number : {"1", "2", "3"}) {
    for (const std::string side : {"en", "de"}) write_lines(side + number, {side + number});
    all.push_back({folder / ("en" + number), folder / ("de" + number), {}});
  }
  const std::string contents = cache_folder + "/contents.json", first = folder / "first";
  WorkerCrew crew(1);
  CorpusCache cache(cache_folder);
  cache.hash_contents(all);
  fs::create_hard_link(contents, first);
  for (const AlignedFiles& files : all) cache.open(files, tokenizer, {}, crew);
  EXPECT_TRUE(fs::equivalent(contents, first)) << "it was written again";
}

TEST_F(CorpusFiles, OfSeveralProcessesAreNotedTogether) {
  WorkerCrew crew(1);
  CorpusCache one(cache_folder), other(cache_folder);
  one.open({"", folder / "en", ""}, tokenizer, {}, crew);
  other.open({"", folder / "de", ""}, tokenizer, {}, crew);
  write_lines("more", {"the house"});
  one.open({"", folder / "more", ""}, tokenizer, {}, crew);
  const std::string contents = read_text(cache_folder + "/contents.json");
  for (const char* name : {"en", "de", "more"}) EXPECT_THAT(contents, HasSubstr((folder / name) + "\""));
}

TEST_F(CorpusFiles, AreMadeByOneOfSeveralAtOnce) {
  std::vector<std::shared_ptr<const TokenShards>> found(4);
  std::vector<std::thread> threads;
  for (auto& shards : found) threads.emplace_back([&] { shards = open(tokenizer); });
  for (auto& thread : threads) thread.join();
  for (const auto& shards : found) expect_whole(*shards);
  EXPECT_THAT(corpora(), SizeIs(1));
}

TEST_F(CorpusFiles, OfOtherTextsAreRemovedFromACacheOfTheirOwn) {
  open(tokenizer);
  const std::string old = corpora().front();
  write_lines("en", tiny_german());
  fs::create_directory(cache_folder + "/mine");
  CorpusCache cache(cache_folder);
  open(cache, tokenizer);
  cache.remove_others();
  EXPECT_THAT(corpora(), SizeIs(2));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(cache_folder + "/mine")) << "what is no corpus is not touched";
}

TEST_F(CorpusFiles, HaveAFingerprintOfTextWeightsAndSampling) {
  const auto shards = open(tokenizer);
  const uint64_t plain = TrainingText({{shards}}).fingerprint();
  EXPECT_EQ(TrainingText({{open(tokenizer)}}).fingerprint(), plain);
  TrainingText sampled({{shards}});
  sampled.sample_subwords(tokenizer, {0, 0.1}, {});
  write_lines("en", tiny_german());
  EXPECT_THAT(std::set<uint64_t>({plain, TrainingText({{shards}, {shards}}).fingerprint(),
                                  TrainingText({{shards, 2}}).fingerprint(), sampled.fingerprint(),
                                  TrainingText({{open(tokenizer)}}).fingerprint()}),
              SizeIs(5));
}

class SampledText : public CorpusFiles {
 protected:
  // The text of each pair in an epoch, by its German line.
  std::map<std::string, Pair> pairs_of(const TrainingText& text, int64_t epoch) const {
    std::map<std::string, Pair> pairs;
    const Epoch::Window window = Epoch(text, 100, 1, epoch).window(0);
    for (size_t i = 0; i < window.text.size(); ++i) {
      const Pair pair = pair_at(window.text, i);
      pairs[tokenizer.target().decode(pair.second)] = pair;
    }
    return pairs;
  }
};

TEST_F(SampledText, HasOtherSegmentationsInEachEpoch) {
  TrainingText text({{open(tokenizer)}});
  text.sample_subwords(tokenizer, {0.3, 0}, {});
  const auto first = pairs_of(text, 0), second = pairs_of(text, 1);
  ASSERT_EQ(first.size(), tiny_german().size());
  int changed = 0, other_than_tokenizers = 0;
  for (size_t i = 0; i < tiny_english().size(); ++i) {
    const Pair& pair = first.at(tiny_german()[i]);
    EXPECT_EQ(tokenizer.source().decode(pair.first), tiny_english()[i]);
    EXPECT_EQ(pair.second, tokenizer.target().encode(tiny_german()[i])) << "of this side none are drawn";
    changed += pair.first != second.at(tiny_german()[i]).first ? 1 : 0;
    other_than_tokenizers += pair.first != tokenizer.source().encode(tiny_english()[i]) ? 1 : 0;
  }
  EXPECT_GT(changed, 80);
  EXPECT_GT(other_than_tokenizers, 80);
  EXPECT_EQ(pairs_of(text, 0), first);
}

TEST_F(SampledText, IsAugmentedAnewInEachEpoch) {
  const TrainingText plain({{open(tokenizer)}});
  TrainingText text({{open(tokenizer)}});
  text.augment(tokenizer, augmentations_of({"punctuation"}), {});
  EXPECT_NE(text.fingerprint(), plain.fingerprint());
  const auto first = pairs_of(text, 0), second = pairs_of(text, 1);
  EXPECT_EQ(pairs_of(text, 0), first);
  EXPECT_NE(first, second);
  size_t changed = 0;
  for (const auto& [line, pair] : first) changed += line.back() == '.' ? 0 : 1;
  EXPECT_GT(changed, 0U);
  EXPECT_LT(changed, tiny_german().size() / 4);
}

TEST_F(SampledText, KeepsTheLimitsOfLength) {
  LengthLimits limits;
  limits.source_tokens = 0;
  for (const auto& line : tiny_english())
    limits.source_tokens =
        std::max<int64_t>(limits.source_tokens, static_cast<int64_t>(tokenizer.source().encode(line).size()));
  TrainingText text({{open(tokenizer, limits)}});
  text.sample_subwords(tokenizer, {0.9, 0.9}, limits);
  for (const auto& [line, pair] : pairs_of(text, 0))
    EXPECT_LE(static_cast<int64_t>(pair.first.size()), limits.source_tokens);
}

}  // namespace
}  // namespace transmute
