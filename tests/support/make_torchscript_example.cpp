// SPDX-License-Identifier: Apache-2.0
// make_torchscript_example FOLDER [MODEL TEXT BEAM_SIZE BATCH_SIZE]
// What the consumers are tested with: FOLDER/model.pt, sources.txt (token ids, one sentence a line) and expected.txt
// (the ids that the native search finds). The model is a small random one, or MODEL on the lines of TEXT.

#include <transmute/common/files.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/export/torchscript.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <numeric>

namespace transmute {
namespace {

using testing::modules_of;

std::string line_of(const Ids& ids) {
  std::string line;
  for (const int64_t id : ids) {
    if (!line.empty()) line += ' ';
    line += std::to_string(id);
  }
  return line + '\n';
}

// The longest first, as the translator and the script batch them.
std::vector<Ids> best_of(const Transformer& transformer, const std::vector<Ids>& sources, int64_t beam_size,
                         size_t batch_size) {
  std::vector<size_t> order(sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sources[a].size() > sources[b].size(); });
  SearchOptions options;
  options.beam_size = beam_size;
  std::vector<Ids> best(sources.size());
  for (size_t first = 0; first < order.size(); first += batch_size) {
    std::vector<Ids> batch;
    const size_t count = std::min(batch_size, order.size() - first);
    for (size_t i = 0; i < count; ++i) batch.push_back(sources[order[first + i]]);
    const auto found = beam_search(TransformerStepModel(transformer, torch::kCPU), batch, options);
    for (size_t i = 0; i < count; ++i) best[order[first + i]] = found[i].front().ids;
  }
  return best;
}

void make_example(const std::string& folder, const std::string& model_path, const std::vector<std::string>& lines,
                  int64_t beam_size, size_t batch_size) {
  const LoadedModel model = load_model(model_path);
  export_torchscript(model_path, folder + "/model.pt");
  std::vector<Ids> sources;
  std::string source_text;
  for (const auto& line : lines) {
    sources.push_back(model.tokenizer.source().encode(line));
    source_text += line_of(sources.back());
  }
  write_file_atomically(folder + "/sources.txt", source_text);
  const std::clock_t start = std::clock();
  const std::vector<Ids> best = best_of(modules_of(model), sources, beam_size, batch_size);
  std::cerr << "native search: " << static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC << " s of CPU\n";
  std::string expected;
  for (const auto& ids : best) expected += line_of(ids);
  write_file_atomically(folder + "/expected.txt", expected);
}

}  // namespace
}  // namespace transmute

int main(int argc, char** argv) {
  using namespace transmute;
  const std::string folder = argv[1];
  at::set_num_threads(1);
  if (argc > 5) {
    make_example(folder, argv[2], testing::split_lines(testing::read_text(argv[3])), std::stoll(argv[4]),
                 std::stoull(argv[5]));
    return 0;
  }
  const Tokenizer tokenizer = testing::tiny_tokenizer();
  ensure_writable_folder(folder + "/model");
  save_model_folder(folder + "/model", testing::tiny_config(), tokenizer,
                    weights_of(testing::tiny_transformer(tokenizer, 5)));
  make_example(folder, folder + "/model", testing::tiny_english(), 4, 64);
  return 0;
}
