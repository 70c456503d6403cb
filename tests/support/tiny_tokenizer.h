// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute::testing {

/// 96 short sentences of few words, and their translations.
inline std::vector<std::string> tiny_english() {
  std::vector<std::string> lines;
  for (const char* color : {"red", "blue", "green", "old"})
    for (const char* thing : {"house", "train", "bridge", "river"})
      for (const char* place : {"near", "far", "here", "there", "gone", "closed"})
        lines.push_back(std::string("the ") + color + " " + thing + " is " + place + ".");
  return lines;
}

inline std::vector<std::string> tiny_german() {
  std::vector<std::string> lines;
  for (const char* color : {"rote", "blaue", "grüne", "alte"})
    for (const char* thing : {"Haus", "Zug", "Brücke", "Fluss"})
      for (const char* place : {"nah", "fern", "hier", "dort", "weg", "geschlossen"})
        lines.push_back(std::string("das ") + color + " " + thing + " ist " + place + ".");
  return lines;
}

inline LineSource lines_from(std::vector<std::string> lines) {
  auto rest = std::make_shared<std::vector<std::string>>(std::move(lines));
  auto next = std::make_shared<size_t>(0);
  return [rest, next](std::string& line) {
    if (*next == rest->size()) return false;
    line = (*rest)[(*next)++];
    return true;
  };
}

inline TokenizerOptions tiny_tokenizer_options() {
  TokenizerOptions options;
  options.vocab_size = 80;
  return options;
}

inline Tokenizer tiny_tokenizer(const TokenizerOptions& options = tiny_tokenizer_options()) {
  return train_tokenizer(options, lines_from(tiny_english()), lines_from(tiny_german()));
}

/// A vocabulary of sentences that begin with a capital, and have the same words in lower case within.
inline Tokenizer tiny_truecasing_tokenizer() {
  TokenizerOptions options = tiny_tokenizer_options();
  options.normalization = "nmt_nfkc_tc";
  const auto sentences = [](const std::vector<std::string>& lines, const std::string& conjunction, char capital) {
    std::vector<std::string> longer;
    for (const std::string& line : lines)
      longer.push_back(capital + line.substr(1, line.size() - 2) + " " + conjunction + " " + line);
    return longer;
  };
  return train_tokenizer(options, lines_from(sentences(tiny_english(), "and", 'T')),
                         lines_from(sentences(tiny_german(), "und", 'D')));
}

}  // namespace transmute::testing
