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

/// How a vocabulary has languages among its pieces.
enum class LanguagePieces {
  none,       ///< it has not: the model is for one pair of languages
  tags,       ///< `>>deu<<` before a source says what its translation is to be in
  both_sides  ///< `eng_Latn` or `__en__` stands before the source, and the target's before the target
};

/// A text's tokens, and where each stands in it: bytes from `first` to before `second`, spaces included.
struct SegmentedText {
  Ids ids;
  std::vector<std::pair<size_t, size_t>> spans;
};

/// One SentencePiece model: text to ids and back. Immutable, and safe to use from many threads at once.
class TRANSMUTE_API SubwordModel {
 public:
  /// @param serialized the bytes of a `.model` file
  /// @param name what messages call it, for example its path
  /// @throws std::runtime_error where the bytes are no SentencePiece model, or its reserved ids are not
  /// special_ids
  SubwordModel(std::string serialized, const std::string& name);
  ~SubwordModel();
  SubwordModel(const SubwordModel&) = delete;
  SubwordModel& operator=(const SubwordModel&) = delete;

  /// Ids in the vocabulary, the reserved ones included.
  int64_t size() const;
  /// Without reserved ids at either end; empty for a text without content. Where languages are tags, the one that a
  /// text begins with, such as `>>deu<<`, is a piece of its own, or unknown.
  Ids encode(std::string_view text) const;
  /// The pieces whose ids encode() returns.
  std::vector<std::string> encode_as_pieces(std::string_view text) const;
  /// The ids of encode(text) with their places.
  SegmentedText segment(std::string_view text) const;
  /// The places of encode(text) alone.
  std::vector<std::pair<size_t, size_t>> spans_in_text(std::string_view text) const { return segment(text).spans; }
  /// Where the pieces stand in the text that they decode to.
  std::vector<std::pair<size_t, size_t>> spans_of_pieces(const std::vector<std::string>& pieces) const;
  /// Reserved ids other than unknown are passed over.
  std::string decode(const Ids& ids) const;
  /// The piece with this id.
  std::string piece(int64_t id) const;
  /// The id of a language, which models of many languages have in their vocabularies: of the piece called `language`
  /// itself or, as the families of models write it, `>>language<<` or `__language__`.
  /// @throws std::invalid_argument where the vocabulary has no such language, naming those that it has
  int64_t language(const std::string& language) const;
  /// How the vocabulary has languages.
  LanguagePieces languages() const { return languages_; }
  /// Whether the first id is a language's.
  bool begins_with_tag(const Ids& ids) const { return !ids.empty() && is_tag(ids.front()); }
  /// Ids that decode to text with a line end or a zero byte, such as the bytes of byte_fallback: a search that chose
  /// one would make several lines of one, or cut a C string.
  const Ids& line_breaks() const { return line_breaks_; }
  /// The bytes of the `.model` file.
  const std::string& serialized() const { return serialized_; }

 private:
  // The tag that the text begins with: its length, and its id.
  struct Tag {
    size_t bytes = 0;
    int64_t id = 0;
  };
  Tag tag_of(std::string_view text) const;
  bool is_tag(int64_t id) const;
  int64_t known(int64_t id) const;  // or the unknown id
  LanguagePieces find_languages() const;

  struct Processor;
  std::unique_ptr<Processor> processor_;
  std::string serialized_;
  LanguagePieces languages_ = LanguagePieces::none;
  int64_t size_ = 0;  // ids beyond are pieces that the network does not know
  Ids line_breaks_;
};

/// Source and target side of a language pair: two SubwordModels, or one that serves both.
///
/// On disk: `tokenizer.model`, or `tokenizer.source.model` and `tokenizer.target.model`.
class TRANSMUTE_API Tokenizer {
 public:
  /// The same pointer twice makes a shared vocabulary.
  Tokenizer(std::shared_ptr<const SubwordModel> source, std::shared_ptr<const SubwordModel> target);

  /// @throws std::runtime_error naming the file that is missing or damaged.
  static Tokenizer load(const std::string& folder);
  /// Whether the folder has a tokenizer's files.
  static bool exists(const std::string& folder);
  /// Writes the files into an existing folder.
  void save(const std::string& folder) const;

  /// The model of the source language.
  const SubwordModel& source() const { return *source_; }
  /// The model of the target language.
  const SubwordModel& target() const { return *target_; }
  /// Whether one model serves both languages.
  bool shared() const { return source_ == target_; }

 private:
  std::shared_ptr<const SubwordModel> source_;
  std::shared_ptr<const SubwordModel> target_;
};

/// Hands out one line of text a call; false at the end.
using LineSource = std::function<bool(std::string& line)>;

/// Thrown where a text has fewer pieces to learn than TokenizerOptions::vocab_size asks for.
class TRANSMUTE_API VocabularyTooLarge : public std::invalid_argument {
 public:
  VocabularyTooLarge(const std::string& message, int64_t most) : std::invalid_argument(message), most_(most) {}
  /// The largest vocab_size that the text supports.
  int64_t most() const { return most_; }

 private:
  int64_t most_;
};

/// Learns a Tokenizer from parallel text; a shared one sees both sides.
/// @throws VocabularyTooLarge; std::invalid_argument with the value to choose, where the text cannot support the
/// options otherwise.
TRANSMUTE_API Tokenizer train_tokenizer(const TokenizerOptions& options, const LineSource& source,
                                        const LineSource& target);

}  // namespace v0
}  // namespace transmute
