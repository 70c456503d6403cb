// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/flag_values.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/config_schema.h>
#include <transmute/common/parsed_number.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace transmute {

namespace {

// Demands of a number what the words say and the function tells.
CLI::Validator number_that(const std::string& wanted, const std::function<bool(double)>& holds) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const auto value = parsed_number<double>(text);
        if (value && holds(*value)) return "";
        return fmt::format("must be {}, not '{}'", wanted, text);
      },
      "");
}

// The same for a whole number.
CLI::Validator whole_number_that(const std::string& wanted, const std::function<bool(int64_t)>& holds) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const auto value = parsed_number<int64_t>(text);
        if (!value) return fmt::format("needs a whole number, not '{}'", text);
        if (const std::string plain = std::to_string(*value); text != plain)  // CLI11 would read 010 as octal
          return fmt::format("write {}, not '{}'", plain, text);
        return holds(*value) ? "" : fmt::format("must be {}, not {}", wanted, *value);
      },
      "");
}

CLI::Validator choice(const std::vector<std::string>& words, const std::string& without_value) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        if (!without_value.empty() && (text.empty() || text == "true"))
          text = without_value;  // CLI11's word for a flag by itself
        if (std::find(words.begin(), words.end(), text) != words.end()) return "";
        const std::string nearest = nearest_name(text, words);
        const std::string remedy = !nearest.empty()        ? "; did you mean " + nearest + "?"
                                   : without_value.empty() ? ""
                                                           : "; write -- before a text that follows this flag";
        return fmt::format("must be one of {}, not '{}'{}", fmt::join(words, ", "), text, remedy);
      },
      fmt::format("{{{}}}", fmt::join(words, ",")));
}

}  // namespace

CLI::Validator at_least(int64_t low) {
  return whole_number_that(fmt::format("at least {}", low), [=](int64_t value) { return value >= low; });
}

CLI::Validator whole_between(int64_t low, int64_t high) {
  return whole_number_that(fmt::format("from {} to {}", low, high),
                           [=](int64_t value) { return value >= low && value <= high; });
}

CLI::Validator between(double low, double high) {
  return number_that(fmt::format("a number from {} to {}", low, high),
                     [=](double value) { return value >= low && value <= high; });
}

CLI::Validator not_standard_output() {
  return CLI::Validator(
      [](std::string& text) {
        return std::string(text == "-" ? "cannot be standard output; name a file or folder" : "");
      },
      "");
}

CLI::Validator not_negative() {
  return number_that("a number of at least 0", [](double value) { return value >= 0; });
}

CLI::Validator positive() {
  return number_that("a number above 0",
                     [](double value) { return value > 0 && value < std::numeric_limits<double>::infinity(); });
}

CLI::Validator positive_share() {
  return number_that("a number above 0 and at most 1", [](double value) { return value > 0 && value <= 1; });
}

CLI::Validator one_of(std::vector<std::string> words) {
  return choice(words, "");
}

CLI::Validator one_of_or_first(std::vector<std::string> words) {
  return choice(words, words.front());
}

CLI::Option* repeatable(CLI::Option* flag) {
  return flag->take_all()->allow_extra_args(false);
}

CLI::Option* takes_all_words(CLI::Option* positional) {
  // CLI11 gives a positional argument words until it has the lower number of them.
  constexpr int kMany = CLI::detail::expected_max_vector_size;
  return repeatable(positional->expected(kMany / 2, kMany));
}

void add_model_flag(CLI::App& app, std::string& path) {
  app.add_option("-m,--model", path, "a model in any format that translate reads")->type_name("MODEL")->required();
}

}  // namespace transmute
