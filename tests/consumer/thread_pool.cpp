// SPDX-License-Identifier: Apache-2.0
// An application with threads of its own that share one Translator:
//
//     thread_pool MODEL [THREADS] < lines > translations
//
// Each line is a request of its own, as in a server; the answers are printed in the order of the lines.

#include <transmute/translation/translator.h>

#include <atomic>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::cerr << "usage: thread_pool MODEL [THREADS]\n";
    return 2;
  }
  const transmute::Translator translator(argv[1]);

  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  std::vector<std::string> answers(lines.size());

  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  const int count = argc > 2 ? std::stoi(argv[2]) : 4;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&] {
      for (size_t line = next++; line < lines.size(); line = next++) answers[line] = translator.translate(lines[line]);
    });
  for (auto& thread : threads) thread.join();

  for (const auto& answer : answers) std::cout << answer << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "thread_pool: " << error.what() << '\n';
  return 1;
}
