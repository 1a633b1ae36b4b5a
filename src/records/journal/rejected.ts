import { Buffer } from "node:buffer";
import { Turns } from "../../base/turns.ts";
import type { ExpiredRecords, RecordLimits } from "../../erasure/retention.ts";
import type { SettledCall } from "../../shared/interaction.ts";
import type { Media } from "../../shared/media.ts";
import { interactionFromJson, interactionToJson } from "../interaction_json.ts";
import { damagedNames, rejectedName, writeDurably, writeSynced } from "./files.ts";

/** `rejected.jsonl` and the files of unreadable bytes; one change at a time. */
export class RejectedRecords {
  readonly #directory: string;
  /** Resolves when all changes so far are done. */
  settled: Promise<void> = Promise.resolve();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Appends a record that the store rejected: one line of JSON, `{reason, interaction}`, in a file
   * that only its owner can read. Resolves when it is synced.
   */
  keep(interaction: SettledCall, reason: string): Promise<void> {
    return this.#next(async () => {
      using file = await openToAppend(this.#path);
      const { size } = await file.stat();
      const line = lineOf(reason, size < wholeBytes ? interaction : withoutPayload(interaction));
      await appendLines(file, Buffer.from(`${line}\n`));
    });
  }

  /** Removes the lines of erased calls; returns their number. */
  erase(isErased: (interaction: SettledCall) => boolean): Promise<number> {
    return this.#next(() => changeLines(this.#path, (call) => isErased(call) ? undefined : call));
  }

  removeUnreadable(): Promise<void> {
    return this.#next(async () => void await this.#removeUnreadable());
  }

  /** See `RejectedRetention.expire`. */
  expire({ rowsBefore, payloadsBefore }: RecordLimits): Promise<ExpiredRecords> {
    return this.#next(async () => ({
      rejected: await changeLines(this.#path, (call) => {
        if (rowsBefore && call.createdAt < rowsBefore) return undefined;
        return call.createdAt < payloadsBefore && hasPayload(call) ? withoutPayload(call) : call;
      }, { keepsUnknown: true }),
      unreadableFiles: await this.#removeUnreadable(payloadsBefore),
    }));
  }

  /** A file is as old as the start that found its bytes. */
  async #removeUnreadable(before?: Date): Promise<number> {
    let removed = 0;
    for (const name of await damagedNames(this.#directory)) {
      const path = `${this.#directory}/${name}`;
      const { mtime } = await Deno.stat(path);
      if (before && mtime && mtime >= before) continue;
      await Deno.remove(path);
      removed++;
    }
    return removed;
  }

  get #path(): string {
    return `${this.#directory}/${rejectedName}`;
  }

  #next<T>(act: () => Promise<T>): Promise<T> {
    const done = this.settled.then(act);
    this.settled = done.then(() => {}, () => {});
    return done;
  }
}

function openToAppend(path: string): Promise<Deno.FsFile> {
  return Deno.open(path, { create: true, read: true, append: true, mode: 0o600 });
}

/**
 * Appends lines, which begin a line of their own: a full disk or a crash may have left the last one
 * incomplete, and what is behind it would be dropped together with it.
 */
async function appendLines(file: Deno.FsFile, lines: Uint8Array): Promise<void> {
  const { size } = await file.stat();
  const last = new Uint8Array(1);
  if (size > 0) {
    await file.seek(-1, Deno.SeekMode.End);
    await file.read(last);
  }
  const isInLine = size > 0 && last[0] !== lineEnd;
  await writeSynced(file, ...isInLine ? [Uint8Array.of(lineEnd)] : [], lines);
}

const lineEnd = 0x0a;

/**
 * Once the file is this large, payloads are left out: rows and charges, which exist nowhere else,
 * matter more.
 */
const wholeBytes = 64 * 1024 * 1024;

function withoutPayload(
  { media: _media, retained: _retained, vendorAnswer: _answer, ...row }: SettledCall,
): SettledCall {
  return { ...row, requestText: null, responseText: null, payloadTruncated: true };
}

function hasPayload({ requestText, responseText, media, retained, vendorAnswer }: SettledCall) {
  return requestText !== null || responseText !== null ||
    [media, retained, vendorAnswer].some((part) => part !== undefined);
}

/** Returns the number of records that the store has rejected so far. */
export async function countRejected(directory: string): Promise<number> {
  const bytes = await Deno.readFile(`${directory}/${rejectedName}`).catch(onlyMissing);
  return bytes?.reduce((lines, byte) => byte === lineEnd ? lines + 1 : lines, 0) ?? 0;
}

/**
 * Replaces the record of each line by what `change` returns; undefined removes the line. Returns the
 * number of lines that changed. `keepsUnknown`: whole lines that this version can't read stay, since
 * they may be all that is left of a charge; without it they go, since they may be anybody's.
 */
async function changeLines(
  path: string,
  change: (interaction: SettledCall) => SettledCall | undefined,
  { keepsUnknown = false } = {},
): Promise<number> {
  const bytes = await Deno.readFile(path).catch(onlyMissing);
  if (bytes === undefined) return 0;
  const lines = new TextDecoder().decode(bytes).split("\n").filter((line) => line !== "");
  const remaining: string[] = [];
  let changed = 0;
  const turns = new Turns();
  for (const line of lines) {
    // A line may be compared with thousands of tombstones.
    await turns.pause();
    // Incomplete lines, left by a crash, are dropped too.
    const rejected = rejectedOfLine(line);
    if (rejected === undefined && keepsUnknown && isJson(line)) {
      remaining.push(line);
      continue;
    }
    const result = rejected && change(rejected.interaction);
    if (result !== rejected?.interaction || result === undefined) changed++;
    if (result === undefined) continue;
    remaining.push(result === rejected!.interaction ? line : lineOf(rejected!.reason, result));
  }
  if (changed === 0) return 0;
  const text = remaining.map((line) => `${line}\n`).join("");
  await writeDurably(`${path}.new`, [Buffer.from(text)]);
  await Deno.rename(`${path}.new`, path);
  return changed;
}

/**
 * Moves `rejected.jsonl` and the files of unreadable bytes from one journal's folder to another's.
 * No record may be rejected in the target's journal meanwhile.
 */
export async function moveAside(from: string, to: string): Promise<void> {
  const bytes = await Deno.readFile(`${from}/${rejectedName}`).catch(onlyMissing);
  if (bytes !== undefined && bytes.length > 0) {
    using file = await openToAppend(`${to}/${rejectedName}`);
    await appendLines(file, bytes);
    await Deno.remove(`${from}/${rejectedName}`);
  }
  // The target's own files are numbered upwards from 1, so these are numbered downwards.
  const taken = new Set(await damagedNames(to));
  let number = 999_999_999_999;
  for (const name of await damagedNames(from)) {
    while (taken.has(`${number}.journal.damaged`)) number--;
    await Deno.rename(`${from}/${name}`, `${to}/${number--}.journal.damaged`);
  }
}

function lineOf(reason: string, interaction: SettledCall): string {
  return `{"reason":${JSON.stringify(reason)},"interaction":${interactionToJson(interaction)}}`;
}

function rejectedOfLine(line: string): { reason: string; interaction: SettledCall } | undefined {
  try {
    const { reason, interaction } = JSON.parse(line) as { reason: string; interaction: unknown };
    const { media, ...row } = interactionFromJson(JSON.stringify(interaction));
    return { reason, interaction: media ? { ...row, media: media as Media[] } : row };
  } catch {
    return undefined;
  }
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function onlyMissing(thrown: unknown): undefined {
  if (!(thrown instanceof Deno.errors.NotFound)) throw thrown;
}
