"""Certified derivatives: values, VJPs and JVPs of every primitive against mpmath at 50 digits."""
