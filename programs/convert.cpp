// SPDX-License-Identifier: Apache-2.0
// convert: a model in another form. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/foreign/writers.h>
#include <transmute/formats/model_output.h>
#include <transmute/formats/model_store.h>
#include <transmute/formats/shortlist_file.h>
#include <transmute/network/precision.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/program.h>
#include <transmute/text/language_codes.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using transmute::Precision;
using transmute::formats::ModelFacts;

const std::map<std::string, const char*> kModelFolders{{"folder", transmute::kWeightsFile},
                                                       {"safetensors", transmute::kNeutralWeightsFile}};

constexpr const char* kNameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+";

bool is_name(const std::string& text) {
  return !text.empty() && text.find_first_not_of(kNameBytes) == text.npos;
}

CLI::Validator language() {
  const auto check = [](const std::string& code) {
    const bool is_known = is_name(code) && transmute::language_name(code) != code;
    return is_known ? "" : fmt::format("'{}' is no code of a language, such as en", code);
  };
  return {check, ""};
}

CLI::Validator license() {
  const auto check = [](const std::string& name) {
    return is_name(name) ? "" : fmt::format("'{}' is no SPDX identifier, such as MIT or CC-BY-4.0", name);
  };
  return {check, ""};
}

bool has_any(const ModelFacts& facts) {
  return !facts.source_language.empty() || !facts.target_language.empty() || !facts.license.empty() ||
         !facts.scores.empty();
}

void check_package(const std::string& path) {
  if (!transmute::ends_in(path, ".argosmodel"))
    throw std::invalid_argument(fmt::format("{}: name the package of --to argos NAME.argosmodel", path));
  if (std::filesystem::exists(path))
    throw std::invalid_argument(fmt::format("{}: exists; move it, or name another --output", path));
}

void write(const transmute::LoadedModel& model, const std::string& form, Precision precision, const ModelFacts& facts,
           const std::string& output) {
  std::vector<std::string> notes;
  if (form == "argos") {
    transmute::formats::save_argos_package(model, precision, facts, output);
    return transmute::note("wrote " + output);
  }
  transmute::write_folder_atomically(output, [&](const std::string& folder) {
    if (form == "ctranslate2")
      transmute::formats::save_ctranslate2_folder(model, precision, folder);
    else if (form == "hugging_face")
      notes = transmute::formats::save_hugging_face_folder(model, precision, folder, facts);
    else
      transmute::save_model_folder(folder, model.config, model.tokenizer, model.weights.stored_as(precision),
                                   kModelFolders.at(form), model.profile);
    if (kModelFolders.count(form) > 0 && model.shortlist) transmute::add_shortlist(folder, *model.shortlist);
  });
  for (const std::string& sentence : notes) transmute::note(sentence);
  transmute::note("wrote " + output);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Converts a model to another format. 'folder' is a model folder; 'safetensors' is a folder with "
      "model.safetensors, config.yaml and the tokenizer; 'ctranslate2' and 'hugging_face' are what CTranslate2 and "
      "Hugging Face Transformers (MarianMT) load; 'argos' is a package that Argos Translate installs. Weights are "
      "stored in float32, or their matrices in --precision, which makes the files smaller and faster to load.",
      "convert");
  app.footer("{} -m runs/demo/model --to folder --precision int8 -o small");
  std::string model;
  std::string output;
  std::string form;
  std::string precision = "float32";
  ModelFacts facts;
  transmute::add_model_flag(app, model);
  app.add_option("--to", form, "format to write")
      ->required()
      ->check(transmute::one_of({"folder", "safetensors", "ctranslate2", "hugging_face", "argos"}));
  app.add_option("-o,--output", output, "output folder; for --to argos a file, NAME.argosmodel")
      ->type_name("PATH")
      ->check(transmute::not_standard_output())
      ->required();
  app.add_option("--precision", precision,
                 "number format of the stored matrices; translations are the same as those of the float32 model with "
                 "translate --precision; int8 is for --to folder, ctranslate2 and argos")
      ->check(transmute::one_of({"float32", "bfloat16", "half", "int8"}))
      ->capture_default_str();
  app.add_option("--source-language", facts.source_language,
                 "code of the language that the model translates from, such as en, for the README.md that --to "
                 "hugging_face and argos write; --to argos needs it")
      ->type_name("CODE")
      ->check(language());
  app.add_option("--target-language", facts.target_language, "the same for the language that it translates into")
      ->type_name("CODE")
      ->check(language());
  app.add_option("--license", facts.license, "the model's license in that README.md, such as MIT or CC-BY-4.0")
      ->type_name("SPDX")
      ->check(license());
  transmute::repeatable(
      app.add_option("--score", facts.scores,
                     "a line about its quality for that README.md, such as \"BLEU 41.2 on test2014\"; may be repeated"))
      ->type_name("TEXT");
  return transmute::run_program(app, argc, argv, [&] {
    const auto stored = transmute::precision_from_name(precision);
    if (form == "safetensors" && stored == Precision::int8)
      throw std::invalid_argument(
          "--precision int8 is for --to folder: other programs would not know that each row has a scale");
    if (form != "argos" && form != "hugging_face" && has_any(facts))
      throw std::invalid_argument(
          "--source-language, --target-language, --license and --score are for --to hugging_face and argos");
    const std::vector<transmute::NamedInput> inputs{{"--model", transmute::model_path(model)}};
    transmute::check_output_is_no_input(output, inputs);
    transmute::check_folder_is_in_no_input(output, inputs);
    if (form == "argos")
      check_package(output);
    else
      transmute::check_may_replace_model(output);
    write(transmute::load_model(model), form, stored, facts, output);
    return 0;
  });
}
