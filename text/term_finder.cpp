// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/term_finder.h>

#include <algorithm>
#include <utility>

namespace transmute {
inline namespace v0 {

TermFinder::TermFinder(const std::vector<std::string>& terms) : shorter_(terms.size(), kNoTerm) {
  std::vector<std::pair<std::string, uint32_t>> reversed;
  for (const std::string& term : terms)
    reversed.emplace_back(std::string(term.rbegin(), term.rend()), static_cast<uint32_t>(reversed.size()));
  std::sort(reversed.begin(), reversed.end());
  struct Alike {  // terms whose last bytes are those of a state
    size_t first, end, bytes;
  };
  std::vector<Alike> alike{{0, reversed.size(), 0}};
  states_ = {State()};
  for (uint32_t state = 0; state < states_.size(); ++state) {
    const uint32_t fallback = states_[state].fallback;
    states_[state].first_child = static_cast<uint32_t>(states_.size());
    if (state != kStart) states_[state].term = states_[fallback].term;
    auto [first, end, bytes] = alike[state];
    if (first < end && reversed[first].first.size() == bytes) {
      shorter_[reversed[first].second] = states_[state].term;
      states_[state].term = reversed[first++].second;
    }
    while (first < end) {
      const size_t begin = first;
      const char byte = reversed[begin].first[bytes];
      while (first < end && reversed[first].first[bytes] == byte) ++first;
      alike.push_back({begin, first, bytes + 1});
      State child;
      child.byte = static_cast<uint8_t>(byte);
      child.fallback = state == kStart ? kStart : read(child.byte, fallback);
      states_.push_back(child);
    }
  }
  State end;
  end.first_child = static_cast<uint32_t>(states_.size());
  states_.push_back(end);
}

uint32_t TermFinder::child_of(uint32_t state, uint8_t byte) const {
  const auto begin = states_.begin() + states_[state].first_child,
             end = states_.begin() + states_[state + 1].first_child;
  const auto child = std::lower_bound(begin, end, byte, [](const State& a, uint8_t sought) { return a.byte < sought; });
  return child != end && child->byte == byte ? static_cast<uint32_t>(child - states_.begin()) : 0;
}

uint32_t TermFinder::read(uint8_t byte, uint32_t next) const {
  uint32_t state = child_of(next, byte);
  while (state == 0 && next != kStart) {
    next = states_[next].fallback;
    state = child_of(next, byte);
  }
  return state;
}

}  // namespace v0
}  // namespace transmute
