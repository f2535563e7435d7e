#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes configure and Makefile.in.
cd "$(dirname "$0")" && exec autoreconf --install --force
