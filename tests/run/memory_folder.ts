/**
 * A folder in memory for the databases of a run, thousands of which are copied; tests find it in
 * `TEST_MEMORY_DIR`. Undefined where the machine has none with room. Whoever makes it removes it.
 */
export function makeMemoryFolder(): string | undefined {
  const parent = folderInMemory();
  if (parent === undefined) return undefined;
  const folder = Deno.makeTempDirSync({ prefix: "llm-gateway-test-", dir: parent });
  // A database server that tests start as another user must be able to pass through.
  Deno.chmodSync(folder, 0o711);
  return folder;
}

/** More than a run's databases take. */
const roomBytes = 2 * 2 ** 30;
/** With what the tests themselves need. */
const memoryBytes = 3 * roomBytes;

/** `/dev/shm`, where that is in memory and has room. */
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

/** The file system that a path is on: of those mounted above it the nearest, at one point the last. */
function mountOf(path: string, mounts: string): { type: string; options: string } {
  let nearest = { point: "", type: "", options: "" };
  for (const line of mounts.split("\n")) {
    const [, point = "none", type = "", options = ""] = line.split(" ");
    const isAbove = `${path}/`.startsWith(point === "/" ? point : `${point}/`);
    if (isAbove && point.length >= nearest.point.length) nearest = { point, type, options };
  }
  return nearest;
}

/** Whether a run's files can be in memory beside what its tests need. */
export function memoryHasRoom(): boolean {
  return availableMemory() >= memoryBytes;
}

function availableMemory(): number {
  return Deno.systemMemoryInfo().available;
}

/** As `df` says, in the form of POSIX; 0 where it doesn't. */
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
