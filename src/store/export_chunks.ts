import { Buffer } from "node:buffer";
import type { ExportFileName, ExportFiles } from "../domain/export_job.ts";
import type { Database } from "./database.ts";

/**
 * Size of a piece; the last one of a file may be smaller. As text on its way to the database it
 * still is a small object, which goes as soon as it is sent; larger ones pile up until the whole
 * memory is looked through.
 */
const chunkBytes = 64 * 1024;
/** Pieces that are fetched at once. */
const fetchedChunks = 8;

/** Files of exports as rows of the database, where any replica finds them. */
export function createExportChunks(database: Database): ExportFiles {
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
        const last = Math.min(Math.floor((end - 1) / chunkBytes), position + fetchedChunks - 1);
        const rows = await database.query(
          `select bytes from export_chunks
           where request_id = $1 and claim = $2 and position between $3 and $4 order by position`,
          [file.requestId, file.claim, position, last],
        );
        if (rows.length <= last - position) throw new Error("The export's file is gone.");
        for (const [index, row] of rows.entries()) {
          const from = at - (position + index) * chunkBytes;
          const bytes = (row.bytes as Uint8Array).subarray(from, from + end - at);
          at += bytes.length;
          yield bytes;
        }
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

/** Writes a piece only as long as the attempt is the last one: a late one leaves nothing behind. */
async function insert(
  database: Database,
  { requestId, claim }: ExportFileName,
  position: number,
  bytes: Uint8Array,
): Promise<void> {
  const rows = await database.query(
    `with held as (
       select request_id from export_jobs
       where request_id = $1 and claim = $2 and state = 'running' for share
     )
     insert into export_chunks (request_id, claim, position, bytes)
     select request_id, $2, $3, decode($4, 'base64') from held returning position`,
    [requestId, claim, position, Buffer.from(bytes).toString("base64")],
  );
  if (rows.length === 0) throw new Error("The export was taken away while it was written.");
}
