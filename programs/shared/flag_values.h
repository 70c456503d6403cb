// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace transmute {

// Checks of a flag's value. A refusal names the flag as it was typed and what it needs.

/// A whole number that is not less than `low`.
CLI::Validator at_least(int64_t low);

/// A whole number from `low` to `high`.
CLI::Validator whole_between(int64_t low, int64_t high);

/// A number from `low` to `high`.
CLI::Validator between(double low, double high);

/// A number that is not negative.
CLI::Validator not_negative();
/// For the name of what cannot go to standard output, such as a folder: not "-".
CLI::Validator not_standard_output();

/// A number above 0.
CLI::Validator positive();

/// A number above 0 and at most 1.
CLI::Validator positive_share();

/// One of these words, which --help lists.
CLI::Validator one_of(std::vector<std::string> words);

/// The same for a flag that may be without a value and then means the first word.
CLI::Validator one_of_or_first(std::vector<std::string> words);

/// Lets a flag be repeated, with one word each time. Where a flag takes several, CLI11 splits words such as "[a, b]".
CLI::Option* repeatable(CLI::Option* flag);
/// The same for a positional argument: it takes every word that is no flag's, whole.
CLI::Option* takes_all_words(CLI::Option* positional);

/// -m, for programs of one model.
void add_model_flag(CLI::App& app, std::string& path);

}  // namespace transmute
