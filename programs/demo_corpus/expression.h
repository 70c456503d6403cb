// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace transmute {

/// The subject of an expression of the demo corpus. Examples: English, then German.
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
  /// cardinal, ordinal, year: the number. amount: tenths. distance: tenths of a kilometer. duration: minutes.
  /// Dates and times of all kinds: seconds since 1970-01-01 00:00 UTC.
  int64_t value = 0;
};

/// The unit of `Expression::value`. Two kinds can only be mistaken for each other if they say the same
/// quantity.
enum class Quantity { number, tenths, minutes, moment };

struct KindEntry {
  ExpressionKind kind;
  Quantity quantity;
  /// Share of the draws. Kinds with few distinct expressions get a small one: what repeats is drawn anew.
  int weight;
  /// The fields that a moment shows, as a CLDR date skeleton: the locale orders and punctuates them. `j` is
  /// the hour in the locale's own cycle, 12 or 24.
  const char* skeleton;
};

/// If two kinds say the same words (`May 4, 1986` is a long and a medium date), the words belong to the kind that is
/// first.
inline constexpr KindEntry kKinds[] = {
    {ExpressionKind::cardinal, Quantity::number, 30, nullptr},
    {ExpressionKind::ordinal, Quantity::number, 12, nullptr},
    {ExpressionKind::year, Quantity::number, 4, nullptr},
    {ExpressionKind::amount, Quantity::tenths, 8, nullptr},
    {ExpressionKind::distance, Quantity::tenths, 6, nullptr},
    {ExpressionKind::duration, Quantity::minutes, 8, nullptr},
    {ExpressionKind::full_date, Quantity::moment, 8, "yMMMMEEEEd"},
    {ExpressionKind::long_date, Quantity::moment, 6, "yMMMMd"},
    {ExpressionKind::medium_date, Quantity::moment, 4, "yMMMd"},
    {ExpressionKind::numeric_date, Quantity::moment, 4, "yMd"},
    {ExpressionKind::day_of_year, Quantity::moment, 4, "MMMMEEEEd"},
    {ExpressionKind::month_of_year, Quantity::moment, 2, "yMMMM"},
    {ExpressionKind::time, Quantity::moment, 2, "jm"},
    {ExpressionKind::precise_time, Quantity::moment, 4, "jms"},
    {ExpressionKind::weekday_and_time, Quantity::moment, 4, "EEEEjm"},
    {ExpressionKind::date_and_time, Quantity::moment, 4, "yMMMMdjm"},
};

/// @throws std::invalid_argument for what is no kind.
const KindEntry& kind_entry(ExpressionKind kind);

constexpr int64_t kMinutesPerHour = 60;
constexpr int64_t kSecondsPerDay = 86'400;

}  // namespace transmute
