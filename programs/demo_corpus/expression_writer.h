// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace transmute {

/// The unit of `Expression::value`.
enum class Quantity {
  number,
  year,
  tenths,
  minutes,
  moment,  ///< seconds since 1970-01-01 00:00 UTC
};

struct ExpressionKind {
  const char* name;
  Quantity quantity;
  /// Share of the draws. Kinds with few distinct expressions get a small one: what repeats is drawn anew.
  int weight;
  /// In ICU's terms. Numbers: the beginning of a rule set's name; empty for the locale's cardinals. Tenths: a number
  /// skeleton (a scale of 0.1 moves the decimal point). Moments: the fields of a date skeleton, which the locale orders
  /// and punctuates; `j` is the hour in the locale's own cycle, 12 or 24.
  const char* format;
};

/// If two kinds say the same words (`May 4, 1986` is a long and a medium date), the words belong to the kind that is
/// first.
inline constexpr ExpressionKind kExpressionKinds[] = {
    {"cardinal", Quantity::number, 30, ""},                   // four hundred seventeen
    {"ordinal", Quantity::number, 12, "%spellout-ordinal"},   // twenty-first
    {"year", Quantity::year, 4, "%spellout-numbering-year"},  // nineteen eighty-six
    {"amount", Quantity::tenths, 8, ".0 scale/0.1"},          // 12,345.6
    {"distance", Quantity::tenths, 6,
     ".0 scale/0.1 measure-unit/length-kilometer unit-width-full-name"},  // 1,200.5 kilometers
    {"duration", Quantity::minutes, 8, ""},                               // 3 hours, 25 minutes
    {"full date", Quantity::moment, 8, "yMMMMEEEEd"},                     // Tuesday, March 4, 1986
    {"long date", Quantity::moment, 6, "yMMMMd"},                         // March 4, 1986
    {"medium date", Quantity::moment, 4, "yMMMd"},                        // Mar 4, 1986
    {"numeric date", Quantity::moment, 4, "yMd"},                         // 3/4/1986
    {"day of year", Quantity::moment, 4, "MMMMEEEEd"},                    // Tuesday, March 4
    {"month of year", Quantity::moment, 2, "yMMMM"},                      // March 1986
    {"time", Quantity::moment, 2, "jm"},                                  // 2:25 PM
    {"precise time", Quantity::moment, 4, "jms"},                         // 2:25:07 PM
    {"weekday and time", Quantity::moment, 4, "EEEEjm"},                  // Tuesday 2:25 PM
    {"date and time", Quantity::moment, 4, "yMMMMdjm"},                   // March 4, 1986 at 2:25 PM
};

/// One thing to say, independent of language.
struct Expression {
  size_t kind = 0;  ///< index in kExpressionKinds
  int64_t value = 0;
};

/// Says expressions in one language, by the rules and words of ICU's locale data (which is CLDR's). What an
/// expression becomes is a function of the expression, the locale and the version of ICU. Soft hyphens and
/// other invisible formatting characters are left out, and every kind of space becomes a plain one.
class ExpressionWriter {
 public:
  /// `locale` is an ICU name or a BCP 47 tag: `en`, `de_CH`, `pt-BR`.
  /// @throws std::invalid_argument if ICU has no data for the locale.
  explicit ExpressionWriter(const std::string& locale);

  /// True if the locale has rules for this kind: some spell out no numbers, no ordinals or no years.
  bool can_write(size_t kind) const { return writers_[kind] != nullptr; }

  /// UTF-8, on one line.
  /// @throws std::bad_function_call for a kind that `can_write` denies.
  std::string write(const Expression& expression) const;

 private:
  icu::Locale locale_;
  std::vector<std::function<icu::UnicodeString(int64_t value, UErrorCode& status)>> writers_;  // writers by kind
};

/// The locale of an ICU name or a BCP 47 tag.
/// @throws std::invalid_argument if ICU has no data for it.
icu::Locale known_locale(const std::string& name);

}  // namespace transmute
