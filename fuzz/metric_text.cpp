// SPDX-License-Identifier: Apache-2.0
// Text as the metrics see it, and their numbers of any two lines.
#include <transmute/common/text_file.h>
#include <transmute/fuzz/fuzz.h>
#include <transmute/metrics/bleu.h>
#include <transmute/metrics/chrf.h>
#include <transmute/metrics/metric_text.h>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const std::string hypothesis(strip_right(input.text()));
  const std::string reference(strip_right(input.rest()));
  if (find_invalid_utf8(hypothesis) != std::string::npos || find_invalid_utf8(reference) != std::string::npos) return 0;
  for (const char* tokenizer : {"13a", "none", "intl", "char", "zh"}) {
    BleuOptions options;
    options.tokenizer = bleu_tokenizer_from_name(tokenizer);
    for (const auto letters : {BleuCase::mixed, BleuCase::lower}) {
      options.letter_case = letters;
      const double score = corpus_bleu({hypothesis}, {{reference}}, options).score;
      fuzz::require(score >= 0 && score < 100.001);
    }
  }
  const double chrf = corpus_chrf({hypothesis}, {{reference}}, {});
  fuzz::require(chrf >= 0 && chrf < 100.001);
  return 0;
}
