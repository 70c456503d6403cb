// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/demo_corpus/expression_writer.h>

#include <unicode/datefmt.h>
#include <unicode/measfmt.h>
#include <unicode/numberformatter.h>
#include <unicode/rbnf.h>
#include <unicode/timezone.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace transmute {
namespace {

using Writer = std::function<icu::UnicodeString(int64_t value, UErrorCode& status)>;

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
  return plain.toUTF8String(utf8);
}

// ICU answers with the rules of the machine's default locale where a language has none.
bool has_own_rules(const icu::RuleBasedNumberFormat& spellout, icu::Locale locale) {
  UErrorCode status = U_ZERO_ERROR;
  icu::Locale actual = spellout.getLocale(ULOC_ACTUAL_LOCALE, status);
  actual.addLikelySubtags(status);
  locale.addLikelySubtags(status);
  return U_SUCCESS(status) && std::string(actual.getLanguage()) == locale.getLanguage();
}

// Languages with genders have no plain ordinal, and dictionaries list the masculine singular. So that form comes first,
// then the rule set of this name, then any whose name begins so. Empty if there is none.
icu::UnicodeString find_rule_set(const icu::RuleBasedNumberFormat& spellout, const icu::UnicodeString& wanted) {
  if (wanted.isEmpty()) return spellout.getDefaultRuleSetName();
  const icu::UnicodeString masculine = wanted + "-masculine";
  icu::UnicodeString exact, similar;
  for (int32_t i = 0; i < spellout.getNumberOfRuleSetNames(); ++i) {
    const icu::UnicodeString name = spellout.getRuleSetName(i);
    if (name == masculine) return name;
    if (name == wanted) exact = name;
    if (similar.isEmpty() && name.startsWith(wanted)) similar = name;
  }
  return exact.isEmpty() ? similar : exact;
}

Writer number_writer(const ExpressionKind& kind, const icu::Locale& locale, UErrorCode& status) {
  const auto spellout = std::make_shared<const icu::RuleBasedNumberFormat>(icu::URBNF_SPELLOUT, locale, status);
  const icu::UnicodeString rules = find_rule_set(*spellout, kind.format);
  if (rules.isEmpty() || !has_own_rules(*spellout, locale)) return nullptr;
  return [spellout, rules](int64_t number, UErrorCode& failure) {
    icu::UnicodeString text;
    icu::FieldPosition ignored;
    return spellout->format(number, rules, text, ignored, failure);
  };
}

Writer tenths_writer(const ExpressionKind& kind, const icu::Locale& locale, UErrorCode& status) {
  const auto format = icu::number::NumberFormatter::forSkeleton(kind.format, status).locale(locale);
  return [format](int64_t tenths, UErrorCode& failure) { return format.formatInt(tenths, failure).toString(failure); };
}

Writer duration_writer(const icu::Locale& locale, UErrorCode& status) {
  const auto format = std::make_shared<const icu::MeasureFormat>(locale, UMEASFMT_WIDTH_WIDE, status);
  return [format](int64_t minutes, UErrorCode& failure) {
    const icu::Measure parts[] = {{minutes / 60, icu::MeasureUnit::createHour(failure), failure},
                                  {minutes % 60, icu::MeasureUnit::createMinute(failure), failure}};
    icu::UnicodeString text;
    icu::FieldPosition ignored;
    return format->formatMeasures(parts, 2, text, ignored, failure);
  };
}

// Dates are Gregorian everywhere: a network cannot be asked to learn the Persian calendar from examples.
Writer moment_writer(const ExpressionKind& kind, icu::Locale locale, UErrorCode& status) {
  locale.setKeywordValue("calendar", "gregorian", status);
  const std::shared_ptr<icu::DateFormat> format(
      icu::DateFormat::createInstanceForSkeleton(kind.format, locale, status));
  if (U_FAILURE(status)) return nullptr;
  format->setTimeZone(*icu::TimeZone::getGMT());
  return [format](int64_t seconds, UErrorCode&) {
    icu::UnicodeString text;
    return format->format(1000.0 * static_cast<double>(seconds), text);
  };
}

Writer make_writer(const ExpressionKind& kind, const icu::Locale& locale, UErrorCode& status) {
  switch (kind.quantity) {
    case Quantity::number:
    case Quantity::year:
      return number_writer(kind, locale, status);
    case Quantity::tenths:
      return tenths_writer(kind, locale, status);
    case Quantity::minutes:
      return duration_writer(locale, status);
    case Quantity::moment:
      return moment_writer(kind, locale, status);
  }
  throw std::logic_error("a Quantity without a writer");
}

}  // namespace

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

ExpressionWriter::ExpressionWriter(const std::string& locale) : locale_(known_locale(locale)) {
  UErrorCode status = U_ZERO_ERROR;
  for (const ExpressionKind& kind : kExpressionKinds) {
    writers_.push_back(make_writer(kind, locale_, status));
    check_icu(status, locale_, std::string("load the format of a ") + kind.name);
  }
}

std::string ExpressionWriter::write(const Expression& expression) const {
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeString text = writers_[expression.kind](expression.value, status);
  check_icu(status, locale_, std::string("write a ") + kExpressionKinds[expression.kind].name);
  return plain_utf8(text);
}

}  // namespace transmute
