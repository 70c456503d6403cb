// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace transmute {

/// Runs `work` on the first `count` texts of a block; where it throws BadText, again on those before the bad one.
/// @returns BadText::reason of the text that follows those that `work` ended with; empty if these are all of them
std::string do_before_bad_text(size_t count, const std::function<void(size_t count)>& work);

/// The results of a block's texts, one for each.
template <class Results>
struct BlockResults {
  Results results;
  std::string refusal;  ///< BadText::reason of the text after them; empty if these are all of them
};

/// The same for a block whose texts `work` returns the results of. The block loses the bad text and those after it.
template <class Work>
auto results_before_bad_text(std::vector<std::string>& block, const Work& work) {
  BlockResults<decltype(work())> done;
  done.refusal = do_before_bad_text(block.size(), [&](size_t count) {
    block.resize(count);
    done.results = work();
  });
  block.resize(done.results.size());  // none, if the first text is the bad one
  return done;
}

}  // namespace transmute
