// SPDX-License-Identifier: Apache-2.0
// get: downloads a model. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/progress.h>
#include <transmute/downloads/default_models.h>
#include <transmute/downloads/hub.h>
#include <transmute/downloads/model_download.h>
#include <transmute/programs/shared/program.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

namespace {

struct Arguments {
  transmute::ModelRequest request;
  bool lists = false, is_dry_run = false;
};

int list_defaults() {
  for (const transmute::DefaultModel& model : transmute::default_models())
    std::cout << model.pair << '\t' << model.source << '\n';
  return 0;
}

// Draws the state of the download now and then.
transmute::Downloader::Progress shown_on(transmute::ProgressLine& line) {
  return [&line](uint64_t done, std::optional<uint64_t> all) {
    if (!line.is_due()) return;
    line.show(all && *all > 0 ? static_cast<double>(done) / static_cast<double>(*all) : -1, transmute::size_text(done));
  };
}

std::string summary(const transmute::ModelDescription& description) {
  const transmute::ModelOrigin& origin = description.origin;
  const std::string commit = origin.revision.empty() ? "" : ", commit " + origin.revision;
  return fmt::format(
      "source: {}{}\nlicense: {}\nsize: {}\n", transmute::without_control(origin.source), commit,
      origin.license.empty() ? "the source does not state it" : transmute::without_control(origin.license),
      description.bytes ? transmute::size_text(*description.bytes) : "the server does not say");
}

// True if the model is in the store. Asks the hub which commit a branch or a tag is.
bool is_there(transmute::Downloader& downloader, const transmute::ModelPlan& plan, const std::string& endpoint) {
  const std::string folder = transmute::required_model_store() + "/" + plan.name;
  if (!std::filesystem::exists(folder)) return false;
  const std::optional<transmute::ModelOrigin> origin = transmute::read_model_origin(folder);
  if (!origin || origin->source != plan.source)
    throw std::runtime_error(fmt::format("{}: is another model{}; give this one another name with --name", folder,
                                         origin ? ", from " + transmute::without_control(origin->source) : ""));
  std::string wanted = plan.revision + plan.sha256;  // at most one of them is given
  if (!plan.revision.empty() && wanted != origin->revision)
    wanted = transmute::describe_model(downloader, plan, endpoint).origin.revision;
  if (!wanted.empty() && wanted != origin->revision)
    throw std::runtime_error(fmt::format(
        "{}: {} of this model is stored, not {}; remove that folder, or give this one another name with --name", folder,
        origin->revision.empty() ? "an unknown revision" : transmute::without_control(origin->revision), wanted));
  std::cerr << fmt::format("{0} is there already: {1}\nTo download it again, remove that folder.\n", plan.name, folder);
  return true;
}

int get(const Arguments& arguments) {
  if (arguments.lists) return list_defaults();
  if (arguments.request.source.empty())
    throw std::invalid_argument("name a model: a pair of languages (--list), hf:OWNER/NAME, or an archive's address");
  const std::string endpoint = transmute::hub_endpoint();
  const transmute::ModelPlan plan = transmute::plan_of(arguments.request, endpoint);
  transmute::ProgressLine line;
  const char* const token = std::getenv("HF_TOKEN");
  transmute::Downloader downloader(token ? token : "", endpoint, shown_on(line));
  if (is_there(downloader, plan, endpoint)) return 0;
  const transmute::ModelDescription description = transmute::describe_model(downloader, plan, endpoint);
  std::cerr << summary(description);
  if (arguments.is_dry_run) return 0;
  const std::string folder = transmute::download_model(downloader, plan, description);
  line.clear();
  std::cerr << fmt::format("stored in {}\nto use it: transmute translate -m {}\n", folder, plan.name);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Downloads a model into ~/.local/share/transmute/models, where every program finds it by its name. Shows its "
      "license and size first, checks what arrives, and continues what was interrupted. No other program opens a "
      "connection to the internet.",
      "get");
  app.footer(
      "{} en-de\n{} hf:Helsinki-NLP/opus-mt-en-de --name opus\n"
      "{} https://example.org/translate-en_de-1_0.argosmodel");
  Arguments arguments;
  app.add_option(
         "MODEL", arguments.request.source,
         "languages of the list, such as en-de; hf:OWNER/NAME, a model of the Hugging Face hub, at a branch, tag "
         "or commit with @REVISION; or the address of an archive (.argosmodel, .zip, .tar.gz, …)")
      ->type_name("MODEL");
  app.add_option("--name", arguments.request.name,
                 "name of the stored model; by default, the languages, or the last part of the model's name or address")
      ->type_name("NAME");
  app.add_option("--sha256", arguments.request.sha256, "checksum that the archive must have")->type_name("HEX");
  app.add_flag("--dry-run", arguments.is_dry_run, "show license and size, and download nothing");
  app.add_flag("--list", arguments.lists, "print the models that are known by their languages");
  return transmute::run_program(app, argc, argv, [&] { return get(arguments); });
}
