import { Buffer } from "node:buffer";
import type { SseEvent } from "../../base/sse.ts";
import { utf8Bytes, utf8Steps } from "../../base/bytes.ts";
import { parsing } from "../../base/heavy_json.ts";
import { finish, type Steps } from "../../base/steps.ts";
import type { CanonicalAnswer, StartEvent } from "../../dialects/kernel/canonical.ts";
import type {
  Dialect,
  StatelessCall,
  StreamReframer,
  UnsignedThinking,
} from "../../dialects/kernel/dialect.ts";
import { encodeInSteps } from "../../dialects/kernel/read_arguments.ts";
import type { RetainedReasoning } from "../../shared/stored_response.ts";
import type { StreamPlan, TextPlan, VendorAnswer, WholeAnswer } from "./text_plan.ts";
import { retainedSeals } from "../conversation/reasoning_store.ts";
import { lacksBlankLine } from "../last_event.ts";
import { type PlanRequest, shownModel } from "./plan_call.ts";

type PassedRequest = Pick<
  PlanRequest,
  | "dialect"
  | "body"
  | "bodyText"
  | "facts"
  | "hosted"
  | "target"
  | "vendor"
  | "jsonArray"
  | "keepNothing"
>;

/**
 * Plans a call with the same dialect on both sides: bytes are forwarded unchanged and a decoder
 * listens. In the request's text these are changed: the model's name, the usage flag, the tag
 * lines, the fields by which the vendor stores nothing (`keepNothing`), the name of an output limit
 * that the model refuses (`renamed`: `older=newer`), and thinking that is `unsigned`. In the
 * answer, only what these changes add is removed, the id of the response that it continues is
 * repeated, and the model's name is replaced in dialects whose clients compare it.
 */
export function* passThrough(
  call: PassedRequest,
  { renamed, unsigned }: { renamed?: string | undefined; unsigned?: UnsignedThinking | undefined } =
    {},
): Steps<TextPlan> {
  // The plan lives as long as the call, so it holds no more of the request than it needs.
  const { dialect, body, bodyText, facts, target, jsonArray, keepNothing } = call;
  const stateless = dialect.stateless?.(body, { model: target.model, keepNothing });
  const sealReasoning = stateless?.sealReasoning === true;
  const changes = {
    ...{ model: target.model, askStreamUsage: facts.stream },
    ...(keepNothing ? { keepNothing: { sealReasoning } } : {}),
    newerTokenLimit: renamed !== undefined,
    ...(unsigned ? { unsigned } : {}),
  };
  const requestText = yield* dialect.spliceRequest(bodyText, facts, changes);
  const shown = shownModel(call);
  // The vendor's own copy of the whole answer is more exact than the fold of its pieces.
  let repeated: unknown;
  const repeat = (whole: unknown) => repeated ??= whole;
  const { label } = target.vendor;
  return {
    upstream: dialect,
    sameDialect: true,
    quirks: target.vendor.quirks,
    hosted: call.hosted ?? (yield* dialect.hostedWork(body)),
    requestText,
    plainRequestText: () =>
      dialect.spliceRequest(bodyText, facts, { ...changes, askStreamUsage: false }),
    losses: unsigned?.switchesOff ? ["thinking"] : [],
    renamed,
    whole: (answer) => passWhole({ dialect, stateless, shown }, answer),
    stream: () =>
      jsonArray && dialect.reframe
        ? reframed(dialect.reframe())
        : passStream({ dialect, body, facts, stateless, shown, repeat }),
    encodeFolded: (answer) =>
      repeatedOr(repeated, dialect, shown === undefined ? answer : { ...answer, model: shown }),
    // A client of the vendor's dialect sends reasoning back itself, except for what it doesn't see.
    retainedReasoning: sealReasoning ? sealsOf(label) : () => [],
  };
}

function* repeatedOr(
  repeated: unknown,
  dialect: Dialect,
  answer: CanonicalAnswer,
): Steps<unknown> {
  return repeated ?? (yield* encodeInSteps(dialect, answer));
}

/** Plans a stream that is passed on; a retry starts with a new plan. */
function passStream(
  { dialect, body, facts, stateless, shown, repeat }:
    & Pick<PassedRequest, "dialect" | "body" | "facts">
    & {
      stateless: StatelessCall | undefined;
      shown: string | undefined;
      /** Takes the vendor's own copy of the whole answer. */
      repeat: (whole: unknown) => void;
    },
): StreamPlan {
  let start: StartEvent | undefined;
  let isOpen = false;
  let hasLastEvent = false;
  /** Without a blank line, callers would read an event as part of the one before. */
  const behind = (event: string) => isOpen ? `\n\n${event}` : event;
  const changes = stateless || shown !== undefined
    ? new EventChanges(dialect, stateless, shown)
    : undefined;
  return {
    contentType: undefined,
    ...changes && { changeAhead: (event) => changes.ahead(event) },
    forward(original, { events, usageOnly, terminal }) {
      const event = changes?.of(original) ?? original;
      isOpen = lacksBlankLine(event);
      start ??= events.find((one) => one.type === "start");
      hasLastEvent ||= terminal;
      if (terminal) repeat(dialect.wholeOf?.(event));
      // Callers who did not ask for usage don't get an event that holds nothing else.
      const hidden = usageOnly && !facts.wantsStreamUsage;
      return { events, sent: hidden ? undefined : event.bytes };
    },
    ...changes ? {} : { forwardRun: (bytes, events) => ({ events, sent: bytes }) },
    end(rest) {
      const last = hasLastEvent ? "" : dialect.lastEvent ?? "";
      return { events: rest, sent: behind(last) || undefined };
    },
    fail: (fault, nextSequence) =>
      new TextEncoder().encode(behind(dialect.errorFrame(fault, { body, start, nextSequence }))),
  };
}

function* passWhole(
  { dialect, stateless, shown }: {
    dialect: Dialect;
    stateless: StatelessCall | undefined;
    shown: string | undefined;
  },
  { bytes, text, events }: VendorAnswer,
): Steps<WholeAnswer> {
  const seen = stateless ? yield* stateless.show(text) : text;
  yield;
  const named = shown !== undefined && dialect.naming
    ? yield* dialect.naming.whole(seen, shown)
    : seen;
  const body = named === text && !isShortText(text, bytes) ? bytes : named;
  const recorded = dialect.withoutRepeated ? yield* dialect.withoutRepeated(named) : named;
  return { body, text: recorded, contentType: undefined, events };
}

/**
 * Whether an answer can be sent as text: text goes out in one write with the answer's head, bytes
 * need a second write. The text differs from the bytes if these are not UTF-8 or begin with a byte
 * order mark.
 */
function isShortText(text: string, bytes: Uint8Array): boolean {
  return bytes.length <= shortBytes && Buffer.byteLength(text) === bytes.length &&
    !text.includes("\ufffd");
}

/** Encoding a longer text costs more than a write. */
const shortBytes = 64 * 1024;

/**
 * A function of the module: a closure lives as long as the call, and would hold the whole scope
 * that it was made in.
 */
function sealsOf(label: string): (answer: CanonicalAnswer) => RetainedReasoning[] {
  return (answer) => retainedSeals(answer, label);
}

/** Changes a stream's events to what the caller gets. */
class EventChanges {
  readonly #dialect: Dialect;
  readonly #stateless: StatelessCall | undefined;
  readonly #shown: string | undefined;
  #ahead: { event: SseEvent; changed: SseEvent } | undefined;

  constructor(dialect: Dialect, stateless: StatelessCall | undefined, shown: string | undefined) {
    this.#dialect = dialect;
    this.#stateless = stateless;
    this.#shown = shown;
  }

  /** Changes a large event, which `of` then returns. */
  *ahead(event: SseEvent): Steps<void> {
    const changed = yield* this.#change(event);
    // The vendor's own copy of the whole answer is read from it.
    if (changed !== event && event.json !== undefined) {
      changed.json = yield* parsing(changed.data!);
    }
    this.#ahead = { event, changed };
  }

  /** Returns the event as the caller gets it; the same object where nothing differs. */
  of(event: SseEvent): SseEvent {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    return ahead?.event === event ? ahead.changed : finish(this.#change(event));
  }

  *#change(event: SseEvent): Steps<SseEvent> {
    const { data } = event;
    if (data === undefined) return event;
    const shown = this.#stateless ? yield* this.#stateless.show(data) : data;
    const changed = this.#shown === undefined
      ? shown
      : yield* this.#dialect.naming!.event({ event: event.event, data: shown }, this.#shown);
    if (changed === data) return event;
    const text = yield* withData(event, data, changed);
    yield;
    const bytes = yield* utf8Bytes(text);
    return { event: event.event, data: changed, bytes, terminated: event.terminated };
  }
}

/** Returns an event's text with other data. Its framing stays where its data is one line. */
function* withData({ bytes, event }: SseEvent, data: string, changed: string): Steps<string> {
  const text = yield* utf8Steps(bytes);
  yield;
  const at = data.includes("\n") ? -1 : text.indexOf(data);
  yield;
  if (at >= 0) return text.slice(0, at) + changed + text.slice(at + data.length);
  const name = event === undefined ? "" : `event: ${event}\n`;
  return `${name}data: ${changed.replaceAll("\n", "\ndata: ")}\n\n`;
}

/** Plans a stream that sends the vendor's events as one JSON array. */
function reframed(reframer: StreamReframer): StreamPlan {
  return {
    contentType: "application/json",
    forward: (event, { events }) => ({ events, sent: reframer.event(event) }),
    end: (rest) => ({ events: rest, sent: reframer.end() }),
    fail: (fault) => new TextEncoder().encode(reframer.fail(fault)),
  };
}
