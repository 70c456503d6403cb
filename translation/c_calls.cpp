// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/progress.h>
#include <transmute/translation/c_calls.h>

#include <new>

namespace transmute::c {

namespace {

constexpr const char* kNoMemory = "there is not enough memory";

thread_local int last_kind = TRANSMUTE_ERROR_OTHER;

void store(char** error, int kind, const char* message) {
  last_kind = kind;
  if (error == nullptr) return;
  try {
    *error = strdup(without_control(message).c_str());  // messages may quote control characters of damaged files
  } catch (const std::bad_alloc&) {
    *error = strdup(kNoMemory);
  }
}

}  // namespace

int error_kind() {
  return last_kind;
}

void report(char** error, const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    store(error, TRANSMUTE_ERROR_NO_MEMORY, kNoMemory);
  } catch (const Cancelled& exception) {
    store(error, TRANSMUTE_ERROR_CANCELLED, exception.what());
  } catch (const std::invalid_argument& exception) {
    store(error, TRANSMUTE_ERROR_INVALID_ARGUMENT, exception.what());
  } catch (const std::exception& exception) {
    store(error, TRANSMUTE_ERROR_OTHER, exception.what());
  } catch (...) {
    store(error, TRANSMUTE_ERROR_OTHER, "unknown error");
  }
}

char* copy_of(const std::string& text) {
  char* const copy = strdup(text.c_str());
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

std::vector<std::string> read_strings(const char* const* strings, size_t count, const std::string& what) {
  if (strings == nullptr && count > 0) throw std::invalid_argument("the array of each " + what + " is NULL");
  std::vector<std::string> read;
  for (size_t i = 0; i < count; ++i) {
    if (strings[i] == nullptr) throw std::invalid_argument(what + " " + std::to_string(i + 1) + " is NULL");
    read.emplace_back(strings[i]);
  }
  return read;
}

TranslationHooks hooks_of(const transmute_translation_options& given) {
  TranslationHooks hooks;
  if (given.on_text != nullptr)
    hooks.on_text = [&](size_t text, const std::string& so_far) { given.on_text(given.user, text, so_far.c_str()); };
  if (given.on_progress != nullptr)
    hooks.on_progress = [&](size_t done, size_t total) { given.on_progress(given.user, done, total); };
  if (given.should_stop != nullptr) hooks.should_stop = [&] { return given.should_stop(given.user) != 0; };
  return hooks;
}

TranslatorOptions translator_options(const transmute_translator_options& given) {
  TranslatorOptions ours;
  if (given.device != nullptr) ours.device = given.device;
  ours.threads = given.threads;
  if (given.precision != nullptr) ours.precision = precision_from_name(given.precision);
  ours.ensemble = read_strings(given.ensemble, given.ensemble_size, "model of the ensemble");
  if (given.shortlist != nullptr) ours.shortlist.table = given.shortlist;
  ours.shortlist.best = given.shortlist_best;
  ours.shortlist.frequent = given.shortlist_frequent;
  if (given.reverse_model != nullptr) ours.reverse_model = given.reverse_model;
  ours.listed_pieces = given.listed_pieces != 0;
  return ours;
}

}  // namespace transmute::c
