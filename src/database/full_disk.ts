/** The most that the embedded database writes at once: one file of its log. */
const neededBytes = 16 * 1024 * 1024;
const pieceBytes = 1024 * 1024;

/** Whether a write failed for lack of room, on the disk or in its user's quota. */
export function isNoSpace(thrown: unknown): boolean {
  const code = (thrown as { code?: unknown } | null)?.code;
  return code === "ENOSPC" || code === "EDQUOT";
}

/**
 * Whether the disk of an existing directory has no room for what the database may have to write.
 * Writes a file to find out: asking the system takes a permission that the service lacks.
 */
export async function isDiskFull(directory: string): Promise<boolean> {
  let path: string | undefined;
  try {
    path = await Deno.makeTempFile({ dir: directory, prefix: ".room-" });
    using file = await Deno.open(path, { write: true });
    const piece = new Uint8Array(pieceBytes);
    for (let written = 0; written < neededBytes;) written += await file.write(piece);
    return false;
  } catch (thrown) {
    return isNoSpace(thrown);
  } finally {
    if (path !== undefined) await Deno.remove(path).catch(() => {});
  }
}
