// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/types.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// The languages that a model's files name, both empty if they name none: those by which the files that it was
/// trained on are called, as in train.en and train.de, those in the metadata.json of a package of Argos Translate or
/// the tokenizer_config.json of Hugging Face, or those in the name of a model of Firefox, as in
/// model.ende.intgemm.alphas.bin. They are hints: nothing depends on the names of the files.
LanguagePair languages_in_files(const std::string& model);

/// True for what could be the code of a language: "en", "pt-BR", "deu_Latn".
bool is_language_code(const std::string& code);

}  // namespace v0
}  // namespace transmute
