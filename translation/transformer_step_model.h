// SPDX-License-Identifier: Apache-2.0
#pragma once

// The path that applications include.
#include <transmute/translation/search/transformer_step_model.h>
