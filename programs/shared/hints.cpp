// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/hints.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace transmute {

namespace {

struct Hint {
  std::vector<std::string_view> words;  // without dashes
  const char* flag;                     // that the program must have
  const char* instead;
};

// The first entry whose flag the program has counts.
const std::vector<Hint>& hints() {
  static const std::vector<Hint> all{
      {{"resume", "continue", "restore", "restore-file", "resume-from-checkpoint", "train-from", "load-checkpoint"},
       "--run-folder",
       "train resumes by itself: run the same command again"},
      {{"epochs", "max-epochs", "max-epoch", "after-epochs", "num-train-epochs", "num-epochs"},
       "--set",
       "did you mean --set training.max_epochs=N?"},
      {{"steps", "max-steps", "train-steps", "max-update", "after-batches", "after", "iterations"},
       "--set",
       "did you mean --set training.max_steps=N?"},
      {{"lr", "learning-rate", "learn-rate"},
       "--set",
       "did you mean --set training.learning_rate_scale=X (with schedule noam) or --set training.learning_rate=X?"},
      {{"warmup", "warmup-steps", "warmup-updates", "lr-warmup"},
       "--set",
       "did you mean --set training.warmup_steps=N?"},
      {{"batch-size", "mini-batch", "mini-batch-words", "max-tokens", "batch"},
       "--set",
       "did you mean --set training.batch_tokens=N?"},
      {{"seed"}, "--set", "did you mean --set training.seed=N?"},
      {{"dropout", "transformer-dropout"}, "--set", "did you mean --set model.dropout=X?"},
      {{"vocab-size", "dim-vocabs"}, "--set", "did you mean --set tokenizer.vocab_size=N?"},
      {{"fp16", "bf16", "half", "amp", "mixed-precision", "precision"},
       "--set",
       "did you mean --set training.precision=bfloat16?"},
      {{"output", "output-dir", "o", "save-dir", "save-model", "model", "m", "model-dir", "out"},
       "--run-folder",
       "did you mean --run-folder?"},
      {{"train-sets", "trainpref", "train-file", "src", "tgt"},
       "--valid-source",
       "did you mean --source and --target?"},
      {{"valid-sets", "validpref", "dev", "valid", "validation-file"},
       "--valid-source",
       "did you mean --valid-source and --valid-target?"},
      {{"gpu", "gpus", "cuda", "use-gpu", "devices", "d", "num-gpus"}, "--device", "did you mean --device cuda?"},
      {{"cpu", "no-cuda", "no-gpu"}, "--device", "did you mean --device cpu?"},
      {{"fp16", "half", "float16", "f16"}, "--precision", "did you mean --precision half (GPUs) or bfloat16?"},
      {{"int8", "quantize", "quantization", "compute-type", "gemm-precision"},
       "--precision",
       "did you mean --precision int8?"},
      {{"text", "sentence", "prompt", "string"}, "TEXT", "give the text itself, without a flag: -m MODEL 'some text'"},
      {{"file", "f", "src", "source", "source-file", "input-file", "s", "in"}, "--input", "did you mean --input?"},
      {{"out", "tgt", "target", "output-file", "hypotheses"}, "--output", "did you mean --output?"},
      {{"src-lang", "source-lang", "sl", "from", "src-language", "src"},
       "--source-language",
       "did you mean --source-language?"},
      {{"tgt-lang", "target-lang", "tl", "to", "tgt-language", "trg-lang", "tgt"},
       "--target-language",
       "did you mean --target-language?"},
      {{"beam", "beams", "num-beams", "k"}, "--beam-size", "did you mean --beam-size?"},
      {{"nbest", "num-hypotheses", "num-return-sequences", "n"}, "--n-best", "did you mean --n-best?"},
      {{"max-length", "max-decoding-length", "max-len", "max-new-tokens"},
       "--max-extra-length",
       "did you mean --max-extra-length?"},
      {{"normalize", "lenpen", "alpha", "length-penalty", "len-pen"}, "--length-alpha", "did you mean --length-alpha?"},
      {{"workers", "j", "jobs", "cpu-threads", "num-threads", "nthreads", "intra-threads", "num-workers", "cores"},
       "--threads",
       "did you mean --threads?"},
      {{"v", "verbose", "quiet", "q", "debug", "log-level"},
       "--version",
       "did you mean --version? How much is reported cannot be set"},
      {{"V", "ver"}, "--version", "did you mean --version?"},
      {{"?", "usage", "man"}, "--help", "did you mean --help?"}};
  return all;
}

}  // namespace

std::string hint_for(const CLI::App& app, const std::string& flag) {
  std::string word = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  std::replace(word.begin(), word.end(), '_', '-');
  for (const Hint& hint : hints())
    if (app.get_option_no_throw(hint.flag) != nullptr &&
        std::find(hint.words.begin(), hint.words.end(), word) != hint.words.end())
      return hint.instead;
  return "";
}

}  // namespace transmute
