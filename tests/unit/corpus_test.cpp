// Text that need not fit into memory: its cache, the order of an epoch, and the batches that threads prepare of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/model/libtorch.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <transmute/common/hash.h>
#include <transmute/common/random.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/token_lists.h>
#include <transmute/training/batch_stream.h>
#include <transmute/training/corpus_cache.h>

namespace transmute {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ids_at;
using ::testing::IsEmpty;
using testing::message_of;
using testing::names_in;
using testing::read_text;
using ::testing::SizeIs;
using testing::TemporaryFolder;
using testing::tiny_english;
using testing::tiny_german;
using testing::tiny_tokenizer;
using testing::write_text;
using Pair = std::pair<Ids, Ids>;

constexpr uint64_t kKey = 77;

Pair pair_at(const ParallelText& text, size_t i) {
  return {ids_at(text.source, i), ids_at(text.target, i)};
}

// Of a few tokens each, which tell the pair.
Pair made_pair(size_t i) {
  const auto low = static_cast<int64_t>(i % 60'000), high = static_cast<int64_t>(i / 60'000);
  Pair pair{{low, high}, {high, low}};
  pair.first.resize(2 + i % 5, 9);
  pair.second.resize(2 + mix_bits(i) % 7, 9);
  return pair;
}

size_t number_of(const Pair& pair) {
  return static_cast<size_t>(pair.first[0] + 60'000 * pair.first[1]);
}

// Made pairs in `folder`, which this makes.
std::shared_ptr<const TokenShards> made_shards(const std::string& folder, size_t pairs, ShardOptions options = {}) {
  fs::create_directories(folder);
  options.key = kKey;
  ShardWriter writer(folder, options);
  for (size_t i = 0; i < pairs; ++i) writer.add({made_pair(i).first, made_pair(i).second, {}});
  writer.finish({1, 2, 3});
  return std::make_shared<TokenShards>(folder, kKey);
}

std::vector<Pair> all_pairs_of(const TokenShards& shards) {
  std::vector<MappedPair> mapped;
  for (size_t block = 0; block < shards.blocks(); ++block) shards.read_block(block, mapped);
  ParallelText text;
  for (const auto& pair : mapped) shards.copy(pair, text);
  std::vector<Pair> pairs;
  for (size_t i = 0; i < text.size(); ++i) pairs.push_back(pair_at(text, i));
  return pairs;
}

void flip(const std::string& path, size_t place) {
  std::string bytes = read_text(path);
  bytes.at(place) = static_cast<char>(bytes[place] ^ 1);
  write_text(path, bytes);
}

TEST(TokenShards, HoldWhatWasWritten) {
  const TemporaryFolder folder;
  for (const int token_bytes : {2, 4})
    for (const size_t pairs : {0, 1, 63, 64, 65, 128, 129, 400}) {
      ShardOptions options;
      options.token_bytes = token_bytes;
      options.pairs_per_shard = 128;
      const auto shards =
          made_shards(folder / (std::to_string(token_bytes) + "-" + std::to_string(pairs)), pairs, options);
      ASSERT_EQ(shards->size(), pairs);
      EXPECT_EQ(shards->counts().left_out.long_source, 2);
      const std::vector<Pair> found = all_pairs_of(*shards);
      ASSERT_EQ(found.size(), pairs);
      int64_t source_tokens = 0;
      for (size_t i = 0; i < pairs; ++i) {
        EXPECT_EQ(found[i], made_pair(i)) << i;
        source_tokens += static_cast<int64_t>(found[i].first.size());
      }
      EXPECT_EQ(shards->counts().source_tokens, source_tokens);
      shards->release();
      EXPECT_EQ(all_pairs_of(*shards), found) << "what is released is read again";
    }
}

TEST(TokenShards, HoldIdsOfMoreThanTwoBytes) {
  const TemporaryFolder folder;
  ShardOptions options;
  options.key = kKey;
  ShardWriter writer(folder.path(), options);
  writer.add({{70'000, 5}, {1'000'000}, {}});
  writer.finish({});
  EXPECT_EQ(all_pairs_of(TokenShards(folder.path(), kKey)), (std::vector<Pair>{{{70'000, 5}, {1'000'000}}}));
}

TEST(TokenShards, HoldLinksOfAnyNumber) {
  const TemporaryFolder folder;
  ShardOptions options;
  options.key = kKey;
  options.has_links = true;
  const auto links_of = [](size_t i) { return Ids(2 * (i % 4), static_cast<int64_t>(i)); };
  ShardWriter writer(folder.path(), options);
  for (size_t i = 0; i < 150; ++i) writer.add({made_pair(i).first, made_pair(i).second, links_of(i)});
  writer.finish({});
  const TokenShards shards(folder.path(), kKey);
  EXPECT_TRUE(shards.has_links());
  std::vector<MappedPair> mapped;
  for (size_t block = 0; block < shards.blocks(); ++block) shards.read_block(block, mapped);
  ParallelText text;
  for (const auto& pair : mapped) shards.copy(pair, text);
  ASSERT_EQ(text.links.size(), 150U);
  for (size_t i = 0; i < 150; ++i) {
    EXPECT_EQ(pair_at(text, i), made_pair(i)) << i;
    EXPECT_EQ(ids_at(text.links, i), links_of(i)) << i;
  }
}

TEST(TokenShards, NameTheFileThatIsNotAsItWasWritten) {
  const TemporaryFolder folder;
  ShardOptions options;
  options.pairs_per_shard = 128;
  made_shards(folder / "whole", 300, options);
  const std::string text = folder / "text", shard = text + "/00001.tokens", index = text + "/index.json";
  const auto refusal = [&](const std::function<void()>& damage) {
    fs::remove_all(text);
    fs::copy(folder / "whole", text);
    damage();
    return message_of<DamagedShards>([&] { TokenShards(text, kKey); });
  };
  EXPECT_THAT(refusal([&] { fs::remove(shard); }), HasSubstr(shard));
  EXPECT_THAT(refusal([&] { fs::resize_file(shard, fs::file_size(shard) - 1); }), HasSubstr(shard));
  EXPECT_THAT(refusal([&] { fs::resize_file(shard, 10); }), HasSubstr(shard));
  EXPECT_THAT(refusal([&] { write_text(shard, read_text(shard) + "x"); }), HasSubstr(shard));
  EXPECT_THAT(refusal([&] { flip(shard, fs::file_size(shard) - 70); }), HasSubstr(shard)) << "in the table";
  EXPECT_THAT(refusal([&] { fs::copy_file(text + "/00002.tokens", shard, fs::copy_options::overwrite_existing); }),
              HasSubstr(shard));
  EXPECT_THAT(refusal([&] { fs::remove(index); }), HasSubstr(index));
  EXPECT_THAT(refusal([&] { write_text(index, "{"); }), HasSubstr(index));
  EXPECT_THAT(message_of<DamagedShards>([&] { TokenShards(folder / "whole", kKey + 1); }),
              HasSubstr("made from something else"));
}

TEST(TokenShards, NameTheShardOfADamagedBlockWhenItIsRead) {
  const TemporaryFolder folder;
  const std::string text = folder / "text";
  ShardOptions options;
  options.pairs_per_shard = 128;
  made_shards(text, 300, options);
  flip(text + "/00001.tokens", 5);
  const TokenShards shards(text, kKey);
  std::vector<MappedPair> pairs;
  for (const size_t block : {0, 1, 3, 4}) EXPECT_NO_THROW(shards.read_block(block, pairs)) << block;
  EXPECT_THAT(message_of<DamagedShards>([&] { shards.read_block(2, pairs); }),
              AllOf(HasSubstr(text + "/00001.tokens"), HasSubstr("remove the folder " + text)));
}

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
  }
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
  fs::rename(corpus, corpus + ".partial");
  fs::remove(corpus + ".partial/index.json");
  expect_whole(*open(tokenizer));
  EXPECT_THAT(corpora(), ::testing::ElementsAre(corpus));
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

// How often each pair number is seen, by its tokens.
std::map<size_t, int> seen_in(const Epoch& epoch) {
  std::map<size_t, int> seen;
  for (int64_t w = 0; w < epoch.windows(); ++w) {
    const TextWindow window = epoch.window(w);
    for (const auto& batch : window.batches)
      for (const size_t place : batch) {
        const Pair pair = pair_at(window.text, place);
        EXPECT_EQ(pair, made_pair(number_of(pair)));
        ++seen[number_of(pair)];
      }
  }
  return seen;
}

uint64_t order_of(const Epoch& epoch) {
  uint64_t hash = 0;
  for (int64_t w = 0; w < epoch.windows(); ++w) {
    const TextWindow window = epoch.window(w);
    for (const auto& batch : window.batches) {
      for (const size_t place : batch) hash = combine_keys(hash, number_of(pair_at(window.text, place)));
      hash = mix_bits(hash);
    }
  }
  return hash;
}

TEST(EpochOfASmallText, IsInTheOrderOfATextInMemory) {
  const TemporaryFolder folder;
  const TrainingText text({{made_shards(folder / "a", 1000)}, {made_shards(folder / "b", 70)}});
  ParallelText in_memory;
  for (const size_t pairs : {1000, 70})
    for (size_t i = 0; i < pairs; ++i) {
      in_memory.source.add(made_pair(i).first);
      in_memory.target.add(made_pair(i).second);
    }
  const Epoch epoch(text, 200, 5, 3);
  ASSERT_EQ(epoch.windows(), 1);
  EXPECT_EQ(text.size(), 1070u);
  const TextWindow window = epoch.window(0);
  EXPECT_EQ(window.batches, epoch_batches(in_memory, 200, 5, 3));
  ASSERT_EQ(window.text.size(), in_memory.size());
  for (size_t i = 0; i < in_memory.size(); ++i) EXPECT_EQ(pair_at(window.text, i), pair_at(in_memory, i));
}

class LargeText : public ::testing::Test {
 protected:
  static constexpr size_t kPairs = 300'001;
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ShardOptions options;
    options.pairs_per_shard = 1 << 17;
    options.token_bytes = 2;
    made_shards(*folder_ / "text", kPairs, options);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static TrainingText text_in(const std::string& folder) {
    return TrainingText({{std::make_shared<TokenShards>(folder, kKey)}});
  }

  static std::unique_ptr<TemporaryFolder> folder_;
  const TrainingText text_ = text_in(*folder_ / "text");
};
std::unique_ptr<TemporaryFolder> LargeText::folder_;

TEST_F(LargeText, IsSeenOnceInAnEpoch) {
  const Epoch epoch(text_, 20'000, 5, 0);
  EXPECT_EQ(epoch.windows(), 2);
  EXPECT_EQ(text_.windows(), 2);
  const auto seen = seen_in(epoch);
  EXPECT_EQ(seen.size(), kPairs);
  for (const auto& [number, times] : seen) ASSERT_EQ(times, 1) << number;
}

TEST_F(LargeText, HasPairsFromEverywhereInEachWindow) {
  const Epoch epoch(text_, 20'000, 5, 0);
  const TextWindow window = epoch.window(0);
  std::vector<int> tenths(10);
  for (size_t i = 0; i < window.text.size(); ++i) ++tenths[number_of(pair_at(window.text, i)) * 10 / kPairs];
  // Blocks of 64: five standard deviations of drawing half of a tenth's 469 blocks.
  for (const int count : tenths) EXPECT_NEAR(count, kPairs / 20.0, 64 * 5 * std::sqrt(469 / 4.0));
}

// The order is a contract: resumed runs rely on it. Whoever changes it raises kStateVersion in checkpoint.cpp. The
// numbers come from a program of their own that was written from the description.
TEST_F(LargeText, IsInTheSameOrderWithEveryVersion) {
  EXPECT_EQ(order_of(Epoch(text_, 20'000, 5, 0)), 7245667721598202708u);
  const TrainingText small({{made_shards(*folder_ / "small", 1000)}});
  EXPECT_EQ(order_of(Epoch(small, 200, 5, 0)), 11706678377047367606u);
}

TEST_F(LargeText, IsInAnotherOrderInEachEpochAndWithEachSeed) {
  const uint64_t first = order_of(Epoch(text_, 20'000, 5, 0));
  EXPECT_EQ(order_of(Epoch(text_, 20'000, 5, 0)), first);
  EXPECT_NE(order_of(Epoch(text_, 20'000, 5, 1)), first);
  EXPECT_NE(order_of(Epoch(text_, 20'000, 6, 0)), first);
}

TEST(WeightedCorpora, AreSeenAsOftenAsTheirWeightsSay) {
  const TemporaryFolder folder;
  constexpr size_t kFirst = 5000, kSecond = 3000;
  // The second one's pairs have numbers behind the first one's.
  fs::create_directories(folder / "b");
  ShardOptions options;
  options.key = kKey;
  ShardWriter writer(folder / "b", options);
  for (size_t i = kFirst; i < kFirst + kSecond; ++i) writer.add({made_pair(i).first, made_pair(i).second, {}});
  writer.finish({});
  const TrainingText text({{made_shards(folder / "a", kFirst), 2.25},
                           {std::make_shared<TokenShards>(folder / "b", kKey), 0.5},
                           {made_shards(folder / "c", 100), 0}});
  std::set<size_t> third_time[2];
  for (int64_t e = 0; e < 2; ++e) {
    const auto seen = seen_in(Epoch(text, 500, 1, e));
    double first = 0, second = 0;
    for (const auto& [number, times] : seen) {
      if (number < kFirst) {
        first += times;
        EXPECT_TRUE(times == 2 || times == 3) << number;
        if (times == 3) third_time[e].insert(number);
      } else {
        second += times;
        EXPECT_EQ(times, 1) << number;
      }
    }
    EXPECT_NEAR(first, 2.25 * kFirst, 5 * std::sqrt(kFirst * 0.25 * 0.75));
    EXPECT_NEAR(second, 0.5 * kSecond, 5 * std::sqrt(kSecond * 0.25));
  }
  size_t both = 0;
  for (const size_t number : third_time[0]) both += third_time[1].count(number);
  EXPECT_NEAR(static_cast<double>(both), kFirst / 16.0, 5 * std::sqrt(kFirst / 16.0)) << "each epoch draws anew";
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
    const TextWindow window = Epoch(text, 100, 1, epoch).window(0);
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

// What is trained on, as one number.
uint64_t hash_of(const PreparedBatch& batch) {
  uint64_t hash = combine_keys(static_cast<uint64_t>(batch.source_tokens), batch.target_tokens, batch.next.epoch,
                               batch.next.window, batch.next.batch);
  for (const auto& piece : batch.pieces)
    for (const auto& tensor : {piece.source, piece.target_in, piece.target_out})
      hash = hash_bytes(tensor.data_ptr<int64_t>(), static_cast<size_t>(tensor.numel()) * sizeof(int64_t), hash);
  return hash;
}

BatchStreamOptions stream_options(int64_t threads) {
  BatchStreamOptions options;
  options.batch_tokens = 20'000;
  options.piece_tokens = 3000;
  options.workers = 2;
  options.prefetch_threads = threads;
  return options;
}

// Batches of two epochs and a little more.
std::vector<PreparedBatch> read_batches(BatchStream& stream) {
  std::vector<PreparedBatch> batches;
  do {
    batches.push_back(stream.next());
  } while (batches.back().next.epoch < 2 || batches.back().next.batch < 3);
  return batches;
}

TEST_F(LargeText, GivesTheSameBatchesWithAnyNumberOfThreads) {
  std::vector<uint64_t> expected;
  for (const int64_t threads : {0, 1, 4}) {
    BatchStream stream(text_, stream_options(threads), {});
    std::vector<uint64_t> found;
    for (const auto& batch : read_batches(stream)) found.push_back(hash_of(batch));
    EXPECT_GT(found.size(), 100u);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << threads << " threads";
  }
}

TEST_F(LargeText, GoesOnFromACursor) {
  BatchStream whole(text_, stream_options(1), {});
  const auto batches = read_batches(whole);
  const auto per_window = batches.size() / 4;
  for (const size_t done : {size_t{1}, per_window - 1, per_window + 3, 2 * per_window + 5, batches.size() - 3}) {
    BatchStream rest(text_, stream_options(2), batches[done - 1].next);
    for (size_t i = done; i < std::min(done + 3, batches.size()); ++i)
      EXPECT_EQ(hash_of(rest.next()), hash_of(batches[i])) << "batch " << i << " after " << done;
  }
  double last = 0;
  for (const auto& batch : batches) {
    EXPECT_GE(batch.epoch_done, batch.next.window == 0 && batch.next.batch == 0 ? 0 : last);
    EXPECT_LT(batch.epoch_done, 1);
    last = batch.epoch_done;
  }
}

TEST_F(LargeText, IsDealtOutToRanks) {
  constexpr int64_t kRanks = 3;
  BatchStream alone(text_, stream_options(1), {});
  std::vector<std::unique_ptr<BatchStream>> streams;
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    BatchStreamOptions options = stream_options(rank);
    options.rank = rank;
    options.ranks = kRanks;
    streams.push_back(std::make_unique<BatchStream>(text_, options, BatchCursor{}));
  }
  for (int64_t i = 0; i < 100; ++i) {
    const PreparedBatch expected = alone.next();
    for (int64_t rank = 0; rank < kRanks; ++rank) {
      const PreparedBatch found = streams[static_cast<size_t>(rank)]->next();
      EXPECT_EQ(found.target_tokens, expected.target_tokens);
      EXPECT_EQ(found.source_tokens, expected.source_tokens);
      EXPECT_EQ(found.next.batch, expected.next.batch);
      if (i % kRanks == rank) {
        EXPECT_EQ(hash_of(found), hash_of(expected));
      } else {
        EXPECT_THAT(found.pieces, IsEmpty());
      }
    }
  }
}

TEST_F(LargeText, HandsOnWhatGoesWrongInAThread) {
  const TemporaryFolder copy;
  fs::copy(*folder_ / "text", copy / "text");
  // In a block of the second window.
  const std::string shard = copy / "text/00001.tokens";
  const TrainingText text = text_in(copy / "text");
  const TextWindow first = Epoch(text, 20'000, 1, 0).window(0);
  std::set<size_t> of_first;
  for (size_t i = 0; i < first.text.size(); ++i) of_first.insert(number_of(pair_at(first.text, i)));
  size_t block = (1 << 17) / kBlockPairs;
  while (of_first.count(block * kBlockPairs) > 0) ++block;
  std::vector<MappedPair> pairs;
  const TokenShards shards(copy / "text", kKey);
  shards.read_block((1 << 17) / kBlockPairs, pairs);
  const uint8_t* begin = pairs[0].source;
  shards.read_block(block, pairs);
  flip(shard, static_cast<size_t>(pairs[kBlockPairs].source - begin) + 2 * kBlockPairs * sizeof(uint16_t));
  const TrainingText damaged = text_in(copy / "text");
  for (const int64_t threads : {0, 1, 4}) {
    BatchStream stream(damaged, stream_options(threads), {});
    for (size_t i = 0; i < first.batches.size(); ++i) ASSERT_NO_THROW(stream.next()) << i;
    EXPECT_THAT(message_of<DamagedShards>([&] { stream.next(); }), HasSubstr(shard)) << threads << " threads";
    EXPECT_THROW(stream.next(), DamagedShards);
  }
}

TEST_F(LargeText, RefusesACursorBehindItsEnd) {
  EXPECT_THROW(BatchStream(text_, stream_options(1), {0, 0, 100'000}), std::runtime_error);
  EXPECT_THROW(BatchStream(text_, stream_options(1), {0, 2, 1}), std::runtime_error);
  BatchStream next_epoch(text_, stream_options(1), {0, 2, 0});  // where all windows are done
  EXPECT_EQ(next_epoch.next().next.epoch, 1);
}

TEST(BatchStream, SaysWhereNothingIsDrawn) {
  const TemporaryFolder folder;
  const TrainingText text({{made_shards(folder / "a", 1), 1e-9}});
  EXPECT_THAT(message_of<std::runtime_error>([&] { BatchStream(text, stream_options(1), {}); }), HasSubstr("weights"));
}

}  // namespace
}  // namespace transmute
