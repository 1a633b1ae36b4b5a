/** A vendor's stream as text, event by event, with what servers do to the framing. */
import type { Random } from "./random.ts";
import type { Payload } from "./recordings.ts";

/** One piece of the wire; `payload` is absent for comments and end markers. */
export interface Piece {
  text: string;
  payload?: Payload;
}

/** How one server frames its events; drawn once a stream. */
export interface Framing {
  lineEnd: "\n" | "\r\n";
  space: "" | " ";
  eventLines: boolean;
  comments: boolean;
  /** Pretty JSON: an event of several `data:` lines. */
  pretty: boolean;
  /** A byte order mark before everything. */
  bom: boolean;
  /** The last event lacks its blank line. */
  openEnd: boolean;
}

export function framingFor(random: Random, eventLines: boolean): Framing {
  return {
    lineEnd: random.chance(30) ? "\r\n" : "\n",
    space: random.chance(20) ? "" : " ",
    eventLines,
    comments: random.chance(30),
    pretty: random.chance(10),
    bom: random.chance(5),
    openEnd: random.chance(10),
  };
}

export function pieceOf(payload: Payload, framing: Framing): Piece {
  const { lineEnd, space } = framing;
  const event = framing.eventLines ? `event:${space}${payload.type}${lineEnd}` : "";
  const lines = JSON.stringify(payload, null, framing.pretty ? 1 : 0).split("\n");
  const data = lines.map((line) => `data:${space}${line}${lineEnd}`).join("");
  return { text: event + data + lineEnd, payload };
}

/** The stream as this server sends it: comments strewn in, a mark before, an end left open. */
export function framed(pieces: readonly Piece[], framing: Framing, random: Random): Piece[] {
  const comment = { text: `: still at work${framing.lineEnd}${framing.lineEnd}` };
  const isStrewn = () => framing.comments && random.chance(20);
  const all = pieces.flatMap((piece) => isStrewn() ? [comment, piece] : [piece]);
  return all.map((piece, at) => {
    const before = framing.bom && at === 0 ? "\ufeff" : "";
    const isOpen = framing.openEnd && at === all.length - 1;
    return { ...piece, text: before + (isOpen ? piece.text.trimEnd() : piece.text) };
  });
}
