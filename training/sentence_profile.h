// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/text_profile.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Learns from lines of text what a full stop within them means, after Kiss and Strunk (2006), "Unsupervised
/// Multilingual Sentence Boundary Detection": a word that nearly always has a full stop, and is seldom followed by a
/// word that begins sentences, is an abbreviation. `hint`: what may be the name of their language; the words of the
/// lines decide.
SentenceProfile learn_sentences(const std::vector<std::string>& lines, const std::string& hint);

}  // namespace v0
}  // namespace transmute
