// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/vocabulary.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/tokenizer/piece_marks.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

// Texts of reserved ids, which tables give to them alone.
bool is_reserved_text(const std::string& piece) {
  return std::find(kReservedPieces.begin(), kReservedPieces.end(), piece) != kReservedPieces.end();
}

void check_each_is_there_once(const std::vector<std::string>& pieces, const std::string& name) {
  std::unordered_map<std::string_view, size_t> numbers;
  for (size_t number = 0; number < pieces.size(); ++number) {
    const auto [known, is_new] = numbers.emplace(pieces[number], number);
    if (!is_new && !pieces[number].empty())
      throw std::runtime_error(fmt::format("{}: the piece \"{}\" has two numbers, {} and {}; restore the file", name,
                                           pieces[number], known->second, number));
  }
}

}  // namespace

std::string read_model_text(const std::string& path) {
  return read_regular_file(path, kMaxVocabularyBytes);
}

int64_t find_piece(const std::vector<std::string>& pieces, const std::string& piece) {
  const auto found = std::find(pieces.begin(), pieces.end(), piece);
  return found == pieces.end() ? kNoPiece : found - pieces.begin();
}

int64_t required_piece(const std::vector<std::string>& pieces, const std::string& piece, const std::string& path) {
  const int64_t number = find_piece(pieces, piece);
  if (number == kNoPiece) throw std::runtime_error(fmt::format("{}: has no piece \"{}\"", path, piece));
  return number;
}

void give_number(std::vector<std::string>& pieces, size_t number, const std::string& piece, const std::string& path) {
  if (pieces.size() <= number) pieces.resize(number + 1);
  std::string& place = pieces[number];
  if (!place.empty() && place != piece)
    throw std::runtime_error(fmt::format("{}: the pieces \"{}\" and \"{}\" both have the number {}; restore the file",
                                         path, place, piece, number));
  place = piece;
}

void check_numbers_are_complete(const std::vector<std::string>& pieces, const std::string& path) {
  const auto gap = std::find(pieces.begin(), pieces.end(), "");
  if (gap != pieces.end())
    throw std::runtime_error(
        fmt::format("{}: no piece has the number {}; restore the file", path, gap - pieces.begin()));
}

std::string find_sentencepiece(const std::string& folder, const std::string& side) {
  for (const std::string& name : {side + ".spm", std::string("sentencepiece.bpe.model"),
                                  std::string("sentencepiece.model"), std::string("spm.model")})
    if (std::filesystem::exists(path_in(folder, name))) return path_in(folder, name);
  return "";
}

void check_rows_have_pieces(const std::vector<std::string>& pieces, int64_t rows, const std::string& name) {
  if (static_cast<int64_t>(pieces.size()) != rows)
    throw std::runtime_error(
        fmt::format("{}: has {} pieces with the reserved ones, but the model has embeddings of {}; restore the file",
                    name, pieces.size(), rows));
}

void refuse_more_pieces(const std::string& name, int64_t rows) {
  throw std::runtime_error(
      fmt::format("{}: has more than the {} pieces for which the model has embeddings; restore the file", name, rows));
}

bool is_language_tag(const std::string& piece) {
  return piece.size() > 4 && piece.compare(0, 2, ">>") == 0 && piece.compare(piece.size() - 2, 2, "<<") == 0;
}

Renumbering renumber(const Vocabulary& vocabulary, const std::string& name) {
  const auto count = static_cast<int64_t>(vocabulary.pieces.size());
  const int64_t reserved[] = {vocabulary.padding, vocabulary.unknown, vocabulary.start, vocabulary.end};
  Renumbering result;
  for (int64_t id = 0; id < special_ids::kCount; ++id) {
    const int64_t number = reserved[id];
    if (number < kNoPiece || number >= count)
      throw std::runtime_error(
          fmt::format("{}: a reserved number is {}, but there are {} pieces", name, number, count));
    // The decoder's start often has the number of the padding or of the end, which keep it. The padding may have that
    // of the end or of unknown, which then keep it.
    const bool is_shared =
        (id == special_ids::kBegin && std::count(std::begin(reserved), std::end(reserved), number) > 1) ||
        (id == special_ids::kPad && (number == vocabulary.end || number == vocabulary.unknown));
    if (number == kNoPiece || is_shared) result.unpredicted.push_back(id);
    result.numbers.push_back(number);
  }
  check_each_is_there_once(vocabulary.pieces, name);
  result.table.pieces.assign(special_ids::kCount, "");
  result.table.control = vocabulary.control;
  for (int64_t number = 0; number < count; ++number) {
    if (std::find(std::begin(reserved), std::end(reserved), number) != std::end(reserved)) continue;
    std::string piece = vocabulary.pieces[static_cast<size_t>(number)];
    if (piece.empty() || is_reserved_text(piece)) {
      piece = fmt::format("<{}:{}>", piece.empty() ? "unused" : "special", number);
      result.table.control.insert(piece);
    }
    result.numbers.push_back(number);
    result.table.pieces.push_back(std::move(piece));
  }
  return result;
}

std::shared_ptr<const SubwordModel> make_subword_model(const std::string& sentencepiece,
                                                       const Renumbering& renumbering) {
  return make_subword_model(read_model_text(sentencepiece), sentencepiece, renumbering);
}

std::shared_ptr<const SubwordModel> make_subword_model(const std::string& serialized, const std::string& name,
                                                       const Renumbering& renumbering) {
  return std::make_shared<SubwordModel>(with_piece_table(serialized, name, renumbering.table), name);
}

std::shared_ptr<const SubwordModel> subword_model_or_pieces(const std::string& sentencepiece,
                                                            const Renumbering& renumbering, const std::string& name) {
  return sentencepiece.empty() ? std::make_shared<SubwordModel>(model_of_spaced_pieces(renumbering.table, name), name)
                               : make_subword_model(sentencepiece, renumbering);
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
