"""Stand-ins for library functions that CuPy links and nobody emulates: C source that says so when one is called."""

import re

# "Not supported" in the library's own status type, so that CuPy raises its own exception.
STATUS = {"nccl": 5, "cublas": 15, "curand": 999, "cufft": 16, "cusolver": 9, "cusparse": 10, "nvrtc": 11, "cu": 801}

# Objects may be made, configured and destroyed; the first call that would compute something fails.
CREATES = re.compile(r"[a-z]+Create|cusolver(Dn|Sp|Rf)Create")
HARMLESS = re.compile(r"[a-z]+(Dn|Sp|Rf)?(Destroy|Set|DestroyMatDescr|GetPointerMode|GetStream)")
TEXT = re.compile(r".*(Get(Error|Status)(String|Name))$")
VERSION = re.compile(r".*GetVersion$")

HEAD = """\
#include <stdio.h>
#include <stdint.h>
static int missing(const char *name, int status, int *said) {
    if (!*said) fprintf(stderr, "cudasim: %s is not emulated\\n", name);
    *said = 1;
    return status;
}
static int create(void **handle) {
    static uintptr_t last = 0x5000;
    *handle = (void *)__atomic_add_fetch(&last, 16, __ATOMIC_RELAXED);
    return 0;
}
"""


def stub(name: str) -> str:
    """Return the definition of one function."""
    library = next((prefix for prefix in STATUS if name.startswith(prefix)), "cu")
    if TEXT.match(name):
        return f'const char *{name}(int status) {{ (void)status; return "not emulated ({library})"; }}\n'
    if VERSION.match(name):
        # (int *version), or (handle, int *version): the last pointer is the one to write.
        argument = "int *version" if library in ("curand", "cufft") else "void *handle, int *version"
        unused = "" if library in ("curand", "cufft") else "(void)handle; "
        return f"int {name}({argument}) {{ {unused}*version = 12500; return 0; }}\n"
    if CREATES.match(name):
        return f"int {name}(void **handle) {{ return create(handle); }}\n"
    if HARMLESS.match(name):
        return f"int {name}(void) {{ return 0; }}\n"
    return f'int {name}(void) {{ static int said; return missing("{name}", {STATUS[library]}, &said); }}\n'


def source(names: list[str]) -> str:
    """Return the C source of the stand-ins of one library."""
    body = "".join(map(stub, names))
    used = HEAD if "missing(" in body or "create(" in body else ""
    return used + body
