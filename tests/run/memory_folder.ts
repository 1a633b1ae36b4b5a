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
  const [, type, options = ""] = mounts.split("\n").map((line) => line.split(" ").slice(1))
    .findLast(([path]) => path === "/dev/shm") ?? [];
  const isWritable = type === "tmpfs" && !/(^|,)ro(,|$)/.test(options);
  return isWritable && freeBytes >= roomBytes && availableBytes >= memoryBytes
    ? "/dev/shm"
    : undefined;
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

/** The text of a file; empty where it can't be read. */
export function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
