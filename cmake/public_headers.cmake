# SPDX-License-Identifier: Apache-2.0
# The library's face: the headers that applications may include. Only these are installed, and the shared library
# exports only what they declare with TRANSMUTE_API.

# With documentation in the API reference.
set(TRANSMUTE_PUBLIC_HEADERS
  model/attention.h model/decoder.h model/encoder.h model/feed_forward.h model/masks.h model/options.h
  model/positional_encoding.h model/sublayer.h model/transformer.h
  tokenizer/options.h tokenizer/special_ids.h tokenizer/tokenizer.h
  training/config.h training/schedule.h training/trainer.h training/trainer_options.h
  translation/files/model_config.h translation/files/model_folder.h translation/search/hypothesis.h
  translation/search/next_token_constraint.h translation/search/search.h
  translation/search/step_model.h translation/search/target_demands.h translation/search/transformer_step_model.h
  translation/language_model.h translation/precision.h translation/search_options.h translation/text_encoder.h
  translation/torchscript.h translation/torchscript/options.h translation/translator.h translation/transmute.h
  translation/types.h)

# What those include, and shorter paths for some of them.
set(TRANSMUTE_INCLUDED_HEADERS
  common/config_schema.h common/export.h common/threads.h
  model/consistency.h model/recompute.h
  training/adam_options.h training/data/batch_options.h training/data/length_limits.h training/distributed/ranks.h
  translation/checks/confidence.h translation/checks/expectations.h translation/files/tensor_file.h
  translation/files/text_profile.h translation/model_folder.h translation/search.h translation/transformer_step_model.h)
