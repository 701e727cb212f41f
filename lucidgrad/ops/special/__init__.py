"""Special functions, by family.

`entropy` and `error` come with the package; `gamma`, `incomplete` and `bessel` are loaded by `lucidgrad.special` alone,
as they take their time.
"""
