// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/json.h>
#include <transmute/serving/api.h>
#include <transmute/serving/api_answer.h>
#include <transmute/serving/api_request.h>
#include <transmute/serving/request_cost.h>
#include <transmute/tests/serving/tiny_model_folder.h>
#include <transmute/tests/support/files.h>
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <future>
#include <ios>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace transmute::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HttpRequest json_request(std::string body) {
  HttpRequest request;
  request.method = "POST";
  request.headers["content-type"] = "application/json; charset=utf-8";
  request.body = std::move(body);
  return request;
}

HttpRequest form_request(std::string body) {
  HttpRequest request = json_request(std::move(body));
  request.headers["content-type"] = "application/x-www-form-urlencoded";
  return request;
}

ApiLimits small_limits() {
  ApiLimits limits;
  limits.texts = 3;
  limits.characters = 20;
  limits.beam_size = 8;
  return limits;
}

using Parse = ApiRequest (*)(const HttpRequest&, const ApiLimits&);

// "status message" of the refusal.
std::string refusal(Parse parse, const HttpRequest& request) {
  try {
    parse(request, small_limits());
  } catch (const ApiError& error) {
    return std::to_string(error.status()) + " " + error.what();
  }
  return "accepted";
}

std::string v1_with(const std::string& more) {
  return R"({"text":"a","source":"en","target":"de",)" + more + "}";
}

TEST(LibreTranslateRequest, IsReadFromJsonAndFromForms) {
  for (const HttpRequest& http :
       {json_request(R"({"q":"a \u00e4","source":"en","target":"de","format":"html","alternatives":2,"api_key":"k"})"),
        form_request("q=a+%C3%A4&source=en&target=de&format=html&alternatives=2&api_key=k")}) {
    const ApiRequest request = parse_libretranslate(http, small_limits());
    EXPECT_THAT(request.texts, ElementsAre("a ä"));
    EXPECT_FALSE(request.is_list);
    EXPECT_EQ(request.source, "en");
    EXPECT_EQ(request.target, "de");
    EXPECT_EQ(request.format, TextFormat::html);
    EXPECT_EQ(request.alternatives, 2);
    EXPECT_EQ(request.options.search.num_hypotheses, 3);
    EXPECT_EQ(request.api_key, "k");
  }
}

TEST(LibreTranslateRequest, GetsACharacterForHalfAnEmoji) {
  const auto text_of = [](const std::string& escaped) {
    return parse_libretranslate(json_request(R"({"source":"en","target":"de","q":")" + escaped + "\"}"), {}).texts;
  };
  EXPECT_THAT(text_of(R"(a \ud83d)"), ElementsAre("a \uFFFD"));
  EXPECT_THAT(text_of(R"(\uDE00\uD83D\ud83d\ude00\ud83dx)"), ElementsAre("\uFFFD\uFFFD😀\uFFFDx"));
  EXPECT_THAT(text_of(R"(\\ud83d \\\ud83d)"), ElementsAre(R"(\ud83d \)"
                                                          "\uFFFD"));
  EXPECT_THAT(refusal(parse_v1, json_request(R"({"text":"\ud83)")), HasSubstr("not valid JSON"));
}

TEST(LibreTranslateRequest, HasOnlySoManyValuesInItsJson) {
  std::string many;
  for (int i = 0; i < 100'006; ++i) many += "[],";
  EXPECT_EQ(refusal(parse_libretranslate, json_request(R"({"q":[)" + many + "1]}")),
            "400 Invalid request: the JSON is too large: more than 100006 values");
}

TEST(LibreTranslateRequest, MayLeaveTheFormatEmpty) {
  EXPECT_EQ(parse_libretranslate(form_request("q=a&source=en&target=de&format="), {}).format, TextFormat::text);
  EXPECT_THAT(refusal(parse_v1, json_request(v1_with(R"("format":"")"))), HasSubstr("format must be text"));
}

TEST(LibreTranslateRequest, TakesListsOfTexts) {
  EXPECT_THAT(parse_libretranslate(json_request(R"({"q":["a"],"source":"en","target":"de"})"), {}).texts,
              ElementsAre("a"));
  const ApiRequest form = parse_libretranslate(form_request("q=a&q=b&source=en&target=de"), {});
  EXPECT_TRUE(form.is_list);
  EXPECT_THAT(form.texts, ElementsAre("a", "b"));
}

TEST(LibreTranslateRequest, IgnoresMembersThatItDoesNotKnow) {
  EXPECT_EQ(parse_libretranslate(json_request(R"({"q":"a","source":"en","target":"de","secret":"x"})"), {}).target,
            "de");
}

TEST(LibreTranslateRequest, MayAskForANumberOfAlternativesAsLibreTranslateReadsIt) {
  const auto alternatives = [](const std::string& number) {
    const std::string json = R"({"q":"a","source":"en","target":"de","alternatives":)" + number + "}";
    return parse_libretranslate(json_request(json), small_limits()).alternatives;
  };
  for (const char* none : {"-1", "-1e300", "0.5", R"("-1")", R"("")", "null"}) EXPECT_EQ(alternatives(none), 0) << none;
  for (const char* two : {"2", "2.0", "2.9", R"("2")"}) EXPECT_EQ(alternatives(two), 2) << two;
  for (const char* refused : {"8", "1e300", "18446744073709551615", R"("2.0")", R"("-")", R"("--1")", "true", "[]"})
    EXPECT_THROW(alternatives(refused), ApiError) << refused;
}

TEST(LibreTranslateRequest, IsRefusedWithLibreTranslatesWords) {
  const auto refused = [](const char* json) { return refusal(parse_libretranslate, json_request(json)); };
  EXPECT_EQ(refused(R"({"source":"en","target":"de"})"), "400 Invalid request: missing q parameter");
  EXPECT_EQ(refused(R"({"q":"","source":"en","target":"de"})"), "400 Invalid request: missing q parameter");
  EXPECT_EQ(refused(R"({"q":[],"source":"en","target":"de"})"), "400 Invalid request: missing q parameter");
  EXPECT_EQ(refused(R"({"q":"a","target":"de"})"), "400 Invalid request: missing source parameter");
  EXPECT_EQ(refused(R"({"q":"a","source":"en"})"), "400 Invalid request: missing target parameter");
  EXPECT_THAT(refused(R"({"q":"a","source":"en","target":"de","alternatives":8})"), HasSubstr("0 to 7"));
  EXPECT_THAT(refused(R"({"q":"a","source":"en","target":"de","format":"pdf"})"), HasSubstr("format must be text"));
}

TEST(ApiRequest, CountsCharactersAndNotBytes) {
  const auto refused = [](const std::string& text) {
    return refusal(parse_libretranslate, form_request("source=en&target=de&q=" + text));
  };
  std::string twenty;
  for (int i = 0; i < 20; ++i) twenty += "ä";
  EXPECT_EQ(refused(twenty), "accepted");
  EXPECT_EQ(refused(twenty + "b"), "400 Invalid request: request (21) exceeds text limit (20)");
  EXPECT_THAT(refused("a&q=b&q=c&q=d"), HasSubstr("4 texts exceed the limit of 3"));
  EXPECT_EQ(refusal(parse_v1, json_request(v1_with(R"("glossary":[{"source":"a","target":"twenty characters are"}])"))),
            "400 Invalid request: request (23) exceeds text limit (20)");
}

TEST(ApiRequest, RefusesWhatIsNoUtf8AndNoJson) {
  EXPECT_THAT(refusal(parse_libretranslate, form_request("source=en&target=de&q=%ff%fe")), HasSubstr("400 "));
  for (const std::string& body :
       {std::string("{\"q\":\"\xff\"}"), std::string("{\"q\":\"\\ud800\"}"), std::string("{\"q\":"), std::string(""),
        std::string("[]"), std::string("1"), std::string("{\"q\":\"a\"} x"), std::string("{\"q\":\"a\0b\"}", 11)})
    EXPECT_THAT(refusal(parse_libretranslate, json_request(body)), HasSubstr("400 Invalid request: ")) << body;
}

TEST(ApiRequest, RefusesZeroBytes) {
  EXPECT_EQ(refusal(parse_libretranslate, form_request("q=a&source=en%00x&target=de")),
            "400 Invalid request: source must not contain a zero byte");
  EXPECT_EQ(refusal(parse_v1, json_request(R"({"text":"a","source":"en","target":"d\u0000"})")),
            "400 Invalid request: target must not contain a zero byte");
  EXPECT_EQ(refusal(parse_v1, json_request(v1_with(R"("glossary":[{"source":"a","target":"\u0000"}])"))),
            "400 Invalid request: glossary[].target must not contain a zero byte");
  for (const char* members : {R"("text":"a\u0000")", R"("text":["a","\u0000"])", R"("text":"a","prefix":"\u0000")"})
    EXPECT_EQ(refusal(parse_v1, json_request(fmt::format(R"({{{},"source":"en","target":"de"}})", members))),
              "400 Invalid request: the text must not contain a zero byte");
  EXPECT_EQ(refusal(parse_libretranslate, form_request("q=a%00&source=en&target=de")),
            "400 Invalid request: the text must not contain a zero byte");
}

TEST(ApiRequest, RefusesDeepJsonWithoutRecursion) {
  for (const char* bracket : {"[", "{\"a\":"}) {
    std::string deep = R"({"q":)";
    for (int i = 0; i < 400'000; ++i) deep += bracket;
    EXPECT_EQ(refusal(parse_libretranslate, json_request(deep)),
              "400 Invalid request: the JSON is too large: nested more than 16 levels deep");
  }
}

TEST(V1Request, HasTheLibrarysDefaults) {
  const ApiRequest request = parse_v1(json_request(R"({"text":"a","source":"en","target":"de"})"), {});
  const SearchOptions defaults;
  EXPECT_EQ(request.options.search.beam_size, defaults.beam_size);
  EXPECT_EQ(request.options.search.length_alpha, defaults.length_alpha);
  EXPECT_EQ(request.options.search.max_extra_length, defaults.max_extra_length);
  EXPECT_FALSE(request.options.search.sampling);
  EXPECT_FALSE(request.split_sentences.has_value()) << "the model decides";
  EXPECT_FALSE(request.stream);
  EXPECT_EQ(request.options.protect, TranslationOptions().protect);
  EXPECT_THAT(request.prefixes, IsEmpty());
}

TEST(V1Request, ReadsEveryOption) {
  const ApiRequest request = parse_v1(
      json_request(
          R"({"text":["a","b"],"source":"en","target":"de","format":"text","prefix":["x",""],"api_key":"k","stream":true,
              "beam_size":2,"num_hypotheses":3,"length_alpha":0.5,"coverage_beta":0.1,"no_repeat_ngram":3,
              "min_length":4,"max_extra_length":7,"alignments":true,"glossary":[{"source":"a","target":"b"}],
              "sampling":{"temperature":0.5,"top_k":3,"top_p":0.9,"seed":11},"protect":"none"})"),
      {});
  EXPECT_THAT(request.prefixes, ElementsAre("x", ""));
  EXPECT_EQ(request.split_sentences, false) << "a prefix belongs to a whole text";
  EXPECT_TRUE(request.stream);
  EXPECT_EQ(request.options.protect, Protection::none);
  const SearchOptions& search = request.options.search;
  EXPECT_EQ(search.num_hypotheses, 3);
  EXPECT_EQ(search.length_alpha, 0.5);
  EXPECT_EQ(search.coverage_beta, 0.1);
  EXPECT_EQ(search.no_repeat_ngram, 3);
  EXPECT_EQ(search.min_length, 4);
  EXPECT_EQ(search.max_extra_length, 7);
  EXPECT_TRUE(search.alignments);
  ASSERT_TRUE(search.sampling);
  EXPECT_EQ(search.sampling->temperature, 0.5);
  EXPECT_EQ(search.sampling->top_k, 3);
  EXPECT_EQ(search.sampling->top_p, 0.9);
  EXPECT_EQ(search.sampling->seed, 11U);
  ASSERT_EQ(request.options.glossary.size(), 1U);
  EXPECT_EQ(request.options.glossary[0].target, "b");
}

TEST(V1Request, NamesUnknownMembersAndTheirNeighbor) {
  const auto refused = [](const std::string& more) { return refusal(parse_v1, json_request(v1_with(more))); };
  EXPECT_EQ(refused(R"("beamsize":3)"),
            "400 Invalid request: unknown member \"beamsize\"; did you mean \"beam_size\"?");
  EXPECT_THAT(refused(R"("sampling":{"topk":3})"), HasSubstr("unknown member \"sampling.topk\""));
  EXPECT_THAT(refused(R"("n_best":3)"), HasSubstr("\"n_best\"; did you mean \"num_hypotheses\"?"));
  EXPECT_THAT(refused(R"("target_prefix":"a")"), HasSubstr("did you mean \"prefix\"?"));
  EXPECT_THAT(refused(R"("temperature":1)"), HasSubstr("did you mean \"sampling\"?"));
  EXPECT_THAT(refused(R"("glossary":{"a":"b"})"), HasSubstr(R"(entries such as {"source": "train", "target": "Zug"})"));
  EXPECT_THAT(refusal(parse_v1, json_request(R"({"q":"a","source":"en","target":"de"})")),
              HasSubstr("missing member \"text\"; q is for /translate"));
  EXPECT_THAT(refused(R"("protect":"yes")"), HasSubstr("protect must be auto, all or none"));
}

TEST(LibreTranslateRequest, MayBeJsonOrAFormAndNothingElse) {
  HttpRequest request = form_request("q=a&source=en&target=de");
  request.headers["content-type"] = "text/plain";
  EXPECT_THAT(refusal(parse_libretranslate, request), HasSubstr("415 the body must be JSON"));
  request.query.swap(request.body);  // nothing to read but the query
  EXPECT_EQ(refusal(parse_libretranslate, request), "accepted");
}

// curl -d sends "application/x-www-form-urlencoded" whatever it sends.
TEST(LibreTranslateRequest, IsJsonWhateverItsTypeIfItBeginsWithABrace) {
  for (const char* type : {"application/x-www-form-urlencoded", "text/plain;charset=UTF-8", ""})
    for (const char* before : {"", " \r\n\t"}) {
      HttpRequest request = form_request(before + std::string(R"({"q":"a=b&c","source":"en","target":"de"})"));
      request.headers["content-type"] = type;
      EXPECT_THAT(parse_libretranslate(request, {}).texts, ElementsAre("a=b&c")) << type;
      request.body = v1_with(R"("beam_size":2)");
      EXPECT_EQ(parse_v1(request, {}).options.search.beam_size, 2) << type;
      request.body = "{\"q\":";
      EXPECT_THAT(refusal(parse_libretranslate, request), HasSubstr("not valid JSON")) << type;
    }
}

HttpRequest multipart_request(const std::string& body, const std::string& boundary = "boundary=\"a B\"") {
  HttpRequest request = json_request(body);
  request.headers["content-type"] = "Multipart/Form-Data; charset=utf-8; " + boundary;
  return request;
}

TEST(LibreTranslateRequest, MayBeAMultipartForm) {
  const std::string fields =
      "--a B\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nen\r\n"
      "--a B\r\nContent-Type: text/plain\r\ncontent-disposition: form-data; name=target\r\n\r\nde\r\n";
  const std::string q = "--a B\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\n";
  const auto texts = [&](const std::string& body) { return parse_libretranslate(multipart_request(body), {}).texts; };
  EXPECT_THAT(texts(fields + q + "a=b&c+%20\r\n\r\n--a b \r\n--a B--\r\n"), ElementsAre("a=b&c+%20\r\n\r\n--a b "));
  EXPECT_THAT(texts("preamble\r\n" + fields + q + "a\r\n" + q + "\r\n" + q + "{}\r\n--a B--"),
              ElementsAre("a", "", "{}"));
  EXPECT_THAT(texts("\r\n" + fields + q + "a\r\n--a B--"), ElementsAre("a"));
  const std::string odd =
      "--a B\r\nContent-Disposition: form-data; name=\"\\q\"; x=\"; name=source\"\r\n\r\na\r\n--a B--";
  EXPECT_THAT(texts(fields + odd), ElementsAre("a"));
}

TEST(FileRequest, TakesTheFilesNameAsDotNetSendsIt) {
  const auto name = [](const std::string& parameters) {
    FormFile file;
    parse_translate_file(multipart_request("--a B\r\nContent-Disposition: form-data; name=source\r\n\r\nen\r\n"
                                           "--a B\r\nContent-Disposition: form-data; name=target\r\n\r\nde\r\n"
                                           "--a B\r\nContent-Disposition: form-data; name=file; " +
                                           parameters + "\r\n\r\na\r\n--a B--"),
                         file);
    return file.name;
  };
  EXPECT_EQ(name("filename=\"=?utf-8?B?w7xiZXIrMS50eHQ=?=\"; filename*=utf-8''%C3%BCber+1.txt"), "über+1.txt");
  EXPECT_EQ(name("filename*=UTF-8'de'a.txt; filename=b.txt"), "a.txt");
  EXPECT_EQ(name("filename=\"a+%20.txt\"; filename*=iso-8859-1''%FC.txt"), "a+%20.txt");
  EXPECT_EQ(name("filename=\"%22a%22%0A.txt\""), "\"a\"%0A.txt") << "as browsers and curl write a quotation mark";
}

TEST(LibreTranslateRequest, SaysWhatIsWrongWithAMultipartForm) {
  const std::string field = "--a B\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\na\r\n";
  for (const std::string& body : {std::string(), std::string("q=a"), field, field + "--a B", field + "--a B-",
                                  field + "--a Bx\r\n\r\n\r\n--a B--", std::string("--a B\r\n\r\na\r\n--a B--"),
                                  std::string("--a B\r\nContent-Disposition: form-data\r\n\r\na\r\n--a B--"),
                                  std::string("--a B\nContent-Disposition: form-data; name=\"q\"\n\na\n--a B--")})
    EXPECT_THAT(refusal(parse_libretranslate, multipart_request(body)),
                HasSubstr("400 Invalid request: the body is not"))
        << body;
  for (const std::string& boundary :
       {std::string("x=y"), std::string("boundary="), std::string("boundary=\""), "boundary=" + std::string(71, 'x')})
    EXPECT_THAT(refusal(parse_libretranslate, multipart_request(field + "--a B--", boundary)),
                HasSubstr("name a boundary of 1 to 70 bytes"))
        << boundary;
  EXPECT_THAT(
      refusal(parse_libretranslate,
              multipart_request("--a B\r\nContent-Disposition: form-data; name=\"q\"; filename=\"x.txt\"\r\n\r\na"
                                "\r\n--a B--")),
      HasSubstr("files go to /translate_file"));
  std::string many;
  for (int i = 0; i < 200; ++i)
    many += "--a B\r\nContent-Disposition: form-data; name=\"" + std::to_string(i) + "\"\r\n\r\na\r\n";
  EXPECT_THAT(refusal(parse_libretranslate, multipart_request(many + "--a B--")), HasSubstr("100 parameters at most"));
}

TEST(V1Request, RefusesWhatDoesNotGoTogether) {
  const auto refused = [](const std::string& more) { return refusal(parse_v1, json_request(v1_with(more))); };
  EXPECT_THAT(refused(R"("alternatives":2,"sampling":{})"), HasSubstr("exclude each other"));
  EXPECT_THAT(refused(R"("prefix":["x","y"])"), HasSubstr("2 prefixes were given for 1 texts"));
  EXPECT_THAT(refused(R"("prefix":"x","split_sentences":true)"), HasSubstr("without split_sentences"));
  EXPECT_THAT(refused(R"("format":"html","stream":true)"), HasSubstr("needs plain text"));
  EXPECT_EQ(refusal(parse_v1, form_request("text=a")), "415 send JSON, with Content-Type: application/json");
}

TEST(V1Request, SearchesAsTheModelSaysWhereTheRequestSaysNothing) {
  SearchOptions of_model;
  of_model.beam_size = 6;
  of_model.length_penalty = LengthPenalty::power;
  of_model.length_alpha = 1;
  ApiRequest request = parse_v1(json_request(v1_with(R"("beam_size":2,"num_hypotheses":3)")), small_limits());
  request.search_as(of_model);
  EXPECT_EQ(request.options.search.beam_size, 3);
  EXPECT_EQ(request.options.search.length_penalty, LengthPenalty::power);
  EXPECT_EQ(request.options.search.length_alpha, 1);
  const std::string key = request.key;
  request.search_as({});
  EXPECT_NE(request.key, key);
  ApiRequest plain = parse_libretranslate(form_request("q=a&source=en&target=de&alternatives=1"), small_limits());
  plain.search_as(of_model);
  EXPECT_EQ(plain.options.search.beam_size, 6);
  EXPECT_EQ(plain.options.search.num_hypotheses, 2);
  of_model.beam_size = 100;
  plain.search_as(of_model);
  EXPECT_EQ(plain.options.search.beam_size, 8) << "the server's limit";
}

TEST(V1Request, MayShareABatchOnlyWhereAllOptionsAreEqual) {
  const auto key = [](const std::string& more) { return parse_v1(json_request(v1_with(more)), {}).key; };
  const std::string plain = key(R"("beam_size":4)");
  EXPECT_EQ(plain, parse_v1(json_request(R"({"text":"b","source":"en","target":"de"})"), {}).key);
  for (const char* more :
       {R"("beam_size":3)", R"("num_hypotheses":2)", R"("length_alpha":0.61)", R"("coverage_beta":0.1)",
        R"("no_repeat_ngram":2)", R"("min_length":1)", R"("max_extra_length":49)", R"("alignments":true)",
        R"("alternatives":1)", R"("format":"tags")", R"("sampling":{})", R"("sampling":{"seed":2})",
        R"("glossary":[{"source":"a","target":"b"}])"})
    EXPECT_NE(key(more), plain) << more;
  EXPECT_NE(key(R"("glossary":[{"source":"a","target":"b=c"}])"), key(R"("glossary":[{"source":"a=b","target":"c"}])"));
}

// Keeps the answer.
class KeptExchange : public HttpExchange {
 public:
  explicit KeptExchange(HttpRequest request) : request_(std::move(request)) {}
  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override {
    answer = std::move(response);
    thread.set_value(std::this_thread::get_id());
  }
  void begin_stream(HttpResponse /*head*/) override {}
  void write(std::string /*chunk*/) override {}
  bool is_writing() const override { return false; }
  void end() override {}
  bool is_abandoned() const override { return false; }

  HttpResponse answer;
  std::promise<std::thread::id> thread;  // that answers

 private:
  const HttpRequest request_;
};

// An Api with a model of one language pair.
class AnApi : public ::testing::Test {
 protected:
  void start(const ApiOptions& options = {}) { api_.emplace(models_, keys_, batcher_, metrics_, options); }
  std::shared_ptr<KeptExchange> send(const HttpRequest& request) {
    const auto exchange = std::make_shared<KeptExchange>(request);
    api_->handle(exchange);
    return exchange;
  }
  static TranslatorOptions one_thread() {
    TranslatorOptions options;
    options.threads = 1;
    return options;
  }

  const TinyModelFolder folder_;
  Models models_{{ModelSource{"en", "de", folder_.path()}}, one_thread(), ""};
  const CurrentApiKeys keys_{""};
  Metrics metrics_;
  Batcher batcher_{BatcherOptions{}};
  std::optional<Api> api_;
};

HttpRequest get_request(const std::string& path) {
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  return request;
}

TEST_F(AnApi, AsksTheClientToTryAgainWhereThereIsNotEnoughMemory) {
  Json logged;
  ApiOptions options;
  options.log = [&](const Json& entry) { logged = entry; };
  start(options);
  api_->set_statistics([]() -> HttpStatistics { throw std::bad_alloc(); });
  const auto exchange = send(get_request("/metrics"));
  EXPECT_EQ(exchange->answer.status, 503);
  EXPECT_THAT(exchange->answer.body, HasSubstr("not enough memory"));
  EXPECT_EQ(logged["failure"], "there is not enough memory");
}

HttpRequest file_request() {
  HttpRequest request = multipart_request(
      "--a B\r\nContent-Disposition: form-data; name=source\r\n\r\nen\r\n"
      "--a B\r\nContent-Disposition: form-data; name=target\r\n\r\nde\r\n"
      "--a B\r\nContent-Disposition: form-data; name=file; filename=a.docx\r\n\r\nPK\r\n--a B--");
  request.path = "/v1/documents";
  return request;
}

TEST_F(AnApi, OpensFilesOnTheThreadsOfTheBatcher) {
  start();
  const auto exchange = send(file_request());
  EXPECT_NE(exchange->thread.get_future().get(), std::this_thread::get_id()) << "the network's thread must not wait";
  EXPECT_EQ(exchange->answer.status, 400);
  EXPECT_THAT(exchange->answer.body, HasSubstr("Invalid request: the file"));
}

HttpRequest large_request(const std::string& path) {
  HttpRequest request = json_request("[" + std::string(8 * 1024, ' ') + "]");
  request.path = path;
  return request;
}

TEST_F(AnApi, ReadsLargeBodiesOnTheThreadsOfTheBatcher) {
  start();
  for (const char* path : {"/translate", "/v1/translate", "/detect"}) {
    const auto exchange = send(large_request(path));
    EXPECT_NE(exchange->thread.get_future().get(), std::this_thread::get_id()) << path;
    EXPECT_EQ(exchange->answer.status, 400);
    EXPECT_THAT(exchange->answer.body, HasSubstr("the body must be a JSON object"));
  }
}

TEST_F(AnApi, PreparesManyTextsAndTokensOnTheThreadsOfTheBatcher) {
  start();
  std::string ligatures;
  for (int i = 0; i < 1000; ++i) ligatures += "\uFDFA";  // 33 bytes once they are normalized
  for (const auto& [texts, is_small] : std::vector<std::pair<Json, bool>>{
           {std::vector<std::string>(50, "a"), true}, {std::vector<std::string>(51, "a"), false}, {ligatures, false}}) {
    HttpRequest request = json_request(Json{{"q", texts}, {"source", "en"}, {"target", "xx"}}.dump());
    request.path = "/translate";
    const auto exchange = send(request);
    EXPECT_EQ(exchange->thread.get_future().get() == std::this_thread::get_id(), is_small);
    EXPECT_EQ(exchange->answer.body, R"({"error":"xx is not supported"})");
  }
}

TEST_F(AnApi, CountsTheRequestsOfAnAddressBeforeItReadsThem) {
  ApiOptions options;
  options.requests_per_client = 1;
  start(options);
  std::promise<void> release;
  ASSERT_TRUE(batcher_.run([released = release.get_future().share()] { released.wait(); }, 1));
  const auto first = send(large_request("/translate")), second = send(large_request("/translate"));
  EXPECT_EQ(second->answer.status, 429) << "while the first waits";
  release.set_value();
  first->thread.get_future().wait();
  EXPECT_EQ(first->answer.status, 400) << "counted once, and read";
  const auto third = send(large_request("/translate"));
  third->thread.get_future().wait();
  EXPECT_EQ(third->answer.status, 400) << "none is under way";
}

TEST_F(AnApi, CountsTheRequestsOfAKeyBeforeItReadsThemAndOthersByTheirAddress) {
  const TemporaryFolder folder;
  const std::string secret = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";  // SHA-256
  write_text(folder / "keys", secret + " alice\n");
  const CurrentApiKeys keys(folder / "keys");
  ApiOptions options;
  options.requests_per_client = 1;
  api_.emplace(models_, keys, batcher_, metrics_, options);
  std::promise<void> release;
  ASSERT_TRUE(batcher_.run([released = release.get_future().share()] { released.wait(); }, 1));
  const auto send_with = [&](const std::string& key, const Json& body) {
    HttpRequest request = json_request(std::string(8 * 1024, ' ') + body.dump());
    request.path = "/translate";
    if (!key.empty()) request.headers["authorization"] = "Bearer " + key;
    return send(request);
  };
  const Json valid{{"q", "a"}, {"source", "en"}, {"target", "xx"}, {"api_key", "secret"}};
  const auto of_key = send_with("secret", "no object"), of_address = send_with("", valid);
  EXPECT_EQ(send_with("secret", valid)->answer.status, 429) << "while the first one of its key waits";
  EXPECT_EQ(send_with("wrong", valid)->answer.status, 429) << "while the first one of its address waits";
  release.set_value();
  of_key->thread.get_future().wait();
  of_address->thread.get_future().wait();
  EXPECT_EQ(of_key->answer.status, 400);
  EXPECT_EQ(of_address->answer.body, R"({"error":"xx is not supported"})") << "its key is in its body";
}

TEST_F(AnApi, AsksTheClientToTryAgainWhereAFileWaitedTooLongToBeOpened) {
  ApiOptions options;
  options.request_seconds = 0;
  start(options);
  const auto exchange = send(file_request());
  exchange->thread.get_future().wait();
  EXPECT_EQ(exchange->answer.status, 503);
  EXPECT_THAT(exchange->answer.body, HasSubstr("too many texts wait to be translated; try again later"));
}

TEST_F(AnApi, LogsItsOwnFailuresEvenWhereItLogsNoRequests) {
  std::vector<std::string> logged;
  ApiOptions options;
  options.log = [&](const Json& entry) { logged.push_back(entry["path"]); };
  options.log_failures_only = true;
  start(options);
  api_->set_statistics([]() -> HttpStatistics { throw std::runtime_error("no figures"); });
  for (const char* path : {"/health", "/nowhere", "/metrics"}) send(get_request(path));
  EXPECT_THAT(logged, ElementsAre("/metrics"));
}

// The bound holds for each character, and is close for letters.
TEST(RequestCost, BoundsTheBytesOfANormalizedText) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* const normalizers[] = {icu::Normalizer2::getNFKCInstance(error),
                                                 icu::Normalizer2::getNFKCCasefoldInstance(error)};
  ASSERT_TRUE(U_SUCCESS(error));
  for (UChar32 code = 1; code <= 0x10FFFF; ++code) {
    if (U_IS_SURROGATE(code)) continue;
    const icu::UnicodeString character(code);
    std::string text;
    const size_t most = most_normalized_bytes(character.toUTF8String(text));
    for (const icu::Normalizer2* normalizer : normalizers) {
      std::string normalized;
      normalizer->normalize(character, error).toUTF8String(normalized);
      ASSERT_LE(normalized.size(), most) << "U+" << std::hex << code;
    }
  }
  for (const std::string text : {"red house", "красный дом", "红房子", "붉은 집"})
    EXPECT_EQ(most_normalized_bytes(text), text.size());
  EXPECT_EQ(most_normalized_bytes("\uFDFA"), 33U);
}

TEST(LibreTranslateAnswer, HasEachAlternativeOnceAndNotTheTranslation) {
  ApiRequest request;
  request.alternatives = 4;
  Translation translation;
  for (const char* text : {"09:16", "09:36", "09:16", "09:26", "09:36"}) {
    translation.hypotheses.emplace_back();
    translation.hypotheses.back().text = text;
  }
  const Json answer = libretranslate_answer(request, {{Document("9:16 AM")}, {{translation}}});
  EXPECT_EQ(answer["translatedText"], "09:16");
  EXPECT_EQ(answer["alternatives"], (Json{"09:36", "09:26"}));
}

}  // namespace
}  // namespace transmute::testing
