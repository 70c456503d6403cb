// SPDX-License-Identifier: Apache-2.0
// Checks of any two texts: places are within them, and a text has all that it has itself.
#include <transmute/fuzz/fuzz.h>
#include <transmute/text/checks/checks.h>

using namespace transmute;

namespace {

void check(const std::string& source, const std::string& target, bool is_same) {
  const auto is_within = [](const std::pair<size_t, size_t>& span, const std::string& text) {
    return span.first <= span.second && span.second <= text.size();
  };
  for (const TranslationWarning& warning : checks::check_texts(source, target, {})) {
    fuzz::require(is_within(warning.source, source) && is_within(warning.target, target));
    fuzz::require(!is_same || warning.kind == WarningKind::copy);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const std::string source = input.text(), target = input.rest();
  check(source, target, false);
  check(target, target, true);
  return 0;
}
