// SPDX-License-Identifier: Apache-2.0
// convert: a model in another form. See --help.

#include <transmute/common/files.h>
#include <transmute/formats/foreign/ctranslate2_writer.h>
#include <transmute/formats/foreign/hugging_face_writer.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/model_output.h>
#include <transmute/network/precision.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/program.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using transmute::Precision;

const std::map<std::string, const char*> kModelFolders{{"folder", transmute::kWeightsFile},
                                                       {"safetensors", transmute::kNeutralWeightsFile}};

void write(const transmute::LoadedModel& model, const std::string& form, Precision precision,
           const std::string& output) {
  std::vector<std::string> notes;
  transmute::write_folder_atomically(output, [&](const std::string& folder) {
    if (form == "ctranslate2")
      transmute::formats::save_ctranslate2_folder(model, precision, folder);
    else if (form == "hugging_face")
      notes = transmute::formats::save_hugging_face_folder(model, precision, folder);
    else
      transmute::save_model_folder(folder, model.config, model.tokenizer, model.weights.stored_as(precision),
                                   kModelFolders.at(form), model.profile);
  });
  for (const std::string& sentence : notes) transmute::note(sentence);
  transmute::note("wrote " + output);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Converts a model to another format. 'folder' is a model folder; 'safetensors' is a folder with "
      "model.safetensors, config.yaml and the tokenizer; 'ctranslate2' and 'hugging_face' are what CTranslate2 and "
      "Hugging Face Transformers (MarianMT) load. Weights are stored in float32, or their matrices in --precision, "
      "which makes the files smaller and faster to load.",
      "convert");
  app.footer("{} -m runs/demo/model --to folder --precision int8 -o small");
  std::string model;
  std::string output;
  std::string form;
  std::string precision = "float32";
  transmute::add_model_flag(app, model);
  app.add_option("--to", form, "format to write")
      ->required()
      ->check(transmute::one_of({"folder", "safetensors", "ctranslate2", "hugging_face"}));
  app.add_option("-o,--output", output, "output folder")
      ->type_name("FOLDER")
      ->check(transmute::not_empty("folder"))
      ->check(transmute::not_standard_output())
      ->required();
  app.add_option("--precision", precision,
                 "number format of the stored matrices; translations are the same as those of the float32 model with "
                 "translate --precision; int8 is for --to folder and --to ctranslate2")
      ->check(transmute::one_of({"float32", "bfloat16", "half", "int8"}))
      ->capture_default_str();
  return transmute::run_program(app, argc, argv, [&] {
    const auto stored = transmute::precision_from_name(precision);
    if (form == "safetensors" && stored == Precision::int8)
      throw std::invalid_argument(
          "--precision int8 is for --to folder: other programs would not know that each row has a scale");
    transmute::check_output_is_no_input(output, {{"--model", model}});
    transmute::check_folder_is_in_no_input(output, {{"--model", model}});
    transmute::check_may_replace_model(output);
    write(transmute::load_model(model), form, stored, output);
    return 0;
  });
}
