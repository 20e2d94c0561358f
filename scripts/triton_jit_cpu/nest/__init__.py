# SPDX-License-Identifier: Apache-2.0
"""Loop nests: how tiles become loops over their elements.

groups.py collects what may share a nest (alias.py: when stores allow it), order.py chooses the order of the
loops, nest.py evaluates elements by index.py's indices, linear.py and bounds.py prove addresses linear,
masks.py makes masks into bounds of loops, versions.py writes the innermost loop, and roots.py and
reduction.py (commute.py: whether the order matters) are what consumes the elements.
"""
