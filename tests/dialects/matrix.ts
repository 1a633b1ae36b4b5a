/** One cell of the matrix: an answer of one dialect, translated for a caller of another. */
import assert from "@std/assert";
import { joinBytes } from "../../src/base/bytes.ts";
import type { CanonicalAnswer } from "../../src/dialects/kernel/canonical.ts";
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import { checkWhole } from "../support/grammar/whole.ts";
import { type Facts, factsOf, factsSaid, orderIn, shownIn, shownWhole } from "./facts.ts";
import {
  bytesOf,
  checkStream,
  decodeStream,
  dialects,
  type Passage,
  readWhole,
  type Relayed,
  relayStream,
  streamOfWhole,
  writeWhole,
} from "./translated.ts";
import { Random } from "./random.ts";
import type { Progress } from "./recordings.ts";
import { finish } from "../../src/base/steps.ts";

/**
 * A whole stream: the grammar takes the caller's, and text, calls, usage and ending are in it, for
 * the grammar's eyes and for the caller's own decoder. Gives the vendor's answer.
 */
export function checkStreamCell(passage: Passage, frames: readonly Uint8Array[]): CanonicalAnswer {
  const { text, ending, answer } = relayStream(passage, frames);
  assert.equal(ending, "finished");
  const said = checkStream(passage, text);
  assert.equal(said.ending, "finished");
  const expected = shownIn(passage.caller, answer);
  const asShown = passage.showUsage === false && passage.caller === "chat"
    ? { ...expected, usage: undefined }
    : expected;
  agree(factsSaid(said), asShown, "on the wire");
  if (!passage.jsonArray) {
    const again = decodedAgain(passage, text);
    agree(factsOf(again), asShown, "decoded again");
    assert.deepEqual(orderIn(passage.caller, again), orderIn(passage.caller, answer), "order");
  }
  checkFolded(passage, answer);
  return answer;
}

/** A whole answer, translated as such, and as the stream of a caller who asked for one. */
export function checkWholeCell(passage: Passage, json: unknown): CanonicalAnswer {
  const answer = foldEvents(readWhole(passage, json));
  checkFolded(passage, answer);
  const text = streamOfWhole(passage, json);
  if (text === undefined) return answer;
  const said = checkStream(passage, text);
  assert.equal(said.ending, "finished");
  agree(factsSaid(said), shownIn(passage.caller, answer), "as a stream");
  agree(factsOf(decodedAgain(passage, text)), shownIn(passage.caller, answer), "and decoded again");
  return answer;
}

function checkFolded(passage: Passage, answer: CanonicalAnswer): void {
  const whole = writeWhole(passage, answer);
  const expected = shownWhole(passage.caller, answer);
  agree(factsSaid(checkWhole(passage.caller, whole)), expected, "as a whole");
  agree(rereadWhole(passage, whole), expected, "as a whole, decoded again");
}

/** However the vendor's bytes are split, the caller gets the same text. */
export function checkSplits(
  passage: Passage,
  frames: readonly Uint8Array[],
  seeds: readonly number[],
): void {
  const bytes = joinBytes(frames);
  const { text } = relayStream(passage, frames);
  for (const seed of seeds) {
    const random = new Random(seed);
    const pieces = random.split(bytes, random.pick([3, 40, 400]));
    assert.equal(relayStream(passage, pieces).text, text, `split with seed ${seed}`);
  }
}

/**
 * Cut after any of its frames (see `placesOf`), cleanly and with the connection, an answer that isn't over ends in
 * the caller's own error, and one that is over ends well. Gives the number of cuts.
 */
export function checkCuts(
  passage: Passage,
  frames: readonly Uint8Array[],
  progress: readonly Progress[],
): number {
  const nothing = { finished: false, terminated: false };
  const places = placesOf(frames.length);
  for (const kept of places) {
    const { finished, terminated } = progress[kept - 1] ?? nothing;
    const place = `cut after ${kept} of ${frames.length}`;
    const cut = frames.slice(0, kept);
    checkEnding(passage, relayStream(passage, cut, "clean"), finished, place);
    // What is incomplete after a clean close is so without one too, and handled the same way.
    if (!finished) continue;
    checkEnding(passage, relayStream(passage, cut, "broken"), terminated, `${place}, broken`);
    // Of several choices the vendor may give fewer: only its end says so.
    if (passage.choices !== undefined && passage.choices > 1) continue;
    const ends = terminated || passage.vendor !== "generate";
    checkEnding(passage, relayStream(passage, cut, "silent"), ends, `${place}, silent`);
  }
  return places.length * 3;
}

/**
 * After how many frames a stream is cut: after each of them, but in the gate only after every eighth
 * in the middle of a long one, where frame after frame is more of the same.
 */
function placesOf(frames: number): number[] {
  const isGate = Deno.env.get("CUTS") !== "all";
  return Array.from({ length: frames + 1 }, (_, kept) => kept).filter((kept) =>
    !isGate || kept < 24 || kept > frames - 40 || kept % 8 === 0
  );
}

function checkEnding(passage: Passage, relayed: Relayed, isWhole: boolean, place: string): void {
  const expected = isWhole ? "finished" : "failed";
  assert.equal(relayed.ending, expected, place);
  const said = checkStream(passage, relayed.text);
  assert.equal(said.ending, expected, place);
  if (!isWhole) assert.equal(said.error?.code, "upstream_stream_truncated", place);
}

function decodedAgain(passage: Passage, text: string): CanonicalAnswer {
  const { events, complete } = decodeStream(passage.caller, [bytesOf(text)]);
  assert.equal(complete, true, "the caller's own decoder misses the end");
  return foldEvents(events);
}

function rereadWhole(passage: Passage, whole: unknown): Facts {
  return factsOf(foldEvents(finish(dialects[passage.caller].decodeAnswer(whole, {}))));
}

/** Estimated usage is the encoder's own business. */
function agree(actual: Facts, expected: Facts, where: string): void {
  const usage = expected.usage === undefined ? undefined : actual.usage;
  assert.deepEqual({ ...actual, usage }, expected, where);
}
