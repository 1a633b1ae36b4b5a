import { exportFileMissing, type ExportFileName, type ExportFiles } from "../export_job.ts";

const pieceBytes = 64 * 1024;

/** Builds the storage in a directory of this process; only the files' owner may read them. */
export function createExportFiles(directory: string): ExportFiles {
  const pathOf = ({ requestId, claim, format }: ExportFileName) =>
    `${directory}/${requestId}.${claim}.${format}`;
  return {
    async save(name, bytes) {
      await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
      const path = pathOf(name);
      const file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
      try {
        let length = 0;
        for await (const piece of bytes) {
          for (let at = 0; at < piece.length;) at += await file.write(piece.subarray(at));
          length += piece.length;
        }
        await file.sync();
        return length;
      } catch (thrown) {
        await Deno.remove(path).catch(() => {});
        throw thrown;
      } finally {
        file.close();
      }
    },
    async *read(name, start, end) {
      const file = await Deno.open(pathOf(name), { read: true }).catch((thrown) => {
        throw thrown instanceof Deno.errors.NotFound ? exportFileMissing(name.requestId) : thrown;
      });
      try {
        await file.seek(start, Deno.SeekMode.Start);
        for (let left = end - start; left > 0;) {
          const buffer = new Uint8Array(Math.min(pieceBytes, left));
          const read = await file.read(buffer);
          if (read === null) throw new Error("The export's file is shorter than it was.");
          left -= read;
          yield buffer.subarray(0, read);
        }
      } finally {
        file.close();
      }
    },
    async remove(name, which) {
      for (let claim = which === "this" ? name.claim : 1; claim <= name.claim; claim++) {
        await Deno.remove(pathOf({ ...name, claim })).catch((thrown) => {
          if (!(thrown instanceof Deno.errors.NotFound)) throw thrown;
        });
      }
    },
  };
}
