// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Draws other segmentations of tokenized text.
///
/// SentencePiece has the same (SampleEncode), with one generator per thread that is seeded once: what it draws depends
/// on all that the thread has drawn before. Here a draw is a function of its key. Safe to use from many threads at
/// once.
class SubwordSampler {
 public:
  /// @throws std::invalid_argument if the model is neither BPE nor unigram.
  explicit SubwordSampler(const SubwordModel& model);

  /// BPE: BPE-dropout (Provilkov et al., 2020), in which a possible merge is dropped with probability `alpha`, for
  /// good, as in SentencePiece. Unigram: a segmentation with probability proportional to its own to the power of
  /// `alpha` (Kudo, 2018, with all segmentations, SentencePiece's nbest_size -1).
  ///
  /// Unknown characters, bytes and user-defined symbols stay as they are.
  /// @param ids of one sentence, as SubwordModel::encode gives them
  Ids sample(const Ids& ids, double alpha, uint64_t key) const;

 private:
  enum class Type { normal, other };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::normal;
  };
  struct Node {  // of a trie over the pieces' bytes; the children of one node are side by side, by byte
    uint8_t byte = 0;
    int32_t first_child = 0;
    int32_t children = 0;
    int32_t piece = -1;  // the piece that ends here
  };
  class Draws;

  void read_model(const std::string& serialized, int64_t size);
  void find_merges();
  void build_trie();
  int32_t child(int32_t node, uint8_t byte) const;
  bool drop_merges(const std::string& text, double alpha, Draws& draws, Ids& sampled) const;
  bool draw_path(const std::string& text, double alpha, Draws& draws, Ids& sampled) const;

  bool is_bpe_ = false;
  std::vector<Piece> pieces_;
  std::unordered_map<std::string, int32_t> by_text_;  // normal pieces
  std::unordered_map<uint64_t, int32_t> merges_;      // BPE: left and right piece -> both together
  std::vector<Node> trie_;                            // unigram
};

}  // namespace v0
}  // namespace transmute
