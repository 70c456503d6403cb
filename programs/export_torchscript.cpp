// SPDX-License-Identifier: Apache-2.0
// export_torchscript: a model as one file for LibTorch and PyTorch. See --help.

#include <transmute/common/progress.h>
#include <transmute/programs/flag_values.h>
#include <transmute/programs/program.h>
#include <transmute/translation/torchscript.h>

#include <filesystem>

int main(int argc, char** argv) {
  CLI::App app(
      "Writes a model as one TorchScript file that LibTorch (torch::jit::load) and PyTorch (torch.jit.load) run by "
      "themselves: weights, beam search (of a language model: sampling and greedy search), tokenizer, config.",
      "export_torchscript");
  app.footer("{} -m runs/demo/model -o model.pt");
  std::string model;
  std::string output;
  std::string precision = "float32";
  app.add_option("-m,--model", model, "a model folder, as train makes it, or an exported file")
      ->type_name("MODEL")
      ->required();
  app.add_option("-o,--output", output, "the file to write")->type_name("FILE")->required();
  app.add_option("--precision", precision, "of the weights: float32, bfloat16, or half, which is for GPUs")
      ->check(transmute::one_of({"float32", "bfloat16", "half"}))
      ->capture_default_str();
  return transmute::run_program(app, argc, argv, [&] {
    transmute::export_torchscript(model, output, {transmute::precision_from_name(precision)});
    const auto kibibytes = static_cast<int64_t>(std::filesystem::file_size(output) / 1024);
    transmute::note("wrote " + output + " (" + transmute::format_count(kibibytes) + " KiB)");
    return 0;
  });
}
