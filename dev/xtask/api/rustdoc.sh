#!/bin/sh
# The pinned rustdoc, which writes JSON only if unstable options are allowed.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
