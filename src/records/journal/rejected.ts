import { Buffer } from "node:buffer";
import type { SettledCall } from "../../shared/interaction.ts";
import { interactionFromJson, interactionToJson } from "../interaction_json.ts";
import { damagedNames, rejectedName, writeDurably } from "./files.ts";

/** What was put aside in a journal's folder, worked on by one at a time. */
export class RejectedRecords {
  readonly #directory: string;
  /** Resolves when what was begun is done. */
  settled: Promise<void> = Promise.resolve();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Keeps the record of a call that the store refuses: one line of JSON, `{reason, interaction}`,
   * in a file that only its owner can read. Resolves when it is on the disk.
   */
  keep(interaction: SettledCall, reason: string): Promise<void> {
    return this.#next(() => keepRejected(this.#directory, interaction, reason));
  }

  /**
   * Removes the lines of erased calls, and all files of unreadable bytes; gives the lines removed.
   */
  erase(isErased: (interaction: SettledCall) => boolean): Promise<number> {
    return this.#next(() => eraseRejected(this.#directory, isErased));
  }

  #next<T>(act: () => Promise<T>): Promise<T> {
    const done = this.settled.then(act);
    this.settled = done.then(() => {}, () => {});
    return done;
  }
}

async function keepRejected(
  directory: string,
  interaction: SettledCall,
  reason: string,
): Promise<void> {
  const path = `${directory}/${rejectedName}`;
  using file = await Deno.open(path, { create: true, append: true, mode: 0o600 });
  const { size } = await file.stat();
  const json = interactionToJson(size < wholeBytes ? interaction : withoutPayload(interaction));
  const line = `{"reason":${JSON.stringify(reason)},"interaction":${json}}\n`;
  const bytes = Buffer.from(line);
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  await file.sync();
}

/** Beyond this the file takes no more payloads: rows and charges are what nobody else has. */
const wholeBytes = 64 * 1024 * 1024;

function withoutPayload({ media: _media, retained: _retained, ...row }: SettledCall): SettledCall {
  return { ...row, requestText: null, responseText: null, payloadTruncated: true };
}

/** How many records the store has refused so far. */
export async function countRejected(directory: string): Promise<number> {
  const bytes = await Deno.readFile(`${directory}/${rejectedName}`).catch(onlyMissing);
  return bytes?.reduce((lines, byte) => byte === 0x0a ? lines + 1 : lines, 0) ?? 0;
}

async function eraseRejected(
  directory: string,
  isErased: (interaction: SettledCall) => boolean,
): Promise<number> {
  for (const name of await damagedNames(directory)) await Deno.remove(`${directory}/${name}`);
  const path = `${directory}/${rejectedName}`;
  const bytes = await Deno.readFile(path).catch(onlyMissing);
  if (bytes === undefined) return 0;
  const lines = new TextDecoder().decode(bytes).split("\n").filter((line) => line !== "");
  // A line that a crash cut short is nobody's.
  const remaining = lines.filter((line) => {
    const interaction = interactionOfLine(line);
    return interaction !== undefined && !isErased(interaction);
  });
  if (remaining.length === lines.length) return 0;
  const text = remaining.map((line) => `${line}\n`).join("");
  await writeDurably(`${path}.new`, [Buffer.from(text)]);
  await Deno.rename(`${path}.new`, path);
  return lines.length - remaining.length;
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
