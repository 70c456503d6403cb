// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/serving/api_answer.h>
#include <transmute/serving/api_request.h>
#include <transmute/serving/models.h>
#include <transmute/serving/task.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// One for each text of a request; texts in the same language share theirs.
using TextRoutes = std::vector<std::shared_ptr<const TaskRoute>>;

/// The languages of the models for detect_language, which takes the first where a text tells nothing: those that can be
/// translated, into `target` where it is given, come first.
std::vector<std::string> languages_to_detect(const ModelSet& models, const std::string& target = "");

/// Finds the models and options for the texts of a request. Replaces its language codes with those of the models. If
/// the source language is to be detected, `result` gets the language of each text, and `request.source` the first of
/// them.
/// @throws ApiError for languages that no model translates.
TextRoutes routes_of(const ModelSet& models, ApiRequest& request, ApiResult& result);

}  // namespace v0
}  // namespace transmute
