/**
 * Makes a folder in memory for the run's databases, since thousands are copied; tests find it in
 * `TEST_MEMORY_DIR`. Undefined if the machine has no room for it. The caller removes it.
 */
export function makeMemoryFolder(): string | undefined {
  const parent = folderInMemory();
  if (parent === undefined) return undefined;
  const folder = Deno.makeTempDirSync({ prefix: "llm-gateway-test-", dir: parent });
  // A database server that tests start as another user must be able to pass through.
  Deno.chmodSync(folder, 0o711);
  return folder;
}

/** More than the databases of a run need. */
const roomBytes = 2 * 2 ** 30;
/** The same, plus the memory that the tests themselves need. */
const memoryBytes = 3 * roomBytes;

/** Returns `/dev/shm` if it is in memory, is writable and has room; undefined otherwise. */
export function folderInMemory(
  mounts = readText("/proc/mounts"),
  freeBytes = freeBytesOf("/dev/shm"),
  availableBytes = availableMemory(),
): string | undefined {
  const isWritable = isInMemory("/dev/shm", mounts) && !isReadOnly("/dev/shm", mounts);
  return isWritable && freeBytes >= roomBytes && availableBytes >= memoryBytes
    ? "/dev/shm"
    : undefined;
}

/** Whether a path is on a file system in memory. */
export function isInMemory(path: string, mounts = readText("/proc/mounts")): boolean {
  return mountOf(path, mounts).type === "tmpfs";
}

function isReadOnly(path: string, mounts: string): boolean {
  return mountOf(path, mounts).options.split(",").includes("ro");
}

/**
 * Returns the file system of a path: the one with the nearest mount point above it, and of several
 * at the same mount point the last one.
 */
function mountOf(path: string, mounts: string): { type: string; options: string } {
  let nearest = { point: "", type: "", options: "" };
  for (const line of mounts.split("\n")) {
    const [, point = "none", type = "", options = ""] = line.split(" ");
    const isAbove = `${path}/`.startsWith(point === "/" ? point : `${point}/`);
    if (isAbove && point.length >= nearest.point.length) nearest = { point, type, options };
  }
  return nearest;
}

/** Whether memory has room for a run's files besides what its tests need. */
export function memoryHasRoom(): boolean {
  return availableMemory() >= memoryBytes;
}

function availableMemory(): number {
  return Deno.systemMemoryInfo().available;
}

/** Asks `df` (in POSIX format) for the free bytes; 0 if it fails. */
function freeBytesOf(path: string): number {
  try {
    const { stdout } = new Deno.Command("df", { args: ["-kP", path], stderr: "null" }).outputSync();
    const [, line = ""] = new TextDecoder().decode(stdout).split("\n");
    return Number(line.split(/\s+/)[3] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
