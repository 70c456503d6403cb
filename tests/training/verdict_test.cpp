// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/random.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/training/run_text.h>
#include <transmute/training/verdict.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::write_text;

// Words of a made-up language and their translations, which are in the opposite order.
std::pair<std::string, std::string> made_up_pair(uint64_t line) {
  const std::vector<std::string> a{"red",   "old",   "tiny",  "house", "river",
                                   "stone", "walks", "sings", "under", "beside"};
  const std::vector<std::string> b{"rouge",  "vieux",  "petit",  "maison",  "fleuve",
                                   "pierre", "marche", "chante", "dessous", "voisin"};
  std::pair<std::string, std::string> pair;
  for (uint64_t word = 0; word < 4 + line % 5; ++word) {
    const uint64_t drawn = combine_keys(line, word) % a.size();
    pair.first += (word == 0 ? "" : " ") + a[drawn];
    pair.second = b[drawn] + (word == 0 ? "" : " ") + pair.second;
  }
  return pair;
}

class TrainedModel : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.training.warmup_steps = 100;
    make_text([](uint64_t line) { return line; });
  }

  // A training text of 1,000 pairs, in which line n of the source is beside the target of line partner(n).
  template <class Partner>
  void make_text(const Partner& partner) {
    constexpr uint64_t kTraining = 1000, kHeldOut = 100;
    std::string source, target;
    for (uint64_t line = 0; line < kTraining; ++line) {
      source += made_up_pair(line).first + '\n';
      target += made_up_pair(partner(line)).second + '\n';
    }
    write_text(folder_ / "a", source);
    write_text(folder_ / "b", target);
    config_.data.train_source = {folder_ / "a"};
    config_.data.train_target = {folder_ / "b"};
    TokenizerOptions options;
    options.vocab_size = 100;
    const TextFiles files = train_files(config_);
    tokenizer_.emplace(train_tokenizer(options, lines_of(files.source), lines_of(files.target)));
    translated_ = {};
    translated_.references.emplace_back();
    for (uint64_t line = kTraining; line < kTraining + kHeldOut; ++line) {
      translated_.sources.push_back(made_up_pair(line).first);
      translated_.references.front().push_back(made_up_pair(partner(line)).second);
    }
    translated_.hypotheses = translated_.references.front();
  }

  Verdict judged(int64_t steps = 10'000, bool is_out_of_time = false, double loss = 2) const {
    return judge({config_, *tokenizer_, translated_, loss, steps, 20, is_out_of_time, false},
                 trivial_translations(config_, *tokenizer_, translated_));
  }

  TemporaryFolder folder_;
  TrainingConfig config_;
  std::optional<Tokenizer> tokenizer_;
  TranslatedText translated_;
};

TEST_F(TrainedModel, IsWorthSomethingWhereItBeatsTrivialTranslators) {
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.worth, Worth::some);
  EXPECT_EQ(verdict.problem, "");
  ASSERT_EQ(verdict.scores.size(), 3U);
  for (const auto& [name, bleu] : verdict.scores) EXPECT_LT(bleu, 50) << name;
  EXPECT_THAT(scores_text(verdict, 100), AllOf(HasSubstr("is 100.00"), HasSubstr("copying the source 0.00")));
}

TEST_F(TrainedModel, IsComparedWithADictionaryOfTheTrainingText) {
  const auto fit_of_dictionary = [&] {
    const std::vector<TrivialTranslations> trivial = trivial_translations(config_, *tokenizer_, translated_);
    EXPECT_EQ(trivial.front().texts, translated_.sources);
    return fit_to_own_lines(trivial.back().texts, translated_.references.front());
  };
  EXPECT_GT(fit_of_dictionary(), 10);
  make_text([](uint64_t line) { return line * 7919 + 13; });
  EXPECT_LT(std::abs(fit_of_dictionary()), 3) << "targets of other lines";
}

TEST_F(TrainedModel, IsWorthNothingWhereTargetsDoNotBelongToTheirSources) {
  make_text([](uint64_t line) { return line * 7919 + 13; });
  std::rotate(translated_.hypotheses.begin(), translated_.hypotheses.begin() + 31, translated_.hypotheses.end());
  for (const int64_t steps : {50, 10'000}) {
    const Verdict verdict = judged(steps);
    EXPECT_EQ(verdict.worth, Worth::none);
    EXPECT_THAT(verdict.problem, AllOf(HasSubstr("the targets do not belong to their sources"),
                                       HasSubstr("paste " + (folder_ / "a") + " " + (folder_ / "b"))));
  }
}

TEST_F(TrainedModel, IsWorthNothingWhereSourceAndTargetAreTheSame) {
  translated_.references.front() = translated_.hypotheses = translated_.sources;
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.worth, Worth::none);
  EXPECT_THAT(verdict.problem, HasSubstr("source and target are the same in 100 of 100 validation lines"));
}

TEST_F(TrainedModel, IsWorthNothingAfterATrainingThatDiverged) {
  for (const double loss : {1e6, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const Verdict verdict = judged(50, true, loss);
    EXPECT_EQ(verdict.worth, Worth::none);
    EXPECT_THAT(verdict.problem, AllOf(HasSubstr("diverged"), HasSubstr("training.learning_rate")));
  }
  translated_ = {};
  EXPECT_EQ(judged(50, false, 1e6).worth, Worth::none) << "without translations";
  EXPECT_EQ(judged(50, false, 2).worth, Worth::unknown);
  const double more_than_of_ignorance = 1.6 * std::log(static_cast<double>(tokenizer_->target().size()));
  EXPECT_EQ(judged(4, false, more_than_of_ignorance).worth, Worth::unknown) << "it has hardly begun";
  EXPECT_EQ(judged(100, false, more_than_of_ignorance).worth, Worth::none);
}

TEST_F(TrainedModel, NamesWhatItsTranslationsHaveInCommon) {
  const auto problem_with = [&](const std::string& hypothesis) {
    translated_.hypotheses.assign(translated_.hypotheses.size(), hypothesis);
    const Verdict verdict = judged();
    EXPECT_EQ(verdict.worth, Worth::none) << hypothesis;
    return verdict.problem;
  };
  EXPECT_THAT(problem_with("maison"), HasSubstr("its translation is \"maison\" for 100 of 100 validation lines"));
  EXPECT_THAT(problem_with(""), HasSubstr("its translation is empty for 100 of 100"));
  for (size_t i = 0; i < translated_.hypotheses.size(); ++i)
    translated_.hypotheses[i] = std::to_string(i) + " maison maison maison maison maison maison maison maison maison";
  EXPECT_THAT(judged().problem, HasSubstr("repeats the same words over and over for 100 of 100"));
  translated_.hypotheses = translated_.references.front();
  std::rotate(translated_.hypotheses.begin(), translated_.hypotheses.begin() + 31, translated_.hypotheses.end());
  EXPECT_THAT(judged().problem, HasSubstr("fit their own sources no better than those of other lines"));
}

TEST_F(TrainedModel, NeedsMoreTimeAfterAShortTraining) {
  translated_.hypotheses.assign(translated_.hypotheses.size(), "maison");
  const Verdict few_steps = judged(50);
  EXPECT_EQ(few_steps.worth, Worth::not_yet);
  EXPECT_THAT(few_steps.problem, AllOf(HasSubstr("made 50 steps"), HasSubstr("a higher training.max_steps")));
  const Verdict out_of_time = judged(1000, true);
  EXPECT_EQ(out_of_time.worth, Worth::not_yet);
  EXPECT_THAT(out_of_time.problem, HasSubstr("a higher --minutes (or training.max_minutes)"));
  EXPECT_EQ(judged(1000, false).worth, Worth::none);
  EXPECT_EQ(judged(10'000, true).worth, Worth::none);
}

TEST_F(TrainedModel, NeedsMoreTimeWhereItHasBegunToTranslate) {
  for (std::string& hypothesis : translated_.hypotheses) hypothesis = hypothesis.substr(0, hypothesis.find(' '));
  EXPECT_EQ(judged(1000).worth, Worth::not_yet);
  const Verdict verdict = judged(10'000);
  EXPECT_EQ(verdict.worth, Worth::none);
  EXPECT_THAT(verdict.problem, HasSubstr("trivial translators do as well"));
}

TEST_F(TrainedModel, IsNotJudgedByAFewLines) {
  for (auto* texts : {&translated_.sources, &translated_.hypotheses, &translated_.references.front()})
    texts->assign(20, "maison");
  EXPECT_EQ(judged().worth, Worth::unknown);
}

TEST(FitToOwnLines, TellsTranslationsFromUnrelatedTexts) {
  std::vector<std::string> references;
  for (uint64_t line = 0; line < 100; ++line) references.push_back(made_up_pair(line).second);
  EXPECT_GT(fit_to_own_lines(references, references), 10);
  std::vector<std::string> others = references;
  std::rotate(others.begin(), others.begin() + 7, others.end());
  EXPECT_LT(std::abs(fit_to_own_lines(others, references)), 3);
  EXPECT_EQ(fit_to_own_lines(std::vector<std::string>(100), references), 0);
}

TEST(FitToOwnLines, ComparesNoLineWithTheSameSentenceInAnotherLanguage) {
  std::vector<std::string> texts, references;
  for (const char* word : {"Jahr ", "year "})
    for (int line = 0; line < 50; ++line) {
      texts.push_back(std::to_string(line * 7919 + 10'000));
      references.push_back(word + texts.back());
    }
  EXPECT_GT(fit_to_own_lines(texts, references, {{"en-de", 50}, {"de-en", 50}}), 10);
  EXPECT_LT(std::abs(fit_to_own_lines(texts, references)), 3) << "half of the text away is the same number";
}

}  // namespace
}  // namespace transmute
