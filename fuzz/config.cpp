// SPDX-License-Identifier: Apache-2.0
// The YAML of an experiment: what it accepts reads back as it was written.
#include <transmute/fuzz/fuzz.h>
#include <transmute/training/config.h>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  fuzz::may_refuse([&] {
    TrainingConfig config;
    ConfigSchema schema;
    config.declare(schema);
    schema.read_text(text, "input");
    TrainingConfig again;
    ConfigSchema same;
    again.declare(same);
    same.read_text(schema.to_yaml(), "written");
    fuzz::require(same.to_yaml() == schema.to_yaml());
    config.check();
  });
  fuzz::may_refuse([&] {
    TrainingConfig config;
    ConfigSchema schema;
    config.declare(schema);
    schema.set(text);
  });
  return 0;
}
