import assert from "@std/assert";
import { folderInMemory, isInMemory } from "./memory_folder.ts";

const gib = 2 ** 30;
const mounts = (options: string) =>
  `/dev/vda / ext4 rw 0 0\ntmpfs /dev/shm tmpfs ${options} 0 0\nproc /proc proc rw 0 0\n`;

Deno.test("a run's databases are in memory where there is room", () => {
  for (const options of ["rw,nosuid,nodev", "rw,nosuid,nodev,noexec,relatime"]) {
    assert.equal(folderInMemory(mounts(options), 2 * gib, 6 * gib), "/dev/shm", options);
  }
});

Deno.test("else they are where the system has its temporary files", () => {
  const refused: [string, string, number, number][] = [
    ["read-only", mounts("ro"), 8 * gib, 16 * gib],
    ["a container's usual 64 MB", mounts("rw"), gib / 16, 16 * gib],
    ["little memory beside it", mounts("rw"), 8 * gib, 5 * gib],
    ["no memory", "/dev/vda / ext4 rw 0 0\n", 8 * gib, 16 * gib],
    ["on a disk", "/dev/vdb /dev/shm ext4 rw 0 0\n", 8 * gib, 16 * gib],
    ["no such file", "", 0, 16 * gib],
  ];
  for (const [what, ...facts] of refused) {
    assert.equal(folderInMemory(...facts), undefined, what);
  }
});

const several = [
  "/dev/vda / ext4 rw 0 0",
  "tmpfs /tmp tmpfs rw 0 0",
  "/dev/vdb /tmp/disk ext4 rw 0 0",
  "tmpfs /tmpfiles tmpfs rw 0 0",
  "/dev/vdc /over ext4 rw 0 0",
  "tmpfs /over tmpfs rw 0 0",
  "",
].join("\n");

Deno.test("a path is in memory where the nearest file system above it is", () => {
  const paths = ["/tmp", "/tmp/a", "/tmpfiles/a", "/over/a"];
  assert.deepEqual(paths.filter((path) => !isInMemory(path, several)), []);
  const onDisk = ["/", "/home", "/tmp/disk", "/tmp/disk/a", "/tmpother"];
  assert.deepEqual(onDisk.filter((path) => isInMemory(path, several)), []);
  assert.equal(isInMemory("/tmp", ""), false);
});
