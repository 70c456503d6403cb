// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/config_schema.h>
#include <transmute/common/export.h>
#include <transmute/text/checks/confidence.h>
#include <transmute/text/checks/expectations.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

constexpr const char* kTextProfileFile = "text_profile.yaml";  ///< the profile in a model folder

/// Facts about the sentences of the training text's source side.
struct SentenceProfile {
  std::string language;            ///< code of the source language, such as "de"; empty: unknown
  int64_t lines = 0;               ///< number of lines that were examined; 0: nothing is known
  double lines_with_several = 0;   ///< share of these lines that have more than one sentence
  std::vector<std::string> words;  ///< words that are followed by a full stop within a sentence, in lower case
};

/// Properties of the translations in the training text; see Expectations. Empty lists: unknown.
struct TranslationProfile {
  std::vector<double> length_means;       ///< LengthExpectation::mean of each class
  std::vector<double> length_deviations;  ///< LengthExpectation::deviation of each class
  std::vector<std::string> scripts;       ///< Expectations::scripts
  double copies = 0;                      ///< Expectations::copies
  std::vector<double> confidence;         ///< ConfidenceCurve::text
  std::vector<double> word_confidence;    ///< ConfidenceCurve::word

  /// The guard's expectations; the defaults where nothing is known.
  Expectations expectations() const;
  /// Nothing if the model was not calibrated.
  std::optional<ConfidenceCurve> curve() const;
  void set(const Expectations& expected);
  void set(const ConfidenceCurve& curve);
};

/// Spans that Protection would take out, as far as the training text has them.
struct ProtectionProfile {
  /// Spans that were frequent and that translations kept, most frequent first: the model has learned to write them.
  std::vector<std::string> learned;
};

/// Facts that `train` learns about its text and that translation needs later. Each topic has a section of
/// text_profile.yaml; the defaults mean that nothing is known, as for the models of other programs.
struct TRANSMUTE_API TextProfile {
  int64_t format_version = kFormatVersion;  ///< version of the file
  SentenceProfile sentences;                ///< section `sentences`
  TranslationProfile translations;          ///< section `translations`
  ProtectionProfile protection;             ///< section `protection`

  /// Version of text_profile.yaml.
  static constexpr int64_t kFormatVersion = 1;
  /// Maximum number of bytes of the file.
  static constexpr uint64_t kMaxBytes = kMaxConfigBytes;

  /// Binds every key to its field.
  void declare(ConfigSchema& schema);
  /// The profile as YAML; empty if nothing is known.
  std::string to_yaml() const;
};

/// Reads a profile. `name`: the file's name in messages. An empty text is a profile that knows nothing.
/// @throws std::runtime_error naming the file and the line of an unknown key or a value out of bounds.
TRANSMUTE_API TextProfile parse_text_profile(const std::string& yaml, const std::string& name);

/// Reads the profile of a model folder; one that knows nothing if the folder has none.
/// @throws as parse_text_profile, and std::runtime_error if the file is missing or changed although the folder's
/// checksums name it.
TRANSMUTE_API TextProfile load_text_profile(const std::string& folder);

}  // namespace v0
}  // namespace transmute
