// SPDX-License-Identifier: Apache-2.0
#include <transmute/export/torchscript.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/export/script_transformer.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/torchscript_file.h>
#include <transmute/libtorch/device.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>
#include <transmute/search/search.h>

#include <clocale>
#include <filesystem>
#include <locale>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// Requests of equal length are batched. Names end in the number of forward()'s argument or result.
constexpr const char* kTritonConfig = R"(name: "{}"
backend: "pytorch"
max_batch_size: 64
input [ {{ name: "source__0" data_type: TYPE_INT64 dims: [ -1 ] }} ]
output [
  {{ name: "ids__0" data_type: TYPE_INT64 dims: [ -1 ] }},
  {{ name: "lengths__1" data_type: TYPE_INT64 dims: [ 1 ] reshape {{ shape: [ ] }} }},
  {{ name: "scores__2" data_type: TYPE_FP32 dims: [ 1 ] reshape {{ shape: [ ] }} }}
]
dynamic_batching {{ max_queue_delay_microseconds: 1000 }}
)";

// While it lives, new streams print numbers in the classic locale. LibTorch prints a module's code through streams,
// which take the process's locale: with another decimal point or with grouped digits, the file could not be loaded.
// Streams that other threads make meanwhile print in the classic locale too.
class ClassicNumbers {
 public:
  ClassicNumbers() : c_locale_(std::setlocale(LC_ALL, nullptr)) {
    // Without a name, so that C's locale stays what it is.
    std::locale::global(std::locale(std::locale::classic(), new std::numpunct<char>));
  }
  ~ClassicNumbers() {
    std::locale::global(outer_);
    std::setlocale(LC_ALL, c_locale_.c_str());  // which a locale with a name has just changed
  }
  ClassicNumbers(const ClassicNumbers&) = delete;
  ClassicNumbers& operator=(const ClassicNumbers&) = delete;

 private:
  const std::locale outer_;  // the global one
  const std::string c_locale_;
};

struct ScriptedModel {
  LoadedModel model;
  torch::jit::Module module;
};

void check(const TorchScriptSearch& search) {
  SearchOptions native;
  native.beam_size = search.beam_size;
  native.length_alpha = search.length_alpha;
  native.max_extra_length = search.max_extra_length;
  check_search_options(native);
}

ScriptedModel script_model(const std::string& model_path, const TorchScriptOptions& options) {
  if (options.precision == Precision::int8)
    throw std::invalid_argument("a TorchScript file stores float32, bfloat16 or half, not int8");
  if (options.forward_search) check(*options.forward_search);
  LoadedModel model = load_model(model_path);
  if (options.forward_search && model.options.architecture == Architecture::decoder_only)
    throw std::invalid_argument(fmt::format("{}: a language model, which does not translate", model_path));
  if (options.forward_search && model.tokenizer.target().languages() == LanguagePieces::both_sides)
    throw std::invalid_argument(
        fmt::format("{}: its decoder must be told the target language, which --forward translate and --triton cannot "
                    "do; use serve, or export without them and call decode_step",
                    model_path));
  const Transformer transformer = make_transformer(model.weights, torch::kCPU);
  torch::jit::Module module = torchscript::script_transformer(transformer, dtype_of(options.precision),
                                                              &model.tokenizer.target(), options.forward_search);
  return {std::move(model), std::move(module)};
}

NamedArrays arrays_of(const torch::jit::Module& module) {
  NamedArrays arrays;
  for (const auto& parameter : module.named_parameters())
    arrays.emplace_back(parameter.name, to_array(parameter.value));
  return arrays;
}

// Writes one file, atomically.
void save(const ScriptedModel& scripted, Precision precision, const std::string& path) {
  const auto files = torchscript_extra_files(scripted.model, arrays_of(scripted.module), precision_name(precision));
  std::ostringstream content;
  {
    std::optional<ClassicNumbers> classic;
    if (std::locale() != std::locale::classic()) classic.emplace();
    scripted.module.save(content, files);
  }
  write_file_atomically(path, content.str());
}

}  // namespace

void export_torchscript(const std::string& model_path, const std::string& output, const TorchScriptOptions& options) {
  save(script_model(model_path, options), options.precision, output);
}

void export_triton_model(const std::string& model_path, const std::string& folder, const TorchScriptOptions& options) {
  TorchScriptOptions translating = options;
  if (!translating.forward_search) translating.forward_search.emplace();
  // "de", "de/" and "." are named after the folder.
  const std::filesystem::path path = (std::filesystem::absolute(folder) / "").lexically_normal();
  const std::string name = path.parent_path().filename().string();
  if (name.find_first_of("\"\\\n") != std::string::npos)
    throw std::invalid_argument(fmt::format(
        "{}: Triton names the model after this folder, whose name has a quote, a backslash or a line end; rename it",
        folder));
  const ScriptedModel scripted = script_model(model_path, translating);
  ensure_writable_folder((path / "1").string());
  save(scripted, options.precision, (path / "1" / "model.pt").string());
  write_file_atomically((path / "config.pbtxt").string(), fmt::format(kTritonConfig, name));
}

}  // namespace v0
}  // namespace transmute
