// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/routes.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/ascii_case.h>
#include <transmute/serving/detection.h>

#include <map>
#include <set>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// A language's code as the models' owner writes it.
std::string known_language(const ModelSet& models, const std::string& code) {
  std::string language = models.language(code);
  if (language.empty()) throw ApiError(400, quotable(code) + " is not supported");
  return language;
}

// The request's options are for the last model of the route; those before it translate by themselves.
std::shared_ptr<const TaskRoute> route_from(const std::string& source, const ModelSet& models, ApiRequest& request) {
  TaskRoute route;
  route.source = source;
  TranslationOptions plain;
  plain.inline_tags = request.options.inline_tags;
  plain.split_sentences = request.options.split_sentences =
      SentenceSplitting::never;  // segments are what documents say
  plain.guard = request.options.guard;
  plain.protect = request.options.protect;
  if (source != request.target) {
    route.models = models.route(source, request.target);
    if (route.models.empty())
      throw ApiError(400, fmt::format("{} is not supported as a target of {}", request.target, source));
    const ModelSet::Hop &first = route.models.front(), &last = route.models.back();
    plain.source_language = first.source_language;
    plain.target_language = first.target_language;
    plain.search = first.model->default_search();
    request.options.source_language = last.source_language;
    request.options.target_language = last.target_language;
    request.search_as(last.model->default_search());
  }
  route.options = std::make_shared<const SegmentOptions>(SegmentOptions{request.options, request.key});
  route.earlier_options = std::make_shared<const SegmentOptions>(SegmentOptions{plain, key_of(plain)});
  return std::make_shared<const TaskRoute>(std::move(route));
}

}  // namespace

std::vector<std::string> languages_to_detect(const ModelSet& models, const std::string& target) {
  std::vector<std::string> first, others;
  for (const auto& [code, targets] : models.targets()) {
    const bool leads_there = target.empty() ? targets.size() > 1 : code != target && targets.count(target) != 0;
    (leads_there ? first : others).push_back(code);
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

namespace {

constexpr double kSure = 80, kLikely = 50;  // percent

// The language of one text of several. Where the text by itself says too little, it is the one of all texts together,
// unless the text is likely to be in other ones. Its confidence stays that of the text by itself.
DetectedLanguage language_among(const std::vector<DetectedLanguage>& candidates, const DetectedLanguage& common,
                                const std::set<std::string>& with_models) {
  const DetectedLanguage& best = candidates.front();
  const bool is_served = with_models.count(best.code) > 0;
  if (is_served && best.confidence >= kSure) return best;
  double all = 0;
  for (const DetectedLanguage& candidate : candidates) {
    if (candidate.code == common.code) return candidate;
    all += candidate.confidence;
  }
  return is_served && all >= kLikely ? best : DetectedLanguage{common.code, 0};
}

std::vector<DetectedLanguage> detect_languages(const ModelSet& models, const ApiRequest& request) {
  const std::vector<std::string> languages = languages_to_detect(models, request.target);
  const auto detect = [&](const std::string& text) {
    return detect_language(text, languages, request.format == TextFormat::html);
  };
  if (request.texts.size() == 1) return {detect(request.texts.front()).front()};
  std::set<std::string> with_models;
  for (const auto& [code, targets] : models.targets())
    if (targets.count(request.target) > 0) with_models.insert(code);
  const DetectedLanguage common = detect(fmt::format("{}", fmt::join(request.texts, "\n"))).front();
  std::vector<DetectedLanguage> detected;
  for (const std::string& text : request.texts) detected.push_back(language_among(detect(text), common, with_models));
  return detected;
}

}  // namespace

TextRoutes routes_of(const ModelSet& models, ApiRequest& request, ApiResult& result) {
  const bool is_detected = lower_case(request.source) == "auto";
  if (!is_detected) request.source = known_language(models, request.source);
  request.target = known_language(models, request.target);
  if (is_detected) {
    result.detected = detect_languages(models, request);
    request.source =
        result.detected.empty() ? languages_to_detect(models, request.target).front() : result.detected.front().code;
  }
  std::map<std::string, std::shared_ptr<const TaskRoute>> by_source;
  TextRoutes routes;
  for (size_t i = 0; i < request.texts.size(); ++i) {
    const std::string& source = is_detected ? result.detected[i].code : request.source;
    std::shared_ptr<const TaskRoute>& route = by_source[source];
    if (!route) route = route_from(source, models, request);
    routes.push_back(route);
  }
  if (routes.empty()) route_from(request.source, models, request);  // refuses languages for an empty list, too
  return routes;
}

}  // namespace v0
}  // namespace transmute
