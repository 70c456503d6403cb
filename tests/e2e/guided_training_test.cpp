// SPDX-License-Identifier: Apache-2.0
// The train program with word alignments that guide an attention head.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/text_file.h>
#include <transmute/tests/e2e/training_run.h>
#include <transmute/tests/support/pieces.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <random>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GuidedTraining : public TrainingRun {
 protected:
  // Made-up words of two to four syllables, each with one translation, in the same order; and their alignment.
  void make_aligned_text(const std::string& name, int pairs) const {
    std::mt19937 random(static_cast<unsigned>(name.size()));
    const auto word = [](int number, const std::string& consonants) {
      std::string letters;
      for (int i = 0; i < 2 + number % 3; ++i, number = number * 7 + 3) {
        letters += consonants[static_cast<size_t>(number) % consonants.size()];
        letters += "aeiou"[number % 5];
      }
      return letters;
    };
    std::string source, target, alignment;
    for (int pair = 0; pair < pairs; ++pair) {
      const int words = 2 + static_cast<int>(random() % 6);
      for (int i = 0; i < words; ++i) {
        const int number = static_cast<int>(random() % 40);
        source += (i > 0 ? " " : "") + word(number, "bdfgklm");
        target += (i > 0 ? " " : "") + word(number, "nprstvz");
        alignment += (i > 0 ? " " : "") + std::to_string(i) + "-" + std::to_string(i);
      }
      for (std::string* text : {&source, &target, &alignment}) *text += "\n";
    }
    write_text(folder_ / ("data/" + name + ".source"), source);
    write_text(folder_ / ("data/" + name + ".target"), target);
    write_text(folder_ / ("data/" + name + ".align"), alignment);
  }

  // How many of the target pieces of a text look first at a piece of their own word, in the head that was guided, or in
  // the first one if none was.
  double aligned_share(const std::string& run, const std::string& name) const {
    const Translator translator(folder_ / (run + "/model"));
    const auto lines_of = [&](const std::string& side) {
      return split_lines(read_text(folder_ / ("data/" + name + "." + side)));
    };
    TranslationOptions options;
    options.search.alignments = true;
    if (run == "free") options.search.alignment_layer = options.search.alignment_head = 1;
    const auto sources = lines_of("source");
    const auto hypotheses = translator.score_batch(sources, lines_of("target"), options);
    const auto translations = translator.translate_batch(sources, options);
    double right = 0, all = 0;
    for (size_t i = 0; i < hypotheses.size(); ++i) {
      const std::vector<int64_t> source_words = words_of_pieces(translations[i].source_tokens);
      const std::vector<int64_t> target_words = words_of_pieces(hypotheses[i].tokens);
      for (size_t t = 0; t < target_words.size(); ++t, ++all) {
        const auto& weights = hypotheses[i].alignment[t];
        const auto best = std::max_element(weights.begin(), weights.end()) - weights.begin();
        if (source_words[static_cast<size_t>(best)] == target_words[t]) ++right;
      }
    }
    return right / all;
  }
};

TEST_F(GuidedTraining, GuidesAnAttentionHeadByGivenAlignments) {
  make_aligned_text("train", 400);
  make_aligned_text("held_out", 50);
  std::vector<std::string> assignments = {"data.train_source=train.source",    "data.train_target=train.target",
                                          "data.valid_source=held_out.source", "data.valid_target=held_out.target",
                                          "tokenizer.vocab_size=95",           "training.max_steps=600",
                                          "training.checkpoint_every=600",     "training.learning_rate_scale=0.3"};
  ASSERT_EQ(train("free", assignments).exit_code, 0);
  assignments.insert(assignments.end(), {"data.train_alignments=train.align", "training.guided_alignment=0.5"});
  const Outcome guided = train("guided", assignments);
  ASSERT_EQ(guided.exit_code, 0) << guided.errors;
  EXPECT_THAT(guided.errors, HasSubstr("decoder layer 1, head 1 learns the given alignments"));
  EXPECT_THAT(read_text(folder_ / "guided/metrics.jsonl"), HasSubstr("\"alignment_loss\":"));
  const double with = aligned_share("guided", "held_out");
  const double without = aligned_share("free", "held_out");
  RecordProperty("aligned_with_guidance", std::to_string(with));
  RecordProperty("aligned_without", std::to_string(without));
  EXPECT_GT(with, 0.87);
  // A network of one layer aligns by itself, with some seeds nearly as well.
  EXPECT_LT(1 - with, 0.75 * (1 - without)) << with << " of the pieces with guidance, " << without << " without";

  write_text(folder_ / "data/short.align", "0-0\n");
  EXPECT_THAT(train("short", {assignments[0], assignments[1], assignments[4], "data.train_alignments=short.align",
                              "training.guided_alignment=1"})
                  .errors,
              AllOf(HasSubstr("train.source has 400 lines, but"), HasSubstr("short.align has 1")));
  write_text(folder_ / "data/bad.align", "0-0 x " + read_text(folder_ / "data/train.align"));
  EXPECT_THAT(train("bad", {assignments[0], assignments[1], assignments[4], "data.train_alignments=bad.align",
                            "training.guided_alignment=1"})
                  .errors,
              HasSubstr("bad.align:1: 'x' is not a link"));
  EXPECT_THAT(refusal(train("unnamed", {"training.guided_alignment=1"})),
              HasSubstr("training.guided_alignment needs data.train_alignments"));
}

}  // namespace
}  // namespace transmute::testing
