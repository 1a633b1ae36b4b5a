import type { Random } from "../../support/random.ts";
import type { FuzzedOperation } from "./operations.ts";
import { type Schema, valueOf } from "./schema_values.ts";
import { mutated, oddText, randomString } from "./values.ts";

/** A request as it leaves: everything that is odd about it stands in it. */
export interface FuzzedRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
  /** Whether the method is the operation's. */
  readonly wrongMethod: boolean;
}

/** Ids that earlier answers named, so that some requests meet what is there. */
export type KnownIds = readonly string[];

export function requestFor(
  operation: FuzzedOperation,
  resolve: (reference: string) => Schema,
  ids: KnownIds,
  key: string,
  random: Random,
): FuzzedRequest {
  const wrongMethod = random.chance(2);
  const method = wrongMethod ? random.pick(["PUT", "PATCH", "QUERY"]) : operation.method;
  const [type, body] = method === "GET"
    ? [undefined, undefined]
    : bodyOf(operation, resolve, random);
  return {
    method,
    target: pathOf(operation, ids, random) + queryOf(operation, random),
    headers: {
      ...(type === undefined ? {} : { "content-type": type }),
      ...keyHeaders(key, random),
      ...otherHeaders(operation, random),
    },
    body,
    wrongMethod,
  };
}

function pathOf(operation: FuzzedOperation, ids: KnownIds, random: Random): string {
  return operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = operation.parameters.find((one) => one.in === "path" && one.name === name);
    const value = random.weighted<() => string>([
      [4, () => name === "model" ? modelOf(operation.tag) : String(parameter?.example ?? "x")],
      [4, () => ids.length === 0 ? "x" : random.pick(ids)],
      [1, () => wellFormed(randomString(random)) || "x"],
      [
        1,
        () => random.pick(["..", ".", "%", "a/b", "\0", "x".repeat(3000), "ü", " ", "a:b", "-1"]),
      ],
    ])();
    return encodeURIComponent(value);
  });
}

function queryOf(operation: FuzzedOperation, random: Random): string {
  const pairs: string[] = [];
  for (const parameter of operation.parameters) {
    if (parameter.in !== "query" || random.chance(50)) continue;
    const value = random.chance(50) ? String(parameter.example ?? "sse") : randomString(random);
    pairs.push(`${parameter.name}=${encodeURIComponent(wellFormed(value))}`);
  }
  if (random.chance(5)) {
    pairs.push(random.pick(["api_key=x", "=", "a", "%", "%zz=%ff", "alt=sse", "&&"]));
  }
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

function bodyOf(
  operation: FuzzedOperation,
  resolve: (reference: string) => Schema,
  random: Random,
): [type: string | undefined, body: Uint8Array<ArrayBuffer> | undefined] {
  const types = Object.keys(operation.bodies);
  if (types.length === 0) return random.chance(80) ? [undefined, undefined] : rubbish(random);
  const type = random.pick(types);
  const { schema, examples } = operation.bodies[type]!;
  const base = examples.length > 0 && random.chance(70)
    ? structuredClone(random.pick(examples))
    : valueOf(schema, resolve, random);
  withModel(base, operation.tag);
  if (type.startsWith("multipart/")) return formOf(base, random);
  const text = random.chance(35) ? JSON.stringify(base) : mutated(base, random);
  return random.weighted<() => [string | undefined, Uint8Array<ArrayBuffer>]>([
    [20, () => ["application/json", bytes(text)]],
    [1, () => ["application/json", bytes(text.slice(0, random.below(text.length + 1)))]],
    [1, () => ["application/json", bytes(`\ufeff${text}`)]],
    [1, () => ["application/json", bytes(`${text}${text}`)]],
    [1, () => ["application/json", new Uint8Array([...bytes(text.slice(0, -1)), 0xff, 0xfe])]],
    [1, () => ["application/json; charset=utf-16", bytes(text)]],
    [1, () => [random.pick(["text/plain", "application/xml", "*/*", "x"]), bytes(text)]],
    [1, () => ["multipart/form-data; boundary=x", bytes(text)]],
    [1, () => ["application/json", bytes(oddText(random))]],
    [1, () => ["application/json", bytes(JSON.stringify({ a: "x".repeat(400_000) }))]],
    [1, () => [undefined, bytes(text)]],
  ])();
}

function rubbish(random: Random): [string, Uint8Array<ArrayBuffer>] {
  return [random.pick(["application/json", "text/plain"]), bytes(oddText(random))];
}

/** A form of the value's members; files as they are. */
function formOf(value: unknown, random: Random): [string, Uint8Array<ArrayBuffer>] {
  const boundary = "fuzz";
  const parts = Object.entries(value as Record<string, unknown>).map(([name, inner]) => {
    const text = random.chance(20) ? JSON.parse(`[${safeOdd(random)}]`)[0] : inner;
    const file = /file|image|mask/.test(name)
      ? '; filename="a.png"\r\nContent-Type: image/png'
      : "";
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${
      typeof text === "string" ? wellFormed(text) : JSON.stringify(text)
    }\r\n`;
  });
  const end = random.chance(90) ? `--${boundary}--\r\n` : "";
  return [`multipart/form-data; boundary=${boundary}`, bytes(parts.join("") + end)];
}

function safeOdd(random: Random): string {
  const text = oddText(random);
  return text.length > 2000 ? '""' : text;
}

function keyHeaders(key: string, random: Random): Record<string, string> {
  return random.weighted<Record<string, string>>([
    [60, { authorization: `Bearer ${key}` }],
    [3, { "x-api-key": key }],
    [1, { authorization: `Bearer ${key};sk-simulated` }],
    [1, { authorization: `Bearer dmt_${"x".repeat(49)}` }],
    [1, { authorization: random.pick(["Bearer", "Basic eDp5", "Bearer ;", "Bearer a;b;c", ";"]) }],
    [1, {}],
  ]);
}

function otherHeaders(operation: FuzzedOperation, random: Random): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { name, in: place } of operation.parameters) {
    if (place !== "header" || !random.chance(15)) continue;
    headers[name.toLowerCase()] = random.pick([
      "x",
      "",
      "strict",
      "lenient",
      "respond-async",
      "bytes=0-",
      "bytes=5-1",
      "bytes=-0",
      "bytes=0-0,2-3",
      "bytes=99999999999999999999-",
      '"etag"',
      "ü",
      "a".repeat(257),
      "a".repeat(3000),
      "; , =",
    ]);
  }
  if (random.chance(2)) headers["x-forwarded-for"] = "1.2.3.4, ::1";
  if (random.chance(2)) headers["accept"] = "text/html";
  if (random.chance(1)) headers["content-encoding"] = "gzip";
  return headers;
}

/** Models that the simulated vendors have. */
function modelOf(tag: string): string {
  return models[tag] ?? "vendor-b/gpt-4.1";
}

const models: Readonly<Record<string, string>> = {
  "vendor-a": "deepseek-ai/DeepSeek-V4-Flash",
  "vendor-b": "gpt-4.1",
  "vendor-c": "claude-haiku-4-5",
  "vendor-d": "gemini-2.5-flash",
  "vendor-e": "gemini-2.5-flash",
  "vendor-f": "meta-llama/llama-3",
  "vendor-g": "grok-4.3",
};

function withModel(value: unknown, tag: string): void {
  if (typeof value !== "object" || value === null || !("model" in value)) return;
  if (typeof value.model === "string") value.model = modelOf(tag);
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** Addresses and forms can't hold half a character. */
function wellFormed(text: string): string {
  return text.toWellFormed();
}
