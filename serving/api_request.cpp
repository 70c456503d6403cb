// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/api_request.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/config_schema.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/common/text_file.h>
#include <transmute/formats/model_config.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kDeepestJson = 16;
constexpr size_t kMostValues = 100'000;  // values of JSON, each of which takes many times the memory of its text

[[noreturn]] void refuse(const std::string& message) {
  throw ApiError(400, "Invalid request: " + message);
}

// The code that "\ud83d" at `at` names; -1 if there is no such escape.
int escaped_code(const std::string& json, size_t at) {
  int code = -1;
  if (json.compare(at, 2, "\\u") == 0 && json.size() >= at + 6)
    std::from_chars(json.data() + at + 2, json.data() + at + 6, code, 16);
  return code;
}

// Programs that cut a text within an emoji send half of it, as JavaScript and Python write it: a lone surrogate, which
// UTF-8 cannot have. U+FFFD takes its place, as in browsers.
std::string without_lone_surrogates(std::string json) {
  for (size_t at = json.find('\\'); at < json.size(); at = json.find('\\', at + 2)) {
    const int code = escaped_code(json, at);
    if (!U_IS_SURROGATE(code)) continue;
    if (U_IS_LEAD(code) && U_IS_TRAIL(escaped_code(json, at + 6)))
      at += 6;
    else
      json.replace(at + 2, 4, "fffd");
  }
  return json;
}

Json read_json(const std::string& body, size_t most_texts) {
  try {
    JsonLimits limits{kDeepestJson};
    limits.values =
        kMostValues + 2 * std::min(most_texts, std::numeric_limits<size_t>::max() / 4);  // each may have a prefix
    Json json = parse_json(without_lone_surrogates(body), limits);
    if (!json.is_object()) refuse("the body must be a JSON object");
    return json;
  } catch (const JsonLimitError& error) {
    refuse(fmt::format("the JSON is too large: {}", error.what()));
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, …; last read: '…'"
    std::string message = error.what();
    message.resize(std::min(message.find("; last read: "), message.size()));
    const size_t bracket = message.find("] ");
    refuse("the body is not valid JSON: " + message.substr(bracket == std::string::npos ? 0 : bracket + 2));
  }
}

bool is_multipart(const HttpRequest& request) {
  return lower_case(request.header("content-type")).compare(0, 19, "multipart/form-data") == 0;
}

// A body without a type, or with another one, is JSON if it looks like it: curl -d sends JSON as a form, and no form
// begins with a brace.
bool is_json(const HttpRequest& request) {
  if (lower_case(request.header("content-type")).find("json") != std::string::npos) return true;
  const size_t first = request.body.find_first_not_of(" \t\r\n");
  return first != std::string::npos && request.body[first] == '{' && !is_multipart(request);
}

// The parameters of a request, whatever its content type.
Json read_parameters(const HttpRequest& request, FormFile* file = nullptr, size_t most_texts = 0) {
  if (const std::string coding = lower_case(request.header("content-encoding"));
      !coding.empty() && coding != "identity")
    throw ApiError(415, "Content-Encoding " + coding.substr(0, 20) + " is not read; send the body as it is");
  if (is_json(request)) return read_json(request.body, most_texts);
  const std::string type = lower_case(request.header("content-type"));
  const bool is_form = request.body.empty() || type.empty() || type.find("x-www-form-urlencoded") != std::string::npos;
  if (!is_form && !is_multipart(request))
    throw ApiError(415,
                   "the body must be JSON (application/json) or a form (application/x-www-form-urlencoded or "
                   "multipart/form-data)");
  Json parameters = Json::object();
  try {
    read_form(request.query, parameters);
    if (is_multipart(request)) {
      read_multipart(request.body, request.header("content-type"), parameters, file);
    } else {
      read_form(request.body, parameters);
    }
  } catch (const std::invalid_argument& error) {
    refuse(error.what());
  }
  return parameters;
}

// Reads the members of a JSON object one by one, and finds those that were never read, which are unknown.
class Members {
 public:
  Members(const Json& json, std::string name) : json_(json), name_(std::move(name)) {
    if (!json_.is_object()) refuse(name_ + " must be an object");
  }

  const Json* find(const std::string& name) {
    known_.push_back(name);
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  std::string text(const std::string& name, const std::string& otherwise = "") {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) refuse(name_of(name) + " must be a string");
    std::string text = value->get<std::string>();
    // A message that quotes it would end at the zero byte.
    if (text.find('\0') != std::string::npos) refuse(name_of(name) + " must not contain a zero byte");
    return text;
  }
  bool flag(const std::string& name, bool otherwise) {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse(name_of(name) + " must be true or false");
    return value->get<bool>();
  }
  int64_t integer(const std::string& name, int64_t otherwise, Bounds<int64_t> bounds) {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    const bool fits = value->is_number_integer() &&
                      !(value->is_number_unsigned() &&
                        value->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    if (!fits || value->get<int64_t>() < bounds.low || value->get<int64_t>() > bounds.high)
      refuse(fmt::format("{} must be an integer from {} to {}", name_of(name), bounds.low, bounds.high));
    return value->get<int64_t>();
  }
  double number(const std::string& name, double otherwise, Bounds<double> bounds) {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_number() || !(value->get<double>() >= bounds.low && value->get<double>() <= bounds.high))
      refuse(fmt::format("{} must be a number from {} to {}", name_of(name), bounds.low, bounds.high));
    return value->get<double>();
  }
  /// Treats a string as a list of one.
  std::vector<std::string> texts(const std::string& name) {
    const Json* value = find(name);
    if (value == nullptr) return {};
    if (value->is_string()) return {value->get<std::string>()};
    if (!value->is_array() ||
        !std::all_of(value->begin(), value->end(), [](const Json& item) { return item.is_string(); }))
      refuse(name_of(name) + " must be a string or a list of strings");
    return value->get<std::vector<std::string>>();
  }
  void refuse_others() const {
    for (const auto& [name, value] : json_.items()) {
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      constexpr size_t kLongest = 100;
      if (name.size() > kLongest) refuse(fmt::format("unknown member: its name has {} bytes", name.size()));
      const auto elsewhere = names_elsewhere().find(name);
      const std::string nearest =
          name_.empty() && elsewhere != names_elsewhere().end() ? elsewhere->second : nearest_name(name, known_);
      refuse("unknown member \"" + name_of(name) + "\"" +
             (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"));
    }
  }

 private:
  // Members of the request by the names that programs, Python and Transformers have for them.
  static const std::map<std::string, std::string>& names_elsewhere() {
    static const std::map<std::string, std::string> names{
        {"n_best", "num_hypotheses"}, {"num_beams", "beam_size"},    {"target_prefix", "prefix"},
        {"inline_tags", "format"},    {"temperature", "sampling"},   {"top_k", "sampling"},
        {"top_p", "sampling"},        {"seed", "sampling"},          {"sample", "sampling"},
        {"source_lang", "source"},    {"source_language", "source"}, {"target_lang", "target"},
        {"target_language", "target"}};
    return names;
  }
  std::string name_of(const std::string& member) const { return name_.empty() ? member : name_ + "." + member; }

  const Json& json_;
  std::string name_;
  std::vector<std::string> known_;
};

TextFormat read_format(const std::string& name, bool with_tags) {
  if (name == "text" || (name.empty() && !with_tags)) return TextFormat::text;
  if (name == "html") return TextFormat::html;
  if (name == "tags" && with_tags) return TextFormat::tags;
  refuse("format must be text" + std::string(with_tags ? ", tags" : "") + " or html, not \"" + quotable(name) + "\"");
}

std::vector<GlossaryEntry> read_glossary(Members& members, const ApiLimits& limits) {
  const Json* list = members.find("glossary");
  if (list == nullptr) return {};
  if (!list->is_array() || list->size() > limits.glossary_entries)
    refuse(
        fmt::format("glossary must be a list of at most {} entries such as {{\"source\": \"train\", \"target\": "
                    "\"Zug\"}}",
                    limits.glossary_entries));
  std::vector<GlossaryEntry> glossary;
  for (const Json& item : *list) {
    Members entry(item, "glossary[]");
    glossary.push_back({entry.text("source"), entry.text("target")});
    entry.refuse_others();
  }
  return glossary;
}

void read_sampling(Members& members, SearchOptions& search) {
  const Json* json = members.find("sampling");
  if (json == nullptr) return;
  Members given(*json, "sampling");
  SamplingOptions sampling;
  sampling.temperature = given.number("temperature", sampling.temperature, {0, 100});
  sampling.top_k = given.integer("top_k", sampling.top_k, {0, 1'000'000});
  sampling.top_p = given.number("top_p", sampling.top_p, {1e-9, 1});
  sampling.seed = static_cast<uint64_t>(
      given.integer("seed", static_cast<int64_t>(sampling.seed), {0, std::numeric_limits<int64_t>::max()}));
  given.refuse_others();
  search.sampling = sampling;
}

void read_search(Members& members, const ApiLimits& limits, ApiRequest& request) {
  SearchOptions& search = request.options.search;
  if (members.find("beam_size") != nullptr) request.beam_size = members.integer("beam_size", 0, {1, limits.beam_size});
  if (members.find("length_alpha") != nullptr)
    request.length_alpha = members.number("length_alpha", 0, SearchBounds::kLengthAlpha);
  if (members.find("no_repeat_ngram") != nullptr)
    request.no_repeat_ngram = members.integer("no_repeat_ngram", 0, SearchBounds::kNoRepeatNgram);
  search.num_hypotheses = members.integer("num_hypotheses", 1, {1, limits.beam_size});
  search.coverage_beta = members.number("coverage_beta", search.coverage_beta, {0, kMostCoverageBeta});
  search.min_length = members.integer("min_length", search.min_length, {0, limits.extra_length});
  search.max_extra_length = members.integer("max_extra_length", search.max_extra_length, {0, limits.extra_length});
  search.alignments = members.flag("alignments", false);
  read_sampling(members, search);
  if (const int64_t next = members.integer("alternatives", 0, {0, limits.beam_size}); next > 0) {
    if (search.sampling) refuse("alternatives and sampling exclude each other");
    search.alternatives = true;
    search.num_hypotheses = next;
  }
}

Guard read_guard(const std::string& name) {
  if (name == "off") return Guard::off;
  if (name == "warn") return Guard::warn;
  if (name != "retry") refuse("guard must be retry, warn or off");
  return Guard::retry;
}

Protection read_protection(const std::string& name) {
  if (name == "none") return Protection::none;
  if (name == "all") return Protection::all;
  if (name != "auto") refuse("protect must be auto, all or none");
  return Protection::automatic;
}

void complete(ApiRequest& request, const ApiLimits& limits) {
  request.options.inline_tags = request.format != TextFormat::text;
  check_texts(request, limits);
  request.max_beam_size = limits.beam_size;
  request.search_as({});
}

bool is_short_integer(const std::string& text) {
  const size_t sign = text.compare(0, 1, "-") == 0 ? 1 : 0;
  return text.size() > sign && text.size() < 9 && text.find_first_not_of("0123456789", sign) == std::string::npos;
}

// Reads it as LibreTranslate does: without a fraction, and 0 if it is negative.
int64_t whole_number(const Json* value, int64_t most) {
  if (value == nullptr || *value == "") return 0;
  std::optional<double> number;
  if (value->is_number()) number = std::trunc(value->get<double>());
  if (value->is_string() && is_short_integer(value->get<std::string>())) number = std::stod(value->get<std::string>());
  if (!number || *number > static_cast<double>(most))
    refuse(fmt::format("alternatives must be an integer from 0 to {}", most));
  return static_cast<int64_t>(std::max(0.0, *number));
}

}  // namespace

std::string quotable(const std::string& text) {
  constexpr size_t kMostBytes = 40;
  return shortened_name(text, kMostBytes) + (text.size() > kMostBytes ? "…" : "");
}

void check_texts(const ApiRequest& request, const ApiLimits& limits) {
  if (request.texts.size() > limits.texts)
    refuse(fmt::format("{} texts exceed the limit of {}", request.texts.size(), limits.texts));
  size_t characters = 0;
  const auto count = [&](const std::string& text) {
    if (find_invalid_utf8(text) != std::string::npos) refuse("the text is not UTF-8");
    if (text.find('\0') != std::string::npos) refuse("the text must not contain a zero byte");
    characters += characters_in(text);
  };
  for (const auto* texts : {&request.texts, &request.prefixes})
    for (const std::string& text : *texts) count(text);
  for (const GlossaryEntry& entry : request.options.glossary) {
    count(entry.source);
    count(entry.target);
  }
  if (characters > limits.characters)
    refuse(fmt::format("request ({}) exceeds text limit ({})", characters, limits.characters));
}

std::string key_of(const TranslationOptions& options) {
  const SearchOptions& search = options.search;
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {} {}", search.beam_size, search.num_hypotheses,
                                search.length_alpha, static_cast<int>(search.length_penalty), search.coverage_beta,
                                search.no_repeat_ngram, search.min_length, search.max_extra_length, search.alignments,
                                search.alternatives, options.inline_tags);
  key += fmt::format(" guard {} protect {}", static_cast<int>(options.guard), static_cast<int>(options.protect));
  if (search.sampling)
    key += fmt::format(" sampling {} {} {} {}", search.sampling->temperature, search.sampling->top_k,
                       search.sampling->top_p, search.sampling->seed);
  key += fmt::format(" {}>{}", options.source_language, options.target_language);
  for (const GlossaryEntry& entry : options.glossary)
    key += fmt::format(" {}:{}={}:{}", entry.source.size(), entry.source, entry.target.size(), entry.target);
  return key;
}

void ApiRequest::search_as(const SearchOptions& of_model) {
  SearchOptions& search = options.search;
  search.beam_size = beam_size.value_or(std::min(of_model.beam_size, max_beam_size));
  if (!search.sampling && !search.alternatives) search.beam_size = std::max(search.beam_size, search.num_hypotheses);
  search.length_penalty = of_model.length_penalty;
  search.length_alpha = length_alpha.value_or(of_model.length_alpha);
  search.no_repeat_ngram = no_repeat_ngram.value_or(of_model.no_repeat_ngram);
  search.repetition_penalty = of_model.repetition_penalty;
  key = key_of(options);
}

ApiRequest parse_libretranslate(const HttpRequest& http, const ApiLimits& limits) {
  const Json json = read_parameters(http, nullptr, limits.texts);
  Members members(json, "");
  ApiRequest request;
  const Json* q = members.find("q");
  request.is_list = q != nullptr && q->is_array();
  request.texts = members.texts("q");
  request.source = members.text("source");
  request.target = members.text("target");
  request.format = read_format(members.text("format", "text"), false);
  request.api_key = members.text("api_key");
  request.alternatives = whole_number(members.find("alternatives"), limits.beam_size - 1);
  const bool has_text = q != nullptr && (request.is_list ? !request.texts.empty() : !request.texts.front().empty());
  if (!has_text) refuse("missing q parameter");
  if (request.source.empty()) refuse("missing source parameter");
  if (request.target.empty()) refuse("missing target parameter");
  request.options.search.num_hypotheses = 1 + request.alternatives;
  complete(request, limits);
  return request;
}

ApiRequest parse_v1(const HttpRequest& http, const ApiLimits& limits) {
  if (!is_json(http)) throw ApiError(415, "send JSON, with Content-Type: application/json");
  const Json json = read_parameters(http, nullptr, limits.texts);
  Members members(json, "");
  ApiRequest request;
  const Json* text = members.find("text");
  if (text == nullptr)
    refuse(members.find("q") ? "missing member \"text\"; q is for /translate" : "missing member \"text\"");
  request.is_list = text->is_array();
  request.texts = members.texts("text");
  request.source = members.text("source");
  request.target = members.text("target");
  if (request.source.empty()) refuse("missing member \"source\"");
  if (request.target.empty()) refuse("missing member \"target\"");
  request.format = read_format(members.text("format", "text"), true);
  request.stream = members.flag("stream", false);
  request.options.guard = read_guard(members.text("guard", "retry"));
  request.options.protect = read_protection(members.text("protect", "auto"));
  // A text that a client has read cannot change any more; a text by itself would not, but texts of all requests go
  // together.
  if (request.stream && request.options.guard == Guard::retry) request.options.guard = Guard::warn;
  request.prefixes = members.texts("prefix");
  if (members.find("split_sentences") != nullptr)
    request.split_sentences = members.flag("split_sentences", true);
  else if (!request.prefixes.empty())
    request.split_sentences = false;
  request.api_key = members.text("api_key");
  request.options.glossary = read_glossary(members, limits);
  read_search(members, limits, request);
  members.refuse_others();
  if (!request.prefixes.empty() && request.prefixes.size() != request.texts.size())
    refuse(fmt::format("{} prefixes were given for {} texts", request.prefixes.size(), request.texts.size()));
  if (!request.prefixes.empty() && (*request.split_sentences || request.format != TextFormat::text))
    refuse("prefix needs plain text without split_sentences: the whole text is one segment");
  if (request.stream && request.format != TextFormat::text) refuse("stream needs plain text");
  complete(request, limits);
  return request;
}

ApiRequest parse_translate_file(const HttpRequest& http, FormFile& file) {
  const Json json = read_parameters(http, &file);
  Members members(json, "");
  ApiRequest request;
  request.source = members.text("source");
  request.target = members.text("target");
  request.api_key = members.text("api_key");
  const std::string retranslate = members.text("retranslate", "false");
  if (retranslate != "true" && retranslate != "false") refuse("retranslate must be true or false");
  request.retranslate = retranslate == "true";
  if (file.name.empty()) refuse("missing file parameter; send multipart/form-data with a file");
  if (request.source.empty()) refuse("missing source parameter");
  if (request.target.empty()) refuse("missing target parameter");
  return request;
}

void complete_file_request(ApiRequest& request, const ApiLimits& limits) {
  ApiLimits of_files = limits;
  of_files.texts = request.texts.size();
  complete(request, of_files);
}

std::string parameter(const HttpRequest& request, const std::string& name) {
  const Json json = read_parameters(request);
  return fmt::format("{}", fmt::join(Members(json, "").texts(name), "\n"));
}

}  // namespace v0
}  // namespace transmute
