// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/programs/demo_corpus/expression_writer.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace transmute {

/// An expression in both languages.
struct DemoPair {
  Expression expression;
  std::string source;
  std::string target;
};

/// The demo corpus to make.
struct DemoCorpusOptions {
  std::string source_locale = "en";
  std::string target_locale = "de";
  int64_t train_pairs = 20'000;
  int64_t valid_pairs = 500;
  int64_t test_pairs = 500;
  int64_t max_number = 99'999;  ///< largest cardinal, ordinal, amount and distance; from 9 to 999,999,999
  uint64_t seed = 1;
};

/// Three parts that share no source sentence.
struct DemoCorpus {
  std::vector<DemoPair> train;
  std::vector<DemoPair> valid;
  std::vector<DemoPair> test;
};

/// Draws distinct expressions and says each in both languages. The parts come from one distribution, no
/// source occurs twice in the whole corpus, and words that two kinds share always mean the first of them, so
/// that a translation is either right or wrong. A function of the options and the version of ICU: the same on
/// every machine. Kinds that one of the two languages cannot express are left out.
///
/// @throws std::invalid_argument for options out of range, an unknown locale, one locale given twice, or more
///     pairs than distinct expressions can be drawn.
DemoCorpus make_demo_corpus(const DemoCorpusOptions& options);

/// The endings of the files of the source and the target side: the two languages (`en`, `de`), or the two locales where
/// the languages are the same (`en_US`, `en_GB`).
/// @throws std::invalid_argument for an unknown locale, or one locale given twice.
std::pair<std::string, std::string> demo_corpus_suffixes(const DemoCorpusOptions& options);

}  // namespace transmute
