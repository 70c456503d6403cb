#!/bin/sh
# Doxygen's input filter for the C header, whose plain comments are its documentation: those behind a member on the same
# line belong to it, those on lines of their own to what follows, and the first one to the file.
exec sed -E -e '1s|^/\* |/** @file\n * |' -e 's|^(.*[;,{] +)/\* |\1/**< |' -e 's|^( *)/\* |\1/** |' "$1"
