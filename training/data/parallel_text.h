// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/training/data/batch_options.h>

#include <transmute/common/text_file.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Tokenized sentences, packed: 4 bytes a token.
class TokenLists {
 public:
  void add(const Ids& ids) { add(ids.data(), ids.size()); }
  template <class T>
  void add(const T* tokens, size_t count) {
    tokens_.insert(tokens_.end(), tokens, tokens + count);
    ends_.push_back(tokens_.size());
  }
  size_t size() const { return ends_.size(); }
  size_t length(size_t i) const { return ends_[i] - begin(i); }
  const int32_t* data(size_t i) const { return tokens_.data() + begin(i); }
  size_t total_tokens() const { return tokens_.size(); }
  /// The number of occurrences of `token`.
  int64_t count(int64_t token) const { return std::count(tokens_.begin(), tokens_.end(), token); }

 private:
  size_t begin(size_t i) const { return i == 0 ? 0 : ends_[i - 1]; }
  std::vector<int32_t> tokens_;
  std::vector<size_t> ends_;
};

/// Aligned, tokenized text, without reserved ids at the ends. Lines of plain text are targets, whose sources are empty.
struct ParallelText {
  TokenLists source;
  TokenLists target;
  /// The pieces of each pair that belong together, as a flat list target, source, target, source … of positions. Given
  /// for all pairs or for none.
  TokenLists links;
  size_t size() const { return source.size(); }
  bool is_plain() const { return source.total_tokens() == 0; }
};

/// Numbers of pairs that were left out, by reason. A pair counts once.
struct LeftOut {
  int64_t empty = 0;  ///< source or target has no content; for plain text, the line
  int64_t long_source = 0;
  int64_t long_target = 0;
  int64_t unequal = 0;  ///< one side is more than LengthLimits::ratio times as long as the other
  int64_t total() const { return empty + long_source + long_target + unequal; }
  void add(const LeftOut& other);
};

struct LoadedText {
  ParallelText text;
  LeftOut left_out;
};

/// The lines of a file, plain or gzipped, or one column of a tab-separated file.
struct TextFile {
  TextFile() = default;
  TextFile(std::string path) : path(std::move(path)) {}  // NOLINT: a path is a file
  TextFile(const char* path) : path(path) {}             // NOLINT
  TextFile(std::string path, size_t column) : path(std::move(path)), column(column) {}
  bool empty() const { return path.empty(); }

  std::string path;
  std::optional<size_t> column{};  ///< counted from 0; without a value: whole lines
};

/// Reads a TextFile line by line.
class TextFileReader {
 public:
  explicit TextFileReader(const TextFile& file, const LineRules& rules = {}) : file_(file), reader_(file.path, rules) {}
  /// @throws as LineReader::next, and std::runtime_error naming a line without that column.
  bool next(std::string& line);
  int64_t line_number() const { return reader_.line_number(); }

 private:
  TextFile file_;
  LineReader reader_;
};

/// Files with equally many lines.
struct AlignedFiles {
  TextFile source;  ///< empty: `target` is plain text
  TextFile target;
  std::string alignment;   ///< alignments of the words, see parse_word_links; empty if there are none
  std::string language{};  ///< language code of the target, whose tag precedes each source; empty: no tag
};

/// One line of each of AlignedFiles.
struct AlignedLine {
  std::string source, target, alignment;  ///< empty if there is no such file
  int64_t number = 0;                     ///< counts from 1
};

/// Reads AlignedFiles line by line.
class AlignedFilesReader {
 public:
  explicit AlignedFilesReader(const AlignedFiles& files);
  /// False at the end of all files.
  /// @throws as TextFileReader::next, and as refuse_unequal_lines if one file ends before another.
  bool next(AlignedLine& line);

 private:
  [[noreturn]] void refuse(const std::string& other_path, TextFileReader& other, const char* does);

  AlignedFiles files_;
  TextFileReader target_;
  std::optional<TextFileReader> source_, alignment_;
};

/// @param does what line n of the other file has to do with line n of the source
/// @throws std::runtime_error that says how many lines each file has.
[[noreturn]] void refuse_unequal_lines(const std::string& source, int64_t source_lines, const std::string& other,
                                       int64_t other_lines, const char* does = "translate line");

/// The result of an AlignedLine.
struct TokenizedPair {
  Ids source, target;
  Ids links;  ///< see ParallelText
};

/// Aligned lists of files; source[i] and target[i] have equally many lines. Without sources: plain text.
struct TextFiles {
  std::vector<TextFile> source;
  std::vector<TextFile> target;
  std::vector<std::string> languages{};  ///< of each pair of files, such as "en-de"; empty: one language pair
  /// The languages of the pair of files `i`; empty for one language pair.
  std::string languages_of(size_t i) const { return languages.empty() ? "" : languages[i]; }
};

/// True if both sides of a pair have content and are within the limits. tokenize_files leaves out the others.
bool is_usable(const TokenizedPair& pair, const LengthLimits& limits);

/// Reads and tokenizes aligned files with all workers, a few thousand lines at a time in memory, and hands over
/// each pair that is not left out, one after the other in the files' order, whatever the number of workers.
/// @param take is called on any of the workers
/// @throws std::runtime_error naming files, lines or counts: unreadable, not UTF-8, unequal numbers of lines.
LeftOut tokenize_files(const AlignedFiles& files, const Tokenizer& tokenizer, const LengthLimits& limits,
                       WorkerCrew& workers, const std::function<void(const TokenizedPair&)>& take);

/// A text that fits into memory, from all its files.
/// @throws as tokenize_files, and std::runtime_error if nothing is left to use; std::invalid_argument if the
/// files do not come in pairs.
LoadedText load_parallel_text(const TextFiles& files, const Tokenizer& tokenizer, const LengthLimits& limits,
                              WorkerCrew& workers);

/// @throws std::runtime_error that says why none of the text in these files can be used.
[[noreturn]] void refuse_empty_text(const TextFiles& files, const LeftOut& left_out, const LengthLimits& limits);

/// The lines of several files, one file after the other.
LineSource lines_of(const std::vector<TextFile>& files);

}  // namespace v0
}  // namespace transmute
