// SPDX-License-Identifier: Apache-2.0
#include <transmute/tokenizer/sampler.h>

#include <transmute/common/random.h>
#include <transmute/tokenizer/message_reader.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <queue>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

size_t character_bytes(char first) {
  const auto byte = static_cast<uint8_t>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

double add_logarithms(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == -std::numeric_limits<double>::infinity() ? a : a + std::log1p(std::exp(b - a));
}

}  // namespace

// Uniform numbers in [0, 1), a function of the key and their place in the sequence.
class SubwordSampler::Draws {
 public:
  explicit Draws(uint64_t key) : key_(key) {}
  double next() { return uniform(mix_bits(key_ ^ mix_bits(++drawn_))); }

 private:
  uint64_t key_;
  uint64_t drawn_ = 0;
};

SubwordSampler::SubwordSampler(const SubwordModel& model) {
  read_model(model.serialized(), model.size());
  for (size_t id = 0; id < pieces_.size(); ++id)
    if (pieces_[id].type == Type::normal) by_text_.emplace(pieces_[id].text, static_cast<int32_t>(id));
  if (is_bpe_) {
    find_merges();
  } else {
    build_trie();
  }
}

void SubwordSampler::read_model(const std::string& serialized, int64_t size) {
  uint64_t model_type = kModelUnigram;
  for (MessageReader model(serialized); model.next();) {
    if (model.tag == kModelTrainerSpec)
      for (MessageReader spec(model.bytes); spec.next();)
        if (spec.tag == kTrainerModelType) model_type = spec.number;
    if (model.tag != kModelPieces) continue;
    Piece piece;
    for (MessageReader reader(model.bytes); reader.next();) {
      if (reader.tag == kPieceText) piece.text = reader.bytes;
      if (reader.tag == kPieceScore) std::memcpy(&piece.score, reader.bytes.data(), sizeof(piece.score));
      if (reader.tag == kPieceType) piece.type = reader.number == kTypeNormal ? Type::normal : Type::other;
    }
    // The network does not know what comes after a table of its pieces.
    if (static_cast<int64_t>(pieces_.size()) >= size) piece.type = Type::other;
    pieces_.push_back(std::move(piece));
  }
  is_bpe_ = model_type == kModelBpe;
  if (!is_bpe_ && model_type != kModelUnigram)
    throw std::invalid_argument(
        "only BPE and unigram tokenizers have other segmentations to draw; this one is neither");
}

// SentencePiece merges two neighbors wherever both together are a piece.
void SubwordSampler::find_merges() {
  for (const auto& [text, id] : by_text_)
    for (size_t cut = character_bytes(text[0]); cut < text.size(); cut += character_bytes(text[cut])) {
      const auto left = by_text_.find(text.substr(0, cut));
      const auto right = by_text_.find(text.substr(cut));
      if (left != by_text_.end() && right != by_text_.end()) merges_[pair_key(left->second, right->second)] = id;
    }
}

void SubwordSampler::build_trie() {
  std::vector<std::pair<std::string_view, int32_t>> sorted(by_text_.begin(), by_text_.end());
  std::sort(sorted.begin(), sorted.end());
  struct Range {  // the pieces below a node, which have `depth` bytes in common
    size_t node, begin, end, depth;
  };
  trie_.emplace_back();
  std::queue<Range> open;
  open.push({0, 0, sorted.size(), 0});
  while (!open.empty()) {
    Range range = open.front();
    open.pop();
    if (range.begin < range.end && sorted[range.begin].first.size() == range.depth)
      trie_[range.node].piece = sorted[range.begin++].second;
    trie_[range.node].first_child = static_cast<int32_t>(trie_.size());
    for (size_t begin = range.begin; begin < range.end;) {
      const char byte = sorted[begin].first[range.depth];
      size_t end = begin;
      while (end < range.end && sorted[end].first[range.depth] == byte) ++end;
      open.push({trie_.size(), begin, end, range.depth + 1});
      trie_.emplace_back();
      trie_.back().byte = static_cast<uint8_t>(byte);
      ++trie_[range.node].children;
      begin = end;
    }
  }
}

// -1 if there is none.
int32_t SubwordSampler::child(int32_t node, uint8_t byte) const {
  const auto begin = trie_.begin() + trie_[static_cast<size_t>(node)].first_child;
  const auto end = begin + trie_[static_cast<size_t>(node)].children;
  const auto found = std::lower_bound(begin, end, byte, [](const Node& a, uint8_t b) { return a.byte < b; });
  return found != end && found->byte == byte ? static_cast<int32_t>(found - trie_.begin()) : -1;
}

Ids SubwordSampler::sample(const Ids& ids, double alpha, uint64_t key) const {
  Draws draws(key);
  Ids sampled;
  const auto is_normal = [&](int64_t id) { return pieces_.at(static_cast<size_t>(id)).type == Type::normal; };
  for (auto id = ids.begin(); id != ids.end();) {
    if (!is_normal(*id)) {
      sampled.push_back(*id++);
      continue;
    }
    const auto begin = id;
    std::string text;
    for (; id != ids.end() && is_normal(*id); ++id) text += pieces_[static_cast<size_t>(*id)].text;
    const size_t before = sampled.size();
    const bool drawn = is_bpe_ ? drop_merges(text, alpha, draws, sampled) : draw_path(text, alpha, draws, sampled);
    if (drawn) continue;
    sampled.resize(before);  // a character has no piece of its own
    sampled.insert(sampled.end(), begin, id);
  }
  return sampled;
}

// False if a character has no piece.
bool SubwordSampler::drop_merges(const std::string& text, double alpha, Draws& draws, Ids& sampled) const {
  struct Symbol {
    int32_t id;  // -1: merged into the one before it
    int32_t previous, next;
  };
  struct Merge {
    float score;
    int32_t left, right;  // symbols
    int32_t left_id, right_id, merged;
    // Best score first, then from the left.
    bool operator<(const Merge& other) const {
      return score < other.score || (score == other.score && left > other.left);
    }
  };
  std::vector<Symbol> symbols;
  for (size_t begin = 0; begin < text.size();) {
    const size_t bytes = character_bytes(text[begin]);
    const auto found = by_text_.find(text.substr(begin, bytes));
    if (found == by_text_.end()) return false;
    const auto place = static_cast<int32_t>(symbols.size());
    symbols.push_back({found->second, place - 1, place + 1});
    begin += bytes;
  }
  symbols.back().next = -1;

  std::priority_queue<Merge> possible;
  const auto propose = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0) return;
    const int32_t left_id = symbols[static_cast<size_t>(left)].id, right_id = symbols[static_cast<size_t>(right)].id;
    const auto merge = merges_.find(pair_key(left_id, right_id));
    if (merge == merges_.end()) return;
    possible.push({pieces_[static_cast<size_t>(merge->second)].score, left, right, left_id, right_id, merge->second});
  };
  for (size_t i = 1; i < symbols.size(); ++i) propose(static_cast<int32_t>(i - 1), static_cast<int32_t>(i));
  while (!possible.empty()) {
    const Merge merge = possible.top();
    possible.pop();
    Symbol& left = symbols[static_cast<size_t>(merge.left)];
    Symbol& right = symbols[static_cast<size_t>(merge.right)];
    if (left.id != merge.left_id || right.id != merge.right_id) continue;  // one of them was merged meanwhile
    if (draws.next() < alpha) continue;
    left.id = merge.merged;
    left.next = right.next;
    if (right.next >= 0) symbols[static_cast<size_t>(right.next)].previous = merge.left;
    right.id = -1;
    propose(left.previous, merge.left);
    propose(merge.left, left.next);
  }
  for (const auto& symbol : symbols)
    if (symbol.id >= 0) sampled.push_back(symbol.id);
  return true;
}

// Forward filtering, backward sampling. False if a character has no piece.
bool SubwordSampler::draw_path(const std::string& text, double alpha, Draws& draws, Ids& sampled) const {
  struct Edge {
    size_t begin;
    int32_t piece;
    double score;  // times alpha
    int32_t next;  // another edge with the same end; -1: none
  };
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  std::vector<double> sums(text.size() + 1, kNone);  // log of the summed weights of all segmentations up to here
  std::vector<int32_t> last_edge(text.size() + 1, -1);
  std::vector<Edge> edges;
  sums[0] = 0;
  for (size_t begin = 0; begin < text.size(); begin += character_bytes(text[begin])) {
    bool has_own_piece = false;
    int32_t node = 0;
    for (size_t end = begin; end < text.size() && (node = child(node, static_cast<uint8_t>(text[end]))) >= 0;) {
      ++end;
      const int32_t piece = trie_[static_cast<size_t>(node)].piece;
      if (piece < 0) continue;
      has_own_piece = has_own_piece || end == begin + character_bytes(text[begin]);
      const double score = alpha * static_cast<double>(pieces_[static_cast<size_t>(piece)].score);
      edges.push_back({begin, piece, score, last_edge[end]});
      last_edge[end] = static_cast<int32_t>(edges.size()) - 1;
      sums[end] = add_logarithms(sums[end], sums[begin] + score);
    }
    if (!has_own_piece) return false;
  }
  const size_t first = sampled.size();
  for (size_t end = text.size(); end > 0;) {
    double rest = draws.next();
    const Edge* chosen = &edges[static_cast<size_t>(last_edge[end])];
    while (true) {
      rest -= std::exp(sums[chosen->begin] + chosen->score - sums[end]);
      if (rest < 0 || chosen->next < 0) break;
      chosen = &edges[static_cast<size_t>(chosen->next)];
    }
    sampled.push_back(chosen->piece);
    end = chosen->begin;
  }
  std::reverse(sampled.begin() + static_cast<std::ptrdiff_t>(first), sampled.end());
  return true;
}

}  // namespace v0
}  // namespace transmute
