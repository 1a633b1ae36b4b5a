import { finish } from "../../src/base/steps.ts";
import { type DialectName, dialectNames } from "../../contracts/calls/vendors.ts";
import { SseSplitter } from "../../src/base/sse.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../src/dialects/kernel/canonical.ts";
import type {
  AnswerContext,
  DialectQuirks,
  Emulations,
} from "../../src/dialects/kernel/dialect.ts";
import { dialects } from "../../src/dialects/text/mod.ts";
import type { Forwarded, TextPlan } from "../../src/relay/plan/text_plan.ts";
import { Meter } from "../../src/relay/meter.ts";
import { translate } from "../../src/relay/plan/translation.ts";
import type { ResolvedModel } from "../../src/vendors/model_name.ts";
import type { ErrorCode } from "../../contracts/kernel/errors.ts";
import { Fault } from "../../src/shared/fault.ts";
import { canonicalRequest } from "../support/canonical_request.ts";
import { checkChatStream } from "../support/grammar/chat.ts";
import { checkGenerateStream } from "../support/grammar/generate.ts";
import { checkMessagesStream } from "../support/grammar/messages.ts";
import { checkResponsesStream } from "../support/grammar/responses.ts";
import type { AnswerContent } from "../support/grammar/answer_content.ts";

/** A vendor's answer on its way to a caller of another dialect, as the gateway's lane takes it. */

export { dialects };

export type Name = DialectName;

export const names: readonly Name[] = dialectNames;

export const noUndo: Emulations = {
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
  /** How many choices were asked for; one unless it says otherwise. */
  choices?: number;
  /** Whether the caller asked for usage in its stream; and for one JSON array. */
  showUsage?: boolean;
  jsonArray?: boolean;
  /** Whether the caller asked for a stream; a whole answer becomes one then. */
  streams?: boolean;
  emulations?: Emulations;
}

/** How a vendor's bytes ended: in order, with the connection, or in silence. */
export type Close = "clean" | "broken" | "silent";

export interface Relayed {
  /** What the caller received. */
  text: string;
  ending: "finished" | "failed";
  /** The vendor's answer after undoing, as the record folds it. */
  answer: CanonicalAnswer;
}

/** Sends a vendor's stream through the real plan of a translated call, with the real meter. */
export function relayStream(
  passage: Passage,
  pieces: readonly Uint8Array[],
  close: Close = "clean",
): Relayed {
  const stream = planOf(passage).stream();
  const { vendor, quirks = {}, choices } = passage;
  const decoder = dialects[vendor].createStreamDecoder(quirks, choices);
  const splitter = new SseSplitter({ maxEventBytes: 1 << 24 });
  const meter = new Meter(maxAnswerChars, () => 0);
  const decode = new TextDecoder();
  let text = "";
  let terminated = false;
  const take = ({ events, sent }: Forwarded) => {
    meter.listen(events);
    text += typeof sent === "string" ? sent : decode.decode(sent);
  };
  const over = (ending: Relayed["ending"]): Relayed => ({ text, ending, answer: meter.answer() });
  const failed = (code: ErrorCode) => {
    text += decode.decode(stream.fail(new Fault(code)));
    return over("failed");
  };
  const incoming = pieces.flatMap((piece) => splitter.push(piece));
  for (const event of [...incoming, ...(close === "clean" ? splitter.end() : [])]) {
    const decoded = decoder.decode(event);
    if (decoded.events.some(({ type }) => type === "error")) return failed("upstream_error");
    take(stream.forward(event, decoded));
    terminated ||= decoded.terminal;
  }
  const mayEnd = close === "silent" && decoder.mayEnd === true;
  const isEnd = close === "clean" || terminated || mayEnd || decoder.mayBeWhole === true;
  const rest = decoder.end();
  if (!rest.complete || !isEnd) {
    return failed("upstream_stream_truncated");
  }
  take(stream.end(rest.events));
  return over("finished");
}

/** No answer of these tests has as many. */
const maxAnswerChars = 1 << 26;

/** A whole answer's events as its caller gets them; those of a failed one as they were read. */
export function readWhole(passage: Passage, json: unknown): readonly CanonicalEvent[] {
  const events = finish(dialects[passage.vendor].decodeAnswer(json, passage.quirks ?? {}));
  if (events.some(({ type }) => type === "error")) return events;
  const answer = { bytes: new Uint8Array(), text: "", contentType: undefined, events };
  return finish(planOf(passage).whole(answer)).events;
}

/** A whole answer as who asked for a stream gets it; undefined for a failed one. */
export function streamOfWhole(passage: Passage, json: unknown): string | undefined {
  const events = finish(dialects[passage.vendor].decodeAnswer(json, passage.quirks ?? {}));
  if (events.some(({ type }) => type === "error")) return undefined;
  const answer = { bytes: new Uint8Array(), text: "", contentType: undefined, events };
  return String(finish(planOf({ ...passage, streams: true }).whole(answer)).body);
}

/** A folded answer as its caller gets it, and as the record keeps it. */
export function writeWhole(passage: Passage, answer: CanonicalAnswer): unknown {
  return finish(planOf(passage).encodeFolded(answer));
}

/** The plan of a call whose request was emulated as `emulations` says. */
export function planOf(passage: Passage): TextPlan {
  const { quirks = {}, emulations = noUndo, showUsage = true, jsonArray = false, choices } =
    passage;
  // Nothing else of a vendor's row is asked for here.
  const vendor = { quirks } as ResolvedModel["vendor"];
  return translate({
    transactionId: "a-call",
    dialect: dialects[passage.caller],
    upstream: dialects[passage.vendor],
    request: choices === undefined ? {} : { choices },
    body: {},
    target: { vendor, model, id: `vendor/${model}` },
    shownModel: undefined,
    encoded: { losses: [], emulations },
    requestText: "{}",
    hosted: { tools: [], state: [] },
    inputTokens,
    mode: "default",
    showUsage,
    streams: passage.streams === true,
    jsonArray,
    keepAliveMs: 0,
    created,
    now: () => created + 1,
  });
}

const model = "model-of-ours";
const inputTokens = 7;
const created = 1_700_000_000;

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
export function checkStream(passage: Passage, text: string): AnswerContent {
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
    created,
    model,
    request: canonicalRequest({}),
    body: {},
    showUsage: passage.showUsage !== false,
    inputTokens,
    now: () => created + 1,
    ...(passage.jsonArray ? { jsonArray: true } : {}),
  };
}
