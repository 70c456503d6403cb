// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/config.h>
#include <transmute/training/data/parallel_text.h>

#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Fingerprints of the sources of a run's vocabulary and tokenized text, stored as `fingerprints.json` in the run
/// folder; 0: unknown.
struct Fingerprints {
  uint64_t vocabulary = 0;  ///< see vocabulary_fingerprint
  uint64_t text = 0;        ///< see TrainingText::fingerprint
  uint64_t given = 0;       ///< files_fingerprint of the text of a training without a config
  bool divided = false;     ///< hold_out has written the two parts of that text

  /// The path of the file.
  static std::string path_of(const std::string& run_folder);
  /// True if a folder has them, as that of each run does from its start on.
  static bool exist_in(const std::string& run_folder);
  /// Reads the fingerprints of a run folder. All are 0 if the file is missing or damaged.
  static Fingerprints read(const std::string& run_folder);
  void write(const std::string& run_folder) const;
};

/// The fingerprint of the content of these files, in their order.
uint64_t files_fingerprint(const std::vector<std::string>& paths);

/// The fingerprint of the content of the files that a vocabulary is learned from, and of the options. Reads the files.
uint64_t vocabulary_fingerprint(const TokenizerOptions& options, const TextFiles& files);

}  // namespace v0
}  // namespace transmute
