import { Buffer } from "node:buffer";
import { Turns } from "../../base/turns.ts";
import type { SettledCall } from "../../shared/interaction.ts";
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
      using file = await Deno.open(this.#path, { create: true, append: true, mode: 0o600 });
      const { size } = await file.stat();
      const json = interactionToJson(size < wholeBytes ? interaction : withoutPayload(interaction));
      const line = `{"reason":${JSON.stringify(reason)},"interaction":${json}}\n`;
      await writeSynced(file, Buffer.from(line));
    });
  }

  /** Removes the lines of erased calls; returns their number. */
  erase(isErased: (interaction: SettledCall) => boolean): Promise<number> {
    return this.#next(() => eraseLines(this.#path, isErased));
  }

  removeUnreadable(): Promise<void> {
    return this.#next(async () => {
      for (const name of await damagedNames(this.#directory)) {
        await Deno.remove(`${this.#directory}/${name}`);
      }
    });
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

/**
 * Once the file is this large, payloads are left out: rows and charges, which exist nowhere else,
 * matter more.
 */
const wholeBytes = 64 * 1024 * 1024;

function withoutPayload({ media: _media, retained: _retained, ...row }: SettledCall): SettledCall {
  return { ...row, requestText: null, responseText: null, payloadTruncated: true };
}

/** Returns the number of records that the store has rejected so far. */
export async function countRejected(directory: string): Promise<number> {
  const bytes = await Deno.readFile(`${directory}/${rejectedName}`).catch(onlyMissing);
  return bytes?.reduce((lines, byte) => byte === 0x0a ? lines + 1 : lines, 0) ?? 0;
}

async function eraseLines(
  path: string,
  isErased: (interaction: SettledCall) => boolean,
): Promise<number> {
  const bytes = await Deno.readFile(path).catch(onlyMissing);
  if (bytes === undefined) return 0;
  const lines = new TextDecoder().decode(bytes).split("\n").filter((line) => line !== "");
  const remaining: string[] = [];
  const turns = new Turns();
  for (const line of lines) {
    // A line may be compared with thousands of tombstones.
    await turns.pause();
    // Incomplete lines, left by a crash, are dropped too.
    const interaction = interactionOfLine(line);
    if (interaction !== undefined && !isErased(interaction)) remaining.push(line);
  }
  if (remaining.length === lines.length) return 0;
  const text = remaining.map((line) => `${line}\n`).join("");
  await writeDurably(`${path}.new`, [Buffer.from(text)]);
  await Deno.rename(`${path}.new`, path);
  return lines.length - remaining.length;
}

/**
 * Moves `rejected.jsonl` and the files of unreadable bytes from one journal's folder to another's.
 * No record may be rejected in the target's journal meanwhile.
 */
export async function moveAside(from: string, to: string): Promise<void> {
  const bytes = await Deno.readFile(`${from}/${rejectedName}`).catch(onlyMissing);
  if (bytes !== undefined && bytes.length > 0) {
    using file = await Deno.open(`${to}/${rejectedName}`, {
      ...{ create: true, append: true, mode: 0o600 },
    });
    await writeSynced(file, bytes);
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

function interactionOfLine(line: string): SettledCall | undefined {
  try {
    const { interaction } = JSON.parse(line) as { interaction: unknown };
    const { media: _media, ...row } = interactionFromJson(JSON.stringify(interaction));
    return row;
  } catch {
    return undefined;
  }
}

function onlyMissing(thrown: unknown): undefined {
  if (!(thrown instanceof Deno.errors.NotFound)) throw thrown;
}
