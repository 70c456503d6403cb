// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A model of the spelling of a language's words, learned from lists of words. It tells languages apart in texts of a
/// few words. A word's probability is a mixture of Zipf's law over the frequent words and of letters given the four
/// before them, with the smoothing of Witten and Bell (1991).
class Spelling {
 public:
  /// @param frequent in lower case, the most frequent first
  /// @param others further words, which only show how the language uses letters
  Spelling(const std::vector<std::u32string>& frequent, const std::vector<std::u32string>& others);

  /// Natural logarithm of the probability that a word of a text in the language is this one.
  double log_probability(const std::u32string& word) const;

 private:
  struct Letters {
    double count = 0;             // count of these letters
    double total = 0, kinds = 0;  // counts of the letters after them
  };
  void add(const std::u32string& word, double weight);

  std::unordered_map<uint64_t, Letters> letters_;  // by their hash
  std::unordered_map<std::u32string, double> probabilities_;
};

/// The words of UTF-8 text in lower case, without digits and punctuation; at most `most` of a longer text, spread
/// evenly over it. Scripts without spaces give pieces of at most 20 letters.
std::vector<std::u32string> spelled_words(const std::string& text, size_t most);

/// Lines of "language word…", the most frequent words first, then words of everyday subjects.
extern const char* const kLanguageWords;

/// The codes of the languages in kLanguageWords.
const std::vector<std::string>& spelled_languages();

/// The words of one of spelled_languages(), in the order of kLanguageWords.
/// @throws std::out_of_range for any other language
std::vector<std::u32string> words_of_language(const std::string& code);

/// The spelling of one of spelled_languages(), learned at the first call: from its words and, for the letters, from
/// what ICU calls the languages and countries of the world in it.
/// @throws std::out_of_range for any other language
const Spelling& spelling_of(const std::string& code);

}  // namespace v0
}  // namespace transmute
