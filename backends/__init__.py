"""Back ends: what computes for a device. This folder is the package ``lucidgrad.backends``."""

if __name__ != "lucidgrad.backends":
    raise ImportError(
        f"this package was imported as {__name__!r}; import it as 'lucidgrad.backends' (two names would be two registries)"
    )
