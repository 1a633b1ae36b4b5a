import assert from "@std/assert";
import type { TestService } from "./service.ts";

/** A request, and what its answer must and must not contain. */
export interface Scenario {
  /** The guarantee, as a sentence. */
  name: string;
  method?: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** The key to send as `Authorization: Bearer`: null for none, the service's first if absent. */
  key?: string | null;
  /** Text and bytes are sent unchanged, other values as JSON. */
  body?: unknown;
  status: number;
  /** The error's fields; any other error fails the scenario. */
  error?: ErrorFields;
  /** Pieces that the body must contain. */
  expected?: readonly (string | RegExp)[];
  /** Pieces that neither body nor headers may contain. */
  unexpected?: readonly (string | RegExp)[];
  /** Headers that must match; null for a header that must be absent. */
  answerHeaders?: Readonly<Record<string, string | RegExp | null>>;
  /** Further checks. */
  check?: (answer: Answer) => void | Promise<void>;
}

export interface ErrorFields {
  type: string;
  code: string;
  /** The exact value; undefined if the dialect has no such field. */
  param?: string | null;
  message?: string | RegExp;
  /** Only in the generate dialect. */
  status?: string;
  /** The dialect of the body, whose fields are checked. */
  dialect?: "service" | "chat" | "messages" | "generate";
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined if it isn't JSON. */
  json: unknown;
}

/** The four headers of the specification, which every answer carries. */
export const securityHeaders: Readonly<Record<string, string>> = {
  "strict-transport-security": "max-age=31536000",
  "content-security-policy": "default-src 'self'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** Registers a test for each scenario. */
export function testScenarios(service: () => TestService, table: readonly Scenario[]): void {
  for (const scenario of table) {
    Deno.test(scenario.name, async () => {
      await play(service(), scenario);
    });
  }
}

/** Runs one scenario; throws if the answer differs. */
export async function play(
  service: Pick<TestService, "baseUrl" | "key">,
  scenario: Scenario,
): Promise<Answer> {
  const answer = await send(service, scenario);
  checkAnswer(service, scenario, answer);
  await scenario.check?.(answer);
  return answer;
}

async function send(
  service: Pick<TestService, "baseUrl" | "key">,
  scenario: Scenario,
): Promise<Answer> {
  const { body } = scenario;
  const headers = new Headers(scenario.headers);
  const key = scenario.key === undefined ? service.key : scenario.key;
  if (key !== null) headers.set("authorization", `Bearer ${key}`);
  if (body !== undefined && !headers.has("content-type")) {
    headers.set("content-type", "application/json");
  }
  const raw = typeof body === "string" || body instanceof Uint8Array ||
    body instanceof ReadableStream;
  const response = await fetch(service.baseUrl + scenario.path, {
    method: scenario.method ?? (body === undefined ? "GET" : "POST"),
    redirect: "manual",
    headers,
    ...(body === undefined ? {} : { body: raw ? body as BodyInit : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parse(text) };
}

function checkAnswer(
  service: Pick<TestService, "key">,
  scenario: Scenario,
  answer: Answer,
): void {
  assert.equal(answer.status, scenario.status, answer.text.slice(0, 500));
  for (const [name, value] of Object.entries(securityHeaders)) {
    assert.equal(answer.headers.get(name), value, name);
  }
  assert.match(answer.headers.get("x-request-id") ?? "", /^\S+$/);
  for (const [name, wanted] of Object.entries(scenario.answerHeaders ?? {})) {
    const value = answer.headers.get(name);
    if (wanted === null || typeof wanted === "string") assert.equal(value, wanted, name);
    else assert.match(value ?? "", wanted, name);
  }
  const whole = answer.text + JSON.stringify([...answer.headers]);
  for (const piece of scenario.expected ?? []) assert.ok(holds(answer.text, piece), `${piece}`);
  for (const piece of [service.key, ...scenario.unexpected ?? []]) {
    if (piece !== "") assert.ok(!holds(whole, piece), `${piece} must not be there`);
  }
  if (scenario.error) checkError(answer, scenario.error);
  else if (scenario.status >= 400) throw new Error("A scenario with an error names its fields");
}

/** Checks an error body: the specification's three strings, the dialect's fields, and no others. */
export function checkError(answer: Answer, wanted: ErrorFields): void {
  assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
  const body = answer.json as { error: Record<string, unknown>; [more: string]: unknown };
  const { message, type, code, ...more } = body.error;
  assert.deepEqual({ type, code }, { type: wanted.type, code: wanted.code });
  assert.equal(typeof message, "string");
  assert.notEqual(message, "");
  if (typeof wanted.message === "string") assert.equal(message, wanted.message);
  else if (wanted.message) assert.match(String(message), wanted.message);
  const { error: _, ...beside } = body;
  switch (wanted.dialect) {
    case "messages":
      assert.deepEqual(more, { details: { error_code: code } });
      assert.deepEqual(beside, {
        type: "error",
        request_id: answer.headers.get("x-request-id"),
      });
      break;
    case "generate":
      assert.deepEqual(more, { status: wanted.status });
      assert.deepEqual(beside, {});
      break;
    case "service":
      assert.deepEqual(more, {});
      assert.deepEqual(beside, {});
      break;
    default:
      assert.deepEqual(more, { param: wanted.param ?? null });
      assert.deepEqual(beside, {});
  }
}

function holds(text: string, piece: string | RegExp): boolean {
  return typeof piece === "string" ? text.includes(piece) : piece.test(text);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
