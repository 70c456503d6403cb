#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace transmute {

/// What an expression of the demo corpus talks about. Examples: English, then German.
enum class ExpressionKind {
  cardinal,          ///< `four hundred seventeen`, `vierhundertsiebzehn`
  ordinal,           ///< `twenty-first`, `einundzwanzigste`
  year,              ///< `nineteen eighty-six`, `neunzehnhundertsechsundachtzig`
  amount,            ///< `12,345.6`, `12.345,6`
  distance,          ///< `1,200.5 kilometers`, `1.200,5 Kilometer`
  duration,          ///< `3 hours, 25 minutes`, `3 Stunden, 25 Minuten`
  full_date,         ///< `Tuesday, March 4, 1986`, `Dienstag, 4. März 1986`
  long_date,         ///< `March 4, 1986`, `4. März 1986`
  medium_date,       ///< `Jan 4, 1986`, `4. Jan. 1986`
  numeric_date,      ///< `3/4/1986`, `4.3.1986`
  day_of_year,       ///< `Tuesday, March 4`, `Dienstag, 4. März`
  month_of_year,     ///< `March 1986`, `März 1986`
  time,              ///< `2:25 PM`, `14:25`
  precise_time,      ///< `2:25:07 PM`, `14:25:07`
  weekday_and_time,  ///< `Tuesday 2:25 PM`, `Dienstag, 14:25`
  date_and_time,     ///< `March 4, 1986 at 2:25 PM`, `4. März 1986 um 14:25`
};

/// One thing to say, independent of language.
struct Expression {
  ExpressionKind kind = ExpressionKind::cardinal;
  /// cardinal, ordinal, year: the number. amount: tenths. distance: tenths of a kilometre. duration: minutes.
  /// Dates and times of all kinds: seconds since 1970-01-01 00:00 UTC.
  int64_t value = 0;
};

/// Says expressions in one language, by the rules and words of ICU's locale data (which is CLDR's). What an
/// expression becomes is a function of the expression, the locale and the version of ICU. Soft hyphens and
/// other invisible formatting characters are left out, and every kind of space becomes a plain one.
class ExpressionWriter {
 public:
  /// `locale` is an ICU name or a BCP 47 tag: `en`, `de_CH`, `pt-BR`.
  /// @throws std::invalid_argument where ICU has no data for the locale.
  explicit ExpressionWriter(const std::string& locale);
  ~ExpressionWriter();
  ExpressionWriter(const ExpressionWriter&) = delete;
  ExpressionWriter& operator=(const ExpressionWriter&) = delete;

  /// Whether the locale has rules for this kind: some spell out no numbers, no ordinals or no years.
  bool can_write(ExpressionKind kind) const;

  /// UTF-8, on one line.
  /// @throws std::invalid_argument for a kind that `can_write` denies.
  std::string write(const Expression& expression) const;

 private:
  struct Formats;
  std::unique_ptr<const Formats> formats_;
};

/// An expression in both languages.
struct DemoPair {
  Expression expression;
  std::string source;
  std::string target;
};

/// What demo corpus to make.
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

/// How the files of the source and the target side end: the two languages (`en`, `de`), or the two locales
/// where the languages are the same (`en_US`, `en_GB`).
/// @throws std::invalid_argument for an unknown locale, or one locale given twice.
std::pair<std::string, std::string> demo_corpus_suffixes(const DemoCorpusOptions& options);

}  // namespace transmute
