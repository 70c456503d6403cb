// SPDX-License-Identifier: Apache-2.0
#pragma once

// The path that applications include.
#include <transmute/translation/files/model_folder.h>
