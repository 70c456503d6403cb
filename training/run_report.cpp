// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/run_report.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <torch/version.h>
#include <transmute/common/build_info.h>
#include <transmute/common/progress.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/libtorch/threading.h>

#include <cmath>
#include <string>

namespace transmute {
inline namespace v0 {

namespace {

void warn_of_slowness(const ResolvedOptions& resolved) {
  const bool is_cpu = resolved.device.is_cpu();
  if (const std::string warning = slow_blas_warning(); is_cpu && !warning.empty()) spdlog::warn(warning);
  if (resolved.precision == Precision::bfloat16 && !has_bfloat16(resolved.device))
    spdlog::warn(
        "training.precision is bfloat16, but this {} has no fast instructions for it and emulates them, many times "
        "more slowly than float32: stop, and set it to float32 or auto",
        is_cpu ? "CPU" : "GPU");
}

// The metric's value without its name.
std::string score_value(const TrainState& state) {
  const double score = std::abs(*state.best_score);
  return state.metric == name_of(ValidationMetric::loss) ? fmt::format("{:.4f}", score) : fmt::format("{:.2f}", score);
}

}  // namespace

void log_start(const RunFacts& facts, const TrainState& state) {
  const ResolvedOptions& resolved = facts.resolved;
  spdlog::info("transmute {}, LibTorch {}, device {}, {}, {} kernels, {} products, {} parameters", build_version(),
               TORCH_VERSION, resolved.device.str(), counted(resolved.workers, "thread"),
               kernels::simd_name(kernels::active_simd()), precision_name(resolved.precision),
               format_count(facts.parameters));
  if (facts.ranks.size > 1)
    spdlog::info("{} ({}); a step has {}", counted(facts.ranks.size, "rank"), facts.ranks.origin,
                 counted(facts.batches_per_step, "batch", "batches"));
  warn_of_slowness(resolved);
  if (state.step > 0) spdlog::info("resuming after step {} (epoch {})", format_count(state.step), state.pass());
  if (facts.guidance.weight > 0)
    spdlog::info(
        "decoder layer {}, head {} learns the given alignments; translate and serve will align words and tags with it",
        facts.guidance.layer + 1, facts.guidance.head + 1);
  if (state.batches_per_step > 0 && state.batches_per_step != facts.batches_per_step)
    spdlog::warn("a step had {} and now has {}: ranks times training.accumulate_batches",
                 counted(state.batches_per_step, "batch", "batches"), facts.batches_per_step);
}

std::vector<std::pair<std::string, std::string>> report_facts(const RunFacts& facts, const TrainState& state,
                                                              double seconds, const std::string& final_score,
                                                              const Verdict& verdict) {
  std::vector<std::pair<std::string, std::string>> table{{"step", format_count(state.step)},
                                                         {"epoch", format_count(state.pass())},
                                                         {"target tokens", format_count(state.target_tokens)},
                                                         {"time", format_duration(seconds)}};
  if (!final_score.empty()) table.emplace_back("finished model", final_score);
  for (const auto& [name, bleu] : verdict.scores) table.emplace_back(name, fmt::format("BLEU {:.2f}", bleu));
  if (state.best_score) table.emplace_back("best " + state.metric, score_value(state));
  table.insert(table.end(), {{"parameters", format_count(facts.parameters)},
                             {"training text", format_count(facts.pairs) +
                                                   (facts.config.is_language_model() ? " lines" : " sentence pairs")},
                             {"products", precision_name(facts.resolved.precision)},
                             {"processes", std::to_string(facts.ranks.size)},
                             {"device of each", facts.resolved.device.str()},
                             {"threads of each", std::to_string(facts.resolved.workers)},
                             {"CPU kernels", kernels::simd_name(kernels::active_simd())},
                             {"transmute", build_version()},
                             {"LibTorch", TORCH_VERSION}});
  return table;
}

}  // namespace v0
}  // namespace transmute
