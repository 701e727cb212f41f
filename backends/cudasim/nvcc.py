"""The emulated ``nvcc``: compiles one file of device code for the emulated device, and links nothing."""

import ctypes
import os
import sys

VERSION = """\
nvcc: emulated CUDA compiler driver
Cuda compilation tools, release 12.9, V12.9.0
"""
KINDS = {"cubin": "nvrtcGetCUBIN", "ptx": "nvrtcGetPTX"}
WITH_VALUE = ("-I", "-D", "-U", "-std", "--std", "-include", "-arch", "--gpu-architecture")
ABOUT_LINKING = ("-rdc", "--relocatable-device-code", "-dc", "--device-c", "-c", "-Xcompiler", "--compiler-options")


def main(arguments: list[str]) -> int:
    """Compile one file, as the command line says."""
    if "--version" in arguments or "-V" in arguments:
        print(VERSION, end="")
        return 0
    kind, target, source, linked, options = "cubin", "", "", "", []
    rest = iter(arguments)
    for word in rest:
        if word.lstrip("-") in KINDS and word.startswith("-"):
            kind = word.lstrip("-")
        elif word in ("-o", "--output-file"):
            target = next(rest)
        elif word == "--device-link":
            linked = next(rest)
        elif word.startswith(("-gencode", "--generate-code")):
            code = word if "=" in word else next(rest)
            options.append("-arch=sm_" + code.rpartition("_")[2])
        elif word in WITH_VALUE:
            value = next(rest)
            options.append(f"{word}{'' if word in ('-I', '-D', '-U') else '='}{value}")
        elif word.startswith(ABOUT_LINKING):
            continue
        elif word.startswith("-"):
            options.append(word)
        else:
            source = word
    if linked:
        with open(linked, "rb") as file, open(target, "wb") as copy:
            copy.write(file.read())
        return 0
    if not source:
        return fail("nvcc: no source file was given; the emulated nvcc compiles one .cu file to --cubin or --ptx")
    return compile_file(source, target or f"{os.path.splitext(source)[0]}.{kind}", kind, options)


def fail(message: str) -> int:
    """Say what went wrong."""
    print(message, file=sys.stderr)
    return 1


def compile_file(source: str, target: str, kind: str, options: list[str]) -> int:
    """Compile with the emulated NVRTC."""
    here = os.path.dirname(os.path.abspath(__file__))
    library = ctypes.CDLL(os.path.join(os.path.dirname(here), "lib64", "libcudasim.so"), mode=ctypes.RTLD_GLOBAL)
    with open(source, "rb") as file:
        text = file.read()
    options.append(f"-I{os.path.dirname(os.path.abspath(source))}")
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), text, os.fsencode(source), 0, None, None)
    words = (ctypes.c_char_p * len(options))(*map(os.fsencode, options))
    status = library.nvrtcCompileProgram(program, len(options), words)
    result = "nvrtcGetProgramLog" if status else KINDS[kind]
    getattr(library, f"{result}Size")(program, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    getattr(library, result)(program, data)
    if status:
        return fail(data.value.decode(errors="replace") or f"nvcc: error {status}: are these options known? {options}")
    with open(target, "wb") as file:
        file.write(data.raw[:-1])  # NVRTC adds a zero
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
