// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document.h>
#include <transmute/documents/document_formats.h>
#include <transmute/serving/form.h>
#include <transmute/serving/http.h>
#include <transmute/text/types.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Thrown if a request cannot be met; has the HTTP status of the answer.
class ApiError : public std::runtime_error {
 public:
  ApiError(int status, const std::string& message) : std::runtime_error(message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

/// The beginning of a client's text, for quoting in a message.
std::string quotable(const std::string& text);

/// Limits of one request.
struct ApiLimits {
  size_t texts = 1000;            ///< maximum number of texts in one request
  size_t characters = 100'000;    ///< characters of all texts of a request
  size_t tokens = 50'000;         ///< tokens of all texts of a request, with the usual beam; see check_tokens
  int64_t beam_size = 32;         ///< maximum beam size; also limits the number of hypotheses or alternatives
  int64_t extra_length = 500;     ///< limit of SearchOptions' min_length and max_extra_length
  size_t glossary_entries = 500;  ///< maximum number of glossary entries in one request
};

/// A request for translations, read from either interface's JSON or form.
struct ApiRequest {
  std::vector<std::string> texts;
  bool is_list = false;  ///< the texts came as a list, so the answers do, too
  std::string source;    ///< "auto": to be detected
  std::string target;
  TextFormat format = TextFormat::text;
  std::optional<bool> split_sentences{};  ///< no value: as the model was trained
  bool stream = false;
  int64_t alternatives = 0;             ///< LibreTranslate's alternatives: further translations of each text
  std::vector<std::string> prefixes{};  ///< one for each text, or none
  bool retranslate = false;             ///< files: also translate catalog entries that have a translation
  TranslationOptions options{};
  std::string api_key;
  std::string key;  ///< equal for equal options

  /// Settings for which a model may have recommendations; without a value if the request does not give them.
  std::optional<int64_t> beam_size, no_repeat_ngram;
  std::optional<double> length_alpha;
  int64_t max_beam_size = 0;  ///< maximum of the server
  /// Fills the settings that the request does not give from the model's recommendations.
  void search_as(const SearchOptions& of_model);
};

/// Checks that the texts, prefixes and glossary are UTF-8 and within the limits.
/// @throws ApiError if they are not.
void check_texts(const ApiRequest& request, const ApiLimits& limits);

/// Equal for equal options.
std::string key_of(const TranslationOptions& options);

/// POST /translate, as LibreTranslate has it: JSON, or a form.
/// @throws ApiError
ApiRequest parse_libretranslate(const HttpRequest& request, const ApiLimits& limits);

/// POST /v1/translate, see openapi.json.
/// @throws ApiError, also for members that it does not know.
ApiRequest parse_v1(const HttpRequest& request, const ApiLimits& limits);

/// POST /translate_file, as LibreTranslate has it: a form with a file. The request has no texts yet.
/// @param file gets the file
/// @throws ApiError
ApiRequest parse_translate_file(const HttpRequest& request, FormFile& file);

/// Completes a request that has got the texts of its file.
/// @throws ApiError as check_texts() does, but for the number of texts
void complete_file_request(ApiRequest& request, const ApiLimits& limits);

/// The value of a JSON member, of a form or of the query; empty if there is none. Used for `q` and `api_key` in
/// requests that ask for no translation.
/// @throws ApiError if the body can not be read.
std::string parameter(const HttpRequest& request, const std::string& name);

}  // namespace v0
}  // namespace transmute
