// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of LibTorch's C++ interface that this project uses: to a compiler a fraction of <torch/torch.h>.

#include <torch/autograd.h>
#include <torch/nn/init.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>
