// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/augmentation.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/random.h>
#include <transmute/common/utf8.h>
#include <transmute/metrics/metric_text.h>
#include <transmute/text/letter_case.h>
#include <transmute/tokenizer/actual_options.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr std::array<std::pair<const char*, Augmentation>, 4> kNames{{{"upper", Augmentation::upper},
                                                                      {"title", Augmentation::title},
                                                                      {"punctuation", Augmentation::punctuation},
                                                                      {"typos", Augmentation::typos}}};

constexpr int32_t kLeastLetters = 4;  // minimum number of letters of a word that stays readable with a typo

// The words that are long enough for a typo, as ranges of their letters.
std::vector<std::pair<int32_t, int32_t>> long_words(const icu::UnicodeString& text) {
  std::vector<std::pair<int32_t, int32_t>> words;
  for (int32_t at = 0; at < text.length();) {
    int32_t end = at;
    while (end < text.length() && u_isalpha(text.char32At(end)) && text.char32At(end) < 0x10000) ++end;
    if (end - at >= kLeastLetters) words.emplace_back(at, end);
    at = std::max(end, text.moveIndex32(at, 1));
  }
  return words;
}

// The first letter stays: typists seldom miss it.
void mistype(icu::UnicodeString& text, std::pair<int32_t, int32_t> word, char16_t other, uint64_t key) {
  enum Typo : uint64_t { swapped, missing, doubled, wrong, count };
  const int32_t letters = word.second - word.first;
  const int32_t at = word.first + 1 + static_cast<int32_t>(mix_bits(key) % static_cast<uint64_t>(letters - 2));
  const char16_t letter = text.charAt(at);
  switch (mix_bits(key + 1) % Typo::count) {
    case swapped:
      text.setCharAt(at, text.charAt(at + 1)).setCharAt(at + 1, letter);
      break;
    case missing:
      text.remove(at, 1);
      break;
    case doubled:
      text.insert(at, letter);
      break;
    default:
      text.setCharAt(at, other);
  }
}

bool has_unknown(const Ids& ids) {
  return std::find(ids.begin(), ids.end(), special_ids::kUnknown) != ids.end();
}

using Texts = std::pair<std::string, std::string>;  // source and target

Texts changed(const Texts& texts, Augmentation augmentation, uint64_t key) {
  const auto both = [&](auto&& change) { return Texts{change(texts.first), change(texts.second)}; };
  switch (augmentation) {
    case Augmentation::upper:
      return both([](const std::string& text) { return in_capitals(text, case_locale(text, "")).text; });
    case Augmentation::title:
      return both([](const std::string& text) { return with_capital_words(text, case_locale(text, "")).text; });
    case Augmentation::punctuation: {
      const Texts bare = both(without_final_mark);
      return bare.first == texts.first || bare.second == texts.second ? texts : bare;
    }
    case Augmentation::typos:
      break;
  }
  return {with_typos(texts.first, key), texts.second};
}

// Replaces a symbol while the text around it changes. Texts do not contain characters of plane 16.
std::string stand_in(size_t symbol) {
  std::string character;
  return icu::UnicodeString(static_cast<UChar32>(0x100000 + symbol)).toUTF8String(character);
}

}  // namespace

std::vector<Augmentation> augmentations_of(const std::vector<std::string>& names) {
  std::vector<Augmentation> augmentations;
  for (const std::string& name : names) {
    const auto* const known =
        std::find_if(kNames.begin(), kNames.end(), [&](const auto& candidate) { return candidate.first == name; });
    if (known == kNames.end())
      throw std::invalid_argument(
          fmt::format("training.augment has \"{}\"; it takes upper, title, punctuation and typos", name));
    if (std::find(augmentations.begin(), augmentations.end(), known->second) != augmentations.end())
      throw std::invalid_argument(fmt::format("training.augment has \"{}\" twice; leave one of them out", name));
    augmentations.push_back(known->second);
  }
  std::sort(augmentations.begin(), augmentations.end());
  return augmentations;
}

Augmenter::Augmenter(Tokenizer tokenizer, std::vector<Augmentation> augmentations)
    : tokenizer_(std::move(tokenizer)),
      augmentations_(std::move(augmentations)),
      symbols_(actual_options(tokenizer_, {}).user_defined_symbols) {
  // Single characters, such as ？ and …, are no placeholders, and may be the final mark that is left out.
  symbols_.erase(std::remove_if(symbols_.begin(), symbols_.end(),
                                [](const std::string& symbol) { return character_at(symbol, 0).end == symbol.size(); }),
                 symbols_.end());
  // A symbol that begins with another one comes before it.
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::optional<Augmenter::Pair> Augmenter::augment(const Ids& source, const Ids& target, uint64_t key) const {
  const auto drawn = static_cast<size_t>(uniform(key) / kAugmentedShare);
  if (drawn >= kNames.size() || has_unknown(source) || has_unknown(target)) return {};
  const Augmentation augmentation = kNames.at(drawn).second;
  if (std::find(augmentations_.begin(), augmentations_.end(), augmentation) == augmentations_.end()) return {};
  const Texts texts{tokenizer_.source().decode(source), tokenizer_.target().decode(target)};
  Texts now = texts;
  for (size_t i = 0; i < symbols_.size(); ++i)
    for (std::string* text : {&now.first, &now.second}) replace_all(*text, symbols_[i], stand_in(i));
  now = changed(now, augmentation, key);
  for (size_t i = 0; i < symbols_.size(); ++i)
    for (std::string* text : {&now.first, &now.second}) replace_all(*text, stand_in(i), symbols_[i]);
  if (now == texts) return {};
  Pair pair{source, target};
  if (now.first != texts.first) {
    pair.source = tokenizer_.source().encode(now.first);
    // The text decoded from the tokens lacks the tag of the target language.
    if (tokenizer_.source().begins_with_tag(source)) pair.source.insert(pair.source.begin(), source.front());
  }
  if (now.second != texts.second) pair.target = tokenizer_.target().encode(now.second);
  return pair;
}

std::string with_typos(const std::string& text, uint64_t key) {
  constexpr uint64_t kOneIn = 10;
  icu::UnicodeString typed = icu::UnicodeString::fromUTF8(text);
  const auto words = long_words(typed);
  if (words.empty()) return text;
  const size_t certain = combine_keys(key, 1) % words.size();
  for (size_t i = words.size(); i-- > 0;) {  // from the end, so that the positions before a change remain valid
    const uint64_t own = combine_keys(key, 2, i);
    if (i != certain && own % kOneIn != 0) continue;
    const int32_t other = words[combine_keys(own, 1) % (i + 1)].first;
    const auto offset = static_cast<int32_t>(combine_keys(own, 2) % kLeastLetters);
    mistype(typed, words[i], typed.charAt(other + offset), combine_keys(own, 3));
  }
  std::string result;
  typed.toUTF8String(result);
  return result;
}

std::string without_final_mark(const std::string& text) {
  constexpr std::array<std::string_view, 10> kMarks{".", "!", "?", "…", "。", "！", "？", "।", "؟", "۔"};
  std::string_view bare = text;
  const auto ends_bare = [&](std::string_view mark) {
    return bare.size() >= mark.size() && bare.substr(bare.size() - mark.size()) == mark;
  };
  for (auto mark = kMarks.begin(); mark != kMarks.end();) {
    mark = std::find_if(kMarks.begin(), kMarks.end(), ends_bare);
    if (mark != kMarks.end()) bare.remove_suffix(mark->size());
  }
  bare = bare.substr(0, bare.find_last_not_of(' ') + 1);
  return bare.empty() ? text : std::string(bare);
}

}  // namespace v0
}  // namespace transmute
