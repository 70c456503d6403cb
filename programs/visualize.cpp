// SPDX-License-Identifier: Apache-2.0
// visualize: a page that shows what a model attends to. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/progress.h>
#include <transmute/examples/explorer/page.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/model_store.h>
#include <transmute/libtorch/device.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/threading.h>
#include <transmute/model/module_weights.h>
#include <transmute/model/transformer.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/stream_flags.h>
#include <transmute/programs/shared/translator_flags.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Arguments {
  std::string model;
  std::string device = "cpu";
  std::string precision = "float32";
  std::string input;
  std::string target;
  std::string output;
  transmute::ExplorerOptions explorer;
};

std::vector<transmute::ExplorerSentence> read_sentences(const Arguments& arguments) {
  // One too many is enough to know that there are too many.
  const size_t most = static_cast<size_t>(arguments.explorer.max_sentences) + 1;
  std::vector<transmute::ExplorerSentence> sentences;
  for (auto& line : transmute::read_input_lines(arguments.input, most)) sentences.push_back({std::move(line)});
  if (sentences.empty())
    throw std::runtime_error(transmute::input_name(arguments.input) + ": is empty; there is nothing to show");
  if (arguments.target.empty()) return sentences;
  const std::vector<std::string> targets = transmute::read_input_lines(arguments.target, most);
  if (targets.size() != sentences.size())
    throw std::runtime_error(
        fmt::format("{} and {} have different numbers of lines; line n of one must translate line "
                    "n of the other",
                    transmute::input_name(arguments.input), transmute::input_name(arguments.target)));
  for (size_t i = 0; i < targets.size(); ++i) sentences[i].target = targets[i];
  return sentences;
}

std::runtime_error at_its_line(const transmute::UnshownText& text, const Arguments& arguments,
                               const std::string& remedy) {
  const bool is_source = text.side() == transmute::UnshownText::Side::source;
  return std::runtime_error(fmt::format("{}:{}: {}; {}",
                                        transmute::input_name(is_source ? arguments.input : arguments.target),
                                        text.sentence() + 1, text.reason(), remedy));
}

// The model's modules on the device, in eval mode.
transmute::Transformer network_of(const transmute::LoadedModel& model, const Arguments& arguments) {
  const torch::Device device = transmute::parse_device(arguments.device);
  const transmute::Precision precision = transmute::precision_from_name(arguments.precision);
  if (device.is_cpu() && precision == transmute::Precision::half)
    throw std::invalid_argument("--precision half is for GPUs; on a CPU take bfloat16 or float32");
  transmute::Transformer network = transmute::make_transformer(model.weights, device);
  if (precision == transmute::Precision::float32) return network;
  network = transmute::replica_of(network, torch::TensorOptions(device).dtype(transmute::dtype_of(precision)));
  network->eval();
  return network;
}

std::string page_of(const std::vector<transmute::ExplorerSentence>& sentences, const Arguments& arguments) {
  const auto model = transmute::load_model(arguments.model, transmute::Architecture::encoder_decoder);
  try {
    return transmute::explorer_page(model, network_of(model, arguments), sentences, arguments.explorer);
  } catch (const transmute::UnshownLongText& text) {
    throw at_its_line(
        text, arguments,
        "shorten it, or raise --max-tokens as far as the model's positions allow (the page grows with the "
        "square of the length)");
  } catch (const transmute::UnshownText& text) {
    throw at_its_line(text, arguments, "leave the sentence out");
  } catch (const transmute::BadText& text) {
    throw std::runtime_error(
        fmt::format("{}:{}: {}", transmute::input_name(arguments.input), text.text() + 1, text.reason()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Writes an HTML page that shows the attention of every head, sentence by sentence, with the positional encodings "
      "and the embeddings. The page works offline.",
      "visualize");
  app.footer("head -n 5 test.en | {} -m runs/demo/model -o attention.html");
  Arguments arguments;
  auto& explorer = arguments.explorer;
  transmute::add_model_flag(app, arguments.model);
  transmute::add_device_flag(app, arguments.device);
  app.add_option("--precision", arguments.precision, "number format of weights and matrix products; half is for GPUs")
      ->check(transmute::one_of({"float32", "bfloat16", "half"}))
      ->capture_default_str();
  app.add_option("-i,--input", arguments.input,
                 "sentences, one per line, plain or gzipped; by default, or with -, standard input")
      ->type_name("FILE");
  app.add_option("--target", arguments.target, "translations to show instead of the model's own")->type_name("FILE");
  transmute::add_output_flag(app, arguments.output)->description("the page to write; -: standard output")->required();
  app.add_option("-b,--beam-size", explorer.search.beam_size, "beam size of the search")
      ->check(transmute::at_least(1))
      ->capture_default_str();
  app.add_option("--length-alpha", explorer.search.length_alpha, "exponent of the length penalty")
      ->check(transmute::between(0, transmute::kMostLengthAlpha))
      ->capture_default_str();
  app.add_option("--max-sentences", explorer.max_sentences, "maximum number of sentences")
      ->check(transmute::at_least(1))
      ->capture_default_str();
  app.add_option("--max-tokens", explorer.max_tokens,
                 "maximum length of a sentence or of a translation in --target; the page grows with its square")
      ->check(transmute::at_least(1))
      ->capture_default_str();
  app.add_option("--map-tokens", explorer.map_tokens, "number of tokens on the map of embeddings")
      ->check(transmute::at_least(0))
      ->capture_default_str();
  transmute::add_language_flags(app, explorer.source_language, explorer.target_language);
  return transmute::run_program(app, argc, argv, [&] {
    transmute::configure_process_for_workers();
    const std::vector<transmute::NamedInput> inputs{{"--input", arguments.input.empty() ? "-" : arguments.input},
                                                    {"--target", arguments.target}};
    transmute::check_standard_input_once(inputs);
    transmute::check_output_is_no_input(arguments.output, inputs);
    transmute::check_output_is_no_input(arguments.output, {{"--model", transmute::model_path(arguments.model)}});
    const auto sentences = read_sentences(arguments);
    explorer.title = arguments.model;
    const std::string page = page_of(sentences, arguments);
    transmute::Output output(arguments.output);
    output.write(page);
    output.finish();
    const bool is_file = !transmute::is_standard_stream(arguments.output);
    transmute::note(fmt::format("wrote {} ({}, {} KiB)", is_file ? arguments.output : "the page to standard output",
                                transmute::counted(static_cast<int64_t>(sentences.size()), "sentence"),
                                transmute::format_count(static_cast<int64_t>(page.size() / 1024))));
    return 0;
  });
}
