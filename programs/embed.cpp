// SPDX-License-Identifier: Apache-2.0
// embed: vectors of sentences and tokens, from the encoder. See --help.

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/json.h>
#include <transmute/common/memory.h>
#include <transmute/common/progress.h>
#include <transmute/formats/model_store.h>
#include <transmute/programs/shared/bad_text.h>
#include <transmute/programs/shared/cut_lines.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_output.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/stream_flags.h>
#include <transmute/programs/shared/translator_flags.h>
#include <transmute/translation/text_encoder.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace {

struct Arguments {
  std::string model;
  std::string precision = "float32";
  transmute::TranslatorOptions opened_with;
  transmute::StreamFlags streams;
  std::string per = "sentence";
  std::string format = "json";
  bool normalize = false;
  transmute::TextEncoderOptions encoder;
};

// The vectors of all tokens of a block are held at once.
constexpr size_t kBlockLines = 1024, kBlockLinesByToken = 64;

// A vector [D] at `values`.
struct Vector {
  const float* values;
  size_t width;
};

// Scaled to length 1, but for zeros.
std::vector<float> normalized(const Vector& vector) {
  double squares = 0;
  for (size_t i = 0; i < vector.width; ++i) squares += static_cast<double>(vector.values[i]) * vector.values[i];
  const double length = std::max(std::sqrt(squares), 1e-12);
  std::vector<float> scaled;
  for (size_t i = 0; i < vector.width; ++i) scaled.push_back(static_cast<float>(vector.values[i] / length));
  return scaled;
}

std::vector<float> wanted(const Vector& vector, const Arguments& arguments) {
  return arguments.normalize ? normalized(vector) : std::vector<float>(vector.values, vector.values + vector.width);
}

// Shortest digits that read back as the same float32.
std::string json_of(const std::vector<float>& vector) {
  return fmt::format("[{}]", fmt::join(vector, ","));
}

std::string json_line(const transmute::TextVectors& text, const Arguments& arguments) {
  const size_t width = text.mean.size();
  if (arguments.per == "sentence")
    return fmt::format("{{\"vector\":{}}}\n", json_of(wanted({text.mean.data(), width}, arguments)));
  std::string vectors;
  for (size_t at = 0; at < text.vectors.size(); at += width)
    vectors += (at == 0 ? "" : ",") + json_of(wanted({&text.vectors[at], width}, arguments));
  return fmt::format("{{\"tokens\":{},\"vectors\":[{}]}}\n", transmute::json_text(text.tokens), vectors);
}

// NumPy's format 1.0: a header whose length, with the ten bytes before it, is a multiple of 64; then the rows.
std::string npy_header(int64_t rows, int64_t columns) {
  std::string description =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  description.append(63 - (10 + description.size()) % 64, ' ');
  description += '\n';
  const auto length = static_cast<uint16_t>(description.size());
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 255U) + static_cast<char>(length >> 8) +
         description;
}

std::string bytes_of(const std::vector<float>& row) {
  return {reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float)};
}

// Refuses what an array cannot be.
void check_npy(const Arguments& arguments) {
  if (arguments.per == "token")
    throw std::invalid_argument("--format npy holds one vector for each line; --per token needs --format json");
  if (transmute::is_standard_stream(arguments.streams.output))
    throw std::invalid_argument("--format npy needs --output FILE: its header, which counts the lines, comes first");
  if (arguments.streams.resumes)
    throw std::invalid_argument("--format npy cannot be combined with --continue: an array is whole or not at all");
}

int embed(const Arguments& arguments, const std::vector<std::string>& facts) {
  const bool npy = arguments.format == "npy";
  if (npy) check_npy(arguments);
  transmute::TextEncoderOptions options = arguments.encoder;
  options.token_vectors = arguments.per == "token";
  transmute::check_output_is_no_input(arguments.streams.output, {{"--model", transmute::model_path(arguments.model)}});
  transmute::TranslatorOptions opened_with = arguments.opened_with;
  opened_with.precision = transmute::precision_from_name(arguments.precision);
  const transmute::TextEncoder encoder(arguments.model, opened_with);
  encoder.encode({}, options);  // fails before the first line arrives if it cannot be done
  const transmute::BlockSource next_block = arguments.streams.open();
  int64_t lines = 0;  // lines so far, including those of an earlier run
  transmute::CutLines cut_lines(options.max_source_tokens);
  std::vector<std::vector<float>> rows;  // rows of an npy file, whose header comes first and counts them
  const auto encode_all = [&](const auto& write) {
    while (true) {
      std::vector<std::string> block = next_block(options.token_vectors ? kBlockLinesByToken : kBlockLines);
      if (block.empty()) break;
      const auto [results, refusal] =
          transmute::results_before_bad_text(block, [&] { return encoder.encode(block, options); });
      std::string text;
      for (const auto& vectors : results) {
        ++lines;
        cut_lines.add(vectors.parts, vectors.tokens.size());
        if (npy) {
          rows.push_back(wanted({vectors.mean.data(), vectors.mean.size()}, arguments));
        } else {
          text += json_line(vectors, arguments);
        }
      }
      write(text, block);
      if (!refusal.empty())
        throw transmute::BadLine(
            fmt::format("{}:{}: {}", transmute::input_name(arguments.streams.input), lines + 1, refusal));
    }
  };
  if (npy) {
    transmute::Output output(arguments.streams.output);
    encode_all([](const std::string&, const std::vector<std::string>&) {});
    output.write(npy_header(lines, encoder.d_model()));
    for (const auto& row : rows) output.write(bytes_of(row));
    output.finish();
  } else {
    transmute::LineOutput output(arguments.streams.output, facts, arguments.streams.resumes);
    output.finish_after([&] {
      output.skip_finished(next_block);
      lines = output.finished_lines();
      encode_all([&](const std::string& text, const std::vector<std::string>& block) {
        output.write(text, block, block.size());
      });
    });
  }
  if (cut_lines.count() > 0)
    transmute::note(fmt::format("{} of {} {}; encoded in parts", transmute::format_count(cut_lines.count()),
                                transmute::counted(lines, "line"), cut_lines.reason()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Writes sentence embeddings from a model's encoder, one JSON object per line: the mean over a line's tokens, or "
      "one vector per token.",
      "embed");
  app.footer("{} -m runs/demo/model -i test.en -o test.json --normalize");
  Arguments arguments;
  transmute::add_model_flag(app, arguments.model);
  transmute::add_device_flag(app, arguments.opened_with.device);
  app.add_option("--precision", arguments.precision,
                 "number format of weights and matrix products; int8 is for CPUs, half for GPUs")
      ->check(transmute::one_of({"float32", "bfloat16", "int8", "half"}))
      ->capture_default_str();
  transmute::add_threads_flag(app, arguments.opened_with.threads);
  arguments.streams.add_to(app);
  app.add_option("--per", arguments.per,
                 "sentence: one vector per line, zeros for an empty line; token: one vector per token")
      ->check(transmute::one_of({"sentence", "token"}))
      ->capture_default_str();
  app.add_option("--format", arguments.format,
                 "json: one object per line; npy: a NumPy array of float32, one row per line; needs --output")
      ->check(transmute::one_of({"json", "npy"}))
      ->capture_default_str();
  app.add_flag("--normalize", arguments.normalize, "scale each vector to length 1, so that dot products are cosines");
  transmute::add_batch_flags(app, arguments.encoder.batch_size, arguments.encoder.batch_tokens);
  app.add_option("--max-source-tokens", arguments.encoder.max_source_tokens,
                 "longer lines are encoded in parts, cut at sentence, clause or word boundaries")
      ->check(transmute::at_least(1))
      ->capture_default_str();
  transmute::add_language_flags(app, arguments.encoder.source_language, arguments.encoder.target_language);
  return transmute::run_program(app, argc, argv, [&] {
    transmute::keep_freed_memory();
    return embed(arguments, transmute::run_facts(app));
  });
}
