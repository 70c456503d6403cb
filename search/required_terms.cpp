// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/required_terms.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {
namespace search {

namespace {

bool contains(const Ids& ids, int64_t sought) {
  return std::find(ids.begin(), ids.end(), sought) != ids.end();
}

}  // namespace

int64_t hypotheses_for_terms(const std::vector<Ids>& terms) {
  constexpr int64_t kMost = 64;  // with more tokens, the beam keeps the hypotheses that have the most of them
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
  if (term == terms_->size() || (count < open_.size() && is_glued(open_[count - 1], open_[count]))) return false;
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

// Takes the longest of the terms that remain: if one term begins with another, the next tokens decide which of them it
// is. Tokens that turn out to begin no term are read again for terms within them, and so is a term whose word
// continues.
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
  while (!open_.empty() && (!is_begun(open_, 0) || is_glued(last_, open_.front()))) {
    size_t taken = is_glued(last_, open_.front()) ? 0 : open_.size() - 1;
    while (taken > 0 && !finish(taken)) --taken;
    leave_behind(std::max<size_t>(taken, 1));
    ended_ = kNone;  // the term is no longer at the end
  }
  if (!open_.empty() && !is_begun(open_, 1)) {
    finish(open_.size());
    leave_behind(open_.size());
  }
}

}  // namespace search
}  // namespace v0
}  // namespace transmute
