// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/search_request.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace search {

namespace {

void refuse_excluded(const Ids& required, const Ids& excluded) {
  if (std::find_first_of(required.begin(), required.end(), excluded.begin(), excluded.end()) != required.end())
    throw std::invalid_argument("what a text must begin with or contain has a line end or a zero byte; leave it out");
}

}  // namespace

void check(const std::vector<SearchRequest>& requests, const Ids& excluded, const SearchOptions& options) {
  for (const SearchRequest& request : requests) {
    if (request.shortlist.has_value() != requests.front().shortlist.has_value())
      throw std::invalid_argument("some sentences of a search have a shortlist, and others have none");
    if (options.constraint && !request.terms.empty())
      throw std::invalid_argument("terms that a translation must contain cannot be combined with a constraint");
    if (options.constraint && request.shortlist)
      throw std::invalid_argument("a shortlist cannot be combined with a constraint, which may allow other tokens");
    if (!request.prefix_is_complete) refuse_excluded(request.prefix, excluded);
    if (!is_search(options) && !request.terms.empty())
      throw std::invalid_argument(
          "only a search can be made to use given terms; neither sampling nor alternatives can");
    for (const Ids& term : request.terms) {
      refuse_excluded(term, excluded);
      if (term.empty()) throw std::invalid_argument("a term that a translation must contain has no tokens");
    }
  }
}

Ids completed_shortlist(const SearchRequest& request, const Ids& excluded) {
  if (!request.shortlist) return {};
  Ids list = *request.shortlist;
  if (!std::is_sorted(list.begin(), list.end())) std::sort(list.begin(), list.end());
  const auto own = static_cast<std::ptrdiff_t>(list.size());
  for (int64_t id = 0; id < special_ids::kCount; ++id) list.push_back(id);
  list.insert(list.end(), request.prefix.begin(), request.prefix.end());
  for (const Ids& term : request.terms) list.insert(list.end(), term.begin(), term.end());
  std::sort(list.begin() + own, list.end());
  std::inplace_merge(list.begin(), list.begin() + own, list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  const auto is_excluded = [&](int64_t id) {
    return std::find(excluded.begin(), excluded.end(), id) != excluded.end();
  };
  list.erase(std::remove_if(list.begin(), list.end(), is_excluded), list.end());
  return list;
}

}  // namespace search
}  // namespace v0
}  // namespace transmute
