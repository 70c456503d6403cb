#include <transmute/translation/translator.h>

#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>
#include <transmute/model/threading.h>
#include <transmute/translation/device.h>
#include <transmute/translation/engine.h>
#include <transmute/translation/load_model.h>

#include <mutex>
#include <stdexcept>

namespace transmute {

namespace {

int worker_count(const TranslatorOptions& options, torch::Device device) {
  if (options.threads < 0)
    throw std::invalid_argument(fmt::format("threads must not be negative, not {}", options.threads));
  if (!device.is_cpu()) return 1;
  return options.threads == 0 ? available_cores() : options.threads;
}

}  // namespace

struct Translator::State {
  State(LoadedModel model, torch::Device device, int threads)
      : workers(threads, run_operations_on_this_thread_only),
        engine(std::move(model.transformer), std::move(model.tokenizer), device, workers) {}

  std::mutex turn;
  WorkerCrew workers;
  TranslationEngine engine;
};

Translator::Translator(const std::string& model_folder, const TranslatorOptions& options) {
  const torch::Device device = parse_device(options.device);
  const int threads = worker_count(options, device);
  state_ = std::make_unique<State>(load_model(model_folder, device), device, threads);
}

Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;
Translator& Translator::operator=(Translator&&) noexcept = default;

std::string Translator::translate(const std::string& text, const TranslationOptions& options) const {
  return translate_batch({text}, options).front().hypotheses.front().text;
}

std::vector<Translation> Translator::translate_batch(const std::vector<std::string>& texts,
                                                     const TranslationOptions& options) const {
  const std::lock_guard<std::mutex> turn(state_->turn);
  return state_->engine.translate(texts, options);
}

}  // namespace transmute
