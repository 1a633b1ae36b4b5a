import { Buffer } from "node:buffer";
import { parseExactly } from "../../base/exact_json.ts";
import { Turns } from "../../base/turns.ts";
import type { ExpiredRecords, RecordLimits } from "../../erasure/retention.ts";
import type { SettledCall } from "../../shared/interaction.ts";
import type { Media } from "../../shared/media.ts";
import { interactionFromJson, interactionToJson } from "../interaction_json.ts";
import { utf8Text } from "../../base/bytes.ts";
import { quotedTextsOf, withQuotedTexts } from "../quoted_texts.ts";
import { createFile, damagedNames, rejectedName, writeAll } from "./files.ts";

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
      await endLine(file);
      await writeAll(file, Buffer.from(`${line}\n`));
      await file.sync();
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
 * Lets what is appended begin a line of its own: a full disk or a crash may have left the last one
 * incomplete, and what is behind it would be dropped together with it.
 */
async function endLine(file: Deno.FsFile): Promise<void> {
  const { size } = await file.stat();
  if (size === 0) return;
  const last = new Uint8Array(1);
  await file.seek(-1, Deno.SeekMode.End);
  await file.read(last);
  if (last[0] !== lineEnd) await writeAll(file, Uint8Array.of(lineEnd));
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
  let lines = 0;
  for await (const bytes of await chunksOf(`${directory}/${rejectedName}`)) {
    for (let at = bytes.indexOf(lineEnd); at >= 0; at = bytes.indexOf(lineEnd, at + 1)) lines++;
  }
  return lines;
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
  const changedLine = (line: string): string | undefined => {
    const rejected = rejectedOfLine(line);
    // Incomplete lines, left by a crash, are dropped too.
    if (!rejected) return keepsUnknown && isJson(line) ? line : undefined;
    const result = change(rejected.interaction);
    if (result === rejected.interaction) return line;
    return result && lineOf(rejected.reason, result);
  };
  if (!await someLine(path, (line) => changedLine(line) !== line)) return 0;
  let changed = 0;
  {
    using file = await createFile(`${path}.new`);
    for await (const line of linesOf(path)) {
      const result = changedLine(line);
      if (result !== line) changed++;
      if (result !== undefined) await writeAll(file, Buffer.from(`${result}\n`));
    }
    await file.sync();
  }
  await Deno.rename(`${path}.new`, path);
  return changed;
}

async function someLine(path: string, test: (line: string) => boolean): Promise<boolean> {
  for await (const line of linesOf(path)) if (test(line)) return true;
  return false;
}

/**
 * Reads a file line by line, however large it is: while the store rejects everything, the file
 * outgrows memory. Lines come in turns, since one may be compared with thousands of tombstones.
 */
async function* linesOf(path: string): AsyncGenerator<string> {
  const turns = new Turns();
  let parts: string[] = [];
  for await (const text of (await chunksOf(path)).pipeThrough(new TextDecoderStream())) {
    for (const [at, part] of text.split("\n").entries()) {
      if (at > 0) {
        await turns.pause();
        const line = parts.join("");
        if (line !== "") yield line;
        parts = [];
      }
      parts.push(part);
    }
  }
  const last = parts.join("");
  if (last !== "") yield last;
}

/** Nothing where the file is missing. */
async function chunksOf(path: string): Promise<ReadableStream<BufferSource & Uint8Array>> {
  const file = await Deno.open(path).catch(onlyMissing);
  return file?.readable ?? ReadableStream.from([]);
}

/**
 * Moves `rejected.jsonl` and the files of unreadable bytes from one journal's folder to another's.
 * No record may be rejected in the target's journal meanwhile.
 */
export async function moveAside(from: string, to: string): Promise<void> {
  const source = await Deno.open(`${from}/${rejectedName}`).catch(onlyMissing);
  if (source) {
    using file = await openToAppend(`${to}/${rejectedName}`);
    await endLine(file);
    for await (const bytes of source.readable) await writeAll(file, bytes);
    await file.sync();
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
  const json = interactionToJson(interaction);
  const quoted = quotedTextsOf(interaction);
  const pieces = quoted ? withQuotedTexts(json, quoted) : [json];
  const whole = pieces.map((one) => typeof one === "string" ? one : utf8Text(one)).join("");
  return `{"reason":${JSON.stringify(reason)},"interaction":${whole}}`;
}

function rejectedOfLine(line: string): { reason: string; interaction: SettledCall } | undefined {
  try {
    const { reason, interaction } = parseExactly(line) as { reason: string; interaction: unknown };
    const { media, ...row } = interactionFromJson(JSON.stringify(interaction));
    return { reason, interaction: media ? { ...row, media: media as Media[] } : row };
  } catch {
    return undefined;
  }
}

function isJson(line: string): boolean {
  try {
    parseExactly(line);
    return true;
  } catch {
    return false;
  }
}

function onlyMissing(thrown: unknown): undefined {
  if (!(thrown instanceof Deno.errors.NotFound)) throw thrown;
}
