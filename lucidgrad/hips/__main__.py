"""``python -m lucidgrad.hips program.py``: run a program in which ``autograd`` means this door."""

from lucidgrad import doors

if __name__ == "__main__":
    doors.run("autograd", "lucidgrad.hips")
