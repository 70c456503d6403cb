// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/form.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/percent_encoding.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMostParameters = 100;

std::string form_decoded(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return percent_decoded(spaced);
}

void add_parameter(Json& into, const std::string& name, std::string value) {
  if (into.size() == kMostParameters)
    throw std::invalid_argument(fmt::format("a form has {} parameters at most", kMostParameters));
  if (name != "q" || into.count("q") == 0) {
    into[name] = std::move(value);
  } else if (into["q"].is_array()) {
    into["q"].push_back(std::move(value));
  } else {  // q=…&q=… is a list
    into["q"] = Json::array({into["q"], std::move(value)});
  }
}

// The value of a header's parameter, as in: form-data; name="q"; empty if there is none. Names are in lower case.
std::string header_parameter(std::string_view header, const std::string& wanted) {
  const auto skip = [&](const char* characters, size_t from) {
    return std::min(header.find_first_not_of(characters, from), header.size());
  };
  for (size_t at = header.find(';'); at < header.size(); at = header.find(';', at)) {
    at = skip("; \t", at);
    const size_t end = std::min(header.find_first_of("=;", at), header.size());
    const std::string name = lower_case(std::string(header.substr(at, end - at)));
    std::string value;
    at = end;
    if (at < header.size() && header[at] == '=' && ++at < header.size() && header[at] == '"') {
      for (++at; at < header.size() && header[at] != '"'; ++at) {
        if (header[at] == '\\' && at + 1 < header.size()) ++at;
        value += header[at];
      }
    } else if (at > end) {
      const size_t last = std::min(header.find_first_of("; \t", at), header.size());
      value = header.substr(at, last - at);
      at = last;
    }
    if (name == wanted) return value;
  }
  return "";
}

// Browsers and curl write a quotation mark in a name as %22, and encode no percent sign ("multipart/form-data encoding
// algorithm" of the HTML standard).
std::string with_quotation_marks(std::string name) {
  constexpr std::string_view kMark = "%22";
  for (size_t at = 0; (at = name.find(kMark, at)) != std::string::npos; ++at) name.replace(at, kMark.size(), 1, '"');
  return name;
}

// The name of a part's file; empty if there is none. .NET sends a name that is not ASCII as filename*=utf-8''%C3%BC
// (RFC 8187), beside a filename for programs that do not know this.
std::string file_name_of(std::string_view disposition) {
  constexpr std::string_view kCharset = "utf-8'";
  const std::string extended = header_parameter(disposition, "filename*");
  const size_t language_end = extended.find('\'', kCharset.size());
  if (lower_case(extended.substr(0, kCharset.size())) != kCharset || language_end == std::string::npos)
    return with_quotation_marks(header_parameter(disposition, "filename"));
  return percent_decoded(std::string_view(extended).substr(language_end + 1));
}

// The Content-Disposition among the headers of a part.
std::string_view disposition_of(std::string_view headers) {
  constexpr std::string_view kName = "content-disposition:";
  while (!headers.empty()) {
    const std::string_view line = headers.substr(0, headers.find("\r\n"));
    if (lower_case(std::string(line.substr(0, kName.size()))) == kName) return line;
    headers.remove_prefix(std::min(headers.size(), line.size() + 2));
  }
  return {};
}

[[noreturn]] void refuse_multipart(const std::string& why) {
  throw std::invalid_argument("the body is not multipart/form-data: " + why);
}

}  // namespace

void read_form(std::string_view form, Json& into) {
  while (!form.empty()) {
    const std::string_view pair = form.substr(0, form.find('&'));
    form.remove_prefix(std::min(form.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    add_parameter(into, form_decoded(pair.substr(0, equals)), form_decoded(pair.substr(equals + 1)));
  }
}

void read_multipart(std::string_view body, const std::string& content_type, Json& into, FormFile* file) {
  constexpr size_t kLongestBoundary = 70;  // RFC 2046, section 5.1.1
  constexpr std::string_view kHeadersEnd = "\r\n\r\n";
  const std::string boundary = header_parameter(content_type, "boundary");
  if (boundary.empty() || boundary.size() > kLongestBoundary)
    refuse_multipart(fmt::format("its Content-Type must name a boundary of 1 to {} bytes", kLongestBoundary));
  const std::string delimiter = "\r\n--" + boundary;
  size_t at = delimiter.size() - 2;  // the first one may be without its line end
  if (body.compare(0, at, delimiter.substr(2)) != 0) {
    at = body.find(delimiter);
    if (at == std::string_view::npos) refuse_multipart("the boundary is missing");
    at += delimiter.size();
  }
  while (body.compare(at, 2, "--") != 0) {
    const size_t headers_end = body.find(kHeadersEnd, at);
    const size_t text = headers_end + kHeadersEnd.size();
    const size_t end = headers_end == std::string_view::npos ? headers_end : body.find(delimiter, text - 2);
    if (body.compare(at, 2, "\r\n") != 0 || end == std::string_view::npos)
      refuse_multipart("a part has no end, or no headers");
    const std::string_view disposition = disposition_of(body.substr(at + 2, headers_end - at));
    const std::string name = header_parameter(disposition, "name");
    if (name.empty()) refuse_multipart("a part has no name");
    const std::string file_name = file_name_of(disposition);
    std::string content(end < text ? std::string_view() : body.substr(text, end - text));
    if (file_name.empty()) {
      add_parameter(into, name, std::move(content));
    } else if (file == nullptr) {
      throw std::invalid_argument("files go to /translate_file; send the text as the field \"q\"");
    } else if (name != "file" || !file->name.empty()) {
      throw std::invalid_argument("one file is translated at a time, the field \"file\"");
    } else {
      *file = {file_name, std::move(content)};
    }
    at = end + delimiter.size();
  }
}

}  // namespace v0
}  // namespace transmute
