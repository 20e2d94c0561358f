# SPDX-License-Identifier: Apache-2.0
"""Ends its process while it is imported."""

import os

os.write(2, b"words before the end\n")
os.abort()
