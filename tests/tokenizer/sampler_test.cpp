// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tokenizer/message_reader.h>
#include <transmute/tokenizer/sampler.h>

namespace transmute {
namespace {

using testing::tiny_english;
using testing::tiny_german;
using testing::tiny_tokenizer;
using Frequencies = std::map<Ids, double>;

constexpr int kDraws = 20'000;

TokenizerOptions options_of(SubwordAlgorithm algorithm) {
  TokenizerOptions options;
  options.algorithm = algorithm;
  options.vocab_size = algorithm == SubwordAlgorithm::bpe ? 80 : 55;
  return options;
}

class EachSampler : public ::testing::TestWithParam<SubwordAlgorithm> {
 protected:
  const Tokenizer tokenizer = tiny_tokenizer(options_of(GetParam()));
  const SubwordModel& model = tokenizer.source();
  const SubwordSampler sampler{model};
};

INSTANTIATE_TEST_SUITE_P(Algorithm, EachSampler, ::testing::Values(SubwordAlgorithm::bpe, SubwordAlgorithm::unigram),
                         [](const auto& info) {
                           return std::string(info.param == SubwordAlgorithm::bpe ? "bpe" : "unigram");
                         });

TEST_P(EachSampler, SpellsTheSameText) {
  for (const auto& lines : {tiny_english(), tiny_german()})
    for (const auto& line : lines)
      for (uint64_t key = 0; key < 5; ++key)
        EXPECT_EQ(model.decode(sampler.sample(model.encode(line), 0.2, key)), line);
}

TEST_P(EachSampler, DrawsAFunctionOfItsKey) {
  const Ids ids = model.encode("the green bridge is closed.");
  std::set<Ids> found;
  for (uint64_t key = 0; key < 100; ++key) {
    const Ids drawn = sampler.sample(ids, 0.2, key);
    EXPECT_EQ(SubwordSampler(model).sample(ids, 0.2, key), drawn);
    found.insert(drawn);
  }
  EXPECT_GT(found.size(), 50u);
  EXPECT_TRUE(sampler.sample({}, 0.2, 1).empty());
}

Frequencies frequencies_of(const SubwordSampler& sampler, const Ids& ids, double alpha) {
  Frequencies frequencies;
  for (uint64_t key = 0; key < kDraws; ++key) frequencies[sampler.sample(ids, alpha, key)] += 1.0 / kDraws;
  return frequencies;
}

// `spread`: of the expected frequencies, 0 where they are exact, 1 where they were drawn as often.
void expect_same(const Frequencies& found, const Frequencies& expected, double spread) {
  std::set<Ids> all;
  for (const auto* frequencies : {&found, &expected})
    for (const auto& [ids, frequency] : *frequencies) all.insert(ids);
  for (const auto& ids : all) {
    const auto of = [&](const Frequencies& frequencies) {
      const auto place = frequencies.find(ids);
      return place == frequencies.end() ? 0.0 : place->second;
    };
    const double p = std::max({of(expected), of(found), 1.0 / kDraws});
    // Five standard deviations: one test in a million would fail by chance.
    EXPECT_NEAR(of(found), of(expected), 5 * std::sqrt((1 + spread) * p * (1 - p) / kDraws))
        << ::testing::PrintToString(ids);
  }
}

// SentencePiece's own draws, in a thread of their own, whose generator is seeded.
Frequencies frequencies_of_sentencepiece(const SubwordModel& model, const std::string& text, double alpha) {
  Frequencies frequencies;
  std::thread([&] {
    sentencepiece::SetRandomGeneratorSeed(1);
    sentencepiece::SentencePieceProcessor processor;
    ASSERT_TRUE(processor.LoadFromSerializedProto(model.serialized()).ok());
    for (int i = 0; i < kDraws; ++i) {
      std::vector<int> ids;
      ASSERT_TRUE(processor.SampleEncode(text, -1, static_cast<float>(alpha), &ids).ok());
      frequencies[Ids(ids.begin(), ids.end())] += 1.0 / kDraws;
    }
  }).join();
  return frequencies;
}

TEST_P(EachSampler, DrawsAsOftenAsSentencePiece) {
  for (const char* text : {"the red house", "closed.", "der"})
    for (const double alpha : {0.1, 0.5}) {
      SCOPED_TRACE(std::string(text) + ", alpha " + std::to_string(alpha));
      expect_same(frequencies_of(sampler, model.encode(text), alpha), frequencies_of_sentencepiece(model, text, alpha),
                  1);
    }
}

TEST(BpeSampler, WithoutDropoutGivesTheTokenizersPieces) {
  const Tokenizer tokenizer = tiny_tokenizer(options_of(SubwordAlgorithm::bpe));
  const SubwordSampler sampler(tokenizer.source());
  for (const auto& lines : {tiny_english(), tiny_german()})
    for (const auto& line : lines) {
      const Ids ids = tokenizer.source().encode(line);
      EXPECT_EQ(sampler.sample(ids, 0, 7), ids);
    }
}

TEST(BpeSampler, WithDropoutOneGivesCharacters) {
  const Tokenizer tokenizer = tiny_tokenizer(options_of(SubwordAlgorithm::bpe));
  const Ids drawn = SubwordSampler(tokenizer.source()).sample(tokenizer.source().encode("die grüne"), 1, 7);
  std::string spelled;
  for (const int64_t id : drawn) spelled += tokenizer.source().piece(id) + " ";
  EXPECT_EQ(spelled, "▁ d i e ▁ g r ü n e ");
}

// All ways to spell `text` from `begin` on, each with exp(alpha * its summed scores).
void spell(const std::vector<std::string>& pieces, const std::vector<double>& scores, const std::string& text,
           size_t begin, double alpha, const Ids& before, double score, Frequencies& weights) {
  if (begin == text.size()) weights[before] += std::exp(alpha * score);
  for (size_t id = special_ids::kCount; id < pieces.size(); ++id) {
    if (pieces[id].empty() || text.compare(begin, pieces[id].size(), pieces[id]) != 0) continue;
    Ids longer = before;
    longer.push_back(static_cast<int64_t>(id));
    spell(pieces, scores, text, begin + pieces[id].size(), alpha, longer, score + scores[id], weights);
  }
}

TEST(UnigramSampler, DrawsEachSegmentationWithItsProbability) {
  const Tokenizer tokenizer = tiny_tokenizer(options_of(SubwordAlgorithm::unigram));
  sentencepiece::SentencePieceProcessor processor;
  ASSERT_TRUE(processor.LoadFromSerializedProto(tokenizer.source().serialized()).ok());
  std::vector<std::string> pieces;
  std::vector<double> scores;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    pieces.push_back(processor.IdToPiece(id));
    scores.push_back(static_cast<double>(processor.GetScore(id)));
  }
  for (const double alpha : {0.1, 0.7, 1.0}) {
    Frequencies expected;
    spell(pieces, scores, "▁the▁house", 0, alpha, {}, 0, expected);
    ASSERT_GT(expected.size(), 5u);
    double sum = 0;
    for (const auto& [ids, weight] : expected) sum += weight;
    for (auto& entry : expected) entry.second /= sum;
    SCOPED_TRACE(alpha);
    expect_same(frequencies_of(SubwordSampler(tokenizer.source()), tokenizer.source().encode("the house"), alpha),
                expected, 0);
  }
}

TEST_P(EachSampler, LeavesUnknownsBytesAndSymbolsAsTheyAre) {
  TokenizerOptions options = options_of(GetParam());
  options.user_defined_symbols = {"<the>"};
  const Tokenizer unknown = tiny_tokenizer(options);
  options.byte_fallback = true;
  options.vocab_size += 256;
  const Tokenizer bytes = tiny_tokenizer(options);
  for (const Tokenizer* each : {&unknown, &bytes}) {
    const SubwordModel& of = each->source();
    const Ids ids = of.encode("the ☃☂ house <the>the");
    Ids kept;  // ids of what is no ordinary piece
    const auto special = [&](const Ids& all) {
      Ids found;
      for (const int64_t id : all) {
        const std::string piece = of.piece(id);
        if (id == special_ids::kUnknown || piece == "<the>" || (piece.size() == 6 && piece.rfind("<0x", 0) == 0))
          found.push_back(id);
      }
      return found;
    };
    ASSERT_EQ(special(ids).size(), each == &unknown ? 2u : 7u);
    for (uint64_t key = 0; key < 50; ++key) {
      const Ids drawn = SubwordSampler(of).sample(ids, 0.5, key);
      EXPECT_EQ(special(drawn), special(ids));
      EXPECT_EQ(of.decode(drawn), of.decode(ids));
    }
  }
}

// A number where a piece has its text is a field that SentencePiece does not know.
TEST_P(EachSampler, PassesOverFieldsOfOtherTypes) {
  std::string serialized;
  for (MessageReader field(model.serialized()); field.next();) {
    if (field.tag != kModelPieces) {
      serialized += field.whole;
      continue;
    }
    const std::string piece = std::string(field.bytes) + "\x08\x05";
    serialized += "\x0a" + std::string(1, static_cast<char>(piece.size())) + piece;
  }
  const SubwordModel same(serialized, "same");
  const Ids ids = same.encode("the green bridge is closed.");
  EXPECT_EQ(ids, model.encode("the green bridge is closed."));
  EXPECT_EQ(SubwordSampler(same).sample(ids, 0.2, 1), sampler.sample(ids, 0.2, 1));
}

TEST(SubwordSampler, RefusesAModelWithoutOtherSegmentations) {
  class Lines : public sentencepiece::SentenceIterator {
   public:
    bool done() const override { return next_ == lines_.size(); }
    void Next() override { ++next_; }
    const std::string& value() const override { return lines_[next_]; }
    sentencepiece::util::Status status() const override { return {}; }

   private:
    std::vector<std::string> lines_ = tiny_english();
    size_t next_ = 0;
  } lines;
  std::string serialized;
  ASSERT_TRUE(sentencepiece::SentencePieceTrainer::Train(
                  std::unordered_map<std::string, std::string>{{"model_type", "char"},
                                                               {"vocab_size", "24"},
                                                               {"hard_vocab_limit", "false"},
                                                               {"pad_id", "0"},
                                                               {"unk_id", "1"},
                                                               {"bos_id", "2"},
                                                               {"eos_id", "3"},
                                                               {"minloglevel", "2"}},
                  &lines, &serialized)
                  .ok());
  EXPECT_THROW(SubwordSampler(SubwordModel(serialized, "characters")), std::invalid_argument);
}

}  // namespace
}  // namespace transmute
