"""The version of the emulated device's own distribution."""

__version__ = "0.1.0"
