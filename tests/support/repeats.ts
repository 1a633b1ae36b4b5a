import type { ReplayStore } from "../../src/idempotency/request_fingerprint.ts";
import type { CallTrace } from "../../src/relay/call_context.ts";
import {
  type Duplicate,
  Idempotency,
  type IdempotencyDeps,
  type IdempotentRequest,
} from "../../src/idempotency/idempotency.ts";
import type { Reply } from "../../src/relay/reply.ts";
import { CopyRoom } from "../../src/base/copy_room.ts";
import type { Clock } from "../../src/base/clock.ts";
import { ReadAhead } from "../../src/base/read_ahead.ts";
import type { InteractionStatus } from "../../src/shared/interaction.ts";
import assert from "@std/assert";
import { Fault } from "../../src/shared/fault.ts";
import { interaction } from "../store/samples.ts";
import { FakeTimers } from "./fake_timers.ts";
import { FakeReplays } from "./replay_store.ts";

/** The idempotency of one process, with the duplicates and warnings that it reported. */
export interface TestProcess extends Pick<Idempotency, keyof Idempotency> {
  readonly duplicates: Duplicate[];
  readonly complaints: string[];
}

export function testProcess(
  parts: {
    store: ReplayStore;
    clock: Pick<Clock, "monotonicMs">;
    setTimer?: (ms: number, run: () => void) => () => void;
  } & Partial<Pick<IdempotencyDeps, "isErased" | "onDuplicate" | "readAhead" | "copies">>,
): TestProcess {
  const duplicates: Duplicate[] = [];
  const complaints: string[] = [];
  const note = (message: string) => void complaints.push(message);
  const gate = new Idempotency({
    newId: () => crypto.randomUUID(),
    setTimer: realLater,
    log: { warn: note, error: note },
    readAhead: new ReadAhead(Infinity),
    copies: new CopyRoom(Infinity),
    onDuplicate(duplicate) {
      duplicates.push(duplicate);
      return Promise.resolve();
    },
    ...parts,
  });
  return {
    duplicates,
    complaints,
    get unsaved() {
      return gate.unsaved;
    },
    idempotent: (request, run) => gate.idempotent(request, run),
    maintain: () => gate.maintain(),
    erase: (ids) => gate.erase(ids),
    drain: () => gate.drain(),
  };
}

export function realLater(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** A request with its own trace, as every caller has. */
export function request(more: Partial<IdempotentRequest> = {}): IdempotentRequest {
  return {
    accountId: 1,
    method: "POST",
    path: "/chat/v1/chat/completions",
    requestId: "request-1",
    bodyText: '{"model":"m"}',
    signal: new AbortController().signal,
    trace: {},
    ...more,
  };
}

/** Writes what an ended call leaves in its caller's trace. */
export function settle(trace: CallTrace, id: string, status: InteractionStatus): void {
  trace.transactionId = id;
  trace.settled = interaction(1, id, { status });
}

/** Answers whole, as call `id`. */
export function wholeRun(trace: CallTrace, id: string, text = `answer ${id}`): Reply {
  settle(trace, id, "completed");
  return { status: 200, headers: { "content-type": "application/json" }, body: text };
}

/** Answers as a stream that the test feeds and ends. */
export function streamRun(trace: CallTrace, id: string) {
  trace.transactionId = id;
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let left = false;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
    cancel() {
      left = true;
      settle(trace, id, "cancelled");
    },
  });
  const reply: Reply = { status: 200, headers: { "content-type": "text/event-stream" }, body };
  return {
    reply,
    get left() {
      return left;
    },
    say: (text: string) => controller.enqueue(new TextEncoder().encode(text)),
    end(status: InteractionStatus = "completed") {
      settle(trace, id, status);
      controller.close();
    },
    /** Settles the call although the reader hasn't read the stream's end yet. */
    settle: () => settle(trace, id, "completed"),
    fail: (thrown: unknown) => controller.error(thrown),
  };
}

/** Returns what a caller sees of a reply. */
export async function seen(reply: Reply): Promise<{
  status: number;
  type: string | undefined;
  text: string;
  replay: string | undefined;
  transaction: string | undefined;
  streamed: boolean;
}> {
  return {
    status: reply.status,
    type: reply.headers["content-type"],
    text: await new Response(reply.body as BodyInit | null).text(),
    replay: reply.headers["x-idempotent-replay"],
    transaction: reply.headers["x-transaction-id"],
    streamed: reply.body instanceof ReadableStream,
  };
}

/** Runs pending promise callbacks, for so many turns. */
export async function settleDown(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
}

/** Makes processes that share a store, with a clock that moves only by `pass`. */
export function setUpIdempotency(
  names: readonly string[] = ["a"],
  more: Partial<Pick<IdempotencyDeps, "readAhead" | "copies">> = {},
) {
  const timers = new FakeTimers();
  const store = new FakeReplays(timers.clock);
  const make = (name: string) =>
    testProcess({ store: store.for(name), clock: timers.clock, setTimer: timers.later, ...more });
  const processes = names.map(make);
  const [one, two, three] = [processes[0]!, processes[1]!, processes[2]!];
  /** Lets time pass in small steps, since timers may be set meanwhile. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 50) {
      timers.advance(50);
      await settleDown();
    }
  };
  return { timers, store, one, two, three, make, pass };
}

/** For a request that must not run. */
export const never = (): Promise<Reply> => assert.fail("it ran again");

export function isConflict(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === "idempotency_conflict";
}
