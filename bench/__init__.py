"""How fast lucidgrad is, as ratios to its peers in the same process: ``python -m bench``."""
