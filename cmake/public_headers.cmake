# SPDX-License-Identifier: Apache-2.0
# The libraries' face: the headers that applications may include. Only these are installed, and the shared libraries
# export only what they declare with TRANSMUTE_API.

# With documentation in the API reference.
set(TRANSMUTE_PUBLIC_HEADERS
  tokenizer/options.h tokenizer/special_ids.h tokenizer/tokenizer.h
  network/options.h network/precision.h network/search_options.h
  text/types.h
  formats/model_config.h formats/model_folder.h
  search/hypothesis.h search/network_model.h search/next_token_constraint.h search/search.h search/search_request.h
  search/step_model.h
  translation/document_translation.h translation/language_model.h translation/text_encoder.h
  translation/translator.h translation/transmute.h)

# What those include.
set(TRANSMUTE_INCLUDED_HEADERS
  common/config_schema.h common/export.h common/threads.h
  network/array.h network/consistency.h network/weights.h
  formats/tensor_file.h formats/text_profile.h
  text/checks/confidence.h text/checks/expectations.h)

if(TRANSMUTE_WITH_TORCH)
  list(APPEND TRANSMUTE_PUBLIC_HEADERS
    model/attention.h model/decoder.h model/encoder.h model/feed_forward.h model/masks.h model/module_weights.h
    model/positional_encoding.h model/sublayer.h model/transformer.h
    device/transformer_step_model.h
    export/options.h export/torchscript.h
    training/config.h training/optimization/schedule.h training/trainer.h training/trainer_options.h)
  list(APPEND TRANSMUTE_INCLUDED_HEADERS
    model/recompute.h model/ssru.h
    training/data/batch_options.h training/distributed/ranks.h
    training/optimization/adam_options.h)
endif()
