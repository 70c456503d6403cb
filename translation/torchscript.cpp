#include <transmute/translation/torchscript.h>

#include <transmute/model/libtorch.h>
#include <transmute/translation/files/load_model.h>
#include <transmute/translation/files/torchscript_file.h>
#include <transmute/translation/torchscript/script_transformer.h>

namespace transmute {
inline namespace v0 {

namespace {

torch::Dtype dtype_of(TorchScriptPrecision precision) {
  switch (precision) {
    case TorchScriptPrecision::bfloat16:
      return torch::kBFloat16;
    case TorchScriptPrecision::half:
      return torch::kHalf;
    case TorchScriptPrecision::float32:
      break;
  }
  return torch::kFloat;
}

const char* name_of(TorchScriptPrecision precision) {
  switch (precision) {
    case TorchScriptPrecision::bfloat16:
      return "bfloat16";
    case TorchScriptPrecision::half:
      return "half";
    case TorchScriptPrecision::float32:
      break;
  }
  return "float32";
}

}  // namespace

void export_torchscript(const std::string& model_path, const std::string& output, const TorchScriptOptions& options) {
  const LoadedModel model = load_model(model_path, torch::kCPU);
  save_torchscript_model(output, torchscript::script_transformer(model.transformer, dtype_of(options.precision)), model,
                         name_of(options.precision));
}

}  // namespace v0
}  // namespace transmute
