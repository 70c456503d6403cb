// SPDX-License-Identifier: Apache-2.0
// Models of SentencePiece from anywhere, transmute's and other programs': opened, they encode and decode.
#include <transmute/fuzz/fuzz.h>
#include <transmute/tokenizer/piece_table.h>
#include <transmute/tokenizer/sampler.h>
#include <transmute/tokenizer/tokenizer.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace transmute;

namespace {

// With the model's own pieces as a network's vocabulary, some of them languages, and one that it does not have.
std::string with_own_pieces(const std::string& serialized) {
  PieceTable table{{"<pad>", "<unk>", "<s>", "</s>"}, {}};
  for (std::string& piece : pieces_of(serialized, "input")) {
    if (std::count(table.pieces.begin(), table.pieces.begin() + special_ids::kCount, piece) > 0) continue;
    if (piece.substr(0, 2) == ">>" || piece.substr(0, 2) == "__") table.control.insert(piece);
    table.pieces.push_back(std::move(piece));
  }
  table.pieces.emplace_back("\xe2\x96\x81missing");
  return with_piece_table(serialized, "input", table);
}

void use(const SubwordModel& model) {
  const std::string text = ">>de<< the red house, 17 \xe2\x82\xac \xf0\x9f\x98\x80 a";
  const Ids ids = model.encode(text);
  for (const int64_t id : ids) fuzz::require(id >= 0 && id < model.size());
  const std::string decoded = model.decode(ids);
  for (const auto& [begin, end] : model.segment(text).spans) fuzz::require(begin <= end && end <= text.size());
  std::vector<std::string> pieces;
  for (const int64_t id : ids) pieces.push_back(model.piece(id));
  for (const auto& [begin, end] : model.spans_of_pieces(pieces, decoded))
    fuzz::require(begin <= end && end <= decoded.size());
  for (const int64_t id : model.line_breaks()) model.piece(id);
  for (const std::string& name : model.language_names()) model.language(name);
  try {
    const SubwordSampler sampler(model);
    for (uint64_t key = 1; key <= 2; ++key)
      for (const int64_t id : sampler.sample(ids, 0.5, key)) fuzz::require(id >= 0 && id < model.size());
  } catch (const std::invalid_argument&) {  // neither BPE nor unigram
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string serialized(reinterpret_cast<const char*>(data) + 1, size - 1);
  fuzz::may_refuse([&] { use(SubwordModel(data[0] % 2 == 0 ? serialized : with_own_pieces(serialized), "input")); });
  return 0;
}
