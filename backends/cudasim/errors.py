"""What the emulated device raises itself. What goes wrong on the device is raised by CuPy, as on a GPU."""


class EmulatorError(RuntimeError):
    """The emulated device can't be built, loaded or controlled; the message says why and what helps."""
