"""Modules of extras that are not installed have no examples to run."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/everypair/torch.py"]
