# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""The build backend of pyproject.toml: scikit-build-core, and the platform that a wheel is for.

The program of a wheel needs no library but libc's, so the wheel is for every machine whose glibc
is that of the build or later, which the tag says: manylinux_2_36_x86_64.
"""

import os
from typing import Dict, List, Optional, Union

from scikit_build_core import build
from scikit_build_core.build import (build_sdist, get_requires_for_build_sdist,
                                     get_requires_for_build_wheel)

__all__ = ["build_sdist", "build_wheel", "get_requires_for_build_sdist",
           "get_requires_for_build_wheel", "prepare_metadata_for_build_wheel"]


# What pip passes by -C, as scikit-build-core takes it.
_Settings = Optional[Dict[str, Union[str, List[str]]]]


def platform_of_this_machine() -> Optional[str]:
    """None if its libc is not glibc."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        major, minor = version.split(".")[:2]
    except (ValueError, OSError):
        return None
    if name != "glibc":
        return None
    return f"manylinux_{major}_{minor}_{os.uname().machine}"


def with_tag(given: _Settings) -> Dict[str, Union[str, List[str]]]:
    settings = dict(given or {})
    is_static = settings.get("cmake.define.ELASTIC_STATIC", "ON") == "ON"
    platform = platform_of_this_machine()
    if is_static and platform:
        settings.setdefault("wheel.tags", [f"py3-none-{platform}"])
    return settings


def prepare_metadata_for_build_wheel(directory: str, settings: _Settings = None) -> str:
    return build.prepare_metadata_for_build_wheel(directory, with_tag(settings))


def build_wheel(directory: str, settings: _Settings = None,
                metadata_directory: Optional[str] = None) -> str:
    return build.build_wheel(directory, with_tag(settings), metadata_directory)
