// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/source_case.h>

#include <transmute/text/readable_case.h>

#include <algorithm>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The length of the translation's label; 0 if it has none that could be the translation of the source's.
size_t label_to_restore(const std::string& source, const std::string& translation) {
  const std::string of_source = source.substr(0, label_length(source));
  const std::string label = translation.substr(0, label_length(translation));
  const bool is_alike = !of_source.empty() && !label.empty() && label.back() == of_source.back() &&
                        number_of_words(label) <= 2 * number_of_words(of_source) + 1;
  return is_alike ? label.size() : 0;
}

}  // namespace

SourceCase::SourceCase(const SourceTexts& sources, const Tokenizer& tokenizer, std::string target_language)
    : sources_(sources), tokenizer_(tokenizer), target_language_(std::move(target_language)) {
  const auto is_recased = [](const SourceText& text) { return text.recased.has_value(); };
  if (target_language_.empty() && std::any_of(sources.begin(), sources.end(), is_recased))
    writes_turkish_ = tokenizer.target().is_turkish();
}

const RecasedText* SourceCase::read(size_t text) const {
  return sources_[text].recased ? &*sources_[text].recased : nullptr;
}

// A vocabulary of both languages shows that one of them is Turkish, which is then not that of the source.
std::string SourceCase::language_of(const SourcePart& part) const {
  if (!target_language_.empty()) return target_language_;
  if (!part.tag.empty()) {
    const std::string tag = tokenizer_.source().piece(part.tag.front());
    return tag.substr(2, tag.size() - 4);  // >>tur<<
  }
  return writes_turkish_ && case_locale(part.plain, "") != "tr" ? "tr" : "";
}

std::vector<std::pair<size_t, size_t>> SourceCase::demanded_in(const SourcePart& part,
                                                               const std::string& translation) const {
  std::vector<std::pair<size_t, size_t>> demanded;
  const SubwordModel& target = tokenizer_.target();
  if (!part.prefix_is_recased) {
    const std::string prefix = target.decode(part.prefix);
    if (translation.compare(0, prefix.size(), prefix) == 0) demanded.emplace_back(0, prefix.size());
  }
  std::vector<GlossaryEntry> terms;
  for (const Ids& term : part.terms) terms.push_back({target.decode(term), target.decode(term)});
  for (const TermMatch& match : Glossary(terms).matches_in(translation)) demanded.emplace_back(match.begin, match.end);
  for (const auto& [begin, end] : spans_of_fixed_case(translation))
    if (part.plain.find(translation.substr(begin, end - begin)) != std::string::npos) demanded.emplace_back(begin, end);
  std::sort(demanded.begin(), demanded.end());
  return demanded;
}

RecasedText SourceCase::restore(size_t text, const std::vector<size_t>& ends, const std::string& translation) const {
  const SourceText& source = sources_[text];
  if (!source.parts.empty() && !source.changes_case()) return restore(source.parts.front(), translation);
  RecasedText restored;
  size_t begin = 0;
  for (size_t i = 0; i < ends.size(); begin = ends[i++]) {
    const bool is_last = i + 1 == ends.size();  // also of hypotheses other than the best
    const std::string of_part = translation.substr(begin, is_last ? std::string::npos : ends[i] - begin);
    restored.append(restore(source.parts[i], of_part));
  }
  return restored;
}

RecasedText SourceCase::restore(const SourcePart& part, const std::string& translation) const {
  const size_t end = part.written == TextCase::mixed   ? 0
                     : part.written == TextCase::label ? label_to_restore(part.plain, translation)
                                                       : translation.size();
  RecasedText restored;
  if (end > 0) {
    const std::string recased = translation.substr(0, end);
    const TextCase wanted = part.written == TextCase::title ? TextCase::title : TextCase::capitals;
    restored = in_case(recased, wanted, language_of(part), demanded_in(part, recased));
  }
  const std::string rest = translation.substr(end);
  const SmallWords& small_words = sources_[part.text].small_words;
  if (small_words.empty()) {
    restored.append_unchanged(rest);
  } else {
    restored.append(with_capitals_of(small_words, rest, language_of(part), demanded_in(part, rest)));
  }
  return restored;
}

}  // namespace v0
}  // namespace transmute
