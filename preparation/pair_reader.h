// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A text and its translation, each on one line.
struct TextPair {
  std::string source, target;
};

/// Goes through the pairs of a file or of two files, in their order.
class PairReader {
 public:
  virtual ~PairReader() = default;

  /// Puts the next pair into `pair`; false at the end.
  /// @throws std::runtime_error naming the file and the place, if it cannot be read
  virtual bool next(TextPair& pair) = 0;

  /// Entries that were passed over because a side is missing, or is marked as not translated or not reviewed.
  int64_t untranslated() const { return untranslated_; }

  /// Entries that were passed over because they lack one of the two languages, but have others.
  int64_t other_languages() const { return other_languages_; }

  /// Messages to the user about the text, complete at its end.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  int64_t untranslated_ = 0, other_languages_ = 0;  ///< see untranslated() and other_languages()
  std::vector<std::string> notes_;                  ///< see notes()
};

/// The files that pairs are read from.
struct PairInput {
  std::string source;  ///< text, one sentence a line; or a file of pairs, if `target` is empty
  std::string target;  ///< its translation, line by line
};

/// The facts that files of pairs do not say themselves.
struct PairReaderOptions {
  std::string source_language;  ///< in TMX and XLIFF, such as "en", which "en-GB" is too; empty: the file's
  std::string target_language;  ///< the same for the other side
  size_t source_column = 0;     ///< in TSV, from 0
  size_t target_column = 1;     ///< the same for the other side
};

/// The endings of files of pairs, for messages.
constexpr const char* kPairFileEndings = ".tsv, .tmx, .xlf, .xliff, .po and .zip";

/// Opens two files of text, or a file of pairs in the format that its name's ending says: TSV, TMX, XLIFF 1.2 and 2, or
/// a catalog of GNU gettext; or a zip archive with one such file, or with two texts whose names end in their languages,
/// such as OPUS offers. Packed files are read as by ByteSource. In text and TSV, U+FFFD takes the place of bytes that
/// are not UTF-8, and a note names the file; if more than one line in a hundred has such bytes, the reader throws at
/// the end of the file. TMX without a unit in both languages is an error there, too, and TSV without a line that has
/// both columns.
/// @throws std::invalid_argument for another ending; std::runtime_error naming the file that cannot be read
std::unique_ptr<PairReader> open_pairs(const PairInput& input, const PairReaderOptions& options);

/// Opens TMX.
std::unique_ptr<PairReader> open_tmx_pairs(const std::string& path, const PairReaderOptions& options);
/// Opens XLIFF.
std::unique_ptr<PairReader> open_xliff_pairs(const std::string& path, const PairReaderOptions& options);

/// The text on one line, without spaces at its ends and with single spaces between its words.
std::string on_one_line(const std::string& text);

/// True if `language`, such as "en-GB", is `wanted` or a variety of it. Case and the kind of hyphen do not count.
bool is_language(const std::string& language, const std::string& wanted);

}  // namespace v0
}  // namespace transmute
