// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/seen_texts.h>

#include <transmute/common/hash.h>

#include <algorithm>
#include <utility>

namespace transmute {
inline namespace v0 {

uint64_t hash_of(const std::string& text, uint64_t before) {
  return std::max<uint64_t>(hash_text(text, before), 1);
}

// The place of the hash, or the one where it would be put. There is always a free place.
size_t HashSet::place_of(uint64_t hash) const {
  const size_t mask = places_.size() - 1;  // their number is a power of two
  size_t place = hash & mask;
  while (places_[place] != 0 && places_[place] != hash) place = (place + 1) & mask;
  return place;
}

bool HashSet::contains(uint64_t hash) const {
  return !places_.empty() && places_[place_of(hash)] == hash;
}

bool HashSet::insert(uint64_t hash) {
  if (5 * size_ >= 4 * places_.size()) grow();
  uint64_t& place = places_[place_of(hash)];
  if (place == hash) return false;
  place = hash;
  ++size_;
  return true;
}

void HashSet::grow() {
  constexpr size_t kFirst = 1024;
  const std::vector<uint64_t> old = std::exchange(places_, std::vector<uint64_t>(std::max(kFirst, 2 * places_.size())));
  for (const uint64_t hash : old)
    if (hash != 0) places_[place_of(hash)] = hash;
}

}  // namespace v0
}  // namespace transmute
