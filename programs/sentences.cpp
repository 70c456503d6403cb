// SPDX-License-Identifier: Apache-2.0
// sentences: text cut into its sentences. See --help.

#include <transmute/formats/model_store.h>
#include <transmute/formats/text_profile.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/output.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/stream_flags.h>
#include <transmute/text/sentence_language.h>
#include <transmute/text/sentences.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Arguments {
  transmute::StreamFlags streams;
  std::string language, model;
};

transmute::SentenceSplitter splitter_of(const Arguments& arguments) {
  transmute::check_language("--language", arguments.language);
  transmute::SentenceProfile profile;
  if (!arguments.model.empty()) {
    const std::string folder = transmute::model_path(arguments.model);
    if (!std::filesystem::is_directory(folder)) throw std::runtime_error(folder + ": no such model folder");
    profile = transmute::load_text_profile(folder).sentences;
  }
  return transmute::SentenceSplitter(arguments.language.empty() ? profile.language : arguments.language, profile.words);
}

int split(const Arguments& arguments) {
  constexpr size_t kLinesAtOnce = 4096;
  transmute::check_output_is_no_input(arguments.streams.output, {{"--model", transmute::model_path(arguments.model)}});
  const transmute::SentenceSplitter splitter = splitter_of(arguments);
  const transmute::BlockSource next_block = arguments.streams.open();
  transmute::Output output(arguments.streams.output);
  transmute::keep_output_before_bad_line(output, [&] {
    for (std::vector<std::string> block = next_block(kLinesAtOnce); !block.empty(); block = next_block(kLinesAtOnce)) {
      std::string text;
      for (const std::string& line : block) {
        const std::vector<std::string> sentences = splitter.split(line);
        for (const std::string& sentence : sentences) text += sentence + '\n';
        if (sentences.empty()) text += '\n';
      }
      output.write(text);
    }
  });
  output.finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes the sentences of a text, one per line, as translate finds them. An empty line stays empty.",
               "sentences");
  app.footer("echo 'Dr. Smith arrived on Jan. 3. He left at once.' | {} --language en");
  Arguments arguments;
  arguments.streams.add_to(app);
  app.remove_option(app.get_option("--continue"));  // output lines do not tell how many input lines are finished
  app.add_option("--language", arguments.language,
                 "language of the text, such as de; by default that of the model's training text, otherwise found out "
                 "from the words of each line");
  app.add_option("-m,--model", arguments.model,
                 "a model folder; abbreviations that it learned from its training text end no sentence")
      ->type_name("MODEL");
  return transmute::run_program(app, argc, argv, [&] { return split(arguments); });
}
