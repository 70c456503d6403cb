// SPDX-License-Identifier: Apache-2.0
#include <sentencepiece_trainer.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/tokenizer/message_reader.h>
#include <transmute/tokenizer/piece_marks.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/tokenizer/truecase.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <stdexcept>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

namespace {

// Their number is fixed, because the threads' partial sums are part of the result: the same text gives the same model
// everywhere.
constexpr int kTrainingThreads = 4;
// SentencePiece passes over longer lines while it learns; they are still tokenized afterwards.
constexpr int kMaxTrainingLineBytes = 1 << 16;

// LineSources one after the other, as SentencePiece reads them.
class LineIterator : public sentencepiece::SentenceIterator {
 public:
  LineIterator(std::vector<LineSource> sources, bool truecases) : sources_(std::move(sources)), truecases_(truecases) {
    Next();
  }
  bool done() const override { return done_; }
  void Next() override {
    while (current_ < sources_.size()) {
      if (sources_[current_](line_)) {
        if (!line_.empty()) ++lines_;
        if (truecases_) line_ = truecaser_.next(line_);
        return;
      }
      ++current_;
    }
    done_ = true;
  }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }
  int64_t lines() const { return lines_; }

 private:
  std::vector<LineSource> sources_;
  bool truecases_;
  Truecaser truecaser_;
  size_t current_ = 0;
  std::string line_;
  int64_t lines_ = 0;
  bool done_ = false;
};

// The names of the rules that are compiled into SentencePiece, and of nmt_nfkc where the texts are truecased before.
constexpr const char* kTruecasedRules = "nmt_nfkc";
constexpr std::array<std::string_view, 6> kNormalizations{"nmt_nfkc",    "nmt_nfkc_tc", "nfkc",
                                                          "nmt_nfkc_cf", "nfkc_cf",     "identity"};

void check_symbols(const std::vector<std::string>& symbols) {
  std::set<std::string> known(kReservedPieces.begin(), kReservedPieces.end());
  for (const std::string& symbol : symbols) {
    if (symbol.find_first_of(std::string("\n\r\0", 3)) != std::string::npos || symbol.empty())
      throw std::invalid_argument("tokenizer.user_defined_symbols has a text that is empty or has a line end");
    if (!known.insert(symbol).second)
      throw std::invalid_argument(
          fmt::format("tokenizer.user_defined_symbols has \"{}\" twice, or it is reserved; leave it out", symbol));
  }
}

std::unordered_map<std::string, std::string> trainer_arguments(const TokenizerOptions& options) {
  // SentencePiece splits this list at commas, knows CSV quotes, and looks for symbols where spaces are marked already.
  std::string symbols;
  for (const auto& symbol : options.user_defined_symbols) {
    symbols += symbols.empty() ? "\"" : ",\"";
    for (const char byte : symbol) byte == ' ' ? symbols.append(kSpaceMark) : symbols.append(byte == '"' ? 2 : 1, byte);
    symbols += '"';
  }
  std::unordered_map<std::string, std::string> arguments{
      {"model_type", options.algorithm == SubwordAlgorithm::bpe ? "bpe" : "unigram"},
      {"vocab_size", fmt::format("{}", options.vocab_size)},
      // Without a decimal point, which SentencePiece reads as std::locale::global says.
      {"character_coverage", fmt::format("{}e-9", std::llround(options.character_coverage * 1e9))},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"split_digits", options.split_digits ? "true" : "false"},
      {"split_by_unicode_script", options.split_by_script ? "true" : "false"},
      {"normalization_rule_name", is_truecasing(options.normalization) ? kTruecasedRules : options.normalization},
      {"input_sentence_size", fmt::format("{}", options.max_training_sentences)},
      {"shuffle_input_sentence", "true"},
      {"max_sentence_length", fmt::format("{}", kMaxTrainingLineBytes)},
      {"num_threads", fmt::format("{}", kTrainingThreads)},
      {"pad_id", fmt::format("{}", special_ids::kPad)},
      {"unk_id", fmt::format("{}", special_ids::kUnknown)},
      {"bos_id", fmt::format("{}", special_ids::kBegin)},
      {"eos_id", fmt::format("{}", special_ids::kEnd)},
      {"minloglevel", "2"},
  };
  if (!symbols.empty()) arguments["user_defined_symbols"] = symbols;
  std::vector<std::string> tags;
  for (const std::string& language : options.languages) tags.push_back(language_tag(language));
  if (!tags.empty()) arguments["control_symbols"] = fmt::format("{}", fmt::join(tags, ","));
  return arguments;
}

// The whole number that follows `phrase`; empty if there is none.
std::string digits_after(const std::string& message, const std::string& phrase) {
  const size_t at = message.find(phrase);
  if (at == std::string::npos) return "";
  const size_t begin = at + phrase.size();
  return message.substr(begin, message.find_first_not_of("0123456789", begin) - begin);
}

// The text that a model is learned from, and the key that gives its size.
struct Learned {
  const char* text;       // as messages name it
  const char* key;        // the key that gave the size
  const char* remedy;     // the key to set, or "it"
  const char* hint = "";  // after a size to set
};

constexpr const char* kTargetSizeKey = "tokenizer.target_vocab_size";
constexpr Learned kShared{"training text", "tokenizer.vocab_size", "it"};

Learned learned_source(const TokenizerOptions& options) {
  const char* hint = " (tokenizer.target_vocab_size gives the target another size)";
  return {"source text", "tokenizer.vocab_size", "it", options.target_vocab_size > 0 ? "" : hint};
}

Learned learned_target(const TokenizerOptions& options) {
  if (options.target_vocab_size > 0) return {"target text", kTargetSizeKey, "it"};
  return {"target text", "tokenizer.vocab_size", kTargetSizeKey};
}

VocabularyTooLarge too_large(const Learned& learned, int64_t size, int64_t most) {
  return {fmt::format("{} {} is more than the {} supports; set {} to at most {}{}", learned.key, size, learned.text,
                      learned.remedy, most, learned.hint),
          most};
}

// SentencePiece's message without its place in its sources, with the remedy in this project's terms.
[[noreturn]] void refuse(const std::string& message, const Learned& learned, int64_t size) {
  if (const std::string most = digits_after(message, "set it to a value <= "); !most.empty())
    throw too_large(learned, size, std::stoll(most));
  const std::string least = digits_after(message, " vs ");
  if (message.find("smaller than required_chars") != std::string::npos && !least.empty())
    throw VocabularyTooSmall(
        fmt::format("{} {} is less than the {} pieces that the {}'s single characters and the reserved ids take; set "
                    "{} to at least {}{}, or lower tokenizer.character_coverage",
                    learned.key, size, least, learned.text, learned.remedy, least, learned.hint),
        std::stoll(least));
  throw std::invalid_argument("the tokenizer cannot be trained with these options: " + message);
}

// A field that a message has twice is merged, so this only changes the name.
std::string normalization_named(const std::string& name) {
  const auto field = [](uint64_t tag, const std::string& bytes) {
    return std::string{static_cast<char>(tag), static_cast<char>(bytes.size())} + bytes;
  };
  return field(kModelNormalizerSpec, field(kNormalizerName, name));
}

std::shared_ptr<const SubwordModel> train_model(const TokenizerOptions& options, std::vector<LineSource> sources,
                                                const Learned& learned) {
  sentencepiece::SetRandomGeneratorSeed(1);
  const bool truecases = is_truecasing(options.normalization);
  LineIterator lines(std::move(sources), truecases);
  std::string serialized;
  const auto status = sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options), &lines, &serialized);
  if (lines.lines() == 0) throw std::invalid_argument("the tokenizer cannot be trained: the training text is empty");
  if (!status.ok()) refuse(status.message(), learned, options.vocab_size);
  if (truecases) serialized += normalization_named(options.normalization);
  auto model = std::make_shared<SubwordModel>(std::move(serialized), "the trained tokenizer");
  // BPE ends early, without an error, where no pair is left to merge.
  if (model->size() < options.vocab_size) throw too_large(learned, options.vocab_size, model->size());
  return model;
}

}  // namespace

void check_tokenizer_options(const TokenizerOptions& options) {
  check_symbols(options.user_defined_symbols);
  if (std::find(kNormalizations.begin(), kNormalizations.end(), options.normalization) == kNormalizations.end())
    throw std::invalid_argument(fmt::format("tokenizer.normalization must be one of {}; not '{}'",
                                            fmt::join(kNormalizations, ", "), options.normalization));
  if (options.vocabulary == VocabularySharing::shared && options.target_vocab_size > 0)
    throw std::invalid_argument(
        "tokenizer.target_vocab_size needs tokenizer.vocabulary: separate; a shared one has one size");
}

std::string language_tag(const std::string& language) {
  return ">>" + language + "<<";
}

Tokenizer train_tokenizer(const TokenizerOptions& options, const LineSource& source, const LineSource& target) {
  check_tokenizer_options(options);
  if (options.vocabulary == VocabularySharing::shared) {
    const auto both = train_model(options, {source, target}, kShared);
    return Tokenizer(both, both);
  }
  TokenizerOptions of_target = options;
  of_target.languages.clear();  // tags precede sources
  if (options.target_vocab_size > 0) of_target.vocab_size = options.target_vocab_size;
  auto source_model = train_model(options, {source}, learned_source(options));
  return Tokenizer(std::move(source_model), train_model(of_target, {target}, learned_target(options)));
}

}  // namespace v0
}  // namespace transmute
