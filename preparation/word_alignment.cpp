// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/word_alignment.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace transmute {
inline namespace v0 {

WordLinks best_links(const LinkProbabilities& probabilities) {
  constexpr double kEmpty = 0.08, kTension = 4;  // Dyer et al., 2013
  const size_t explaining = probabilities.explaining, explained = probabilities.explained;
  std::vector<double> prior(explaining);
  WordLinks links;
  for (size_t j = 0; j < explained; ++j) {
    double sum = 0;
    for (size_t i = 0; i < explaining; ++i) {
      const double distance = (static_cast<double>(i) + 0.5) / static_cast<double>(explaining) -
                              (static_cast<double>(j) + 0.5) / static_cast<double>(explained);
      sum += prior[i] = std::exp(-kTension * std::abs(distance));
    }
    double best = kEmpty * probabilities.empty[j];
    size_t found = explaining;
    for (size_t i = 0; i < explaining; ++i) {
      const double probability = (1 - kEmpty) * prior[i] / sum * probabilities.values[j * explaining + i];
      if (probability > best) {
        best = probability;
        found = i;
      }
    }
    if (found < explaining) links.emplace_back(found, j);
  }
  return links;
}

WordLinks symmetrized(const WordLinks& forward, const WordLinks& backward) {
  using Link = std::pair<size_t, size_t>;
  const std::set<Link> ahead(forward.begin(), forward.end()), back(backward.begin(), backward.end());
  std::set<Link> all, either = ahead;
  either.insert(back.begin(), back.end());
  std::set<size_t> sources, targets;  // words that have a link
  const auto add = [&](const Link& link) {
    sources.insert(link.first);
    targets.insert(link.second);
    return all.insert(link).second;
  };
  for (const Link& link : ahead)
    if (back.count(link) > 0) add(link);
  const auto is_near = [&](const Link& link) {
    for (size_t source = link.first == 0 ? 0 : link.first - 1; source <= link.first + 1; ++source)
      for (size_t target = link.second == 0 ? 0 : link.second - 1; target <= link.second + 1; ++target)
        if (all.count({source, target}) > 0) return true;
    return false;
  };
  for (bool grows = true; grows;) {
    grows = false;
    for (const Link& link : either) {
      const bool links_new_word = sources.count(link.first) == 0 || targets.count(link.second) == 0;
      if (links_new_word && is_near(link)) grows = add(link) || grows;
    }
  }
  for (const std::set<Link>* direction : {&ahead, &back})
    for (const Link& link : *direction)
      if (sources.count(link.first) == 0 && targets.count(link.second) == 0) add(link);
  return {all.begin(), all.end()};
}

}  // namespace v0
}  // namespace transmute
