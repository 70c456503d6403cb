#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/model/libtorch.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <transmute/common/random.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/pieces.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/tests/support/token_lists.h>
#include <transmute/training/batcher.h>
#include <transmute/training/checkpoint.h>
#include <transmute/training/parallel_text.h>
#include <transmute/training/word_links.h>

namespace transmute {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ids_at;
using ::testing::IsEmpty;
using testing::message_of;
using testing::names_in;
using testing::read_text;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::tiny_config;
using testing::tiny_english;
using testing::tiny_german;
using testing::tiny_tokenizer;
using testing::tiny_transformer;
using testing::words_of_pieces;
using testing::write_text;
using Batches = std::vector<std::vector<size_t>>;

constexpr int64_t kEnd = special_ids::kEnd;

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
  EXPECT_THAT(message_of<std::runtime_error>([&] { load(first_is_longer); }),
              AllOf(HasSubstr((folder / "en") + " has 5 lines"), HasSubstr((folder / "de") + " has 3")));
  const TextFiles second_is_longer{{file("en", {"a"})}, {file("de", {"a", "b", "c"})}};
  EXPECT_THAT(message_of<std::runtime_error>([&] { load(second_is_longer); }),
              AllOf(HasSubstr((folder / "en") + " has 1 lines"), HasSubstr((folder / "de") + " has 3")));
}

TEST_F(ParallelTextFiles, MustBeEqualFileByFile) {
  // Together they would be equal.
  const TextFiles files{{file("1.en", {"the", "the"}), file("2.en", {"the"})},
                        {file("1.de", {"das"}), file("2.de", {"das", "das"})}};
  EXPECT_THAT(message_of<std::runtime_error>([&] { load(files); }),
              AllOf(HasSubstr("1.en has 2 lines"), HasSubstr("1.de has 1")));
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

  EXPECT_THAT(message_of<std::runtime_error>([&] {
                load({{}, {path}}, {1, 1});
              }),
              AllOf(StartsWith(path), HasSubstr("no usable line (1 empty, 3 of over 1 tokens)")));
}

TEST_F(ParallelTextFiles, MustHoldSomethingUsable) {
  const TextFiles files{{file("en", {"", "the red house"})}, {file("de", {"das", "das"})}};
  LengthLimits limits;
  limits.source_tokens = 1;
  EXPECT_THAT(message_of<std::runtime_error>([&] { load(files, limits); }),
              AllOf(HasSubstr(folder / "en"), HasSubstr("no usable sentence pair"), HasSubstr("1 empty"),
                    HasSubstr("1 with a source over 1 tokens")));
  EXPECT_THAT(message_of<std::runtime_error>([&] {
                load({{file("en", {})}, {file("de", {})}});
              }),
              HasSubstr("no usable sentence pair"));
}

TEST_F(ParallelTextFiles, MustBeNamedInPairs) {
  EXPECT_THROW(load({}), std::invalid_argument);
  EXPECT_THROW(load({{file("en", {"the"})}, {}}), std::invalid_argument);
}

TEST_F(ParallelTextFiles, NameTheLineThatIsNotUtf8) {
  const TextFiles files{{file("en", {"the", "th\xe9"})}, {file("de", {"das", "das"})}};
  EXPECT_THAT(message_of<std::runtime_error>([&] { load(files, {}, 2); }), StartsWith((folder / "en") + ":2:"));
}

TEST_F(ParallelTextFiles, GiveTheirLinesOneAfterTheOther) {
  const LineSource next = transmute::lines_of({file("1", {"a", "", "b"}), file("2", {}), file("3", {"c"})});
  std::vector<std::string> found;
  for (std::string line; next(line);) found.push_back(line);
  EXPECT_THAT(found, ElementsAre("a", "", "b", "c"));
}

// Pairs with lengths like those of real text, some of them without content on one side. Token ids tell the pair
// and the place.
ParallelText made_text(size_t pairs, uint64_t key) {
  ParallelText text;
  for (size_t i = 0; i < pairs; ++i) {
    Ids source, target;
    for (uint64_t k = mix_bits(key + i) % 30; k > 0; --k) source.push_back(static_cast<int64_t>(100 * i + k));
    for (uint64_t k = source.size() / 2 + mix_bits(key + i + 7777) % 20; k > 0; --k)
      target.push_back(static_cast<int64_t>(100 * i + 50 + k));
    text.source.add(source);
    text.target.add(target);
  }
  return text;
}

int64_t padded_tokens(const TokenLists& lists, const std::vector<size_t>& pairs) {
  int64_t longest = 0;
  for (const size_t pair : pairs) longest = std::max(longest, static_cast<int64_t>(lists.length(pair)) + 1);
  return longest * static_cast<int64_t>(pairs.size());
}

std::vector<size_t> sorted_pairs(const Batches& batches) {
  std::vector<size_t> pairs;
  for (const auto& batch : batches) pairs.insert(pairs.end(), batch.begin(), batch.end());
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

std::vector<size_t> all_pairs(size_t count) {
  std::vector<size_t> pairs(count);
  std::iota(pairs.begin(), pairs.end(), size_t{0});
  return pairs;
}

TEST(EpochBatches, HoldEachPairExactlyOnce) {
  const ParallelText text = made_text(997, 1);
  for (const int64_t batch_tokens : {1, 60, 500, 1'000'000})
    for (int64_t epoch = 0; epoch < 3; ++epoch)
      EXPECT_EQ(sorted_pairs(epoch_batches(text, batch_tokens, 5, epoch)), all_pairs(997));
}

TEST(EpochBatches, KeepTheTokenLimitOnBothSides) {
  const ParallelText text = made_text(997, 2);
  for (const int64_t batch_tokens : {59, 359})  // one less than what many shapes have
    for (const auto& batch : epoch_batches(text, batch_tokens, 5, 0)) {
      EXPECT_FALSE(batch.empty());
      EXPECT_LE(padded_tokens(text.source, batch), batch_tokens);
      EXPECT_LE(padded_tokens(text.target, batch), batch_tokens);
    }
}

TEST(EpochBatches, WasteLittleOnPadding) {
  const ParallelText text = made_text(5000, 3);
  int64_t padded = 0;
  for (const auto& batch : epoch_batches(text, 1000, 5, 0)) padded += padded_tokens(text.target, batch);
  const int64_t needed = static_cast<int64_t>(text.target.total_tokens() + text.target.size());
  EXPECT_LT(static_cast<double>(padded), 1.05 * static_cast<double>(needed));
}

TEST(EpochBatches, AreAFunctionOfSeedAndEpoch) {
  const ParallelText text = made_text(500, 4);
  const Batches first = epoch_batches(text, 300, 5, 0);
  EXPECT_EQ(epoch_batches(text, 300, 5, 0), first);
  EXPECT_NE(epoch_batches(text, 300, 5, 1), first);
  EXPECT_NE(epoch_batches(text, 300, 6, 0), first);
  EXPECT_NE(epoch_batches(text, 300, 5, 1), epoch_batches(text, 300, 5, 2));
}

TEST(EpochBatches, ComeInNoOrderOfLength) {
  const ParallelText text = made_text(2000, 5);
  int falls = 0, rises = 0;
  size_t last = 0;
  for (const auto& batch : epoch_batches(text, 300, 5, 0)) {
    const size_t length = text.target.length(batch.front());
    falls += length < last ? 1 : 0;
    rises += length > last ? 1 : 0;
    last = length;
  }
  EXPECT_GT(falls, 20);
  EXPECT_GT(rises, 20);
}

// Among pairs of the same length, of which real text has many.
TEST(EpochBatches, PutOthersTogetherInEachEpoch) {
  ParallelText text;
  for (size_t i = 0; i < 3000; ++i) {
    text.source.add(Ids(1 + i % 3, 9));
    text.target.add(Ids(1 + i % 5, 9));
  }
  const auto sets = [&](int64_t epoch) {
    std::set<std::set<size_t>> found;
    for (const auto& batch : epoch_batches(text, 60, 5, epoch)) found.insert({batch.begin(), batch.end()});
    return found;
  };
  const auto first = sets(0);
  EXPECT_GT(first.size(), 100u);
  for (const auto& batch : sets(1)) EXPECT_EQ(first.count(batch), 0u);
}

TEST(EpochBatches, GiveAnOversizedPairABatchOfItsOwn) {
  ParallelText text;
  for (const size_t length : {3, 50, 3, 3}) {
    text.source.add(Ids(length, 9));
    text.target.add(Ids(2, 9));
  }
  const Batches batches = epoch_batches(text, 20, 1, 0);
  EXPECT_EQ(sorted_pairs(batches), all_pairs(4));
  EXPECT_THAT(batches, ::testing::Contains(std::vector<size_t>{1}));
}

TEST(EpochBatches, OfNoTextAreNone) {
  EXPECT_THAT(epoch_batches({}, 100, 1, 0), IsEmpty());
}

TEST(CutIntoPieces, CoversEachPairWithinTheLimit) {
  const ParallelText text = made_text(300, 7);
  for (const size_t rows : {1, 2, 7, 64, 300})
    for (const int64_t piece_tokens : {1, 100, 1000, 100'000})
      for (const int64_t workers : {1, 2, 3, 8}) {
        std::vector<size_t> pairs = all_pairs(rows);
        const Batches pieces = cut_into_pieces(text, pairs, piece_tokens, workers);
        EXPECT_EQ(sorted_pairs(pieces), pairs);
        EXPECT_TRUE(pieces.size() % static_cast<size_t>(workers) == 0 || pieces.size() == rows)
            << pieces.size() << " pieces of " << rows << " pairs for " << workers;
        for (const auto& piece : pieces) {
          EXPECT_FALSE(piece.empty());
          if (piece.size() > 1) {
            EXPECT_LE(padded_tokens(text.source, piece), piece_tokens);
            EXPECT_LE(padded_tokens(text.target, piece), piece_tokens);
          }
        }
      }
}

TEST(CutIntoPieces, MakesPiecesOfTheSameSize) {
  const ParallelText text = made_text(300, 8);
  const Batches pieces = cut_into_pieces(text, all_pairs(100), 100'000, 3);
  ASSERT_THAT(pieces, SizeIs(3));
  for (const auto& piece : pieces) EXPECT_NEAR(static_cast<double>(piece.size()), 100.0 / 3, 1);
  EXPECT_THAT(cut_into_pieces(text, all_pairs(6), 100'000, 2), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)))
      << "neighbours go to different pieces";
}

TEST(MakeBatch, FillsRowsWithPadding) {
  ParallelText text;
  text.source.add({10, 11});
  text.target.add({20, 21, 22});
  text.source.add({});
  text.target.add({99});
  text.source.add({12, 13, 14});
  text.target.add({23});
  const Batch batch = make_batch(text, {2, 0});
  EXPECT_TRUE(torch::equal(batch.source, torch::tensor({{12, 13, 14, 3}, {10, 11, 3, 0}})));
  EXPECT_TRUE(torch::equal(batch.target_in, torch::tensor({{2, 23, 0, 0}, {2, 20, 21, 22}})));
  EXPECT_TRUE(torch::equal(batch.target_out, torch::tensor({{23, 3, 0, 0}, {20, 21, 22, 3}})));
  EXPECT_EQ(batch.source_tokens, 7);
  EXPECT_EQ(batch.target_tokens, 6);
  EXPECT_EQ(batch.source.scalar_type(), torch::kLong);
  EXPECT_EQ(count_target_tokens(text, {2, 0}), 6);
  EXPECT_EQ(count_target_tokens(text, {2, 0, 1}), 8);
  const Batch empty_source = make_batch(text, {1});
  EXPECT_TRUE(torch::equal(empty_source.source, torch::tensor({{kEnd}})));
}

TEST(MakeBatch, SharesEachTargetPositionAmongItsLinks) {
  ParallelText text;
  text.source.add({10, 11});
  text.target.add({20, 21, 22});
  text.links.add({0, 1, 2, 0, 2, 1});
  text.source.add({12});
  text.target.add({23});
  text.links.add(Ids());
  const Batch batch = make_batch(text, {1, 0});
  ASSERT_EQ(batch.alignment.sizes(), (std::vector<int64_t>{2, 4, 3}));
  EXPECT_EQ(batch.alignment[0].abs().sum().item<double>(), 0);
  EXPECT_TRUE(
      torch::equal(batch.alignment[1],
                   torch::tensor({{0.0F, 1.0F, 0.0F}, {0.0F, 0.0F, 0.0F}, {0.5F, 0.5F, 0.0F}, {0.0F, 0.0F, 0.0F}})));
}

TEST(WordLinks, AreReadInPharaohsNotation) {
  EXPECT_THAT(parse_word_links(" 0-0 12-3\t4-5 "),
              ElementsAre(std::make_pair(0, 0), std::make_pair(12, 3), std::make_pair(4, 5)));
  EXPECT_THAT(parse_word_links(""), IsEmpty());
  for (const char* bad : {"0", "0-", "-1-0", "0--1", "a-b", "0-1-2", "0-1,", "99999999999-0"})
    EXPECT_THAT(message_of<std::invalid_argument>([&] { parse_word_links(std::string("1-1 ") + bad); }),
                StartsWith("'" + std::string(bad) + "' is no link"));
}

// Each piece of a word has all of its links.
TEST(WordLinks, BecomeLinksOfPieces) {
  const Tokenizer tokenizer = tiny_tokenizer();
  const std::string source = "the  red house", target = "das rote Haus";
  const Ids links = piece_links({{1, 2}, {2, 0}}, tokenizer.source(), source, tokenizer.target(), target);
  const auto source_words = words_of_pieces(tokenizer.source().encode_as_pieces(source));
  const auto target_words = words_of_pieces(tokenizer.target().encode_as_pieces(target));
  std::set<std::pair<int64_t, int64_t>> expected, found;
  for (size_t t = 0; t < target_words.size(); ++t)
    for (size_t s = 0; s < source_words.size(); ++s)
      if ((source_words[s] == 1 && target_words[t] == 2) || (source_words[s] == 2 && target_words[t] == 0))
        expected.emplace(t, s);
  for (size_t i = 0; i < links.size(); i += 2) found.emplace(links[i], links[i + 1]);
  EXPECT_EQ(found, expected);
  EXPECT_GE(found.size(), 2U);
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                piece_links({{3, 0}}, tokenizer.source(), source, tokenizer.target(), target);
              }),
              StartsWith("3-0: the source line has 3 words"));
}

// Every token of every pair is found again in the tensors.
TEST(MakeBatch, HoldsEveryToken) {
  const ParallelText text = made_text(200, 9);
  for (const auto& pairs : epoch_batches(text, 400, 1, 0)) {
    const Batch batch = make_batch(text, pairs);
    int64_t real_targets = 0;
    for (size_t row = 0; row < pairs.size(); ++row) {
      const auto r = static_cast<int64_t>(row);
      Ids source = ids_at(text.source, pairs[row]);
      source.push_back(kEnd);
      Ids target_in = ids_at(text.target, pairs[row]);
      target_in.insert(target_in.begin(), special_ids::kBegin);
      Ids target_out = ids_at(text.target, pairs[row]);
      target_out.push_back(kEnd);
      real_targets += static_cast<int64_t>(target_out.size());
      source.resize(static_cast<size_t>(batch.source.size(1)), special_ids::kPad);
      target_in.resize(static_cast<size_t>(batch.target_in.size(1)), special_ids::kPad);
      target_out.resize(static_cast<size_t>(batch.target_out.size(1)), special_ids::kPad);
      EXPECT_TRUE(torch::equal(batch.source[r], torch::tensor(source)));
      EXPECT_TRUE(torch::equal(batch.target_in[r], torch::tensor(target_in)));
      EXPECT_TRUE(torch::equal(batch.target_out[r], torch::tensor(target_out)));
    }
    EXPECT_EQ(batch.target_tokens, real_targets);
  }
}

class Checkpoints : public ::testing::Test {
 protected:
  // A model with its optimizer, which has seen `updates` made-up gradients.
  struct Training {
    explicit Training(const Tokenizer& tokenizer, uint64_t seed, int updates = 0)
        : transformer(tiny_transformer(tokenizer, seed)), optimizer(parameters_of(transformer), {}) {
      WorkerCrew crew(1);
      for (int i = 0; i < updates; ++i) optimizer.update({made_up_gradients()}, 0.01, crew);
    }
    std::vector<torch::Tensor> made_up_gradients() {
      std::vector<torch::Tensor> gradients;
      for (const auto& [name, parameter] : parameters_of(transformer))
        gradients.push_back(torch::randn_like(parameter.detach()));
      return gradients;
    }
    TrainedParts parts(WeightAverage* average = nullptr) { return {transformer, optimizer, average}; }
    Transformer transformer;
    Adam optimizer;
  };

  static TrainState state_at(int64_t step) {
    TrainState state;
    state.step = step;
    state.epoch = 2;
    state.window = 4;
    state.batch = 17;
    state.target_tokens = 5'000'000'000;
    state.seconds = 0.1 + 0.2;
    return state;
  }

  void save(Training& training, int64_t step, int64_t newest = 10) {
    KeepPolicy policy;
    policy.newest = newest;
    store.save(state_at(step), tiny_config(), tokenizer, training.parts(), policy);
  }

  static void expect_equal(const NamedTensors& found, const NamedTensors& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].first, expected[i].first);
      EXPECT_TRUE(torch::equal(found[i].second, expected[i].second)) << found[i].first;
    }
  }

  const TemporaryFolder folder;
  const std::string path = folder / "checkpoints";
  const CheckpointStore store{path};
  const Tokenizer tokenizer = tiny_tokenizer();
};

TEST_F(Checkpoints, RestoreWeightsMomentsAndState) {
  Training saved(tokenizer, 1, 3);
  TrainState state = state_at(123);
  state.metric = "bleu";
  state.best_score = 12.345678901234567;
  state.validations_since_best = 3;
  store.save(state, tiny_config(), tokenizer, saved.parts(), {});

  Training restored(tokenizer, 2);
  const TrainState found = store.restore(restored.parts());
  EXPECT_EQ(found.step, 123);
  EXPECT_EQ(found.epoch, 2);
  EXPECT_EQ(found.window, 4);
  EXPECT_EQ(found.batch, 17);
  EXPECT_EQ(found.target_tokens, 5'000'000'000);
  EXPECT_EQ(found.seconds, 0.1 + 0.2);
  ASSERT_TRUE(found.best_score.has_value());
  EXPECT_EQ(*found.best_score, 12.345678901234567);
  EXPECT_EQ(found.metric, "bleu");
  EXPECT_EQ(found.validations_since_best, 3);
  expect_equal(parameters_of(restored.transformer), parameters_of(saved.transformer));
  expect_equal(restored.optimizer.state(), saved.optimizer.state());
  EXPECT_EQ(restored.optimizer.steps(), 123);
}

TEST_F(Checkpoints, GoOnAsIfNothingHadHappened) {
  Training saved(tokenizer, 1, 3);
  TrainState state;
  state.step = 3;  // Adam's bias correction counts the updates
  store.save(state, tiny_config(), tokenizer, saved.parts(), {});
  Training restored(tokenizer, 2);
  store.restore(restored.parts());
  const std::vector<torch::Tensor> gradients = saved.made_up_gradients();
  std::vector<torch::Tensor> same;
  for (const auto& gradient : gradients) same.push_back(gradient.clone());
  WorkerCrew crew(2);
  saved.optimizer.update({gradients}, 0.01, crew);
  restored.optimizer.update({same}, 0.01, crew);
  expect_equal(parameters_of(restored.transformer), parameters_of(saved.transformer));
}

TEST_F(Checkpoints, WithoutABestBleuHaveNone) {
  Training training(tokenizer, 1);
  save(training, 5);
  EXPECT_FALSE(store.restore(training.parts()).best_score.has_value());
}

TEST_F(Checkpoints, AreModelFolders) {
  Training training(tokenizer, 1, 1);
  save(training, 7);
  ASSERT_THAT(store.list(), ElementsAre(path + "/step-000000007"));
  const LoadedModel model = load_model_folder(store.list()[0], torch::kCPU);
  expect_equal(parameters_of(model.transformer), parameters_of(training.transformer));
}

TEST_F(Checkpoints, AreAFreshStartWhereThereAreNone) {
  Training training(tokenizer, 1);
  const Training untouched(tokenizer, 1);
  EXPECT_THAT(store.list(), IsEmpty());
  for (const bool folder_exists : {false, true}) {
    if (folder_exists) fs::create_directories(path);
    const TrainState state = store.restore(training.parts());
    EXPECT_EQ(state.step, 0);
    EXPECT_EQ(state.epoch, 0);
    EXPECT_EQ(state.batch, 0);
    EXPECT_FALSE(state.best_score.has_value());
    expect_equal(parameters_of(training.transformer), parameters_of(untouched.transformer));
  }
}

TEST_F(Checkpoints, KeepTheNewest) {
  Training training(tokenizer, 1);
  for (const int64_t step : {2, 10, 9, 100}) save(training, step, 2);
  EXPECT_THAT(names_in(path), ElementsAre("step-000000010", "step-000000100"));
  EXPECT_THAT(store.list(), ElementsAre(path + "/step-000000010", path + "/step-000000100"));
  EXPECT_EQ(store.restore(training.parts()).step, 100);
}

TEST_F(Checkpoints, KeepTheNewestTheBestAndEachSoAndSoManiethForGood) {
  Training training(tokenizer, 1);
  KeepPolicy policy;
  policy.newest = 1;
  policy.best = 2;
  policy.every = 40;
  policy.metric = "bleu";
  const std::map<int64_t, double> scores{{10, 3}, {20, 9}, {30, 5}, {50, 5}, {60, 4}};
  for (const int64_t step : {10, 20, 30, 40, 50, 60, 70, 80, 90}) {
    TrainState state = state_at(step);
    if (scores.count(step) > 0) state.score = scores.at(step);
    state.metric = "bleu";
    if (step == 70) {
      state.metric = "chrf";  // of another metric: cannot be compared
      state.score = 99;
    }
    store.save(state, tiny_config(), tokenizer, training.parts(), policy);
  }
  EXPECT_THAT(names_in(path),
              ElementsAre("step-000000020", "step-000000030", "step-000000040", "step-000000080", "step-000000090"));
}

TEST_F(Checkpoints, HoldTheMovingAverageOrBeginItWithTheWeights) {
  Training saved(tokenizer, 1, 3);
  WeightAverage average(parameters_of(Training(tokenizer, 5).transformer), 0.9);
  store.save(state_at(4), tiny_config(), tokenizer, saved.parts(&average), {});
  Training restored(tokenizer, 2);
  WeightAverage found(parameters_of(restored.transformer), 0.9);
  store.restore(restored.parts(&found));
  expect_equal(found.values(), average.values());
  store.save(state_at(5), tiny_config(), tokenizer, saved.parts(), {});
  store.restore(restored.parts(&found));
  expect_equal(found.values(), parameters_of(saved.transformer));
}

TEST_F(Checkpoints, MayBeWrittenTwice) {
  Training first(tokenizer, 1);
  save(first, 4);
  Training second(tokenizer, 2);
  save(second, 4);
  EXPECT_THAT(names_in(path), ElementsAre("step-000000004"));
  Training restored(tokenizer, 3);
  store.restore(restored.parts());
  expect_equal(parameters_of(restored.transformer), parameters_of(second.transformer));
}

TEST_F(Checkpoints, NameTheDamagedFileAndTheRemedy) {
  Training training(tokenizer, 1, 1);
  save(training, 1);
  save(training, 2);
  const std::string newest = path + "/step-000000002";
  const auto refusal = [&] { return message_of<std::runtime_error>([&] { store.restore(training.parts()); }); };
  for (const char* name : {"weights.safetensors", "optimizer.safetensors", "state.json"}) {
    const std::string file = newest + "/" + name;
    const std::string whole = read_text(file);
    write_text(file, whole.substr(0, whole.size() / 2));
    EXPECT_THAT(refusal(), AllOf(HasSubstr(file), HasSubstr("remove the folder " + newest)));
    fs::remove(file);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(file), HasSubstr("remove the folder " + newest)));
    write_text(file, whole);
  }
  write_text(newest + "/state.json", R"({"version": 1, "step": "two"})");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("state.json"), HasSubstr("damaged")));
  write_text(newest + "/state.json", R"({"version": 99, "step": 2})");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("version 99"), HasSubstr("reads version 2")));

  fs::remove_all(newest);  // the remedy
  EXPECT_EQ(store.restore(training.parts()).step, 1);
}

TEST_F(Checkpoints, OfTheFirstVersionSayThatTheyHaveNoWindows) {
  Training training(tokenizer, 1);
  save(training, 7);
  write_text(path + "/step-000000007/state.json",
             R"({"version": 1, "step": 7, "epoch": 2, "batch": 17, "target_tokens": 5, "seconds": 1.5})");
  const TrainState found = store.restore(training.parts());
  EXPECT_EQ(found.step, 7);
  EXPECT_EQ(found.window, -1);
  EXPECT_EQ(found.batch, 17);
}

TEST_F(Checkpoints, OfAnotherModelAreRefused) {
  Training training(tokenizer, 1);
  save(training, 1);
  TransformerOptions other = testing::tiny_transformer_options();
  other.d_ff = 48;
  Transformer wider = tiny_transformer(tokenizer, 1, other);
  Adam optimizer(parameters_of(wider), {});
  EXPECT_THAT(message_of<std::runtime_error>([&] { store.restore({wider, optimizer, nullptr}); }), HasSubstr("shape"));
}

TEST_F(Checkpoints, IgnoreWhatACrashLeftBehind) {
  Training training(tokenizer, 1);
  save(training, 1);
  for (const char* rest : {"step-000000002.partial", "step-2", "other"}) {
    fs::create_directories(path + "/" + rest);
    write_text(path + "/" + rest + "/state.json", "half");
  }
  EXPECT_THAT(store.list(), ElementsAre(path + "/step-000000001"));
  EXPECT_EQ(store.restore(training.parts()).step, 1);
  save(training, 2, 1);
  EXPECT_THAT(names_in(path), ElementsAre("other", "step-000000002", "step-2"));
}

TEST_F(Checkpoints, AverageToTheMeanOfTheirWeights) {
  std::vector<Training> trainings;
  std::vector<std::string> folders;
  for (uint64_t i = 0; i < 3; ++i) {
    trainings.emplace_back(tokenizer, 10 + i);
    save(trainings.back(), static_cast<int64_t>(i + 1));
  }
  Training average(tokenizer, 99);
  average_parameters(store.list(), average.transformer);
  const NamedTensors found = parameters_of(average.transformer);
  for (size_t p = 0; p < found.size(); ++p) {
    const torch::Tensor mean = found[p].second.detach().contiguous();
    for (int64_t i = 0; i < mean.numel(); ++i) {
      double sum = 0;
      for (auto& training : trainings)
        sum += static_cast<double>(parameters_of(training.transformer)[p].second.data_ptr<float>()[i]);
      // Summed in double, rounded once to float32.
      ASSERT_EQ(mean.data_ptr<float>()[i], static_cast<float>(sum / 3)) << found[p].first;
      if (i == 50) break;  // of each tensor; a full comparison takes long
    }
  }
}

TEST_F(Checkpoints, AverageOfOneIsItself) {
  Training training(tokenizer, 1, 2);
  save(training, 1);
  Training average(tokenizer, 99);
  average_parameters(store.list(), average.transformer);
  expect_equal(parameters_of(average.transformer), parameters_of(training.transformer));
}

TEST_F(Checkpoints, OfDifferentModelsHaveNoAverage) {
  Training training(tokenizer, 1);
  EXPECT_THROW(average_parameters({}, training.transformer), std::invalid_argument);
  save(training, 1);
  TransformerOptions other = testing::tiny_transformer_options();
  other.d_ff = 48;
  fs::create_directory(folder / "wider");
  save_model_folder(folder / "wider", tiny_config(other), tokenizer, tiny_transformer(tokenizer, 1, other));
  EXPECT_THAT(message_of<std::runtime_error>([&] {
                average_parameters({store.list()[0], folder / "wider"}, training.transformer);
              }),
              AllOf(StartsWith(folder / "wider"), HasSubstr("shape")));
}

}  // namespace
}  // namespace transmute
