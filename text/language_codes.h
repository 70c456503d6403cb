// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// The usual code of a language that some programs call otherwise: "he" for the detector's "iw", "pt-BR" for Argos
/// Translate's "pb"; any other as it is.
std::string standard_code(const std::string& code);

/// The name of a language in English: "German" for "de"; a code that is not known as it is.
std::string language_name(const std::string& code);

}  // namespace v0
}  // namespace transmute
