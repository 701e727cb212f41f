"""Processes that compute together: groups, and what members send each other. Users import `lucidgrad.distributed`."""
