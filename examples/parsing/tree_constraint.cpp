// SPDX-License-Identifier: Apache-2.0
#include <transmute/examples/parsing/tree_constraint.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/examples/parsing/tree.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// Beyond what trees of real sentences have, so that a search ends.
constexpr int64_t kMostDepth = 200;
constexpr int64_t kMostOpenedInARow = 20;

enum class Kind { open, close, word };

// Something that a line of tree_text consists of, and the tokens that spell it. Where it has several, only the first
// can begin a symbol.
struct Symbol {
  Kind kind;
  std::string label;
  Ids tokens;
};

}  // namespace

void TreeLabels::add(const std::string& line) {
  for (const std::string& symbol : split_words(line)) {
    if (symbol.front() == '(' || symbol.front() == ')') {
      if (symbol.size() > 1) phrases.insert(symbol.substr(1));
    } else {
      parts_of_speech.insert(symbol);
    }
  }
}

void TreeLabels::add(const std::string& line, const std::string& words) {
  add(line);
  const std::vector<std::string> all = split_words(words);
  size_t word = 0;
  for (const std::string& symbol : split_words(line)) {
    if (symbol.front() == '(' || symbol.front() == ')') continue;
    if (word == all.size()) throw std::invalid_argument(fmt::format("more parts of speech than words: \"{}\"", words));
    ++lexicon[all[word++]][symbol];
  }
  if (word < all.size()) throw std::invalid_argument(fmt::format("more words than parts of speech: \"{}\"", words));
}

struct TreeConstraint::Grammar {
  using Tags = std::set<std::string>;

  std::vector<Symbol> symbols;
  std::map<std::string, Tags> tags;  // tags that words can have; without any, each can have all
  Tags open_tags;                    // tags of other words

  const Tags& tags_of(const std::string& word) const {
    const auto found = tags.find(word);
    return found == tags.end() ? open_tags : found->second;
  }
};

// The grammar's state, and the tokens of the symbol that is being spelled. Whether a symbol is complete shows only when
// another begins: NN may continue as NNS.
class TreeConstraint::Progress : public State, public std::enable_shared_from_this<Progress> {
 public:
  Progress(std::shared_ptr<const Grammar> grammar, std::vector<std::string> words)
      : grammar_(std::move(grammar)),
        words_(std::make_shared<const std::vector<std::string>>(std::move(words))),
        words_left_(static_cast<int64_t>(words_->size())) {}

  Ids allowed() const override {
    Ids tokens;
    add_spellings(pending_, tokens);
    const auto next = pending_.empty() ? shared_from_this() : after_pending();
    if (next && !pending_.empty()) next->add_spellings({}, tokens);
    if (next && next->is_complete()) tokens.push_back(special_ids::kEnd);
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    return tokens;
  }

  std::shared_ptr<const State> after(int64_t token) const override {
    Ids longer = pending_;
    longer.push_back(token);
    const bool goes_on = std::any_of(grammar_->symbols.begin(), grammar_->symbols.end(), [&](const Symbol& symbol) {
      return is_allowed(symbol) && begins_with(symbol.tokens, longer);
    });
    auto next = std::make_shared<Progress>(*this);
    if (!goes_on) {
      const auto done = after_pending();
      if (!done) throw std::logic_error("a token that the constraint does not allow");
      next = std::make_shared<Progress>(*done);
      longer = {token};
    }
    next->pending_ = std::move(longer);
    return next;
  }

 private:
  struct Phrase {
    const std::string* label;
    std::shared_ptr<const Phrase> outer;
  };

  static bool begins_with(const Ids& tokens, const Ids& beginning) {
    return tokens.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), tokens.begin());
  }

  bool is_allowed(const Symbol& symbol) const {
    switch (symbol.kind) {
      case Kind::open:
        return words_left_ > 0 && depth_ < kMostDepth && opened_in_a_row_ < kMostOpenedInARow && !has_root_;
      case Kind::word:
        return words_left_ > 0 && depth_ > 0 && can_be(symbol.label);
      case Kind::close:
        break;
    }
    // The outermost phrase holds all words.
    return depth_ > 0 && opened_in_a_row_ == 0 && *innermost_->label == symbol.label &&
           (depth_ > 1 || words_left_ == 0);
  }

  // True if the next word can have that part of speech.
  bool can_be(const std::string& tag) const {
    if (grammar_->tags.empty()) return true;
    const size_t next = words_->size() - static_cast<size_t>(words_left_);
    return grammar_->tags_of((*words_)[next]).count(tag) > 0;
  }

  bool is_complete() const { return pending_.empty() && depth_ == 0 && words_left_ == 0; }

  // The tokens that continue with what is spelled so far.
  void add_spellings(const Ids& so_far, Ids& tokens) const {
    for (const Symbol& symbol : grammar_->symbols)
      if (symbol.tokens.size() > so_far.size() && begins_with(symbol.tokens, so_far) && is_allowed(symbol))
        tokens.push_back(symbol.tokens[so_far.size()]);
  }

  // With the pending symbol taken for complete; null if it is not.
  std::shared_ptr<const Progress> after_pending() const {
    for (const Symbol& symbol : grammar_->symbols)
      if (symbol.tokens == pending_ && is_allowed(symbol)) return after_symbol(symbol);
    return nullptr;
  }

  std::shared_ptr<const Progress> after_symbol(const Symbol& symbol) const {
    auto next = std::make_shared<Progress>(*this);
    next->pending_.clear();
    next->opened_in_a_row_ = 0;
    if (symbol.kind == Kind::open) {
      next->innermost_ = std::make_shared<Phrase>(Phrase{&symbol.label, innermost_});
      ++next->depth_;
      next->opened_in_a_row_ = opened_in_a_row_ + 1;
    } else if (symbol.kind == Kind::close) {
      next->innermost_ = innermost_->outer;
      next->has_root_ = --next->depth_ == 0;
    } else {
      --next->words_left_;
    }
    return next;
  }

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const std::vector<std::string>> words_;
  int64_t words_left_;
  int64_t depth_ = 0;
  int64_t opened_in_a_row_ = 0;
  bool has_root_ = false;  // and it is closed
  std::shared_ptr<const Phrase> innermost_;
  Ids pending_;
};

TreeConstraint::TreeConstraint(const Tokenizer& tokenizer, const TreeLabels& labels)
    : tokenizer_(tokenizer), grammar_(std::make_shared<Grammar>()) {
  if (labels.phrases.empty() || labels.parts_of_speech.empty())
    throw std::invalid_argument("no labels of trees; lines of them look like (S (NP NNP )NP (VP VBZ )VP )S");
  const auto add = [&](Kind kind, const std::string& label, const std::string& text) {
    const Ids tokens = tokenizer.target().encode_within(text);
    const bool is_known = std::find(tokens.begin(), tokens.end(), special_ids::kUnknown) == tokens.end();
    if (tokens.empty() || !is_known)
      throw std::invalid_argument(fmt::format("the model's vocabulary cannot spell {}, a label of trees", text));
    grammar_->symbols.push_back({kind, label, tokens});
  };
  for (const std::string& label : labels.phrases) {
    add(Kind::open, label, "(" + label);
    add(Kind::close, label, ")" + label);
  }
  for (const std::string& label : labels.parts_of_speech) add(Kind::word, label, label);
  if (!labels.lexicon.empty()) make_lexicon(labels);
}

// Words that the tokenizer does not tell apart are one to the model.
std::string TreeConstraint::comparable(const std::string& word) const {
  return tokenizer_.source().decode(tokenizer_.source().encode_within(word));
}

void TreeConstraint::make_lexicon(const TreeLabels& labels) {
  constexpr size_t kWordsOfAnOpenClass = 50;
  constexpr int64_t kOftenEnough = 5;
  std::map<std::string, size_t> words_with;
  std::map<std::string, int64_t> counts;
  for (const auto& [word, tags] : labels.lexicon) {
    const std::string known = comparable(word);
    for (const auto& [tag, count] : tags) {
      grammar_->tags[known].insert(tag);
      counts[known] += count;
      ++words_with[tag];
    }
  }
  for (const auto& [tag, count] : words_with)
    if (count >= kWordsOfAnOpenClass) grammar_->open_tags.insert(tag);
  if (grammar_->open_tags.empty()) grammar_->open_tags = labels.parts_of_speech;
  for (auto& [word, tags] : grammar_->tags)
    if (counts[word] < kOftenEnough) tags.insert(grammar_->open_tags.begin(), grammar_->open_tags.end());
}

std::shared_ptr<const NextTokenConstraint::State> TreeConstraint::begin(const Ids& /*source*/,
                                                                        const std::string& text) const {
  std::vector<std::string> words;
  for (const std::string& word : split_words(text)) words.push_back(comparable(word));
  return std::make_shared<Progress>(grammar_, std::move(words));
}

}  // namespace v0
}  // namespace transmute
