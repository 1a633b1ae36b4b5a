import { Buffer } from "node:buffer";
import { type JournalRecord, scanRecords } from "./records.ts";

/** The names of files in a journal's folder. */
export const segmentName = /^\d{12}\.journal$/;
export const damagedName = /^\d{12}\.journal\.damaged$/;
/** What the name of a file ends with that is to take a segment's place. */
export const rewrittenSuffix = ".rewritten";
export const rejectedName = "rejected.jsonl";

/** The segments that processes left in a folder, oldest first: their numbers have leading zeros. */
export async function segmentNames(directory: string): Promise<string[]> {
  return await namesLike(directory, segmentName);
}

/** Removes rewritings that were cut: the files that they were made of are there. */
export async function removeRewritten(directory: string): Promise<void> {
  const names = await namesLike(directory, /\.rewritten$/);
  for (const name of names) await Deno.remove(`${directory}/${name}`);
}

/** The files in a folder that bytes were put into which are no records. */
export async function damagedNames(directory: string): Promise<string[]> {
  return await namesLike(directory, damagedName);
}

/** What a segment's file holds. */
export interface SegmentContents {
  records: JournalRecord[];
  /** Bytes that are no record; zeros, which a crash of the machine leaves, don't count. */
  unreadable: Uint8Array[];
  /** Whether all of `unreadable` is one piece at the end, as when a record was not written whole. */
  isTorn: boolean;
}

export function readSegment(bytes: Buffer): SegmentContents {
  const contents: SegmentContents = { records: [], unreadable: [], isTorn: false };
  for (const { record, from, to } of scanRecords(bytes)) {
    if (record) {
      contents.records.push(record);
      continue;
    }
    const piece = bytes.subarray(from, to);
    if (piece.every((byte) => byte === 0)) continue;
    contents.unreadable.push(piece);
    contents.isTorn = to === bytes.length && contents.unreadable.length === 1;
  }
  return contents;
}

export async function readSegmentFile(path: string): Promise<SegmentContents> {
  const bytes = await Deno.readFile(path);
  return readSegment(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
}

/** Writes a file that is on the disk when this resolves; one of that name is overwritten. */
export async function writeDurably(path: string, pieces: readonly Uint8Array[]): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true, truncate: true, mode: 0o600 });
  for (const piece of pieces) {
    for (let at = 0; at < piece.length;) at += await file.write(piece.subarray(at));
  }
  await file.sync();
}

async function namesLike(directory: string, pattern: RegExp): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(directory)) if (pattern.test(name)) names.push(name);
  return names.sort();
}
