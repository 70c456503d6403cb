// SPDX-License-Identifier: Apache-2.0
// An application that trains a model of its own and uses it at once: train CONFIG RUN_FOLDER TEXT.

#include <transmute/training/trainer.h>
#include <transmute/translation/translator.h>

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: train CONFIG RUN_FOLDER TEXT\n";
    return 2;
  }
  try {
    transmute::TrainingConfig config;
    transmute::ConfigSchema schema;
    config.declare(schema);
    schema.read_file(argv[1]);
    schema.set("training.max_steps=20");
    config.check();
    transmute::TrainerOptions options;
    options.run_folder = argv[2];
    options.threads = 1;

    // Stops in the middle, as where a user presses a button, and continues from there.
    int steps = 0;
    const auto after_seven = [&] { return ++steps == 7 ? 1 : 0; };
    if (transmute::Trainer(config, schema.to_yaml(), options).run(after_seven) != 1) return 1;
    if (transmute::Trainer(config, schema.to_yaml(), options).run() != 0) return 1;

    const transmute::Translator translator(options.run_folder + "/model");
    std::cout << translator.translate(argv[3]) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
