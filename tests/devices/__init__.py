"""The laws on the devices of other libraries: what they compute is what the CPU computes, or they refuse it by name."""
