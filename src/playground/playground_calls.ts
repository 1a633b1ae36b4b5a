import { parseExactly } from "../base/exact_json.ts";
import { finish } from "../base/steps.ts";
import { defined } from "../base/defined.ts";
import { SseSplitter } from "../base/sse.ts";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import type { CanonicalRequest } from "../dialects/kernel/canonical_request.ts";
import type { Account } from "../keys/account.ts";
import type { Principal } from "../keys/api_key.ts";
import { Fault } from "../shared/fault.ts";
import type { Interaction } from "../shared/interaction.ts";
import type { RateLimiter } from "../rate_limits/rate_limiter.ts";
import { jobCaller, type JobCallerDeps } from "../relay/call_context.ts";
import type { Relay } from "../relay/relay.ts";
import type { Reply } from "../relay/reply.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";

/** A person's conversation with a model, and the settings of the request. */
export interface PlaygroundRequest {
  /** As in the unified list. */
  model: string;
  system: string;
  turns: readonly { role: "user" | "assistant"; text: string }[];
  temperature?: number | undefined;
  maxOutputTokens?: number | undefined;
  effort?: Effort | undefined;
}

export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = typeof efforts[number];

/** An event of a running call; `end` is the last one, also after an error. */
export type PlaygroundEvent =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "error"; message: string }
  | { kind: "end"; record: Interaction | undefined };

export interface PlaygroundCall {
  account: Account;
  personId: string;
  request: PlaygroundRequest;
  /** Aborted when the person leaves or stops the answer. */
  signal: AbortSignal;
}

/** Calls that people make in the dashboard: counted, limited, charged and recorded as any other. */
export interface PlaygroundCalls {
  /** Streams an answer; failures are events. Ending the iteration early stops the call. */
  send(call: PlaygroundCall): AsyncGenerator<PlaygroundEvent>;
  /** The request's body as an API client would send it. */
  bodyOf(request: PlaygroundRequest): Record<string, unknown>;
}

export interface PlaygroundCallDeps extends JobCallerDeps {
  relay: Pick<Relay, "send">;
  rateLimiter: Pick<RateLimiter, "take">;
  dialect: Dialect;
  newId: () => string;
}

/**
 * Replaces a key's id in the records of people's calls, and is the app that they are tagged with.
 */
export const playgroundKeyId = "playground";

export function createPlaygroundCalls(deps: PlaygroundCallDeps): PlaygroundCalls {
  return {
    send: (call) => send(deps, call),
    bodyOf: (request) => bodyOf(deps.dialect, request, false),
  };
}

async function* send(
  deps: PlaygroundCallDeps,
  call: PlaygroundCall,
): AsyncGenerator<PlaygroundEvent> {
  const { clock, dialect } = deps;
  const caller = jobCaller(deps, {
    principal: principalOf(call.account, clock.now()),
    endpoint: "/dashboard/playground",
    requestId: deps.newId(),
    sessionId: null,
    userId: call.personId,
    signal: call.signal,
  });
  try {
    await takeToken(deps, call.account);
    const body = bodyOf(dialect, tagged(call.request), true);
    const bodyText = JSON.stringify(body);
    const reply = await deps.relay.send({ caller, dialect, vendor: undefined, body, bodyText });
    yield* playgroundEvents(eventsOf(dialect, reply));
  } catch (thrown) {
    if (call.signal.aborted) return;
    if (!(thrown instanceof Fault)) throw thrown;
    yield { kind: "error", message: thrown.message };
  }
  yield { kind: "end", record: caller.trace.settled };
}

/**
 * Builds a principal for people, who have no key: their session's role decides what they may do.
 */
function principalOf(account: Account, now: Date): Principal {
  const open = { scopes: [], models: [], capDayNanos: null, capMonthNanos: null } as const;
  return {
    account,
    key: {
      ...{ id: playgroundKeyId, accountId: account.id, name: "Playground", prefix: "", ...open },
      ...{ onDisconnect: "cancel", translationMode: "default", promptCache: true } as const,
      ...{ createdAt: now, expiresAt: null, revokedAt: null },
    },
  };
}

async function takeToken({ rateLimiter }: PlaygroundCallDeps, account: Account): Promise<void> {
  const { admitted, retryAfterSeconds } = await rateLimiter.take(account);
  if (!admitted) {
    throw new Fault("rate_limit_exceeded", { retryAfterSeconds: retryAfterSeconds ?? 1 });
  }
}

/** Puts the app's tag first, since the first tag counts. */
function tagged(request: PlaygroundRequest): PlaygroundRequest {
  const tag = `/// APP ${playgroundKeyId}\n`;
  if (request.system !== "") return { ...request, system: tag + request.system };
  const [first, ...rest] = request.turns;
  return first ? { ...request, turns: [{ ...first, text: tag + first.text }, ...rest] } : request;
}

function bodyOf(
  dialect: Dialect,
  { model, system, turns, temperature, maxOutputTokens, effort }: PlaygroundRequest,
  stream: boolean,
): Record<string, unknown> {
  const request: CanonicalRequest = {
    ...{ model, stream, tools: [], unsupported: [], paths: {} },
    system: system === "" ? [] : [{ text: system, path: "" }],
    turns: turns.map(({ role, text }) => ({
      role,
      parts: [{ type: "text" as const, text, path: "" }],
      path: "",
    })),
    ...defined({ temperature, maxOutputTokens, reasoning: effort && { effort } }),
  };
  return finish(dialect.encodeRequest(request, { model, maxOutputTokens })).body;
}

/** The answer's events, whether it comes as a stream or whole. */
async function* eventsOf(dialect: Dialect, reply: Reply): AsyncGenerator<CanonicalEvent> {
  if (!(reply.body instanceof ReadableStream)) {
    const text = await new Response(reply.body as BodyInit | null).text();
    yield* finish(dialect.decodeAnswer(parseExactly(text), {}));
    return;
  }
  const splitter = new SseSplitter({ maxEventBytes });
  const decoder = dialect.createStreamDecoder({});
  for await (const chunk of reply.body) {
    for (const event of splitter.push(chunk)) yield* decoder.decode(event).events;
  }
  for (const event of splitter.end()) yield* decoder.decode(event).events;
  yield* decoder.end().events;
}

const maxEventBytes = 32 * 1024 * 1024;

async function* playgroundEvents(
  events: AsyncIterable<CanonicalEvent>,
): AsyncGenerator<PlaygroundEvent> {
  const reasoning = new Set<number>();
  for await (const event of events) {
    if (event.type === "block-start" && event.content.kind === "reasoning") {
      reasoning.add(event.block);
    } else if (event.type === "block-delta" && event.text !== "") {
      yield { kind: reasoning.has(event.block) ? "reasoning" : "text", text: event.text };
    } else if (event.type === "error") {
      yield { kind: "error", message: event.error.message ?? "The vendor cut the answer short." };
    }
  }
}
