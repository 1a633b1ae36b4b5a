import http from "node:http";
import type { Random } from "../../support/random.ts";
import type { Behaviour } from "./vendor.ts";

/** A request that a caller makes, perhaps several times. */
export interface Errand {
  readonly marker: string;
  /** The body has a text of its own, which no other errand sends. */
  readonly own: boolean;
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly headers: Readonly<Record<string, string>>;
  readonly key: KeyName;
  readonly user: string;
  readonly session: string;
  readonly requestId: string | undefined;
  readonly background: boolean;
  readonly stream: boolean;
  readonly attempts: Attempt[];
  /** Its background response was deleted, which frees the id of its request. */
  isForgotten?: boolean;
}

export type KeyName =
  | "admin"
  | "first"
  | "team"
  | "capped"
  | "metadata"
  | "drain"
  | "cached"
  | "slow";

/** What one request came to, as its caller saw it. */
export interface Attempt {
  readonly process: string;
  readonly startMs: number;
  readonly conflicting: boolean;
  headMs?: number;
  endMs: number;
  status?: number;
  headers: Record<string, string>;
  text: string;
  /** `whole`: to its end; `left`: the caller went away; `broken`: the connection ended before. */
  ended: "whole" | "left" | "broken";
  fault?: string;
}

/** Number of bodies that several callers send. */
export const sharedMarkers = 6;

const models = [
  "vendor-b/gpt-4.1",
  "vendor-c/claude-haiku-4-5",
  "vendor-d/gemini-2.5-flash",
  "pair",
];
const keyNames: readonly (readonly [number, KeyName])[] = [
  [6, "first"],
  [6, "team"],
  [3, "capped"],
  [2, "metadata"],
  [2, "drain"],
  [3, "cached"],
  [1, "slow"],
];

export function makeErrand(random: Random, seed: number, number: number): Errand {
  const key = random.weighted(keyNames);
  const shared = (key === "cached" || random.chance(8)) && random.chance(70);
  const marker = shared
    ? `mark-${seed}-shared-${random.below(sharedMarkers)}`
    : `mark-${seed}-own-${number}`;
  const user = `user-${random.below(6)}`;
  const session = `session-${random.below(8)}`;
  const model = random.pick(models);
  const stream = random.chance(45);
  const background = !shared && random.chance(7);
  const made = background
    ? requests.responses(model, marker, false, user)
    : requests[random.pick(["chat", "chat", "responses", "messages", "generate", "embeddings"])]!(
      model,
      marker,
      stream,
      user,
    );
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "x-session-id": session,
    "x-user-id": user,
  };
  if (shared && random.chance(80)) headers["x-cache-ttl"] = "600";
  if (random.chance(15)) headers["x-fallback-models"] = random.pick(models.slice(0, 3));
  const requestId = random.chance(60) ? `rid-${seed}-${number}` : undefined;
  const body: Record<string, unknown> = background ? { ...made.body, background: true } : made.body;
  return {
    marker,
    own: !shared,
    path: made.path,
    body,
    headers,
    key,
    user,
    session,
    requestId,
    background,
    stream: made.path.includes(":stream") || body.stream === true,
    attempts: [],
  };
}

type Make = (
  model: string,
  text: string,
  stream: boolean,
  user: string,
) => { path: string; body: Record<string, unknown> };

/** The first line tags the call with its app and cohort. */
const tagged = (marker: string) => `/// APP shop\n/// COHORT group\nSay ${marker} please.`;

const requests: Readonly<Record<string, Make>> & { responses: Make } = {
  chat: (model, marker, stream, user) => ({
    path: "/chat/v1/chat/completions",
    body: {
      model,
      max_tokens: 60,
      user,
      stream,
      messages: [{ role: "user", content: tagged(marker) }],
    },
  }),
  responses: (model, marker, stream, user) => ({
    path: "/chat/v1/responses",
    body: {
      model,
      max_output_tokens: 60,
      safety_identifier: user,
      stream,
      input: tagged(marker),
    },
  }),
  messages: (model, marker, stream, user) => ({
    path: "/chat/v1/messages",
    body: {
      model,
      max_tokens: 60,
      metadata: { user_id: user },
      stream,
      messages: [{ role: "user", content: tagged(marker) }],
    },
  }),
  generate: (model, marker, stream) => ({
    path: `/chat/v1/models/${model}:${
      stream ? "streamGenerateContent?alt=sse" : "generateContent"
    }`,
    body: {
      contents: [{ role: "user", parts: [{ text: tagged(marker) }] }],
      generationConfig: { maxOutputTokens: 60 },
    },
  }),
  embeddings: (_model, marker) => ({
    path: "/chat/v1/embeddings",
    body: { model: "vendor-b/text-embedding-3-small", input: `Say ${marker} please.` },
  }),
};

/** A random script for a vendor: mostly good answers, mostly fast ones. */
export function randomScript(random: Random): Behaviour[] {
  return Array.from({ length: 1 + random.below(4) }, () => randomBehaviour(random));
}

function randomBehaviour(random: Random): Behaviour {
  return random.weighted<() => Behaviour>([
    [40, () => ({ kind: "answer", waitMs: 0, dripMs: 0, early: random.chance(10) })],
    [
      25,
      () => ({
        kind: "answer",
        waitMs: random.below(700),
        dripMs: random.below(120),
        early: random.chance(20),
      }),
    ],
    [12, () => ({
      kind: "error",
      status: random.pick([400, 401, 403, 404, 408, 409, 413, 422, 429, 429, 500, 502, 503, 529]),
      ...(random.chance(40) ? { retryAfter: random.pick(["0", "1", "90", "soon"]) } : {}),
    })],
    [3, () => ({ kind: "no usage" })],
    [2, () => ({ kind: "redirect" })],
    [2, () => ({ kind: "html" })],
    [2, () => ({ kind: "broken JSON" })],
    [3, () => ({ kind: "error event" })],
    [6, () => ({ kind: "cut", at: random.pick(["head", "before", "body"]) })],
    [3, () => ({ kind: "silent", at: random.pick(["before", "body"]) })],
  ])();
}

/** Makes the request once; `leaveMs`: goes away after that time, whatever has come by then. */
export function attempt(
  errand: Errand,
  at: { baseUrl: string; name: string },
  secret: string,
  { leaveMs, conflicting = false }: { leaveMs?: number | undefined; conflicting?: boolean } = {},
): Promise<Attempt> {
  const made: Attempt = {
    process: at.name,
    startMs: Date.now(),
    conflicting,
    endMs: 0,
    headers: {},
    text: "",
    ended: "broken",
  };
  errand.attempts.push(made);
  const body = JSON.stringify(conflicting ? { ...errand.body, temperature: 0.5 } : errand.body);
  const headers: Record<string, string> = {
    ...errand.headers,
    authorization: `Bearer ${secret}`,
    "content-length": String(new TextEncoder().encode(body).length),
  };
  if (errand.requestId !== undefined) headers["x-request-id"] = errand.requestId;
  return new Promise((resolve) => {
    const end = (ended: Attempt["ended"], fault?: string) => {
      if (made.endMs > 0) return;
      made.endMs = Date.now();
      made.ended = ended;
      if (fault !== undefined) made.fault = fault;
      clearTimeout(timer);
      resolve(made);
    };
    const request = http.request(at.baseUrl + errand.path, {
      method: "POST",
      headers,
      agent: false,
    });
    const timer = setTimeout(() => {
      end(leaveMs === undefined ? "broken" : "left", "timeout");
      request.destroy();
    }, leaveMs ?? 60_000);
    request.on("response", (answer) => {
      made.headMs = Date.now();
      made.status = answer.statusCode!;
      for (const [name, value] of Object.entries(answer.headers)) {
        made.headers[name] = String(value);
      }
      answer.setEncoding("utf8");
      answer.on("data", (text: string) => made.text += text);
      answer.on("end", () => end(answer.complete ? "whole" : "broken"));
      answer.on("error", (error) => end("broken", String(error)));
      answer.on("close", () => end("broken", "closed"));
    });
    request.on("error", (error) => end("broken", String(error)));
    request.end(body);
  });
}

/** Whether a stream or an answer came to its good end. */
export function isWhole({ ended, status, text }: Attempt, { path, stream }: Errand): boolean {
  if (ended !== "whole" || status !== 200) return false;
  if (!stream) return true;
  if (path.includes(":stream")) return text.includes('"finishReason"');
  if (path.endsWith("/messages")) return text.includes("event: message_stop");
  if (path.endsWith("/responses")) return text.includes("event: response.completed");
  return text.includes("data: [DONE]") && !text.includes('"error":');
}
