import { Buffer } from "node:buffer";
import { type JournalRecord, scanRecords } from "./records.ts";

/** Names of files in the journal's folder. */
const segmentName = /^\d{12}\.journal$/;
const damagedName = /^\d{12}\.journal\.damaged$/;
/** Suffix of a file that will replace a segment. */
export const rewrittenSuffix = ".rewritten";
export const rejectedName = "rejected.jsonl";

/**
 * Returns the names of the segments in a folder, oldest first: their numbers have leading zeros.
 */
export async function segmentNames(directory: string): Promise<string[]> {
  return await namesLike(directory, segmentName);
}

/** Removes incomplete rewrites: the original files are still there. */
export async function removeRewritten(directory: string): Promise<void> {
  const names = await namesLike(directory, /\.rewritten$/);
  for (const name of names) await Deno.remove(`${directory}/${name}`);
}

/** Returns the names of the files of unreadable bytes in a folder. */
export async function damagedNames(directory: string): Promise<string[]> {
  return await namesLike(directory, damagedName);
}

/** The contents of a segment's file. */
export interface SegmentContents {
  records: JournalRecord[];
  /** Bytes that are not records; except zeros, which a file is filled with ahead of its records. */
  unreadable: Uint8Array[];
  /** Whether `unreadable` is a single piece at the end: an incompletely written record. */
  isTorn: boolean;
}

export function readSegment(bytes: Buffer): SegmentContents {
  const contents: SegmentContents = { records: [], unreadable: [], isTorn: false };
  for (const { record, from, to } of scanRecords(bytes)) {
    if (record) {
      contents.records.push(record);
      continue;
    }
    const end = bytes.subarray(from, to).findLastIndex((byte) => byte !== 0) + 1;
    if (end === 0) continue;
    contents.unreadable.push(bytes.subarray(from, from + end));
    contents.isTorn = to === bytes.length && contents.unreadable.length === 1;
  }
  return contents;
}

export async function readSegmentFile(path: string): Promise<SegmentContents> {
  const bytes = await Deno.readFile(path);
  return readSegment(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
}

/** Opens an empty file in place of what was there. */
export function createFile(path: string): Promise<Deno.FsFile> {
  return Deno.open(path, { write: true, create: true, truncate: true, mode: 0o600 });
}

export async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

async function namesLike(directory: string, pattern: RegExp): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(directory)) if (pattern.test(name)) names.push(name);
  return names.sort();
}
