// SPDX-License-Identifier: Apache-2.0
// The part of Api that translates files.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/serving/api.h>
#include <transmute/serving/routes.h>
#include <transmute/serving/task.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// "report_de.docx" of "C:\\reports\\report.docx".
std::string translated_name(const std::string& name, const std::string& target) {
  const std::string base = name.substr(name.find_last_of("/\\") + 1);
  const size_t dot = base.rfind('.');
  return shortened_name(base.substr(0, dot), 100) + '_' + target + base.substr(dot);
}

// Encodes a text for a parameter of a header (RFC 5987).
std::string percent_encoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte < 0x80 && (std::isalnum(byte) != 0 || c == '.' || c == '-' || c == '_');
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

// A name for clients that do not read filename*, such as curl (RFC 6266). The page reads the part after "''".
std::string ascii_name(const std::string& name) {
  std::string ascii;
  for (const char c : name) {
    const bool is_special = c < ' ' || c > '~' || c == '"' || c == '\'' || c == '\\';
    if ((c & 0xC0) != 0x80) ascii += is_special ? '_' : c;  // one for each character
  }
  return ascii;
}

HttpResponse response_of(const StoredFile& file) {
  HttpResponse response;
  response.content_type = file.media_type;
  response.body = file.content;
  response.headers = {{"Content-Disposition", fmt::format("attachment; filename=\"{}\"; filename*=UTF-8''{}",
                                                          ascii_name(file.name), percent_encoded(file.name))},
                      {"Cache-Control", "no-store"}};
  return response;
}

// The address by which the client reaches the server, according to the headers of the request and of the proxy.
std::string address_for_client(const HttpRequest& request, bool behind_proxy) {
  const auto header = [&](const std::string& name, const std::string& marks) {
    std::string value = request.header(name);
    value.resize(std::min(value.find(','), value.size()));  // address of the proxy that the client uses
    value.erase(std::remove_if(value.begin(), value.end(),
                               [&](unsigned char c) {
                                 return std::isalnum(c) == 0 && marks.find(static_cast<char>(c)) == std::string::npos;
                               }),
                value.end());
    return value;
  };
  constexpr const char* kHostMarks = ".:-_[]";
  std::string scheme = "http", host = header("host", kHostMarks), folder;
  if (behind_proxy) {
    if (lower_case(header("x-forwarded-proto", "")) == "https") scheme = "https";
    if (const std::string asked = header("x-forwarded-host", kHostMarks); !asked.empty()) host = asked;
    folder = header("x-forwarded-prefix", "./-_~%");
    folder.resize(folder.find_last_not_of('/') + 1);
    if (!folder.empty() && folder.front() != '/') folder.insert(0, 1, '/');
  }
  return fmt::format("{}://{}{}", scheme, host, folder);
}

// Opens the file and gives the request its texts.
std::unique_ptr<DocumentParts> open_file(FormFile& file, ApiRequest& request, const ApiLimits& limits) {
  const DocumentFormat* const format = document_format_of(file.name);
  if (format == nullptr)
    throw ApiError(400,
                   "Invalid request: files with this ending are not translated; /frontend/settings lists those "
                   "that are");
  constexpr uint64_t kBytesPerCharacter = 80;  // bytes of unpacked XML; most files have far fewer
  try {
    auto document = open_document(*format, "the file", std::move(file.content),
                                  {request.retranslate, kBytesPerCharacter * limits.characters});
    request.texts = texts_of(*document);
    request.format = document->text_format();
    return document;
  } catch (const std::runtime_error& error) {
    throw ApiError(400, std::string("Invalid request: ") + error.what());
  }
}

// A file has one language, even if its shorter texts look like another.
void detect_source(const ModelSet& models, ApiRequest& request) {
  if (lower_case(request.source) != "auto") return;
  ApiRequest whole = request;
  whole.texts = {fmt::format("{}", fmt::join(request.texts, "\n"))};
  ApiResult detected;
  routes_of(models, whole, detected);
  request.source = whole.source;
}

}  // namespace

void Api::translate_file(const CallPointer& call) {
  begin_file(call, [this, call](StoredFile file) {
    const std::string ending = file.name.substr(file.name.rfind('.'));
    return Json{{"translatedFileUrl",
                 fmt::format("{}/download_file/{}{}", address_for_client(call->request(), options_.behind_proxy),
                             files_.add(std::move(file)), ending)}};
  });
}

void Api::translate_document(const CallPointer& call) {
  begin_file(call, [](const StoredFile& file) { return response_of(file); });
}

void Api::begin_file(const CallPointer& call, const AnswerWithFile& answer_with) {
  read_aside(call, [this, call, answer_with] { begin_opened(call, answer_with); });
}

void Api::begin_opened(const CallPointer& call, const AnswerWithFile& answer_with) {
  FormFile file;
  const auto request = std::make_shared<ApiRequest>(parse_translate_file(call->request(), file));
  admit(call, request->api_key);
  const std::string name = file.name;
  const std::shared_ptr<const DocumentParts> document = open_file(file, *request, options_.limits);
  complete_file_request(*request, options_.limits);
  detect_source(*models_.current(), *request);
  begin(call, request, [document, name, answer_with](const ApiRequest& asked, const ApiResult& result) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < result.documents.size(); ++i)
      texts.push_back(text_of(result.documents[i], result.translations[i]));
    return answer_with({translated_name(name, asked.target), document_format_of(name)->media_type,
                        with_translations(*document, texts, {asked.source, asked.target})});
  });
}

void Api::download_file(const CallPointer& call) {
  const std::string& path = call->request().path;
  const size_t begin = path.rfind('/') + 1;
  const auto file = files_.find(path.substr(begin, path.find('.', begin) - begin));
  if (!file) throw ApiError(404, "there is no such file any more; translate it again");
  call->answer(response_of(*file));
}

}  // namespace v0
}  // namespace transmute
