// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/split_ids.h>

#include <transmute/tokenizer/piece_marks.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>

namespace transmute {
inline namespace v0 {

namespace {

bool ends_with_any(const std::string& piece, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const std::string& end) {
    return piece.size() >= end.size() && piece.compare(piece.size() - end.size(), end.size(), end) == 0;
  });
}

// The quality of cuts within what should stay together.
constexpr int kWorstCut = -4;

// The quality of a cut after piece i: 3 after a sentence, 2 after a clause, 1 before a word, 0 inside one.
int cut_quality(const std::vector<std::string>& pieces, size_t i) {
  const bool word_follows = i + 1 < pieces.size() && begins_word(pieces[i + 1]);
  const bool wide_mark = ends_with_any(pieces[i], {"。", "！", "？"});
  if (wide_mark) return 3;
  if (!word_follows) return 0;
  if (ends_with_any(pieces[i], {".", "!", "?", "…"})) return 3;
  return ends_with_any(pieces[i], {",", ";", ":", "、", "，", ")"}) ? 2 : 1;
}

}  // namespace

std::vector<Ids> split_ids(const Ids& ids, const std::vector<std::string>& pieces, int64_t limit,
                           const std::vector<bool>& is_inside) {
  std::vector<Ids> parts;
  const auto most = static_cast<size_t>(limit);
  size_t begin = 0;
  while (ids.size() - begin > most) {
    size_t cut = begin + most;
    int best = kWorstCut;
    for (size_t i = begin + most; i > begin; --i) {
      const int quality = cut_quality(pieces, i - 1) + (i < is_inside.size() && is_inside[i] ? kWorstCut : 0);
      if (quality > best) {
        best = quality;
        cut = i;
      }
    }
    parts.emplace_back(ids.begin() + static_cast<int64_t>(begin), ids.begin() + static_cast<int64_t>(cut));
    begin = cut;
  }
  parts.emplace_back(ids.begin() + static_cast<int64_t>(begin), ids.end());
  return parts;
}

}  // namespace v0
}  // namespace transmute
