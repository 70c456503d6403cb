#pragma once

// The path that applications include.
#include <transmute/translation/files/model_folder.h>
