// SPDX-License-Identifier: Apache-2.0
// The programs of the Python package: `transmute translate …` runs main() of programs/translate.cpp.

#include <transmute/programs/shared/program.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

// CMakeLists.txt lists the programs.
#define PROGRAM(name) int main_of_##name(int argc, char** argv);
TRANSMUTE_PROGRAMS_IN_ONE
#undef PROGRAM

namespace {

using Main = int (*)(int, char**);

const std::vector<std::pair<std::string, Main>>& programs() {
#define PROGRAM(name) {#name, main_of_##name},
  static const std::vector<std::pair<std::string, Main>> all{TRANSMUTE_PROGRAMS_IN_ONE};
#undef PROGRAM
  return all;
}

std::string usage() {
  std::string text = "usage: transmute COMMAND [OPTION]..., where COMMAND is one of\n";
  for (const auto& [name, run] : programs()) text += "  " + name + '\n';
  return text +
         "transmute COMMAND --help describes it. Training and get, which downloads models, are not part of "
         "the Python package.\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "--help";
  if (first == "--version") std::cout << transmute::version_text("transmute") << '\n';
  if (first == "--help" || first == "-h") std::cout << usage();
  if (first == "--version" || first == "--help" || first == "-h") return std::cout.flush() ? 0 : 1;
  for (const auto& [name, run] : programs()) {
    if (name != first) continue;
    std::string called = "transmute " + name;  // what its messages call it
    argv[1] = called.data();
    return run(argc - 1, argv + 1);
  }
  std::cerr << "transmute: error: there is no command '" << first << "' in the Python package\n" << usage();
  return 2;
}
