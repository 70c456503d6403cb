// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/sentence_language.h>
#include <unicode/umachine.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Goes through the sentences of one text. Each mark that may end a sentence is looked at with the word before it and
/// the one after it.
class SentenceScan {
 public:
  /// `languages`: those of the text; 0: to be guessed. `words`: see SentenceSplitter; may be null. All must outlive
  /// this.
  SentenceScan(std::string_view text, LanguageSet languages, const std::unordered_set<std::string>* words)
      : text_(text), languages_(languages), words_(words) {}

  /// The next sentence, as the first byte and the one after its last; false at the end.
  bool next(std::pair<size_t, size_t>& sentence);

 private:
  // The way in which the text continues after a mark.
  enum class Next { end, lower, upper, digit, letter, mark, joined, other };
  // A run of marks with the brackets and quotation marks that it closes.
  struct Mark {
    size_t begin, end;  // the run alone
    size_t closed;      // with what it closes
    size_t after;       // and with the white space that follows
    bool is_stop;       // full stops and ellipses alone
    int stops;          // number of full stops; an ellipsis counts as three
  };
  // The marker of an item of a list: "• 2.)" has bullet "•", "2" and ".)".
  struct Item {
    std::string_view bullet, form;
    bool is_letter;
    int value;
    size_t end;      // with the full stop or the bracket
    size_t content;  // after the white space that follows
    bool follows(const Item& before) const;
    bool may_be_ordinal() const { return bullet.empty() && form == "." && !is_letter; }
  };
  using Span = std::pair<size_t, size_t>;

  UChar32 at(size_t byte) const;
  size_t step(size_t byte) const;     // the byte after the character there
  UChar32 before(size_t byte) const;  // 0 at the beginning
  size_t step_back(size_t byte) const;
  size_t skip_space(size_t byte) const;
  size_t skip_blanks(size_t byte) const;  // white space within the line
  size_t end_of_space_before(size_t byte) const;

  bool is_mark(UChar32 c);
  Mark mark_at(size_t byte);
  size_t end_of_closers(size_t byte);
  size_t end_of_notes(size_t byte) const;
  bool ends(const Mark& mark);
  bool ends_without_space(const Mark& mark);
  bool is_within_word(const Mark& mark) const;
  bool stop_ends(const Mark& mark, Next next);
  bool word_ends(size_t end, Next next);
  Next next_of(const Mark& mark);
  bool is_name_in_lower_case(size_t byte) const;
  bool begins_sentence(size_t byte);
  bool has_several_words(size_t end) const;
  Span word_before(size_t end) const;
  std::string with_initials(Span word) const;
  bool follows_lone_word(size_t begin) const;
  bool follows_number(size_t begin) const;
  bool is_in_acronym(size_t quote) const;
  std::optional<Item> item_at(size_t byte) const;
  bool begins_item(size_t byte);
  bool may_be_german();
  bool is_enclosed(size_t byte);
  void find_enclosed();
  bool is_sentence_in_brackets(const Span& brackets);
  bool encloses(size_t closer) const;
  bool is_without_capitals();
  bool begins_in_lower_case();
  LanguageSet languages();

  std::string_view text_;
  LanguageSet languages_;
  const std::unordered_set<std::string>* words_;
  size_t begin_ = 0;                           // begin of the present sentence
  size_t before_ = 0;                          // begin of the sentence before it
  std::optional<Item> item_;                   // the item that it begins with
  std::optional<std::vector<Span>> enclosed_;  // in order; none is within another one
  std::vector<size_t> closers_after_space_;    // in order; found with enclosed_
  std::optional<bool> is_without_capitals_, begins_in_lower_case_;
};

}  // namespace v0
}  // namespace transmute
