// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/torchscript.h>

#include <transmute/model/libtorch.h>
#include <transmute/translation/files/dtype.h>
#include <transmute/translation/files/load_model.h>
#include <transmute/translation/files/torchscript_file.h>
#include <transmute/translation/torchscript/script_transformer.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

void export_torchscript(const std::string& model_path, const std::string& output, const TorchScriptOptions& options) {
  if (options.precision == Precision::int8)
    throw std::invalid_argument("a TorchScript file stores float32, bfloat16 or half, not int8");
  const LoadedModel model = load_model(model_path, torch::kCPU);
  const torch::jit::Module module = torchscript::script_transformer(model.transformer, dtype_of(options.precision),
                                                                    model.tokenizer.target().line_breaks());
  save_torchscript_model(output, module, model, precision_name(options.precision));
}

}  // namespace v0
}  // namespace transmute
