// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/programs/demo_corpus/expression.h>
#include <unicode/locid.h>

#include <memory>
#include <string>

namespace transmute {

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

  /// True if the locale has rules for this kind: some spell out no numbers, no ordinals or no years.
  bool can_write(ExpressionKind kind) const;

  /// UTF-8, on one line.
  /// @throws std::invalid_argument for a kind that `can_write` denies.
  std::string write(const Expression& expression) const;

 private:
  struct Formats;
  std::unique_ptr<const Formats> formats_;
};

/// The locale of an ICU name or a BCP 47 tag.
/// @throws std::invalid_argument where ICU has no data for it.
icu::Locale known_locale(const std::string& name);

}  // namespace transmute
