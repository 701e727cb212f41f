"""All about the package is in pyproject.toml; here is only what setuptools can't be told there."""

import os

from setuptools import setup
from setuptools.command.sdist import sdist


class Sdist(sdist):
    """An archive of sources in which lucidgrad/backends is a symlink, as in the repository, not a second copy."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copy the files, then make the link."""
        link = os.path.join("lucidgrad", "backends")
        super().make_release_tree(base_dir, [file for file in files if not file.startswith(link)])
        os.symlink(os.path.join("..", "backends"), os.path.join(base_dir, link))


setup(cmdclass={"sdist": Sdist})
