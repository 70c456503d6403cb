// SPDX-License-Identifier: Apache-2.0
#include <transmute/tests/e2e/command_line.h>

#include <transmute/tests/support/tiny_model.h>
#include <transmute/tests/support/tiny_tokenizer.h>

#include <filesystem>

namespace transmute::testing {

void write_tiny_model(const std::string& folder, const TransformerOptions& options) {
  std::filesystem::create_directory(folder);
  const Tokenizer tokenizer = tiny_tokenizer();
  save_model_folder(folder, tiny_config(options), tokenizer, tiny_weights(tokenizer, 5, options));
}

}  // namespace transmute::testing
