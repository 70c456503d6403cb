#include <transmute/programs/demo_corpus.h>

#include <unicode/dtptngen.h>
#include <unicode/locid.h>
#include <unicode/measfmt.h>
#include <unicode/measunit.h>
#include <unicode/measure.h>
#include <unicode/numberformatter.h>
#include <unicode/rbnf.h>
#include <unicode/smpdtfmt.h>
#include <unicode/timezone.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <stdexcept>
#include <unordered_set>

#include <transmute/common/random.h>

namespace transmute {
namespace {

constexpr int64_t kSecondsPerMinute = 60;
constexpr int64_t kMinutesPerHour = 60;
constexpr int64_t kSecondsPerDay = 86'400;
constexpr int64_t kMillisecondsPerSecond = 1'000;

// --- Kinds -------------------------------------------------------------------------------------------------

// What `Expression::value` counts. Two kinds can only be mistaken for each other if they say the same
// quantity.
enum class Quantity { number, tenths, minutes, moment };

struct KindEntry {
  ExpressionKind kind;
  Quantity quantity;
  // Share of the draws. Kinds with few distinct expressions get a small one: what repeats is drawn anew.
  int weight;
  // The fields that a moment shows, as a CLDR date skeleton: the locale orders and punctuates them. `j` is
  // the hour in the locale's own cycle, 12 or 24.
  const char* skeleton;
};

// Where two kinds say the same words (`May 4, 1986` is a long and a medium date), the words belong to the
// kind that stands first.
constexpr KindEntry kKinds[] = {
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

const KindEntry& kind_entry(ExpressionKind kind) {
  for (const KindEntry& entry : kKinds) {
    if (entry.kind == kind) return entry;
  }
  throw std::invalid_argument("undefined ExpressionKind " + std::to_string(static_cast<int>(kind)));
}

// --- ICU ---------------------------------------------------------------------------------------------------

void check_icu(UErrorCode status, const icu::Locale& locale, const std::string& task) {
  if (U_SUCCESS(status)) return;
  throw std::runtime_error("ICU cannot " + task + " for locale \"" + locale.getBaseName() +
                           "\": " + u_errorName(status) + "; is ICU's data complete (package libicu)?");
}

// ICU answers for any name, from the root data or the machine's default locale if need be; a corpus in the
// wrong language must not come out of a misspelt name.
bool has_locale_data(const icu::Locale& locale) {
  UErrorCode status = U_ZERO_ERROR;
  icu::Locale with_script = locale;
  with_script.addLikelySubtags(status);  // zh_CN is stored as zh_Hans_CN
  int32_t count = 0;
  const icu::Locale* known = icu::Locale::getAvailableLocales(count);
  return std::any_of(known, known + count, [&](const icu::Locale& candidate) {
    return candidate == locale || (U_SUCCESS(status) && candidate == with_script);
  });
}

icu::Locale known_locale(const std::string& name) {
  const icu::Locale canonical = icu::Locale::createCanonical(name.c_str());
  const icu::Locale locale(canonical.getBaseName());  // keywords such as @calendar= are not ours to follow
  if (name.empty() || locale.isBogus() || !has_locale_data(locale)) {
    throw std::invalid_argument("unknown locale \"" + name +
                                "\"; give a language that ICU has data for, with a region if it matters, such "
                                "as en, de, fr, pt_BR or zh_Hant");
  }
  return locale;
}

// Soft hyphens (in German number words), direction marks and the like. The two joiners are letters' business
// in Persian and in Indic scripts, and stay.
bool is_invisible(UChar32 c) {
  constexpr UChar32 kZeroWidthNonJoiner = 0x200C;
  constexpr UChar32 kZeroWidthJoiner = 0x200D;
  return u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) && c != kZeroWidthNonJoiner &&
         c != kZeroWidthJoiner;
}

std::string plain_utf8(const icu::UnicodeString& text) {
  icu::UnicodeString plain;
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    const UChar32 c = text.char32At(i);
    if (is_invisible(c)) continue;
    plain.append(u_charType(c) == U_SPACE_SEPARATOR ? UChar32{' '} : c);
  }
  std::string utf8;
  plain.toUTF8String(utf8);
  return utf8;
}

// --- Spelled-out numbers -----------------------------------------------------------------------------------

// Rule sets of ICU's number spelling; an empty name where the locale has none.
struct SpelloutRules {
  icu::UnicodeString cardinal;
  icu::UnicodeString ordinal;
  icu::UnicodeString year;
};

std::vector<icu::UnicodeString> rule_set_names(const icu::RuleBasedNumberFormat& spellout) {
  std::vector<icu::UnicodeString> names;
  for (int32_t i = 0; i < spellout.getNumberOfRuleSetNames(); ++i) names.push_back(spellout.getRuleSetName(i));
  return names;
}

// The name itself if it exists, else the first that it begins.
icu::UnicodeString find_rule_set(const std::vector<icu::UnicodeString>& names, const icu::UnicodeString& wanted) {
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return wanted;
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const icu::UnicodeString& name) { return name.startsWith(wanted); });
  return found == names.end() ? icu::UnicodeString() : *found;
}

// Languages with genders have no plain ordinal; the masculine singular is what dictionaries list.
icu::UnicodeString find_ordinal_rule_set(const std::vector<icu::UnicodeString>& names) {
  const icu::UnicodeString masculine = "%spellout-ordinal-masculine";
  if (std::find(names.begin(), names.end(), masculine) != names.end()) return masculine;
  return find_rule_set(names, "%spellout-ordinal");
}

// ICU answers with the rules of the machine's default locale where a language has none.
bool has_own_rules(const icu::RuleBasedNumberFormat& spellout, const icu::Locale& locale) {
  UErrorCode status = U_ZERO_ERROR;
  icu::Locale actual = spellout.getLocale(ULOC_ACTUAL_LOCALE, status);
  icu::Locale wanted = locale;
  actual.addLikelySubtags(status);
  wanted.addLikelySubtags(status);
  return U_SUCCESS(status) && std::string(actual.getLanguage()) == wanted.getLanguage();
}

SpelloutRules find_spellout_rules(const icu::RuleBasedNumberFormat& spellout, const icu::Locale& locale) {
  SpelloutRules rules;
  if (!has_own_rules(spellout, locale)) return rules;
  const std::vector<icu::UnicodeString> names = rule_set_names(spellout);
  rules.cardinal = spellout.getDefaultRuleSetName();
  rules.ordinal = find_ordinal_rule_set(names);
  rules.year = find_rule_set(names, "%spellout-numbering-year");
  return rules;
}

// --- Dates and times ---------------------------------------------------------------------------------------

// Dates are Gregorian everywhere: a network cannot be asked to learn the Persian calendar from examples.
icu::Locale with_gregorian_calendar(icu::Locale locale) {
  UErrorCode status = U_ZERO_ERROR;
  locale.setKeywordValue("calendar", "gregorian", status);
  check_icu(status, locale, "choose the Gregorian calendar");
  return locale;
}

using MomentFormats = std::map<ExpressionKind, std::unique_ptr<icu::SimpleDateFormat>>;

MomentFormats make_moment_formats(const icu::Locale& locale) {
  const icu::Locale gregorian = with_gregorian_calendar(locale);
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::DateTimePatternGenerator> patterns(
      icu::DateTimePatternGenerator::createInstance(gregorian, status));
  check_icu(status, locale, "find date patterns");
  MomentFormats formats;
  for (const KindEntry& entry : kKinds) {
    if (entry.skeleton == nullptr) continue;
    const icu::UnicodeString pattern = patterns->getBestPattern(entry.skeleton, status);
    auto format = std::make_unique<icu::SimpleDateFormat>(pattern, gregorian, status);
    check_icu(status, locale, "format dates");
    format->setTimeZone(*icu::TimeZone::getGMT());
    formats.emplace(entry.kind, std::move(format));
  }
  return formats;
}

// --- Amounts and measures ----------------------------------------------------------------------------------

icu::number::LocalizedNumberFormatter make_amount_format(const icu::Locale& locale) {
  return icu::number::NumberFormatter::withLocale(locale).precision(icu::number::Precision::fixedFraction(1));
}

icu::number::LocalizedNumberFormatter make_distance_format(const icu::Locale& locale) {
  return make_amount_format(locale).unit(icu::MeasureUnit::getKilometer()).unitWidth(UNUM_UNIT_WIDTH_FULL_NAME);
}

// In decimal digits rather than as a double, so that nothing is rounded on the way.
std::string decimal_of_tenths(int64_t tenths) {
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

}  // namespace

// --- ExpressionWriter --------------------------------------------------------------------------------------

struct ExpressionWriter::Formats {
  Formats(const icu::Locale& of, UErrorCode& status)
      : locale(of),
        spellout(icu::URBNF_SPELLOUT, of, status),
        spellout_rules(find_spellout_rules(spellout, of)),
        amount(make_amount_format(of)),
        distance(make_distance_format(of)),
        duration(of, UMEASFMT_WIDTH_WIDE, status),
        moments(make_moment_formats(of)) {}

  icu::UnicodeString write_spelled(int64_t number, const icu::UnicodeString& rule_set) const {
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeString text;
    icu::FieldPosition ignored;
    spellout.format(number, rule_set, text, ignored, status);
    check_icu(status, locale, "spell out " + std::to_string(number));
    return text;
  }

  icu::UnicodeString write_tenths(int64_t tenths, const icu::number::LocalizedNumberFormatter& format) const {
    UErrorCode status = U_ZERO_ERROR;
    const icu::UnicodeString text = format.formatDecimal(decimal_of_tenths(tenths), status).toString(status);
    check_icu(status, locale, "format " + decimal_of_tenths(tenths));
    return text;
  }

  icu::UnicodeString write_duration(int64_t minutes) const {
    UErrorCode status = U_ZERO_ERROR;
    const icu::Measure parts[] = {
        {icu::Formattable(minutes / kMinutesPerHour), icu::MeasureUnit::createHour(status), status},
        {icu::Formattable(minutes % kMinutesPerHour), icu::MeasureUnit::createMinute(status), status}};
    icu::UnicodeString text;
    icu::FieldPosition ignored;
    duration.formatMeasures(parts, 2, text, ignored, status);
    check_icu(status, locale, "format a duration");
    return text;
  }

  icu::UnicodeString write_moment(int64_t seconds, ExpressionKind kind) const {
    icu::UnicodeString text;
    return moments.at(kind)->format(static_cast<UDate>(seconds * kMillisecondsPerSecond), text);
  }

  icu::Locale locale;
  icu::RuleBasedNumberFormat spellout;
  SpelloutRules spellout_rules;
  icu::number::LocalizedNumberFormatter amount;
  icu::number::LocalizedNumberFormatter distance;
  icu::MeasureFormat duration;
  MomentFormats moments;
};

ExpressionWriter::ExpressionWriter(const std::string& locale) {
  const icu::Locale icu_locale = known_locale(locale);
  UErrorCode status = U_ZERO_ERROR;
  formats_ = std::make_unique<const Formats>(icu_locale, status);
  check_icu(status, icu_locale, "load the number formats");
}

ExpressionWriter::~ExpressionWriter() = default;

bool ExpressionWriter::can_write(ExpressionKind kind) const {
  switch (kind) {
    case ExpressionKind::cardinal:
      return !formats_->spellout_rules.cardinal.isEmpty();
    case ExpressionKind::ordinal:
      return !formats_->spellout_rules.ordinal.isEmpty();
    case ExpressionKind::year:
      return !formats_->spellout_rules.year.isEmpty();
    default:
      return true;
  }
}

std::string ExpressionWriter::write(const Expression& expression) const {
  if (!can_write(expression.kind)) {
    throw std::invalid_argument("ICU has no rules to spell out this kind of number for locale \"" +
                                std::string(formats_->locale.getBaseName()) + "\"; ask can_write() first");
  }
  switch (expression.kind) {
    case ExpressionKind::cardinal:
      return plain_utf8(formats_->write_spelled(expression.value, formats_->spellout_rules.cardinal));
    case ExpressionKind::ordinal:
      return plain_utf8(formats_->write_spelled(expression.value, formats_->spellout_rules.ordinal));
    case ExpressionKind::year:
      return plain_utf8(formats_->write_spelled(expression.value, formats_->spellout_rules.year));
    case ExpressionKind::amount:
      return plain_utf8(formats_->write_tenths(expression.value, formats_->amount));
    case ExpressionKind::distance:
      return plain_utf8(formats_->write_tenths(expression.value, formats_->distance));
    case ExpressionKind::duration:
      return plain_utf8(formats_->write_duration(expression.value));
    default:
      return plain_utf8(formats_->write_moment(expression.value, expression.kind));
  }
}

namespace {

// --- Drawing -----------------------------------------------------------------------------------------------

// A stream of random integers that is the same with every standard library.
class RandomStream {
 public:
  explicit RandomStream(uint64_t key) : key_(key) {}

  // Uniform from `low` to `high`, both included. The modulus's bias is below 2^-30 for ranges below 2^34.
  int64_t between(int64_t low, int64_t high) {
    const auto size = static_cast<uint64_t>(high - low) + 1;
    return low + static_cast<int64_t>(mix_bits(key_ ^ mix_bits(counter_++)) % size);
  }

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

// First a number of digits, then a number that long: roughly log-uniform, so that short numbers and each of
// the tens and units words are frequent, and in integers, so that no rounding differs between machines.
int64_t draw_number(RandomStream& random, int64_t max_number) {
  int max_digits = 1;
  for (int64_t rest = max_number; rest >= 10; rest /= 10) ++max_digits;
  int64_t smallest = 1;
  for (int64_t digits = random.between(1, max_digits); digits > 1; --digits) smallest *= 10;
  return random.between(smallest, std::min(10 * smallest - 1, max_number));
}

// Years that languages with a special form ("nineteen eighty-six") use it for, and both neighbouring
// centuries.
int64_t draw_year(RandomStream& random) {
  return random.between(1100, 2099);
}

int64_t draw_tenths(RandomStream& random, int64_t max_number) {
  return 10 * draw_number(random, max_number) + random.between(0, 9);
}

// Both parts are at least 1: "0 minutes" is not said in some languages.
int64_t draw_minutes(RandomStream& random) {
  return random.between(1, 99) * kMinutesPerHour + random.between(1, kMinutesPerHour - 1);
}

// Any second from 1900-01-01 to 2099-12-31.
int64_t draw_moment(RandomStream& random) {
  constexpr int64_t kFirstDay = -25'567;
  constexpr int64_t kLastDay = 47'481;
  return random.between(kFirstDay, kLastDay) * kSecondsPerDay + random.between(0, kSecondsPerDay - 1);
}

int64_t draw_value(RandomStream& random, const KindEntry& entry, int64_t max_number) {
  switch (entry.quantity) {
    case Quantity::number:
      return entry.kind == ExpressionKind::year ? draw_year(random) : draw_number(random, max_number);
    case Quantity::tenths:
      return draw_tenths(random, max_number);
    case Quantity::minutes:
      return draw_minutes(random);
    case Quantity::moment:
      return draw_moment(random);
  }
  throw std::logic_error("a Quantity without a way to draw it");
}

// Draws a kind by weight, then a value.
Expression draw_expression(RandomStream& random, const std::vector<KindEntry>& kinds, int64_t max_number) {
  int64_t total_weight = 0;
  for (const KindEntry& entry : kinds) total_weight += entry.weight;
  int64_t ticket = random.between(0, total_weight - 1);
  auto entry = kinds.begin();
  for (; ticket >= entry->weight; ++entry) ticket -= entry->weight;
  return {entry->kind, draw_value(random, *entry, max_number)};
}

// --- The corpus --------------------------------------------------------------------------------------------

// Seeds from one user's number, so that the draws and the shuffle do not repeat each other.
enum class Stream : uint64_t { draw = 1, shuffle = 2 };

uint64_t stream_key(uint64_t seed, Stream stream) {
  return combine_keys(seed, static_cast<uint64_t>(stream));
}

std::vector<KindEntry> kinds_of_both(const ExpressionWriter& source, const ExpressionWriter& target) {
  std::vector<KindEntry> kinds;
  std::copy_if(std::begin(kKinds), std::end(kKinds), std::back_inserter(kinds),
               [&](const KindEntry& entry) { return source.can_write(entry.kind) && target.can_write(entry.kind); });
  return kinds;
}

// Whether an earlier kind says the same quantity in the same source words. In other target words it may:
// Spanish `mil novecientos` is a number and a year, English tells `one thousand nine hundred` from `nineteen
// hundred`.
bool belongs_to_earlier_kind(const Expression& expression, const std::string& source_text,
                             const std::vector<KindEntry>& kinds, const ExpressionWriter& source) {
  for (const KindEntry& earlier : kinds) {
    if (earlier.kind == expression.kind) return false;
    if (earlier.quantity != kind_entry(expression.kind).quantity) continue;
    if (source.write({earlier.kind, expression.value}) == source_text) return true;
  }
  return false;
}

std::string too_few_message(std::size_t found, std::size_t wanted) {
  return "too few distinct expressions: " + std::to_string(found) + " of the " + std::to_string(wanted) +
         " asked for were found before most draws repeated earlier ones; ask for fewer pairs or for a larger "
         "maximum number";
}

std::vector<DemoPair> draw_distinct_pairs(const DemoCorpusOptions& options, std::size_t wanted) {
  // Where about half of the draws repeat earlier ones, short kinds have run out, and the rest would be little
  // but dates and times: another task than the one asked for.
  const std::size_t max_draws = 10'000 + 2 * wanted;
  const ExpressionWriter source(options.source_locale);
  const ExpressionWriter target(options.target_locale);
  const std::vector<KindEntry> kinds = kinds_of_both(source, target);
  RandomStream random(stream_key(options.seed, Stream::draw));
  std::vector<DemoPair> pairs;
  std::unordered_set<std::string> known_sources;
  for (std::size_t draw = 0; pairs.size() < wanted; ++draw) {
    if (draw == max_draws) throw std::invalid_argument(too_few_message(pairs.size(), wanted));
    const Expression expression = draw_expression(random, kinds, options.max_number);
    std::string source_text = source.write(expression);
    if (belongs_to_earlier_kind(expression, source_text, kinds, source)) continue;
    if (!known_sources.insert(source_text).second) continue;
    pairs.push_back({expression, std::move(source_text), target.write(expression)});
  }
  return pairs;
}

void check_range(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  throw std::invalid_argument(std::string("the ") + name + " is " + std::to_string(value) + "; it must be from " +
                              std::to_string(low) + " to " + std::to_string(high));
}

void check_options(const DemoCorpusOptions& options) {
  constexpr int64_t kMaxPairs = 100'000'000;
  check_range("number of training pairs", options.train_pairs, 0, kMaxPairs);
  check_range("number of validation pairs", options.valid_pairs, 0, kMaxPairs);
  check_range("number of test pairs", options.test_pairs, 0, kMaxPairs);
  check_range("maximum number", options.max_number, 9, 999'999'999);
  demo_corpus_suffixes(options);  // checks the locales
}

std::vector<DemoPair> take_last(std::vector<DemoPair>& pairs, int64_t count) {
  std::vector<DemoPair> taken(std::make_move_iterator(pairs.end() - count), std::make_move_iterator(pairs.end()));
  pairs.resize(pairs.size() - static_cast<std::size_t>(count));
  return taken;
}

}  // namespace

DemoCorpus make_demo_corpus(const DemoCorpusOptions& options) {
  check_options(options);
  const int64_t wanted = options.train_pairs + options.valid_pairs + options.test_pairs;
  std::vector<DemoPair> pairs = draw_distinct_pairs(options, static_cast<std::size_t>(wanted));
  // What is drawn late is rarer, as short expressions have run out by then; only a shuffle makes the parts
  // alike.
  shuffle(pairs, stream_key(options.seed, Stream::shuffle));
  DemoCorpus corpus;
  corpus.test = take_last(pairs, options.test_pairs);
  corpus.valid = take_last(pairs, options.valid_pairs);
  corpus.train = std::move(pairs);
  return corpus;
}

std::pair<std::string, std::string> demo_corpus_suffixes(const DemoCorpusOptions& options) {
  const icu::Locale source = known_locale(options.source_locale);
  const icu::Locale target = known_locale(options.target_locale);
  if (source == target) {
    throw std::invalid_argument("source and target locale are both \"" + std::string(source.getBaseName()) +
                                "\"; give two different ones");
  }
  const std::string source_language = source.getLanguage();
  const std::string target_language = target.getLanguage();
  if (source_language != target_language) return {source_language, target_language};
  return {source.getBaseName(), target.getBaseName()};
}

}  // namespace transmute
