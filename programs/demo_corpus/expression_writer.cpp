// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/demo_corpus/expression_writer.h>

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
#include <map>
#include <stdexcept>
#include <vector>

namespace transmute {
namespace {

constexpr int64_t kMillisecondsPerSecond = 1'000;

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

const KindEntry& kind_entry(ExpressionKind kind) {
  for (const KindEntry& entry : kKinds) {
    if (entry.kind == kind) return entry;
  }
  throw std::invalid_argument("undefined ExpressionKind " + std::to_string(static_cast<int>(kind)));
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

}  // namespace transmute
