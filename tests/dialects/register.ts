import assert from "@std/assert";
import { type Name, names, type Passage, relayStream } from "./translated.ts";
import { checkCuts, checkSplits, checkStreamCell, checkWholeCell } from "./matrix.ts";
import { answersOf, framesOf, progressOf, recordingsIn } from "./recordings.ts";

/**
 * Registers the matrix of a folder's recordings of one dialect: each stream and each whole answer
 * for callers of the other dialects. Where the folder isn't there nothing is registered, so nothing
 * counts as skipped.
 */
export function registerMatrix(folder: URL, vendor: Name): void {
  const others = names.filter((name) => name !== vendor);
  for (const { name, text } of recordingsIn(folder, vendor, ".chunks.txt")) {
    for (const caller of others) {
      Deno.test(`${vendor} stream ${name} reaches a ${caller} caller whole, or as an error`, () => {
        for (const payloads of answersOf(text)) {
          checkStreamOf({ vendor, caller, ...quirksOf(name) }, payloads);
        }
      });
    }
  }
  for (const { name, text } of recordingsIn(folder, vendor, ".json")) {
    const json: unknown = JSON.parse(text);
    if (isFailure(json)) continue;
    for (const caller of others) {
      Deno.test(`${vendor} answer ${name} reaches a ${caller} caller whole`, () => {
        checkWholeCell({ vendor, caller, ...quirksOf(name) }, json);
      });
    }
  }
}

function checkStreamOf(passage: Passage, payloads: Record<string, unknown>[]): void {
  const { vendor, caller } = passage;
  const frames = framesOf(vendor, payloads);
  const progress = progressOf(vendor, payloads);
  if (progress.at(-1)?.finished) {
    checkStreamCell(passage, frames);
    if (caller === "generate") checkStreamCell({ ...passage, jsonArray: true }, frames);
    if (caller === "chat") checkStreamCell({ ...passage, showUsage: false }, frames);
    checkCuts(passage, frames, progress);
  } else {
    assert.equal(relayStream(passage, frames).ending, "failed");
  }
  checkSplits(passage, frames, [1, 2, 3, 4]);
}

/** The vendor whose row says that reasoning is counted beside the output. */
function quirksOf(name: string): Pick<Passage, "quirks"> {
  return name.includes("xai") ? { quirks: { additiveReasoning: true } } : {};
}

/** An answer that is an error: the gateway's HTTP error, not a matter of this matrix. */
function isFailure(json: unknown): boolean {
  return typeof json === "object" && json !== null && "error" in json && json.error !== null;
}
