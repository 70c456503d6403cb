#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Doxygen's input filter for the C header, whose plain comments are its documentation: those after a member on the same
# line belong to it, those on lines of their own to what follows, and the one after the license's line to the file.
exec sed -E -e '2s|^/\* |/** @file\n * |' -e 's|^(.*[;,{] +)/\* |\1/**< |' -e '1!s|^( *)/\* |\1/** |' "$1"
