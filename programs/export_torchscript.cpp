// SPDX-License-Identifier: Apache-2.0
// export_torchscript: a model as one file for LibTorch and PyTorch. See --help.

#include <transmute/common/progress.h>
#include <transmute/programs/flag_values.h>
#include <transmute/programs/program.h>
#include <transmute/translation/torchscript.h>

#include <filesystem>

int main(int argc, char** argv) {
  CLI::App app(
      "Writes a model as a single TorchScript file for LibTorch (torch::jit::load) and PyTorch (torch.jit.load). It "
      "contains the weights, beam search (for language models: sampling and greedy search), the tokenizer and the "
      "config.",
      "export_torchscript");
  app.footer("{} -m runs/demo/model -o model.pt");
  std::string model;
  std::string output;
  std::string precision = "float32";
  app.add_option("-m,--model", model, "a model folder written by train, or an exported file")
      ->type_name("MODEL")
      ->required();
  app.add_option("-o,--output", output, "output file")->type_name("FILE")->required();
  app.add_option("--precision", precision, "number format of the weights; half is for GPUs")
      ->check(transmute::one_of({"float32", "bfloat16", "half"}))
      ->capture_default_str();
  return transmute::run_program(app, argc, argv, [&] {
    transmute::export_torchscript(model, output, {transmute::precision_from_name(precision)});
    const auto kibibytes = static_cast<int64_t>(std::filesystem::file_size(output) / 1024);
    transmute::note("wrote " + output + " (" + transmute::format_count(kibibytes) + " KiB)");
    return 0;
  });
}
