"""How fast lucidgrad is on this machine, as ratios to its peers in the same process: ``python -m lucidgrad.bench``."""
