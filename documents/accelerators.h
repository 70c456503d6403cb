// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Accelerators are the letters that choose a menu's entry on the keyboard. In the messages of a program a sign
/// precedes them, which depends on the toolkit: "&File", "_File" or "~File". A doubled sign stands for itself.

/// The sign of a catalog; 0 if it has none. It precedes a word in at least two messages and in 2% of them, and no other
/// does so more often.
char accelerator_sign(const std::vector<std::string>& messages);

/// The message with an inline tag before the word that has the accelerator, in the place of the sign. What has no
/// accelerator stays: "R&D", "file_name".
std::string without_accelerator(const std::string& message, char sign);

/// A translation of without_accelerator(message), with exactly one sign if the message has an accelerator: before the
/// word that follows the tag, or in "(&F)" at the end of a translation into a script that keyboards have no letters
/// for.
std::string with_accelerator(const std::string& message, const std::string& translation, char sign);

}  // namespace v0
}  // namespace transmute
