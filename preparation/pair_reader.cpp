// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/pair_reader.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/common/text_file.h>
#include <transmute/common/zip_member.h>
#include <transmute/documents/plural_forms.h>
#include <transmute/documents/po_entries.h>
#include <transmute/documents/wrapped_text.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// Lines of a text, a few of which may have bytes that are not UTF-8. U+FFFD takes their place.
class RepairedLines {
 public:
  explicit RepairedLines(const std::string& path) : reader_(path) {}

  bool next(std::string& line) {
    const int64_t before = reader_.line_number();
    try {
      if (reader_.next(line)) return true;
    } catch (const std::runtime_error& error) {
      // The reader has passed a line that is not UTF-8, and has put it into `line`. Other errors are final.
      if (reader_.line_number() == before || is_utf_16(line)) throw;
      line = with_valid_utf8(std::move(line));
      if (++repaired_ == 1) first_error_ = error.what();
      return true;
    }
    if (repaired_ * 100 > before) throw std::runtime_error(message() + "; at most 1 in 100 is accepted");
    return false;
  }

  int64_t line_number() const { return reader_.line_number(); }

  // Notes the repaired lines, if there are any.
  void add_note(std::vector<std::string>& notes) const {
    if (repaired_ > 0) notes.push_back(message() + "; U+FFFD takes the place of their invalid bytes");
  }

 private:
  std::string message() const {
    return fmt::format("{}; lines that are not UTF-8: {} of {}", first_error_, repaired_, line_number());
  }

  LineReader reader_;
  int64_t repaired_ = 0;
  std::string first_error_;
};

// Line n of one file and line n of the other.
class TextPairs : public PairReader {
 public:
  explicit TextPairs(const PairInput& input) : input_(input), source_(input.source), target_(input.target) {}

  bool next(TextPair& pair) override {
    const bool has_source = source_.next(pair.source), has_target = target_.next(pair.target);
    if (has_source != has_target)
      throw std::runtime_error(
          fmt::format("{} has more lines than {}, which ends after line {}; line n of the target must translate line n "
                      "of the source",
                      has_source ? input_.source : input_.target, has_source ? input_.target : input_.source,
                      has_source ? target_.line_number() : source_.line_number()));
    if (has_source) return true;
    source_.add_note(notes_);
    target_.add_note(notes_);
    return false;
  }

 private:
  PairInput input_;
  RepairedLines source_, target_;
};

// Two columns of lines with tabs between them. A side is empty if its column is missing.
class TsvPairs : public PairReader {
 public:
  TsvPairs(const std::string& path, const PairReaderOptions& options) : path_(path), options_(options), reader_(path) {}

  bool next(TextPair& pair) override {
    if (!reader_.next(line_)) {
      check_columns();
      reader_.add_note(notes_);
      return false;
    }
    columns_ = std::max(columns_, 1 + std::count(line_.begin(), line_.end(), '\t'));
    pair.source = column(options_.source_column);
    pair.target = column(options_.target_column);
    return true;
  }

 private:
  std::string column(size_t number) const {
    size_t begin = 0;
    for (; number > 0; --number) {
      const size_t tab = line_.find('\t', begin);
      if (tab == std::string::npos) return "";
      begin = tab + 1;
    }
    return line_.substr(begin, std::min(line_.find('\t', begin), line_.size()) - begin);
  }

  void check_columns() const {
    const size_t last = 1 + std::max(options_.source_column, options_.target_column);
    if (columns_ > 0 && static_cast<size_t>(columns_) < last)
      throw std::runtime_error(fmt::format("{}: has no column {}; its lines have {}. --columns says which two to take",
                                           path_, last, counted(columns_, "column")));
  }

  std::string path_;
  PairReaderOptions options_;
  RepairedLines reader_;
  std::string line_;
  int64_t columns_ = 0;  // most of a line so far
};

std::string content_of(const std::string& path) {
  ByteSource source(path);
  std::string content;
  constexpr size_t kBlock = 1 << 16;
  for (size_t size = 0;; size = content.size()) {
    content.resize(size + kBlock);
    content.resize(size + source.read(content.data() + size, kBlock));
    if (!source.error().empty()) throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, source.error()));
    if (content.size() == size) break;
    if (content.size() > kMaxFileBytes)
      throw std::runtime_error(fmt::format("{}: is larger than a catalog can be (1 GiB)", path));
  }
  remove_byte_order_mark(content);
  if (const size_t bad = find_invalid_utf8(content); bad != std::string::npos)
    throw std::runtime_error(
        fmt::format("{}: is not UTF-8 (byte {}); convert it first: msgconv -t UTF-8", path, bad + 1));
  return content;
}

// The finished translations of a catalog.
class PoPairs : public PairReader {
 public:
  explicit PoPairs(const std::string& path) {
    for (const PoEntry& entry : po_entries(path, content_of(path))) {
      if (entry.id.empty())
        forms_ = PluralForms(entry.translations.front().text);
      else
        add(entry);
    }
  }

  bool next(TextPair& pair) override {
    if (next_ == pairs_.size()) return false;
    pair = std::move(pairs_[next_++]);
    return true;
  }

 private:
  void add(const PoEntry& entry) {
    const auto is_empty = [](const PoField& field) { return field.text.empty(); };
    if (entry.is_fuzzy || std::any_of(entry.translations.begin(), entry.translations.end(), is_empty)) {
      ++untranslated_;
      return;
    }
    const auto take = [&](const std::string& source, const std::string& target) {
      pairs_.push_back({on_one_line(without_wrapping(source, WrappedText::message)),
                        on_one_line(without_wrapping(target, WrappedText::message))});
    };
    const size_t forms = entry.translations.size();
    if (!entry.has_plural) return take(entry.id, entry.translations.front().text);
    // The last of several forms for more than one is for the largest numbers.
    if (forms > 1 && forms_.singular() < forms) take(entry.id, entry.translations[forms_.singular()].text);
    take(entry.plural, entry.translations.back().text);
  }

  PluralForms forms_;
  std::vector<TextPair> pairs_;
  size_t next_ = 0;
};

bool is_pair_format(const std::string& ending) {
  return ending == "tsv" || ending == "tmx" || ending == "xlf" || ending == "xliff" || ending == "po";
}

// The ending of a file's name if it may be a language, as in OPUS's archives: Tatoeba.de-en.de beside Tatoeba.de-en.en
// and Tatoeba.de-en.xml.
std::string language_ending(const std::string& name) {
  const std::string ending = text_file_ending(name);
  constexpr std::string_view kOthers[] = {"xml", "ids", "txt", "md", "csv"};
  const size_t letters = std::min(ending.find_first_of("-_"), ending.size());  // without the region
  const bool is_other = std::find(std::begin(kOthers), std::end(kOthers), ending) != std::end(kOthers);
  return letters < 2 || letters > 3 || is_other || is_pair_format(ending) ? "" : ending;
}

// The pairs of a zip archive: its only file of pairs, or its two texts.
PairInput pairs_in_archive(const std::string& archive, const PairReaderOptions& options) {
  std::vector<std::string> files, texts;
  for (const std::string& name : zip_members(archive)) {
    if (is_pair_format(lower_case(text_file_ending(name)))) files.push_back(archive + '/' + name);
    if (!language_ending(name).empty()) texts.push_back(name);
  }
  if (files.size() == 1) return {files.front(), ""};
  std::vector<std::string> sources, targets;
  for (const std::string& name : texts) {
    const std::string language = language_ending(name);
    const bool is_source = is_language(language, options.source_language),
               is_target = is_language(language, options.target_language);
    if (is_source || (options.source_language.empty() && !options.target_language.empty() && !is_target))
      sources.push_back(archive + '/' + name);
    if (is_target || (options.target_language.empty() && !options.source_language.empty() && !is_source))
      targets.push_back(archive + '/' + name);
  }
  if (sources.size() == 1 && targets.size() == 1) return {sources.front(), targets.front()};
  if (texts.empty())
    throw std::runtime_error(
        fmt::format("{}: contains no pairs: neither a file of pairs nor two texts whose names end in their languages, "
                    "such as .en and .de",
                    archive));
  throw std::runtime_error(fmt::format(
      "{0}: it is not clear which of its texts to take: {1}. Give --source-language and --target-language, or name "
      "both texts: --source {0}/{2} --target {0}/…",
      archive, fmt::join(texts, ", "), texts.front()));
}

}  // namespace

std::string on_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
    if (!is_space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

bool is_language(const std::string& language, const std::string& wanted) {
  const auto is_same = [](char a, char b) { return a == b || (a == '_' && b == '-') || (a == '-' && b == '_'); };
  const std::string full = lower_case(language), part = lower_case(wanted);
  if (part.empty() || full.size() < part.size() || !std::equal(part.begin(), part.end(), full.begin(), is_same))
    return false;
  return full.size() == part.size() || full[part.size()] == '-' || full[part.size()] == '_';
}

std::unique_ptr<PairReader> open_pairs(const PairInput& input, const PairReaderOptions& options) {
  if (!input.target.empty()) return std::make_unique<TextPairs>(input);
  const std::string ending = lower_case(text_file_ending(input.source));
  if (ending == "tsv") return std::make_unique<TsvPairs>(input.source, options);
  if (ending == "tmx") return open_tmx_pairs(input.source, options);
  if (ending == "xlf" || ending == "xliff") return open_xliff_pairs(input.source, options);
  if (ending == "po") return std::make_unique<PoPairs>(input.source);
  if (std::filesystem::path(lower_case(input.source)).extension() == ".zip")
    return open_pairs(pairs_in_archive(input.source, options), options);
  throw std::invalid_argument(
      fmt::format("{}: the ending of its name tells no format of pairs; {} do (also packed, as .tsv.gz). Text in two "
                  "files is given with --source and --target",
                  input.source, kPairFileEndings));
}

}  // namespace v0
}  // namespace transmute
