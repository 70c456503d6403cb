// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace transmute {

/// --help in GNU's style, which help2man understands: usage, what the program does, its flags in groups, wrapped at the
/// terminal's width (or $COLUMNS; 80 where there is neither), and examples.
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

/// The same for programs, as tab-separated records, from which docs/programs.md and the completions are made:
///
///   about   <sentences>
///   option  <group> <flag or positional> <short flag> <type> <choices, by comma> <default> <required> <description>
///   example <command>
std::string help_records(const CLI::App& app);

/// The flag to type instead of one that other toolkits have, or that is a common word for one of the program's own,
/// such as "did you mean --device cuda?" for --gpu; empty if there is no such flag.
std::string hint_for(const CLI::App& app, const std::string& flag);

}  // namespace transmute
