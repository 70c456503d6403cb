// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/tokenizer/options.h>
#include <transmute/tokenizer/special_ids.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Ways in which a multilingual vocabulary marks languages.
enum class LanguagePieces {
  none,       ///< not at all: the model is for one language pair
  tags,       ///< `>>deu<<` before the source names the target language
  both_sides  ///< `eng_Latn` or `__en__` before the source, and likewise before the target
};

/// Bytes of a text, from `first` to before `second`.
using ByteSpan = std::pair<size_t, size_t>;

/// The tokens of a text.
struct SegmentedText {
  Ids ids;                          ///< without begin or end
  std::vector<std::string> pieces;  ///< the piece of each id; for an unknown one the characters that it replaces
  std::vector<ByteSpan> spans;      ///< bytes of each id, spaces included
};

/// One SentencePiece model: text to ids and back. Immutable, and safe to use from many threads at once.
class TRANSMUTE_API SubwordModel {
 public:
  /// @param serialized the bytes of a `.model` file
  /// @param name its name in messages, for example the path
  /// @throws std::runtime_error if the bytes are not a SentencePiece model, or its reserved ids differ from special_ids
  SubwordModel(std::string serialized, const std::string& name);
  ~SubwordModel();
  /// The same vocabulary for texts that are lists of its pieces with spaces between them: encode() looks the pieces up,
  /// decode() puts spaces between them. Languages are pieces like others.
  std::shared_ptr<const SubwordModel> of_listed_pieces() const;
  /// True if of_listed_pieces() made it.
  bool is_listed() const { return is_listed_; }
  SubwordModel(const SubwordModel&) = delete;
  SubwordModel& operator=(const SubwordModel&) = delete;

  /// The number of ids in the vocabulary, including the reserved ones.
  int64_t size() const;
  /// The ids of a text, without begin or end; empty for a text without content. With LanguagePieces::tags, a tag such
  /// as `>>deu<<` at the start of the text becomes one id, see tag_of(). A model that truecases takes the text for a
  /// sentence.
  Ids encode(std::string_view text) const;
  /// The ids of a text that is within a sentence, such as a term, whose case stays as it is.
  Ids encode_within(std::string_view text) const;
  /// The ids of encode(text), their pieces and the bytes that each covers.
  SegmentedText segment(std::string_view text) const;
  /// For a text and the pieces that decode to it, apart from its capitals: the bytes that each piece covers. Spaces
  /// that only the text has, such as those between the parts of a long text, belong to no piece; a piece's space that
  /// the text lacks covers nothing.
  std::vector<ByteSpan> spans_of_pieces(const std::vector<std::string>& pieces, std::string_view text) const;
  /// The text of the ids. Reserved ids other than unknown are skipped.
  std::string decode(const Ids& ids) const;
  /// The piece with this id.
  std::string piece(int64_t id) const;
  /// The id of a language in a multilingual vocabulary: of the piece `language`, `>>language<<` or `__language__`.
  /// @throws std::invalid_argument, listing the languages of the vocabulary, if this is none of them
  int64_t language(const std::string& language) const;
  /// The languages of a multilingual vocabulary, as language() takes them.
  std::vector<std::string> language_names() const;
  /// A tag that names the target language.
  struct Tag {
    ByteSpan place{};  ///< bytes of the text; none if it has no tag
    int64_t id = 0;    ///< unknown where the vocabulary lacks a tag whose name looks like the code of a language
  };
  /// With LanguagePieces::tags, the tag at the start of a text, where white space may precede it.
  Tag tag_of(std::string_view text) const;
  /// The way in which the vocabulary marks languages.
  LanguagePieces languages() const { return languages_; }
  /// True if the first id is that of a language.
  bool begins_with_tag(const Ids& ids) const { return !ids.empty() && is_tag(ids.front()); }
  /// Ids that decode to text with a line break or a zero byte, for example those of byte_fallback. Search excludes
  /// them, because they would split a line or truncate a C string.
  const Ids& line_breaks() const { return line_breaks_; }
  /// True if many pieces have a dotless i, as about one in six of a Turkish vocabulary.
  bool is_turkish() const { return is_turkish_; }
  /// True if the model truecases: encode() gives the first word of a sentence the case that it has within sentences.
  bool truecases() const { return truecases_; }
  /// The bytes of the `.model` file.
  const std::string& serialized() const { return serialized_; }

 private:
  bool is_tag(int64_t id) const;
  int64_t in_vocabulary(int64_t id, std::string_view piece) const;  // or the unknown id
  std::string without_marks(std::string text) const;                // of pieces that SentencePiece does not split into
  LanguagePieces find_languages() const;
  SegmentedText segment_listed(std::string_view text) const;
  std::string in_true_case(std::string_view text) const;  // without a tag

  struct Processor;
  std::unique_ptr<Processor> processor_;
  std::string serialized_;
  LanguagePieces languages_ = LanguagePieces::none;
  bool has_table_ = false;  // the vocabulary is another program's list of pieces
  bool is_listed_ = false;  // texts are lists of pieces
  bool is_turkish_ = false;
  bool truecases_ = false;
  int64_t size_ = 0;  // ids beyond are pieces that the network does not know
  Ids line_breaks_;
};

/// Source and target side of a language pair: two SubwordModels, or one that serves both.
///
/// On disk: `tokenizer.model`, or `tokenizer.source.model` and `tokenizer.target.model`.
class TRANSMUTE_API Tokenizer {
 public:
  /// Passing the same pointer twice makes a shared vocabulary.
  Tokenizer(std::shared_ptr<const SubwordModel> source, std::shared_ptr<const SubwordModel> target);

  /// Reads the files from a folder.
  /// @throws std::runtime_error naming the file that is missing or damaged.
  static Tokenizer load(const std::string& folder);
  /// True if the folder contains the files of a tokenizer.
  static bool exists(const std::string& folder);
  /// Writes the files into an existing folder.
  void save(const std::string& folder) const;
  /// Names of the files that save() writes, with the model in each.
  std::vector<std::pair<const char*, const SubwordModel*>> files() const;

  /// The same vocabularies for texts that are lists of pieces, see SubwordModel::of_listed_pieces().
  Tokenizer of_listed_pieces() const;

  /// The model of the source language.
  const SubwordModel& source() const { return *source_; }
  /// The model of the target language.
  const SubwordModel& target() const { return *target_; }
  /// True if one model serves both languages.
  bool shared() const { return source_ == target_; }

 private:
  std::shared_ptr<const SubwordModel> source_;
  std::shared_ptr<const SubwordModel> target_;
};

/// Returns one line of text per call; false at the end.
using LineSource = std::function<bool(std::string& line)>;

/// Thrown if a text does not support as many pieces as TokenizerOptions::vocab_size requests.
class TRANSMUTE_API VocabularyTooLarge : public std::invalid_argument {
 public:
  /// `most`: the largest vocab_size that the text supports.
  VocabularyTooLarge(const std::string& message, int64_t most) : std::invalid_argument(message), most_(most) {}
  /// The largest vocab_size that the text supports.
  int64_t most() const { return most_; }

 private:
  int64_t most_;
};

/// Thrown if TokenizerOptions::vocab_size has no room for the reserved ids and each character of a text.
class TRANSMUTE_API VocabularyTooSmall : public std::invalid_argument {
 public:
  /// `least`: the smallest vocab_size that has room.
  VocabularyTooSmall(const std::string& message, int64_t least) : std::invalid_argument(message), least_(least) {}
  /// The smallest vocab_size that has room.
  int64_t least() const { return least_; }

 private:
  int64_t least_;
};

/// Checks what can be known of options before there is a text.
/// @throws std::invalid_argument naming the key, and what it may be.
TRANSMUTE_API void check_tokenizer_options(const TokenizerOptions& options);

/// The piece of a vocabulary with LanguagePieces::tags that names a target language: `>>de<<`.
TRANSMUTE_API std::string language_tag(const std::string& language);

/// Learns a Tokenizer from parallel text; a shared one learns from both sides.
/// @throws VocabularyTooLarge; VocabularyTooSmall; std::invalid_argument, with a value that works, if the text does not
/// support another option.
TRANSMUTE_API Tokenizer train_tokenizer(const TokenizerOptions& options, const LineSource& source,
                                        const LineSource& target);

}  // namespace v0
}  // namespace transmute
