// SPDX-License-Identifier: Apache-2.0
#include <transmute/tokenizer/tokenizer.h>

#include <sentencepiece_processor.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/common/utf8.h>
#include <transmute/tokenizer/message_reader.h>
#include <transmute/tokenizer/model_check.h>
#include <transmute/tokenizer/piece_marks.h>
#include <transmute/tokenizer/piece_table.h>
#include <transmute/tokenizer/tokenizer_files.h>
#include <transmute/tokenizer/truecase.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

std::shared_ptr<const SubwordModel> load_model(const std::string& path) {
  return std::make_shared<SubwordModel>(read_regular_file(path, kMaxVocabularyBytes), path);
}

// The text that a piece stands for; SentencePiece writes a byte as "<0x0A>".
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

// The place of each byte of `decoded` in the text, which may have other white space, and has no marks.
std::vector<ByteSpan> places_in(std::string_view text, std::string_view decoded, std::string_view mark) {
  std::vector<ByteSpan> places;
  size_t at = 0;
  while (places.size() < decoded.size()) {
    if (!mark.empty() && decoded.compare(places.size(), mark.size(), mark) == 0) {
      places.insert(places.end(), mark.size(), {at, at});
      continue;
    }
    for (size_t length = 0; at < text.size(); at += length) {
      const auto [code, first, last] = character_at(text, at);
      length = last - first;
      if (u_isUWhiteSpace(code) == 0 || decoded.compare(places.size(), length, text, at, length) == 0) break;
    }
    const size_t begin = at;
    if (at < text.size() && text[at] == decoded[places.size()]) ++at;
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

constexpr std::string_view kSpaces = " \t\r\n";

// Such as "por" and "zh_Hant": a code of ISO 639, with or without a script or a region. Quoted words differ, such as
// those of German's >>Titanic<<.
bool looks_like_code(std::string_view name) {
  const std::string_view first = name.substr(0, name.find_first_of("_-")), further = name.substr(first.size());
  const auto is_small = [](char c) { return 'a' <= c && c <= 'z'; };
  const auto is_further = [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_' || c == '-';
  };
  return (first.size() == 2 || first.size() == 3) && std::all_of(first.begin(), first.end(), is_small) &&
         std::all_of(further.begin(), further.end(), is_further);
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
  int64_t dotless = 0;
  for (int id = special_ids::kCount; id < size_; ++id) {
    const std::string text = text_of(*processor_, id);
    if (text.find_first_of(kBreaks) != std::string::npos) line_breaks_.push_back(id);
    dotless += text.find("ı") != std::string::npos ? 1 : 0;
  }
  constexpr int64_t kOneIn = 200;
  is_turkish_ = dotless * kOneIn >= size_;
  truecases_ = is_truecasing(normalization_of(serialized_));
}

SubwordModel::~SubwordModel() = default;

std::shared_ptr<const SubwordModel> SubwordModel::of_listed_pieces() const {
  auto listed = std::make_shared<SubwordModel>(serialized_, "a vocabulary");
  listed->is_listed_ = true;
  listed->truecases_ = false;
  listed->languages_ = LanguagePieces::none;
  return listed;
}

int64_t SubwordModel::size() const {
  return size_;
}

bool SubwordModel::is_tag(int64_t id) const {
  return !is_listed_ && id >= special_ids::kCount && id < size_ && processor_->IsControl(static_cast<int>(id));
}

SubwordModel::Tag SubwordModel::tag_of(std::string_view text) const {
  if (languages_ != LanguagePieces::tags) return {};
  const size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  const size_t mark = text.find("<<", begin);
  if (text.substr(begin, 2) != ">>" || mark == std::string_view::npos) return {};
  const size_t end = mark + 2;
  const int64_t id = processor_->PieceToId(text.substr(begin, end - begin));
  if (is_tag(id)) return {{begin, end}, id};
  const bool is_apart = end == text.size() || kSpaces.find(text[end]) != std::string_view::npos;
  if (!is_apart || !looks_like_code(text.substr(begin + 2, mark - begin - 2))) return {};
  return {{begin, end}, special_ids::kUnknown};
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

// The reserved ids are not for texts.
SegmentedText SubwordModel::segment_listed(std::string_view text) const {
  SegmentedText all;
  for_each_part_of(text, true, [&](std::string_view piece, size_t at) {
    int64_t id = in_vocabulary(processor_->PieceToId(std::string(piece)), piece);
    if (id == special_ids::kUnknown && processor_->has_whole_words)
      id = in_vocabulary(processor_->PieceToId(std::string(kSpaceMark).append(piece)), piece);
    all.ids.push_back(id < special_ids::kCount ? special_ids::kUnknown : id);
    all.pieces.emplace_back(piece);
    all.spans.emplace_back(at, at + piece.size());
  });
  return all;
}

Ids SubwordModel::encode(std::string_view text) const {
  if (is_listed_) return segment_listed(text).ids;
  const Tag tag = tag_of(text);
  const std::string_view own = text.substr(tag.place.second);
  Ids all = encode_within(truecases_ ? in_true_case(own) : own);
  if (tag.place.second > 0) all.insert(all.begin(), tag.id);
  return all;
}

Ids SubwordModel::encode_within(std::string_view text) const {
  if (is_listed_) return segment_listed(text).ids;
  Ids all;
  for_each_part_of(text, processor_->has_whole_words, [&](std::string_view part, size_t) {
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
  if (is_listed_) return segment_listed(text);
  const Tag tag = tag_of(text);
  SegmentedText all;
  const size_t own_begin = tag.place.second;
  if (own_begin > 0) {
    all.ids.push_back(tag.id);
    all.pieces.emplace_back(text.substr(tag.place.first, own_begin - tag.place.first));
    all.spans.push_back(tag.place);
  }
  std::string_view own = text.substr(own_begin);
  std::string changed;
  if (truecases_) own = changed = in_true_case(own);
  for_each_part_of(own, processor_->has_whole_words, [&](std::string_view part, size_t at) {
    const auto segmented = processor_->EncodeAsImmutableProto({part.data(), part.size()});
    for (const auto& piece : segmented.pieces()) {
      all.ids.push_back(in_vocabulary(piece.id(), piece.piece()));
      all.pieces.push_back(piece.piece());
      all.spans.emplace_back(own_begin + at + piece.begin(), own_begin + at + piece.end());
    }
  });
  return all;
}

// A word in lower case needs fewer pieces, or its piece is more frequent, as the ids are by frequency.
std::string SubwordModel::in_true_case(std::string_view text) const {
  return truecased(text, [&](const std::string& capital, const std::string& lower) {
    if (is_turkish_ && lower.front() == 'i') return false;
    const Ids as_written = encode_within(capital), in_lower_case = encode_within(lower);
    if (as_written.size() != in_lower_case.size()) return in_lower_case.size() < as_written.size();
    return as_written.size() == 1 && in_lower_case < as_written;
  });
}

std::vector<ByteSpan> SubwordModel::spans_of_pieces(const std::vector<std::string>& pieces,
                                                    std::string_view text) const {
  if (is_listed_) {
    std::vector<ByteSpan> spans = segment_listed(text).spans;
    spans.resize(pieces.size(), {text.size(), text.size()});
    return spans;
  }
  // Under the names by which the SentencePiece model knows them, the marks of the table included.
  std::vector<std::string> known = pieces;
  const auto is_known = [&](const std::string& piece) { return processor_->PieceToId(piece) != special_ids::kUnknown; };
  if (has_table_)
    for (std::string& piece : known)
      if (const std::string marked = piece + kNotSplitInto; !is_known(piece) && is_known(marked)) piece = marked;
  const auto decoded = processor_->DecodePiecesAsImmutableProto(known);
  std::string surfaces;  // its text, unless the model has rules to denormalize it
  for (const auto& piece : decoded.pieces()) surfaces += piece.surface();
  // The text may begin with a capital that its pieces lack.
  const auto places = places_in(without_capitals(std::string(text)), without_capitals(std::move(surfaces)),
                                has_table_ ? kNotSplitInto : "");
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
  if (is_listed_) {
    std::string list;
    for (const int64_t id : ids)
      if (id >= special_ids::kCount || id == special_ids::kUnknown) list += (list.empty() ? "" : " ") + piece(id);
    return list;
  }
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
  std::string piece = without_marks(processor_->IdToPiece(static_cast<int>(id)));
  if (is_listed_ && processor_->has_whole_words && begins_word(piece)) piece.erase(0, kSpaceMark.size());
  return piece;
}

Tokenizer::Tokenizer(std::shared_ptr<const SubwordModel> source, std::shared_ptr<const SubwordModel> target)
    : source_(std::move(source)), target_(std::move(target)) {}

Tokenizer Tokenizer::of_listed_pieces() const {
  const auto source = source_->of_listed_pieces();
  return Tokenizer(source, shared() ? source : target_->of_listed_pieces());
}

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

}  // namespace v0
}  // namespace transmute
