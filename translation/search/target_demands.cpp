// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/search/target_demands.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace search {

namespace {

bool contains(const Ids& ids, int64_t sought) {
  return std::find(ids.begin(), ids.end(), sought) != ids.end();
}

void refuse_excluded(const Ids& demanded, const Ids& excluded) {
  if (std::any_of(demanded.begin(), demanded.end(), [&](int64_t id) { return contains(excluded, id); }))
    throw std::invalid_argument("what a text must begin with or contain has a line end or a zero byte; leave it out");
}

}  // namespace

void check(const TargetDemands& demands, size_t sentences, bool is_search) {
  const auto matches = [&](size_t count, const char* what) {
    if (count != 0 && count != sentences)
      throw std::invalid_argument(
          fmt::format("{} {} were given for {} sentence{}", count, what, sentences, sentences == 1 ? "" : "s"));
  };
  matches(demands.prefixes.size(), "prefixes");
  matches(demands.terms.size(), "terms");
  matches(demands.shortlists.size(), "shortlists");
  for (const Ids& prefix : demands.prefixes) refuse_excluded(prefix, demands.excluded);
  for (const auto& terms : demands.terms) {
    if (!is_search && !terms.empty())
      throw std::invalid_argument(
          "only a search can be made to use given terms; neither sampling nor alternatives can");
    for (const Ids& term : terms) refuse_excluded(term, demands.excluded);
    for (const Ids& term : terms)
      if (term.empty()) throw std::invalid_argument("a term that a translation must contain has no tokens");
  }
}

std::vector<Ids> completed_shortlists(const TargetDemands& demands) {
  std::vector<Ids> lists = demands.shortlists;
  for (size_t i = 0; i < lists.size(); ++i) {
    Ids& list = lists[i];
    const auto add = [&](const Ids& ids) { list.insert(list.end(), ids.begin(), ids.end()); };
    for (int64_t id = 0; id < special_ids::kCount; ++id) list.push_back(id);
    if (!demands.prefixes.empty()) add(demands.prefixes[i]);
    if (!demands.terms.empty())
      for (const Ids& term : demands.terms[i]) add(term);
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    const auto is_excluded = [&](int64_t id) { return contains(demands.excluded, id); };
    list.erase(std::remove_if(list.begin(), list.end(), is_excluded), list.end());
  }
  return lists;
}

std::vector<int64_t> TermsSoFar::wanted() const {
  if (terms_ == nullptr) return {};
  if (position_ > 0) return {(*terms_)[term_][position_]};
  std::vector<int64_t> tokens;
  for (size_t t = 0; t < terms_->size(); ++t)
    if (!has_[t] && std::find(tokens.begin(), tokens.end(), (*terms_)[t].front()) == tokens.end())
      tokens.push_back((*terms_)[t].front());
  return tokens;
}

void TermsSoFar::add(int64_t token) {
  if (terms_ == nullptr) return;
  if (position_ > 0 && (*terms_)[term_][position_] != token) position_ = 0;
  if (position_ == 0) {
    term_ = 0;
    while (term_ < terms_->size() && (has_[term_] || (*terms_)[term_].front() != token)) ++term_;
    if (term_ == terms_->size()) return;
  }
  if (++position_ < (*terms_)[term_].size()) return;
  has_[term_] = true;
  tokens_ += position_;
  position_ = 0;
}

}  // namespace search
}  // namespace v0
}  // namespace transmute
