// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/metrics/bleu.h>
#include <transmute/metrics/bootstrap.h>
#include <transmute/metrics/chrf.h>
#include <transmute/metrics/ter.h>

#include <string>
#include <vector>

// The metrics as functions of segments, for resampling. Each counts once, however many corpora are scored. Errors as
// for the functions that count.
namespace transmute {
inline namespace v0 {

ScoreOfSegments bleu_of_segments(const std::vector<std::string>& hypotheses,
                                 const std::vector<std::vector<std::string>>& references,
                                 const BleuOptions& options = {});
ScoreOfSegments chrf_of_segments(const std::vector<std::string>& hypotheses,
                                 const std::vector<std::vector<std::string>>& references,
                                 const ChrfOptions& options = {});
ScoreOfSegments ter_of_segments(const std::vector<std::string>& hypotheses,
                                const std::vector<std::vector<std::string>>& references,
                                const TerOptions& options = {});

}  // namespace v0
}  // namespace transmute
