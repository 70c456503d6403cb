// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/language_pairs.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// Letters, digits and underscores, as in "de", "pt_BR" and "deu_Latn": the code becomes a piece of the vocabulary.
bool is_code(const std::string& code) {
  return !code.empty() && std::all_of(code.begin(), code.end(), is_of_ascii_name);
}

}  // namespace

std::string target_of(const std::string& languages) {
  return languages.substr(languages.find('-') + 1);
}

void check_language_pairs(const char* key, const std::vector<std::string>& languages, size_t files) {
  if (languages.empty()) return;
  if (languages.size() != files)
    throw std::invalid_argument(
        fmt::format("{} needs one pair of languages for each pair of files, of which there {} "
                    "{}; it has {}",
                    key, files == 1 ? "is" : "are", files, languages.size()));
  for (const std::string& pair : languages) {
    const std::string source = pair.substr(0, pair.find('-')), target = target_of(pair);
    if (!is_code(source) || !is_code(target) || source == target)
      throw std::invalid_argument(
          fmt::format("{} has \"{}\"; write two codes with a hyphen between, such as en-de or en-pt_BR", key, pair));
  }
}

std::vector<double> language_weights(const std::vector<std::string>& languages, const std::vector<double>& amounts,
                                     double temperature) {
  std::vector<double> weights(amounts.size(), 1.0);
  if (languages.empty()) return weights;
  std::map<std::string, double> sums;
  for (size_t i = 0; i < amounts.size(); ++i) sums[languages[i]] += amounts[i];
  double largest = 0;
  for (const auto& [pair, sum] : sums) largest = std::max(largest, sum);
  for (size_t i = 0; i < amounts.size(); ++i)
    if (const double sum = sums[languages[i]]; sum > 0) weights[i] = std::pow(largest / sum, 1 - 1 / temperature);
  return weights;
}

}  // namespace v0
}  // namespace transmute
