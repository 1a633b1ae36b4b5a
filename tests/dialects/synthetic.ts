/** A vendor's stream, made up from a seed with the habits of some server. */
import type { DialectQuirks } from "../../src/dialects/kernel/dialect.ts";
import { bytesOf, type Name } from "./translated.ts";
import { Random } from "./random.ts";
import { type Progress, progressOf } from "./recordings.ts";
import { type Story, storyFor } from "./stories.ts";
import { chatStream } from "./vendor_chat.ts";
import { generateStream } from "./vendor_generate.ts";
import { messagesStream } from "./vendor_messages.ts";
import { responsesStream } from "./vendor_responses.ts";
import type { Piece } from "./wire.ts";

export interface SyntheticStream {
  story: Story;
  pieces: Piece[];
  frames: Uint8Array[];
  quirks: DialectQuirks;
  /** After each frame. */
  progress: Progress[];
}

export function syntheticStream(vendor: Name, seed: number): SyntheticStream {
  const random = new Random(seed);
  const story = storyFor(vendor, random);
  const { pieces, quirks } = written(vendor, story, random);
  return {
    story,
    pieces,
    frames: pieces.map(({ text }) => bytesOf(text)),
    quirks,
    progress: progressThrough(vendor, pieces, story.choices.length),
  };
}

function written(
  vendor: Name,
  story: Story,
  random: Random,
): { pieces: Piece[]; quirks: DialectQuirks } {
  switch (vendor) {
    case "chat": {
      const { pieces, additive } = chatStream(story, random);
      return { pieces, quirks: { additiveReasoning: additive } };
    }
    case "responses":
      return { pieces: responsesStream(story, random), quirks: {} };
    case "messages":
      return { pieces: messagesStream(story, random), quirks: {} };
    case "generate":
      return { pieces: generateStream(story, random), quirks: {} };
  }
}

/** Comments change nothing; an end marker says that nothing is missing where chat is spoken. */
function progressThrough(vendor: Name, pieces: readonly Piece[], choices: number): Progress[] {
  const payloads = pieces.flatMap(({ payload }) => payload ? [payload] : []);
  const told = progressOf(vendor, payloads, choices);
  let now: Progress = { finished: false, terminated: false };
  let marked = false;
  let last: Progress = { finished: false, terminated: false };
  let read = 0;
  return pieces.map(({ text, payload }) => {
    // Without its blank line an event is read only once the stream has ended in order.
    const isRead = text.endsWith("\n");
    if (payload) now = told[read++]!;
    if (vendor === "chat" && !payload && text.startsWith("data:")) marked = true;
    const terminated = now.terminated || marked;
    const before = { ...last };
    last = { finished: now.finished, terminated };
    return isRead ? last : { ...last, terminated: before.terminated };
  });
}
