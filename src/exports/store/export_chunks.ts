import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import { createGcHint } from "../../base/gc_hint.ts";
import { exportFileMissing, type ExportFileName, type ExportFiles } from "../export_job.ts";
import type { Queryable } from "../../database/database.ts";
import { isOutOfRoom } from "../../database/postgres/faults.ts";

/**
 * Bytes of the file in one chunk, before compression; the last one may hold fewer. Each is
 * compressed on its own, so that a range can be read without the rest. Compression keeps the values
 * sent to and from the database small, as well as the database's log.
 */
const chunkBytes = 256 * 1024;
/** Exports are so repetitive that a higher level gains little. */
const level = 1;
const compress = promisify(deflateRaw);
const decompress = promisify(inflateRaw);

/** Suggests a minor GC after this many bytes were read and passed on. */
const gcHintEveryBytes = 4 * 1024 * 1024;

/** Builds the storage in rows of the database, where every replica finds the files. */
export function createExportChunks(database: Queryable): ExportFiles {
  const gcHint = createGcHint(gcHintEveryBytes);
  return {
    async save(file, bytes) {
      const buffer = new Uint8Array(chunkBytes);
      let filled = 0;
      let position = 0;
      let length = 0;
      for await (const piece of bytes) {
        for (let at = 0; at < piece.length;) {
          const part = piece.subarray(at, at + chunkBytes - filled);
          buffer.set(part, filled);
          filled += part.length;
          at += part.length;
          if (filled < chunkBytes) continue;
          await insert(database, file, position++, buffer);
          filled = 0;
        }
        length += piece.length;
      }
      if (filled > 0) await insert(database, file, position, buffer.subarray(0, filled));
      return length;
    },
    async *read(file, start, end) {
      for (let at = start; at < end;) {
        const position = Math.floor(at / chunkBytes);
        const [row] = await database.query(
          `select bytes from export_chunks
           where request_id = $1 and claim = $2 and position = $3`,
          [file.requestId, file.claim, position],
        );
        if (!row) throw exportFileMissing(file.requestId);
        const whole = await decompress(row.bytes as Uint8Array, { maxOutputLength: chunkBytes });
        const from = at - position * chunkBytes;
        const bytes = whole.subarray(from, from + end - at);
        if (bytes.length === 0) throw new Error("The export's file is shorter than it was.");
        at += bytes.length;
        yield bytes;
        gcHint.addReleased(whole.length);
      }
    },
    async remove({ requestId, claim }, which) {
      await database.query(
        `delete from export_chunks
         where request_id = $1 and claim ${which === "this" ? "=" : "<="} $2`,
        [requestId, claim],
      );
    },
  };
}

/**
 * Writes a chunk if the attempt is still the current one; an outdated one leaves nothing behind.
 */
async function insert(
  database: Queryable,
  { requestId, claim }: ExportFileName,
  position: number,
  bytes: Uint8Array,
): Promise<void> {
  const compressed = await compress(bytes, { level });
  const rows = await database.query(
    `with held as (
       select request_id from export_jobs
       where request_id = $1 and claim = $2 and state = 'running' for share
     )
     insert into export_chunks (request_id, claim, position, bytes)
     select request_id, $2, $3, decode($4, 'base64') from held returning position`,
    [requestId, claim, position, compressed.toString("base64")],
  ).catch((thrown) => {
    // Counts as a failure of the job, not of the store: this very file may fill the disk.
    throw isOutOfRoom(thrown) ? new Error("The database has no room for the file.") : thrown;
  });
  if (rows.length === 0) {
    throw new Error("The export was cancelled or claimed by another process while it was written.");
  }
}
