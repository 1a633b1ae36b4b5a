import { SseSplitter } from "../../src/base/sse.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../src/dialects/kernel/canonical.ts";
import { chat } from "../../src/dialects/text/chat/mod.ts";
import type {
  AnswerContext,
  Dialect,
  DialectQuirks,
  Reversal,
  Translator,
} from "../../src/dialects/kernel/dialect.ts";
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import { generate } from "../../src/dialects/text/generate/mod.ts";
import { messages } from "../../src/dialects/text/messages/mod.ts";
import { responses } from "../../src/dialects/text/responses/mod.ts";
import { ResponseRewriter } from "../../src/dialects/kernel/response_rewriter.ts";
import { Fault } from "../../src/shared/fault.ts";
import { canonicalRequest } from "../support/canonical_request.ts";
import { checkChatStream } from "../support/grammar/chat.ts";
import { checkGenerateStream } from "../support/grammar/generate.ts";
import { checkMessagesStream } from "../support/grammar/messages.ts";
import { checkResponsesStream } from "../support/grammar/responses.ts";
import type { Said } from "../support/grammar/said.ts";

/** A vendor's answer on its way to a caller of another dialect, as the gateway's lane takes it. */

export type Name = "chat" | "responses" | "messages" | "generate";
export type Dialect = Dialect & Translator;

export const dialects: Readonly<Record<Name, Dialect>> = {
  chat,
  responses,
  messages,
  generate,
};
export const names: readonly Name[] = ["chat", "responses", "messages", "generate"];

export const noUndo: Reversal = {
  toolNames: {},
  customTools: [],
  jsonTool: undefined,
  jsonUnwrap: undefined,
  stripFence: false,
};

export interface Passage {
  vendor: Name;
  caller: Name;
  quirks?: DialectQuirks;
  /** Whether the caller asked for usage in its stream; and for one JSON array. */
  showUsage?: boolean;
  jsonArray?: boolean;
  reversal?: Reversal;
}

/** How a vendor's bytes ended: in order, or with the connection. */
export type Close = "clean" | "broken";

export interface Relayed {
  /** What the caller received. */
  text: string;
  ending: "finished" | "failed";
  /** The vendor's answer after undoing, as the record folds it. */
  answer: CanonicalAnswer;
}

/** Forwards a stream as `gateway/stream_forwarder.ts` does, without its pauses and its meter. */
export function relayStream(
  passage: Passage,
  pieces: readonly Uint8Array[],
  close: Close = "clean",
): Relayed {
  const decoder = dialects[passage.vendor].createStreamDecoder(passage.quirks ?? {});
  const encoder = dialects[passage.caller].createStreamEncoder(contextOf(passage));
  const rewriter = undoingOf(passage);
  const splitter = new SseSplitter({ maxEventBytes: 1 << 24 });
  const events: CanonicalEvent[] = [];
  const texts: string[] = [];
  let terminated = false;
  const write = (given: readonly CanonicalEvent[]) => {
    for (const event of given.flatMap((one) => rewriter.apply(one))) {
      events.push(event);
      texts.push(encoder.encode(event));
    }
  };
  const over = (ending: Relayed["ending"], last: string): Relayed => ({
    text: texts.join("") + last,
    ending,
    answer: foldEvents(events),
  });
  const incoming = pieces.flatMap((piece) => splitter.push(piece));
  for (const event of [...incoming, ...(close === "clean" ? splitter.end() : [])]) {
    const decoded = decoder.decode(event);
    if (decoded.events.some(({ type }) => type === "error")) {
      return over("failed", encoder.fail(new Fault("upstream_error")));
    }
    write(decoded.events);
    terminated ||= decoded.terminal;
  }
  const rest = decoder.end();
  const whole = rest.complete && (close === "clean" || terminated);
  if (!whole) return over("failed", encoder.fail(new Fault("upstream_stream_truncated")));
  write(rest.events);
  return over("finished", encoder.end());
}

/** A whole answer's events after undoing. */
export function readWhole(passage: Passage, json: unknown): CanonicalEvent[] {
  const rewriter = undoingOf(passage);
  return dialects[passage.vendor].decodeAnswer(json, passage.quirks ?? {})
    .flatMap((event) => rewriter.apply(event));
}

export function writeWhole(passage: Passage, answer: CanonicalAnswer): unknown {
  return dialects[passage.caller].encodeAnswer(answer, contextOf(passage));
}

/** Reads a stream with a dialect's own decoder. */
export function decodeStream(
  dialect: Name,
  pieces: readonly Uint8Array[],
  quirks: DialectQuirks = {},
): { events: CanonicalEvent[]; complete: boolean } {
  const decoder = dialects[dialect].createStreamDecoder(quirks);
  const splitter = new SseSplitter({ maxEventBytes: 1 << 24 });
  const incoming = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()];
  const events = incoming.flatMap((event) => decoder.decode(event).events);
  const rest = decoder.end();
  return { events: [...events, ...rest.events], complete: rest.complete };
}

/** The grammar of the caller's stream. */
export function checkStream(passage: Passage, text: string): Said {
  switch (passage.caller) {
    case "chat":
      return checkChatStream(text, { usage: passage.showUsage !== false });
    case "responses":
      return checkResponsesStream(text);
    case "messages":
      return checkMessagesStream(text);
    case "generate":
      return checkGenerateStream(text, passage.jsonArray ? "array" : "sse");
  }
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function contextOf(passage: Passage): AnswerContext {
  const counts = new Map<string, number>();
  return {
    id: (prefix) => {
      const count = (counts.get(prefix) ?? 0) + 1;
      counts.set(prefix, count);
      return `${prefix}${String(count).padStart(8, "0")}`;
    },
    created: 1_700_000_000,
    model: "model-of-ours",
    request: canonicalRequest({}),
    body: {},
    showUsage: passage.showUsage !== false,
    inputTokens: 7,
    now: () => 1_700_000_001,
    ...(passage.jsonArray ? { jsonArray: true } : {}),
  };
}

function undoingOf(passage: Passage): ResponseRewriter {
  let minted = 0;
  return new ResponseRewriter(
    passage.reversal ?? noUndo,
    () => `call_${String(++minted).padStart(8, "0")}`,
  );
}
