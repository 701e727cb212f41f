"""``python -m cudasim``: a program, and all Python processes that it starts, with an emulated CUDA device."""

from .launcher import main

if __name__ == "__main__":
    main()
