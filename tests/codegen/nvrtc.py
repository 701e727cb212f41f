"""NVIDIA's compiler NVRTC, from its PyPI wheel: it needs no GPU.

It runs in a process of its own, since the emulated device stands in for its library: as a script this module reads
sources in JSON and writes what the compiler says of each.
"""

import ctypes
import functools
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

#: The oldest architecture that kernels are compiled for.
OLDEST = 70


def folders(part):
    """The wheel's folders of this name: nvidia/*/lib, nvidia/*/include, or nvidia/cu13/..."""
    spec = importlib.util.find_spec("nvidia")
    roots = map(Path, spec.submodule_search_locations) if spec is not None else ()
    return [folder for root in roots for folder in sorted(root.glob(f"*/{part}")) if folder.is_dir()]


def library():
    """The path of the compiler, or None where the wheel is not installed."""
    found = [path for folder in folders("lib") for path in sorted(folder.glob("libnvrtc.so.*"))]
    return found[-1] if found else None


def headers():
    """Where CUDA's headers are: CuPy's own for half precision need cuda_fp16.h. Empty where they are missing."""
    return [folder for folder in folders("include") if (folder / "cuda_fp16.h").exists()]


class Compiler:
    """Compiles sources to machine code."""

    def __init__(self, path=None):
        self.nvrtc = ctypes.CDLL(str(path or library()))
        self.nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p

    def _check(self, code):
        if code:
            raise RuntimeError(self.nvrtc.nvrtcGetErrorString(code).decode())

    @property
    def version(self):
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self.nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        return major.value, minor.value

    @property
    def architectures(self):
        """All that it knows, from `OLDEST`."""
        count = ctypes.c_int()
        self._check(self.nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
        known = (ctypes.c_int * count.value)()
        self._check(self.nvrtc.nvrtcGetSupportedArchs(known))
        return [arch for arch in known if arch >= OLDEST]

    def compile(self, source, architecture, options=(), name="kernels.cu", virtual=False):
        """Compile for an architecture, down to machine code, or to PTX; returns it, raises with the compiler's log."""
        program = ctypes.c_void_p()
        self._check(self.nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None))
        words = [f"--gpu-architecture={'compute' if virtual else 'sm'}_{architecture}", *options]
        array = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        try:
            code = self.nvrtc.nvrtcCompileProgram(program, len(words), array)
            size = ctypes.c_size_t()
            if code:
                self.nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
                log = ctypes.create_string_buffer(size.value)
                self.nvrtc.nvrtcGetProgramLog(program, log)
                raise RuntimeError(f"sm_{architecture}: {log.value.decode()[:4000]}")
            kind = "PTX" if virtual else "CUBIN"
            self._check(getattr(self.nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)))
            code = ctypes.create_string_buffer(size.value)
            self._check(getattr(self.nvrtc, f"nvrtcGet{kind}")(program, code))
            return code.raw.rstrip(b"\0") if virtual else code.raw
        finally:
            self.nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def cupy_options():
    """What CuPy passes for its headers, without importing it: that needs a driver."""
    root = Path(importlib.util.find_spec("cupy").origin).parent / "_core" / "include"
    cccl = root / "cupy" / "_cccl"
    include = [root, *(cccl / part for part in ("cub", "thrust", "libcudacxx")), *headers()]
    return [
        "--std=c++17",
        "--fmad=false",
        "-ftz=false",
        "--device-as-default-execution-space",
        *(f"-I{os.fspath(folder)}" for folder in include),
    ]


def _ask(**request):
    done = subprocess.run(
        [sys.executable, __file__], input=json.dumps(request), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the compiler's process ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def architectures():
    """All that the compiler knows, from the oldest that is asked for."""
    return _ask()["architectures"]


def assembler():
    """The path of ptxas, or None where its wheel is not installed."""
    found = [folder / "ptxas" for folder in folders("bin") if (folder / "ptxas").exists()]
    return found[-1] if found else None


def assemble_all(sources, architecture, options=()):
    """Assemble sources by name; returns what the assembler says of each, or raises with what is wrong with one."""
    reports, faults = _told(sources, architecture, options, assemble=True)
    if faults:
        raise RuntimeError("\n".join(f"{name}: {fault}" for name, fault in faults.items()))
    return reports


def compile_all(sources, architecture, options=()):
    """Compile sources by name; returns the faults by name."""
    return _told(sources, architecture, options, assemble=False)[1]


#: Sources that a process compiles before what was said of them is kept.
PORTION = 32


def _told(sources, architecture, options, assemble):
    """What is said of each source, and what is wrong with some. What was said before, of the same text by the same
    tools, is found in the cache's folder: only what has changed is compiled."""
    from lucidgrad.backends import caches

    folder = caches.home("nvrtc")
    caches.make_private(folder)
    about = repr((_tools(), architecture, list(options), assemble))
    places = {name: folder / f"{caches.digest(about, text)}.txt" for name, text in sources.items()}
    reports = {name: place.read_bytes()[:-32].decode() for name, place in places.items() if caches.sealed(place)}
    unknown, faults = [name for name in sources if name not in reports], {}
    for first in range(0, len(unknown), PORTION):
        some = {name: sources[name] for name in unknown[first : first + PORTION]}
        answer = _ask(sources=some, architecture=architecture, options=list(options), assemble=assemble)
        faults |= answer["faults"]
        for name in some.keys() - answer["faults"].keys():
            reports[name] = answer["reports"].get(name, "")
            caches.replace(places[name], lambda path, text=reports[name]: path.write_text(text, encoding="utf-8"))
    return reports, faults


@functools.cache
def _tools():
    """The wheels that a compiler, an assembler and headers come from, with their versions."""
    found = ((d.metadata["Name"] or "", d.version) for d in importlib.metadata.distributions())
    return sorted((name, version) for name, version in found if name.startswith(("nvidia", "cupy")))


def assembled(ptx, architecture):
    """What ptxas says of a program: registers, memory, spills of each kernel."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.ptx"
        path.write_bytes(ptx)
        command = [assembler(), "-v", f"-arch=sm_{architecture}", path, "-o", Path(folder) / "kernels.cubin"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"sm_{architecture}: {done.stderr[-4000:]}")
    return done.stderr


def main():
    request = json.load(sys.stdin)
    compiler = Compiler()
    faults, reports = {}, {}
    architecture, options, assemble = (request.get(key) for key in ("architecture", "options", "assemble"))

    def report(item):
        name, source = item
        try:
            made = compiler.compile(source, architecture, options, virtual=bool(assemble))
            if assemble:
                reports[name] = assembled(made, architecture)
        except RuntimeError as error:
            faults[name] = str(error)

    # Both programs wait in C, or for a process: threads run beside each other.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(report, request.get("sources", {}).items()))
    known = {"architectures": compiler.architectures, "version": compiler.version}
    json.dump({**known, "faults": faults, "reports": reports}, sys.stdout)


if __name__ == "__main__":
    main()
