// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/translator.h>
#include <transmute/translation/transmute.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

/// A translation model of transmute.h.
struct transmute_translator {
  transmute::Translator translator;  ///< the model
};

/// The results of a call of transmute.h.
struct transmute_result {
  std::vector<transmute::Translation> translations;  ///< one per text, in order
};

/// The common part of the functions of transmute.h.
namespace transmute::c {

/// The kind of the calling thread's last error: TRANSMUTE_ERROR_…
int error_kind();

/// Stores the exception's message and kind.
void report(char** error, const std::exception_ptr& thrown);

/// A copy of the text for the caller, which frees it with transmute_string_free.
char* copy_of(const std::string& text);

/// Runs `body`; nothing thrown gets past it.
template <typename Body>
auto guarded(char** error, const Body& body) -> decltype(body()) {
  if (error != nullptr) *error = nullptr;
  try {
    return body();
  } catch (...) {
    report(error, std::current_exception());
  }
  return nullptr;
}

/// The caller's struct may be of an older, shorter version: what it lacks keeps its default.
template <typename Options>
Options read_options(const Options* given, void (*init)(Options*, size_t)) {
  Options options;
  init(&options, sizeof(options));
  if (given == nullptr) return options;
  if (given->struct_size < sizeof(size_t) || given->struct_size > sizeof(options))
    throw std::invalid_argument(
        "the options were not filled by their default function, or are those of a newer version of transmute");
  std::memcpy(&options, given, given->struct_size);
  return options;
}

/// Fills a struct of the caller, which may be of an older, shorter version.
template <typename Options>
void write_options(const Options& defaults, Options* options, size_t struct_size) {
  if (options == nullptr || struct_size < sizeof(options->struct_size)) return;
  const size_t size = std::min(struct_size, sizeof(defaults));
  std::memcpy(options, &defaults, size);
  options->struct_size = size;
}

/// @throws std::invalid_argument if one of them is NULL. `what` is the name of one in the message.
std::vector<std::string> read_strings(const char* const* strings, size_t count, const std::string& what);

/// The caller's callbacks. `given` must outlive the hooks.
TranslationHooks hooks_of(const transmute_translation_options& given);

/// The caller's options for opening a model.
TranslatorOptions translator_options(const transmute_translator_options& given);

}  // namespace transmute::c
