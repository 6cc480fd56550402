"""What pyproject.toml cannot say: a library is compiled, and a wheel is for one kind of machine."""

from setuptools import setup

from mtgauge_backend import BuildWithLibrary, PlatformDistribution, PlatformWheel

setup(
    distclass=PlatformDistribution,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel},
)
