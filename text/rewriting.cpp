// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/rewriting.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {

Rewriting::Rewriting(const std::string& text, const std::vector<std::string>& kept)
    : text_(text), is_taken_(text.size()) {
  const auto first = is_taken_.begin();
  for (const std::string& part : kept)
    for (size_t at = part.empty() ? std::string::npos : text.find(part); at != std::string::npos;
         at = text.find(part, at + part.size()))
      std::fill_n(first + static_cast<std::ptrdiff_t>(at), part.size(), true);
}

bool Rewriting::is_free(const ByteSpan& place) const {
  const auto first = is_taken_.begin();
  return std::none_of(first + static_cast<std::ptrdiff_t>(place.first),
                      first + static_cast<std::ptrdiff_t>(place.second), [](bool is_taken) { return is_taken; });
}

void Rewriting::replace(const ByteSpan& place, const std::string& replacement) {
  std::fill_n(is_taken_.begin() + static_cast<std::ptrdiff_t>(place.first), place.second - place.first, true);
  replacements_.push_back({place, replacement});
}

RecasedText Rewriting::rewritten() const {
  std::vector<Replacement> in_order = replacements_;
  std::sort(in_order.begin(), in_order.end(),
            [](const Replacement& x, const Replacement& y) { return x.place < y.place; });
  RecasedText all;
  size_t copied = 0;
  for (const auto& [place, replacement] : in_order) {
    all.append_unchanged(text_.substr(copied, place.first - copied));
    all.append_instead(place.second - place.first, replacement);
    copied = place.second;
  }
  all.append_unchanged(text_.substr(copied));
  return all;
}

}  // namespace v0
}  // namespace transmute
