// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>
#include <transmute/training/config.h>

#include <string>

namespace transmute {
inline namespace v0 {

class Transformer;

/// Gives `config` the network, the tokenizer and the search of the model that TrainingOptions::initialize_from names,
/// but for the dropout rates, which stay the config's own (a model without dropout keeps that unless the config gives
/// it); does nothing if it names none.
/// @param schema which keys the config was given: of the search, these replace the model's
/// @param begun_config the config of a run that has begun, which knows them already: the model need not be there any
/// more; empty for a new run
/// @throws std::invalid_argument naming the keys of the config that say something else; std::runtime_error if the
/// model cannot be read.
void take_network_of_initial_model(TrainingConfig& config, const ConfigSchema& schema,
                                   const std::string& begun_config = {});

/// The tokenizer of that model.
Tokenizer tokenizer_of_initial_model(const TrainingConfig& config);

/// Sets the transformer's parameters to those of that model.
/// @throws std::runtime_error if they do not fit.
void take_weights_of_initial_model(Transformer& transformer, const TrainingConfig& config);

}  // namespace v0
}  // namespace transmute
