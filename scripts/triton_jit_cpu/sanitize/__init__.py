# SPDX-License-Identifier: Apache-2.0
"""Sanitizers: checks.py puts them into a module, and stands at the beginning."""
