#pragma once

// The path that applications include.
#include <transmute/translation/search/search.h>
