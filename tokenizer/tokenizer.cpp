// SPDX-License-Identifier: Apache-2.0
#include <transmute/tokenizer/tokenizer.h>

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/tokenizer/model_check.h>
#include <transmute/tokenizer/piece_marks.h>
#include <transmute/tokenizer/piece_table.h>
#include <transmute/tokenizer/tokenizer_files.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

namespace {

// Fixed, because the threads' partial sums are part of the result: the same text gives the same model
// everywhere.
constexpr int kTrainingThreads = 4;
// SentencePiece passes over longer lines while it learns; they are still tokenized afterwards.
constexpr int kMaxTrainingLineBytes = 1 << 16;

std::shared_ptr<const SubwordModel> load_model(const std::string& path) {
  return std::make_shared<SubwordModel>(read_regular_file(path, kMaxVocabularyBytes), path);
}

// Feeds SentencePiece from LineSources, one after the other.
class LineIterator : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(std::vector<LineSource> sources) : sources_(std::move(sources)) { Next(); }
  bool done() const override { return done_; }
  void Next() override {
    while (current_ < sources_.size()) {
      if (sources_[current_](line_)) {
        if (!line_.empty()) ++lines_;
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
  size_t current_ = 0;
  std::string line_;
  int64_t lines_ = 0;
  bool done_ = false;
};

// Those that are compiled into SentencePiece.
constexpr std::array<std::string_view, 5> kNormalizations{"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"};

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
      {"normalization_rule_name", options.normalization},
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
  return arguments;
}

// The whole number that follows `phrase`; empty where there is none.
std::string digits_after(const std::string& message, const std::string& phrase) {
  const size_t at = message.find(phrase);
  if (at == std::string::npos) return "";
  const size_t begin = at + phrase.size();
  return message.substr(begin, message.find_first_not_of("0123456789", begin) - begin);
}

// What a model is learned from, and the key that gives its size.
struct Learned {
  const char* text;       // as messages name it
  const char* key;        // that gave the size
  const char* remedy;     // the key to set, or "it"
  const char* hint = "";  // behind a size to set
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

std::shared_ptr<const SubwordModel> train_model(const TokenizerOptions& options, std::vector<LineSource> sources,
                                                const Learned& learned) {
  sentencepiece::SetRandomGeneratorSeed(1);
  LineIterator lines(std::move(sources));
  std::string serialized;
  const auto status = sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options), &lines, &serialized);
  if (lines.lines() == 0) throw std::invalid_argument("the tokenizer cannot be trained: the training text is empty");
  if (!status.ok()) refuse(status.message(), learned, options.vocab_size);
  auto model = std::make_shared<SubwordModel>(std::move(serialized), "the trained tokenizer");
  // BPE ends early, without an error, where no pair is left to merge.
  if (model->size() < options.vocab_size) throw too_large(learned, options.vocab_size, model->size());
  return model;
}

// What a piece stands for in a text; SentencePiece writes a byte as "<0x0A>".
std::string text_of(const sentencepiece::SentencePieceProcessor& processor, int id) {
  const std::string& piece = processor.IdToPiece(id);
  if (!processor.IsByte(id)) return piece;
  return std::string(1, static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)));
}

// SentencePiece takes time with the square of the length for some texts: longer ones are encoded piece by piece.
constexpr size_t kMostBytesAtOnce = 1 << 16;

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// Calls visit(part, where it begins) for the parts of a text that are encoded at once, which end before spaces where
// there are any. A part is encoded with a space in front of it, which stands for the one between two. Words are parts
// where they are to be told apart: SentencePiece makes one of several unknown pieces that follow each other.
template <class Visit>
void for_each_part_of(std::string_view text, bool word_by_word, const Visit& visit) {
  size_t begin = 0;
  if (word_by_word) {
    for (size_t end; begin < text.size(); begin = end + 1) {
      end = std::min(text.find(' ', begin), text.size());
      if (end > begin) visit(text.substr(begin, end - begin), begin);
    }
    return;
  }
  while (text.size() - begin > kMostBytesAtOnce) {
    const size_t space = text.substr(begin, kMostBytesAtOnce + 1).rfind(' ');
    const bool at_space = space != std::string_view::npos && space > 0;
    size_t end = begin + space;
    if (!at_space)
      for (end = begin + kMostBytesAtOnce; end > begin + kMostBytesAtOnce - 4 && is_inside_character(text[end]);) --end;
    visit(text.substr(begin, end - begin), begin);
    begin = end + (at_space ? 1 : 0);
  }
  visit(text.substr(begin), begin);
}

// Where each byte of `decoded` begins and ends in the text, which may have other spaces, and has no marks.
std::vector<ByteSpan> places_in(std::string_view text, std::string_view decoded, std::string_view mark) {
  std::vector<ByteSpan> places;
  size_t at = 0;
  while (places.size() < decoded.size()) {
    if (!mark.empty() && decoded.compare(places.size(), mark.size(), mark) == 0) {
      places.insert(places.end(), mark.size(), {at, at});
      continue;
    }
    const char byte = decoded[places.size()];
    while (byte != ' ' && at < text.size() && text[at] == ' ') ++at;
    const size_t begin = at;
    if (at < text.size() && text[at] == byte) ++at;
    places.emplace_back(begin, at);
  }
  return places;
}

void check(const sentencepiece::util::Status& status) {
  if (!status.ok()) throw std::runtime_error("SentencePiece: " + status.ToString());
}

// SentencePiece reports most damage as a status, but its trie throws where a piece begins with a zero byte.
bool open(sentencepiece::SentencePieceProcessor& processor, const std::string& serialized) {
  try {
    return is_safe_to_open(serialized) && processor.LoadFromSerializedProto(serialized).ok();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

struct SubwordModel::Processor : sentencepiece::SentencePieceProcessor {
  bool has_whole_words = false;
};

SubwordModel::SubwordModel(std::string serialized, const std::string& name)
    : processor_(std::make_unique<Processor>()), serialized_(std::move(serialized)) {
  const bool opened = open(*processor_, serialized_);
  const std::optional<int64_t> table = opened ? table_size(serialized_) : std::nullopt;
  has_table_ = table.has_value();
  processor_->has_whole_words = opened && has_whole_words(serialized_);
  if (opened) size_ = table.value_or(processor_->GetPieceSize());
  if (!opened || size_ <= special_ids::kCount || size_ > processor_->GetPieceSize())
    throw std::runtime_error(fmt::format("{}: not a SentencePiece model, or damaged; train again or restore it", name));
  const bool reserved_as_agreed =
      processor_->pad_id() == special_ids::kPad && processor_->unk_id() == special_ids::kUnknown &&
      processor_->bos_id() == special_ids::kBegin && processor_->eos_id() == special_ids::kEnd;
  if (!reserved_as_agreed)
    throw std::runtime_error(fmt::format(
        "{}: its ids for padding, unknown, begin and end are {}, {}, {}, {}; transmute needs {}, {}, {}, {} "
        "(train "
        "SentencePiece with --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3)",
        name, processor_->pad_id(), processor_->unk_id(), processor_->bos_id(), processor_->eos_id(), special_ids::kPad,
        special_ids::kUnknown, special_ids::kBegin, special_ids::kEnd));
  languages_ = find_languages();
  constexpr std::string_view kBreaks("\n\r\0", 3);
  for (int id = special_ids::kCount; id < size_; ++id)
    if (text_of(*processor_, id).find_first_of(kBreaks) != std::string::npos) line_breaks_.push_back(id);
}

SubwordModel::~SubwordModel() = default;

int64_t SubwordModel::size() const {
  return size_;
}

bool SubwordModel::is_tag(int64_t id) const {
  return id >= special_ids::kCount && id < size_ && processor_->IsControl(static_cast<int>(id));
}

SubwordModel::Tag SubwordModel::tag_of(std::string_view text) const {
  if (text.substr(0, 2) != ">>") return {};
  const size_t end = text.find("<<");
  if (end == std::string_view::npos) return {};
  if (languages_ != LanguagePieces::tags) return {};
  const int64_t id = processor_->PieceToId({text.data(), end + 2});
  return {end + 2, is_tag(id) ? id : special_ids::kUnknown};
}

int64_t SubwordModel::language(const std::string& language) const {
  for (const std::string& piece : {language, ">>" + language + "<<", "__" + language + "__"})
    if (const int64_t id = processor_->PieceToId(piece); is_tag(id)) return id;
  const std::vector<std::string> languages = language_names();
  throw std::invalid_argument(languages.empty() ? "the model has one language only on this side; leave the language out"
                                                : fmt::format("the model has no language \"{}\"; it has {}", language,
                                                              fmt::join(languages, ", ")));
}

std::vector<std::string> SubwordModel::language_names() const {
  std::vector<std::string> names;
  for (int64_t id = special_ids::kCount; id < size_; ++id) {
    if (!is_tag(id)) continue;
    std::string name = piece(id);
    if (name.empty() || name.front() == '<') continue;  // <mask> and the like
    for (const std::string mark : {">>", "__"}) {
      const size_t marks = 2 * mark.size();
      if (name.size() > marks && name.compare(0, mark.size(), mark) == 0) name = name.substr(2, name.size() - marks);
    }
    names.push_back(std::move(name));
  }
  return names;
}

LanguagePieces SubwordModel::find_languages() const {
  LanguagePieces found = LanguagePieces::none;
  for (int64_t id = special_ids::kCount; id < size_; ++id) {
    if (!is_tag(id)) continue;
    const std::string& tag = processor_->IdToPiece(static_cast<int>(id));
    if (tag.compare(0, 2, ">>") == 0) return LanguagePieces::tags;
    if (tag.front() != '<') found = LanguagePieces::both_sides;  // <mask> and the like are no language
  }
  return found;
}

// SentencePiece calls unknown what it has no piece for. The table may have it nevertheless, from the other language:
// the programs that such tables come from look pieces up by their text.
int64_t SubwordModel::in_vocabulary(int64_t id, std::string_view piece) const {
  if (id >= size_) return special_ids::kUnknown;
  if (id != special_ids::kUnknown || !has_table_) return id;
  const int64_t other = processor_->PieceToId(std::string(piece) + kNotSplitInto);
  return other < size_ ? other : special_ids::kUnknown;
}

Ids SubwordModel::encode(std::string_view text) const {
  const Tag tag = tag_of(text);
  Ids all;
  if (tag.bytes > 0) all.push_back(tag.id);
  for_each_part_of(text.substr(tag.bytes), processor_->has_whole_words, [&](std::string_view part, size_t) {
    std::vector<int> ids;
    check(processor_->Encode({part.data(), part.size()}, &ids));
    std::vector<std::string> pieces;  // needed where one is unknown
    if (has_table_ && std::count(ids.begin(), ids.end(), special_ids::kUnknown) > 0)
      check(processor_->Encode({part.data(), part.size()}, &pieces));
    for (size_t i = 0; i < ids.size(); ++i) all.push_back(in_vocabulary(ids[i], pieces.empty() ? "" : pieces[i]));
  });
  return all;
}

SegmentedText SubwordModel::segment(std::string_view text) const {
  const Tag tag = tag_of(text);
  SegmentedText all;
  if (tag.bytes > 0) {
    all.ids.push_back(tag.id);
    all.pieces.emplace_back(text.substr(0, tag.bytes));
    all.spans.emplace_back(0, tag.bytes);
  }
  for_each_part_of(text.substr(tag.bytes), processor_->has_whole_words, [&](std::string_view part, size_t at) {
    const auto segmented = processor_->EncodeAsImmutableProto({part.data(), part.size()});
    for (const auto& piece : segmented.pieces()) {
      all.ids.push_back(in_vocabulary(piece.id(), piece.piece()));
      all.pieces.push_back(piece.piece());
      all.spans.emplace_back(tag.bytes + at + piece.begin(), tag.bytes + at + piece.end());
    }
  });
  return all;
}

std::vector<ByteSpan> SubwordModel::spans_of_pieces(const std::vector<std::string>& pieces,
                                                    std::string_view text) const {
  // Under the names by which the SentencePiece model knows them, the marks of the table included.
  std::vector<std::string> known = pieces;
  const auto is_known = [&](const std::string& piece) { return processor_->PieceToId(piece) != special_ids::kUnknown; };
  if (has_table_)
    for (std::string& piece : known)
      if (const std::string marked = piece + kNotSplitInto; !is_known(piece) && is_known(marked)) piece = marked;
  const auto decoded = processor_->DecodePiecesAsImmutableProto(known);
  std::string surfaces;  // its text, unless the model has rules to denormalize it
  for (const auto& piece : decoded.pieces()) surfaces += piece.surface();
  const auto places = places_in(text, surfaces, has_table_ ? kNotSplitInto : "");
  std::vector<ByteSpan> spans;
  size_t begin = 0;
  for (const auto& piece : decoded.pieces()) {
    const size_t end = begin + piece.surface().size(), before = spans.empty() ? 0 : spans.back().second;
    spans.emplace_back(begin < end ? places[begin].first : before, begin < end ? places[end - 1].second : before);
    begin = end;
  }
  return spans;
}

std::string SubwordModel::without_marks(std::string text) const {
  const std::string_view mark = kNotSplitInto;
  if (has_table_)
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.erase(at, mark.size());
  return text;
}

std::string SubwordModel::decode(const Ids& ids) const {
  std::vector<int> content;
  for (const int64_t id : ids) {
    if (id < 0 || id >= size())
      throw std::invalid_argument(fmt::format("token id {} is outside the vocabulary of {}", id, size()));
    if (!processor_->IsControl(static_cast<int>(id))) content.push_back(static_cast<int>(id));
  }
  std::string text;
  check(processor_->Decode(content, &text));
  return without_marks(std::move(text));
}

std::string SubwordModel::piece(int64_t id) const {
  if (id < 0 || id >= size())
    throw std::invalid_argument(fmt::format("token id {} is outside the vocabulary of {}", id, size()));
  return without_marks(processor_->IdToPiece(static_cast<int>(id)));
}

Tokenizer::Tokenizer(std::shared_ptr<const SubwordModel> source, std::shared_ptr<const SubwordModel> target)
    : source_(std::move(source)), target_(std::move(target)) {}

bool Tokenizer::exists(const std::string& folder) {
  return std::filesystem::exists(path_in(folder, kSharedTokenizerFile)) ||
         (std::filesystem::exists(path_in(folder, kSourceTokenizerFile)) &&
          std::filesystem::exists(path_in(folder, kTargetTokenizerFile)));
}

Tokenizer Tokenizer::load(const std::string& folder) {
  if (std::filesystem::exists(path_in(folder, kSourceTokenizerFile)))
    return Tokenizer(load_model(path_in(folder, kSourceTokenizerFile)),
                     load_model(path_in(folder, kTargetTokenizerFile)));
  const auto both = load_model(path_in(folder, kSharedTokenizerFile));
  return Tokenizer(both, both);
}

void Tokenizer::save(const std::string& folder) const {
  for (const auto& [name, model] : files()) write_file_atomically(path_in(folder, name), model->serialized());
}

std::vector<std::pair<const char*, const SubwordModel*>> Tokenizer::files() const {
  if (shared()) return {{kSharedTokenizerFile, source_.get()}};
  return {{kSourceTokenizerFile, source_.get()}, {kTargetTokenizerFile, target_.get()}};
}

void check_tokenizer_options(const TokenizerOptions& options) {
  check_symbols(options.user_defined_symbols);
  if (std::find(kNormalizations.begin(), kNormalizations.end(), options.normalization) == kNormalizations.end())
    throw std::invalid_argument(fmt::format("tokenizer.normalization must be one of {}; not '{}'",
                                            fmt::join(kNormalizations, ", "), options.normalization));
  if (options.vocabulary == VocabularySharing::shared && options.target_vocab_size > 0)
    throw std::invalid_argument(
        "tokenizer.target_vocab_size needs tokenizer.vocabulary: separate; a shared one has one size");
}

Tokenizer train_tokenizer(const TokenizerOptions& options, const LineSource& source, const LineSource& target) {
  check_tokenizer_options(options);
  if (options.vocabulary == VocabularySharing::shared) {
    const auto both = train_model(options, {source, target}, kShared);
    return Tokenizer(both, both);
  }
  TokenizerOptions of_target = options;
  if (options.target_vocab_size > 0) of_target.vocab_size = options.target_vocab_size;
  auto source_model = train_model(options, {source}, learned_source(options));
  return Tokenizer(std::move(source_model), train_model(of_target, {target}, learned_target(options)));
}

}  // namespace v0
}  // namespace transmute
