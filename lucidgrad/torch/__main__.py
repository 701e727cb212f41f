"""``python -m lucidgrad.torch program.py``: run a program in which ``torch`` means this door."""

from lucidgrad import doors

if __name__ == "__main__":
    doors.run("torch", "lucidgrad.torch")
