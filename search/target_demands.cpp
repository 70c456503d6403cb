// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/target_demands.h>

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
  matches(demands.source_texts.size(), "source texts");
  matches(demands.terms.size(), "terms");
  matches(demands.shortlists.size(), "shortlists");
  matches(demands.given_tokens.size(), "numbers of given tokens");
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

int64_t hypotheses_for_terms(const std::vector<Ids>& terms) {
  constexpr int64_t kMost = 64;  // a search for more tokens goes on with the hypotheses that have most
  int64_t tokens = 0;
  for (const Ids& term : terms) tokens += static_cast<int64_t>(term.size());
  return std::min(tokens, kMost);
}

bool TermsSoFar::is_begun(const Ids& tokens, size_t more) const {
  for (size_t t = 0; t < terms_->size(); ++t) {
    const Ids& term = (*terms_)[t];
    if (!has_[t] && term.size() >= tokens.size() + more && std::equal(tokens.begin(), tokens.end(), term.begin()))
      return true;
  }
  return false;
}

size_t TermsSoFar::find(const Ids& tokens) const {
  size_t t = 0;
  while (t < terms_->size() && (has_[t] || (*terms_)[t] != tokens)) ++t;
  return t;
}

bool TermsSoFar::finish(size_t count) {
  const size_t term = find({open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(count)});
  if (term == terms_->size()) return false;
  has_[term] = true;
  tokens_ += count;
  ended_ = term;
  before_ended_ = last_;
  return true;
}

void TermsSoFar::leave_behind(size_t count) {
  last_ = open_[count - 1];
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(count));
}

std::vector<int64_t> TermsSoFar::wanted() const {
  std::vector<int64_t> tokens;
  if (terms_ == nullptr) return tokens;
  const bool may_begin = open_.empty() || find(open_) < terms_->size();
  for (size_t t = 0; t < terms_->size(); ++t) {
    if (has_[t]) continue;
    const Ids& term = (*terms_)[t];
    const auto want = [&](int64_t token) {
      if (!contains(tokens, token)) tokens.push_back(token);
    };
    if (may_begin && !is_inside_word(term.front())) want(term.front());
    if (!open_.empty() && term.size() > open_.size() && std::equal(open_.begin(), open_.end(), term.begin()))
      want(term[open_.size()]);
  }
  return tokens;
}

// The longest of the terms that remain is taken: where one begins with another, what follows tells which it is. What
// turns out to be the beginning of none is read again for the terms within it, and so is a term whose word continues.
void TermsSoFar::add(int64_t token) {
  if (terms_ == nullptr) return;
  if (ended_ != kNone && is_glued(last_, token)) {
    has_[ended_] = false;
    open_ = (*terms_)[ended_];
    tokens_ -= open_.size();
    last_ = before_ended_;
  }
  ended_ = kNone;
  open_.push_back(token);
  while (!open_.empty() && (is_glued(last_, open_.front()) || !is_begun(open_, 0))) {
    size_t taken = is_glued(last_, open_.front()) ? 0 : open_.size() - 1;
    while (taken > 0 && (is_glued(open_[taken - 1], open_[taken]) || !finish(taken))) --taken;
    leave_behind(std::max<size_t>(taken, 1));
    ended_ = kNone;  // another token has followed
  }
  if (!open_.empty() && !is_begun(open_, 1)) {
    finish(open_.size());
    leave_behind(open_.size());
  }
}

}  // namespace search
}  // namespace v0
}  // namespace transmute
