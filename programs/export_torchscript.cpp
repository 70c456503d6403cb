// SPDX-License-Identifier: Apache-2.0
// export_torchscript: a model as one file for LibTorch and PyTorch. See --help.

#include <transmute/programs/program.h>
#include <transmute/translation/torchscript.h>

#include <filesystem>
#include <iostream>

int main(int argc, char** argv) {
  CLI::App app(
      "Writes a model as one TorchScript file that LibTorch (torch::jit::load) and PyTorch (torch.jit.load) run by "
      "themselves: weights, beam search (of a language model: sampling and greedy search), tokenizer, config.",
      "export_torchscript");
  std::string model;
  std::string output;
  std::string precision = "float32";
  app.add_option("--model", model, "a model folder, as train makes it, or an exported file")->required();
  app.add_option("--output", output, "the file to write")->required();
  app.add_option("--precision", precision, "of the weights: float32, bfloat16, or half, which is for GPUs")
      ->check(CLI::IsMember({"float32", "bfloat16", "half"}))
      ->capture_default_str();
  return transmute::run_program(app, argc, argv, [&] {
    transmute::export_torchscript(model, output, {transmute::precision_from_name(precision)});
    std::cerr << "export_torchscript: wrote " << output << " (" << std::filesystem::file_size(output) / 1024
              << " KiB)\n";
    return 0;
  });
}
