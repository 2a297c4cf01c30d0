/** A command prefix under which some system calls are refused, as in a sandbox or on a limited file system (Linux). */
import { isMissing } from "../../support/programs.ts";

/** Numbers of the calls by architecture: symlink has none of its own on arm64. */
const numbers = {
  x64: { symlink: [88, 266], flock: [73] },
  arm64: { symlink: [36], flock: [32] },
} as const;

/** seccomp(2): a filter that answers with an errno for each listed number and allows everything else. */
const script = `
import ctypes, os, struct, sys
numbers = [int(n) for n in sys.argv[1].split(",")]
code = [(0x20, 0, 0, 0)]
for n in numbers:
    code += [(0x15, 0, 1, n), (0x06, 0, 0, 0x00050000 | int(sys.argv[2]))]
code += [(0x06, 0, 0, 0x7fff0000)]
program = b"".join(struct.pack("HBBI", *line) for line in code)
buffer = ctypes.create_string_buffer(program)
class Filter(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, ctypes.byref(Filter(len(code), ctypes.addressof(buffer)))) != 0:
    sys.exit("no seccomp: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[3], sys.argv[3:])
`;

/** ENOSYS, the same number on every architecture of Linux. */
const ENOSYS = 38;

export function without(call: "symlink" | "flock"): string[] {
  const arch = process.arch === "arm64" ? "arm64" : "x64";
  return ["python3", "-c", script, numbers[arch][call].join(","), String(ENOSYS)];
}

export const canFilter: boolean =
  process.platform === "linux" && !isMissing("python3") && Bun.spawnSync([...without("symlink"), "true"]).success;
