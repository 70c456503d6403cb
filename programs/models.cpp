// SPDX-License-Identifier: Apache-2.0
// models: the models that get has downloaded. See --help.

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/progress.h>
#include <transmute/formats/model_store.h>
#include <transmute/programs/shared/program.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <string>
#include <vector>

namespace {

using Row = std::array<std::string, 6>;

std::string languages_text(const std::vector<std::string>& languages) {
  if (languages.size() > 4) return fmt::format("{} languages", languages.size());
  return fmt::format("{}", fmt::join(languages, ", "));
}

Row row_of(const transmute::StoredModel& model) {
  const transmute::ModelOrigin origin = model.origin.value_or(transmute::ModelOrigin{});
  return {
      model.name,  languages_text(origin.languages), transmute::size_text(model.bytes), origin.license, origin.source,
      model.folder};
}

int list_models() {
  const std::vector<transmute::StoredModel> models = transmute::stored_models();
  if (models.empty()) {
    transmute::note(fmt::format("there are no models in {}; 'transmute get' (not in the Python package) downloads some",
                                transmute::required_model_store()));
    return 0;
  }
  std::vector<Row> rows{{"NAME", "LANGUAGES", "SIZE", "LICENSE", "SOURCE", "FOLDER"}};
  for (const transmute::StoredModel& model : models) {
    rows.push_back(row_of(model));
    for (std::string& cell : rows.back()) cell = cell.empty() ? "-" : transmute::without_control(cell);
  }
  std::array<size_t, 6> widths{};
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const Row& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i) std::cout << fmt::format("{:<{}}  ", row[i], widths[i]);
    std::cout << row.back() << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Lists the models that get has downloaded: name, languages, size, license, source and folder. Every program "
      "takes such a name for --model. To remove a model, remove its folder.",
      "models");
  app.footer("{}");
  return transmute::run_program(app, argc, argv, list_models);
}
