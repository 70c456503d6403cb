// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/sentence_characters.h>
#include <transmute/text/shortlist.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/tokenizer/piece_marks.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

namespace {

using IdsByPiece = std::unordered_map<std::string, int64_t>;

IdsByPiece ids_by_piece(const SubwordModel& tokenizer) {
  IdsByPiece ids;
  for (int64_t id = 0; id < tokenizer.size(); ++id) ids.emplace(tokenizer.piece(id), id);
  return ids;
}

// Within a word and at the beginning of one.
std::string in_the_other_place(const std::string& piece) {
  return begins_word(piece) ? piece.substr(kSpaceMark.size()) : std::string(kSpaceMark) + piece;
}

bool has_digit(const std::string& text) {
  return std::any_of(text.begin(), text.end(), is_ascii_digit);
}

// Nothing but digits, punctuation and symbols, which translations take over as they are.
bool is_copyable(const std::string& piece) {
  const std::string text = begins_word(piece) ? in_the_other_place(piece) : piece;
  return !text.empty() && sentence_characters::all_characters(text, [](UChar32 c) {
    return c >= 0 && (U_GET_GC_MASK(c) & (U_GC_ND_MASK | U_GC_P_MASK | U_GC_S_MASK)) != 0;
  });
}

// The digits in a row that begin at or after `from`.
std::string_view next_number(std::string_view text, size_t from) {
  const size_t begin = static_cast<size_t>(
      std::find_if(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), is_ascii_digit) - text.begin());
  const size_t end = static_cast<size_t>(
      std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_ascii_digit) - text.begin());
  return text.substr(begin, end - begin);
}

struct TableLine {
  std::string target, source;
  double probability;
};

// "target source probability", blanks between.
bool parse(std::string_view line, TableLine& parsed) {
  std::string_view fields[3];
  for (auto& field : fields) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    field = line.substr(0, line.find_first_of(" \t"));
    line.remove_prefix(field.size());
  }
  if (line.find_first_not_of(" \t") != std::string_view::npos || fields[2].empty()) return false;
  parsed = {std::string(fields[0]), std::string(fields[1]), 0};
  const char* const number_end = fields[2].data() + fields[2].size();
  const auto [end, error] = std::from_chars(fields[2].data(), number_end, parsed.probability);  // in any locale
  return error == std::errc() && end == number_end && parsed.probability >= 0 && parsed.probability <= 1;
}

struct WeightedToken {
  int64_t token;
  double probability;
};

// Tokens, a bit each: lists overlap so much that sorting them takes longer.
class TokenSet {
 public:
  void add(int64_t token) {
    const size_t word = static_cast<size_t>(token) / kBits;
    if (word >= words_.size()) words_.resize(word + 1);
    words_[word] |= uint64_t{1} << static_cast<size_t>(token) % kBits;
  }

  Ids ascending() const {
    Ids tokens;
    for (size_t word = 0; word < words_.size(); ++word)
      for (uint64_t bits = words_[word]; bits != 0; bits &= bits - 1)
        tokens.push_back(static_cast<int64_t>(word * kBits) + __builtin_ctzll(bits));
    return tokens;
  }

 private:
  static constexpr size_t kBits = 64;
  std::vector<uint64_t> words_;
};

}  // namespace

ShortlistTable::ShortlistTable(const std::vector<Ids>& translations, const Ids& always)
    : always(always.begin(), always.end()) {
  for (const Ids& list : translations) {
    tokens.insert(tokens.end(), list.begin(), list.end());
    ends.push_back(static_cast<int64_t>(tokens.size()));
  }
}

Shortlist::Shortlist(const ShortlistOptions& options, const Tokenizer& tokenizer) {
  const auto require = [](int64_t value, const char* name) {
    if (value < 0) throw std::invalid_argument(fmt::format("{} must not be negative, not {}", name, value));
  };
  require(options.best, "the shortlist's number of best translations");
  require(options.frequent, "the shortlist's number of frequent tokens");

  const IdsByPiece sources = ids_by_piece(tokenizer.source());
  const IdsByPiece targets = tokenizer.shared() ? sources : ids_by_piece(tokenizer.target());
  std::vector<std::vector<WeightedToken>> table(static_cast<size_t>(tokenizer.source().size()));
  int64_t unknown = 0;
  LineReader reader(options.table);
  TableLine entry;
  for (std::string line; reader.next(line);) {
    if (!parse(line, entry))
      throw std::runtime_error(
          fmt::format("{}:{}: a line of a lexical table is a target token, a source token and a probability, with "
                      "blanks between; make_shortlist writes such tables",
                      options.table, reader.line_number()));
    // Moses' tools write the empty word so.
    const auto source =
        sources.find(entry.source == "NULL" ? tokenizer.source().piece(special_ids::kEnd) : entry.source);
    const auto target = targets.find(entry.target);
    if (source == sources.end() || target == targets.end()) {
      ++unknown;
    } else {
      table[static_cast<size_t>(source->second)].push_back({target->second, entry.probability});
    }
  }
  if (reader.line_number() == 0)
    throw std::runtime_error(options.table + ": is empty; make_shortlist writes such tables");
  if (2 * unknown >= reader.line_number())
    throw std::runtime_error(fmt::format(
        "{} does not belong to this model: {} of its {} lines have tokens that the model's tokenizer does not have; "
        "make_shortlist makes a table for it",
        options.table, unknown, reader.line_number()));

  std::vector<Ids> translations(table.size());
  for (size_t source = 0; source < table.size(); ++source) {
    auto& found = table[source];
    const auto more_probable = [](const WeightedToken& a, const WeightedToken& b) {
      return a.probability > b.probability;
    };
    std::stable_sort(found.begin(), found.end(), more_probable);
    for (const WeightedToken& weighted : found) translations[source].push_back(weighted.token);
  }
  complete(std::move(translations), options, tokenizer);
}

Shortlist::Shortlist(std::vector<Ids> translations, const ShortlistOptions& options, const Tokenizer& tokenizer) {
  translations.resize(static_cast<size_t>(tokenizer.source().size()));
  complete(std::move(translations), options, tokenizer);
}

Shortlist::Shortlist(ShortlistTable table, const Tokenizer& tokenizer) : table_(std::move(table)) {
  const auto are_targets = [&](const std::vector<int32_t>& tokens) {
    return std::all_of(tokens.begin(), tokens.end(),
                       [&](int32_t token) { return token >= 0 && token < tokenizer.target().size(); });
  };
  const bool are_lists = std::is_sorted(table_.ends.begin(), table_.ends.end()) &&
                         (table_.ends.empty() || table_.ends.front() >= 0) &&
                         (table_.ends.empty() ? 0 : table_.ends.back()) == static_cast<int64_t>(table_.tokens.size());
  if (!are_lists || table_.source_tokens() != tokenizer.source().size() || !are_targets(table_.tokens) ||
      !are_targets(table_.always))
    throw std::invalid_argument("the shortlist is not one of this model's tokenizer");
  find_numbers(tokenizer);
}

// Takes the best translations, and adds the source tokens themselves and what is on every list.
void Shortlist::complete(std::vector<Ids> translations, const ShortlistOptions& options, const Tokenizer& tokenizer) {
  const IdsByPiece targets = ids_by_piece(tokenizer.target());
  for (size_t source = 0; source < translations.size(); ++source) {
    Ids& tokens = translations[source];
    tokens.resize(std::min(tokens.size(), static_cast<size_t>(options.best)));
    const std::string piece = tokenizer.source().piece(static_cast<int64_t>(source));
    for (const std::string& copy : {piece, in_the_other_place(piece)})
      if (const auto same = targets.find(copy); same != targets.end()) tokens.push_back(same->second);
  }
  Ids always = translations[special_ids::kEnd];
  // SentencePiece orders its vocabulary by how much a piece is worth, after the reserved ones and the bytes.
  for (int64_t id = special_ids::kCount, count = 0; id < tokenizer.target().size() && count < options.frequent; ++id) {
    if (is_byte_piece(tokenizer.target().piece(id))) continue;
    always.push_back(id);
    ++count;
  }
  for (int64_t id = special_ids::kCount; id < tokenizer.target().size(); ++id) {
    const std::string piece = tokenizer.target().piece(id);
    if (is_copyable(piece) && next_number(piece, 0).size() <= 1) always.push_back(id);
  }
  table_ = ShortlistTable(translations, always);
  find_numbers(tokenizer);
}

void Shortlist::find_numbers(const Tokenizer& tokenizer) {
  for (int64_t id = special_ids::kCount; id < tokenizer.target().size(); ++id) {
    const std::string piece = tokenizer.target().piece(id);
    if (!has_digit(piece) || !is_copyable(piece)) continue;
    const std::string number(next_number(piece, 0));
    if (number.size() > 1) of_numbers_[number].push_back(id);
    longest_number_ = std::max(longest_number_, number.size());
  }
  for (int64_t id = 0; id < tokenizer.source().size(); ++id) {
    const std::string piece = tokenizer.source().piece(id);
    digits_.push_back(has_digit(piece) && !is_byte_piece(piece) ? piece : " ");
  }
}

// Tokens with digits that follow each other in the source.
Ids Shortlist::numbers_of(const Ids& source) const {
  Ids tokens;
  std::string text;
  for (const int64_t id : source) text += digits_[static_cast<size_t>(id)];
  for (std::string_view number = next_number(text, 0); !number.empty();) {
    for (size_t begin = 0; begin < number.size(); ++begin)
      for (size_t length = 2; length <= std::min(longest_number_, number.size() - begin); ++length)
        if (const auto found = of_numbers_.find(std::string(number.substr(begin, length))); found != of_numbers_.end())
          tokens.insert(tokens.end(), found->second.begin(), found->second.end());
    number = next_number(text, static_cast<size_t>(number.data() - text.data()) + number.size());
  }
  return tokens;
}

Ids Shortlist::tokens_for(const Ids& source) const {
  TokenSet tokens;
  for (const int32_t token : table_.always) tokens.add(token);
  for (const int64_t id : source) {
    const auto number = static_cast<size_t>(id);
    const int64_t end = table_.ends.at(number), begin = number == 0 ? 0 : table_.ends[number - 1];
    for (int64_t i = begin; i < end; ++i) tokens.add(table_.tokens[static_cast<size_t>(i)]);
  }
  for (const int64_t token : numbers_of(source)) tokens.add(token);
  return tokens.ascending();
}

}  // namespace v0
}  // namespace transmute
