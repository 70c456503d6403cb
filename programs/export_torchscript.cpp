// SPDX-License-Identifier: Apache-2.0
// export_torchscript: a model as one file for LibTorch and PyTorch. See --help.

#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/export/torchscript.h>
#include <transmute/formats/model_config.h>
#include <transmute/formats/model_store.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/program.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

constexpr const char* kTeacherForcing = "teacher_forcing";
constexpr const char* kTranslate = "translate";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Writes a model as a single TorchScript file for LibTorch (torch::jit::load) and PyTorch (torch.jit.load). It "
      "contains the weights, beam search (for language models: sampling and greedy search), the tokenizer and the "
      "config.",
      "export_torchscript");
  app.footer("{} -m runs/demo/model -o model.pt\n{} -m runs/demo/model --triton repository/en-de");
  std::string model;
  std::string output;
  std::string precision = "float32";
  transmute::add_model_flag(app, model);
  const auto file =
      app.add_option("-o,--output", output, "output file")->type_name("FILE")->check(transmute::not_standard_output());
  app.add_option("--precision", precision, "number format of the weights; half is for GPUs")
      ->check(transmute::one_of({"float32", "bfloat16", "half"}))
      ->capture_default_str();
  std::string forward = kTeacherForcing;
  app.add_option(
         "--forward", forward,
         "what forward() of a translation model does: teacher_forcing: (source, target_in) -> logits; translate: "
         "source -> (ids, lengths, scores), for servers that call forward() with tensors alone")
      ->check(transmute::one_of({kTeacherForcing, kTranslate}))
      ->capture_default_str();
  std::string triton;
  app.add_option("--triton", triton,
                 "instead of --output: a model of NVIDIA Triton's model repository, with config.pbtxt and 1/model.pt, "
                 "whose forward() translates")
      ->type_name("FOLDER")
      ->check(transmute::not_standard_output())
      ->excludes(file);
  transmute::TorchScriptSearch search;
  const std::vector<CLI::Option*> of_search{
      app.add_option("-b,--beam-size", search.beam_size, "beam size of a forward() that translates")
          ->check(transmute::whole_between(transmute::SearchBounds::kBeamSize.low,
                                           transmute::SearchBounds::kBeamSize.high)),
      app.add_option("--length-alpha", search.length_alpha, "exponent of its length penalty")
          ->check(transmute::between(0, transmute::kMostLengthAlpha)),
      app.add_option("--max-extra-length", search.max_extra_length,
                     "maximum number of tokens by which its translations may exceed their sources")
          ->check(transmute::whole_between(0, 100'000))};
  for (CLI::Option* flag : of_search) flag->capture_default_str();
  return transmute::run_program(app, argc, argv, [&] {
    if (output.empty() && triton.empty()) throw std::invalid_argument("--output or --triton is required");
    const std::vector<transmute::NamedInput> inputs{{"--model", transmute::model_path(model)}};
    transmute::check_output_is_no_input(output, inputs);
    if (!triton.empty()) {
      for (const std::string& written : {triton, transmute::path_in(triton, "1/model.pt")})
        transmute::check_output_is_no_input(written, inputs, "--triton");
      transmute::check_folder_is_in_no_input(triton, inputs, "--triton");
    }
    if (forward != kTranslate && triton.empty())
      for (const CLI::Option* flag : of_search)
        if (flag->count() > 0)
          throw std::invalid_argument(flag->get_name() +
                                      " needs --forward translate or --triton: other exported files "
                                      "get the options of a search with each call");
    transmute::TorchScriptOptions options{transmute::precision_from_name(precision)};
    if (forward == kTranslate || !triton.empty()) options.forward_search = search;
    if (!triton.empty()) {
      transmute::export_triton_model(model, triton, options);
      transmute::note("wrote " + triton);
      return 0;
    }
    transmute::export_torchscript(model, output, options);
    std::error_code without_size;  // a pipe, or a device
    const auto kibibytes = static_cast<int64_t>(std::filesystem::file_size(output, without_size) / 1024);
    transmute::note("wrote " + output + (without_size ? "" : " (" + transmute::format_count(kibibytes) + " KiB)"));
    return 0;
  });
}
