// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// Opens a model in whichever form it is: a model folder, whose weights `parallel_for` reads into `memory`, a file that
/// export_torchscript made, a folder of another program (see formats/foreign/), or a downloaded model by its name.
/// @throws std::runtime_error if it is missing, damaged or something else.
LoadedModel load_model(const std::string& path, const ParallelFor& parallel_for = one_by_one,
                       WeightMemory memory = WeightMemory::mapped);

/// The same for one of an architecture: encoder_decoder translates, decoder_only is a language model.
/// @throws also std::invalid_argument for one of the other, naming the programs that are for it.
LoadedModel load_model(const std::string& path, Architecture architecture, const ParallelFor& parallel_for = one_by_one,
                       WeightMemory memory = WeightMemory::mapped);

}  // namespace v0
}  // namespace transmute
