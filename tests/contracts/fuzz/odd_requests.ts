import type { Random } from "../../support/random.ts";
import type { FuzzedOperation } from "./operations.ts";
import { bytes, formOf, type FuzzedRequest, modelOf, rightBody, type Sources } from "./requests.ts";
import { valueOf } from "./schema_values.ts";
import { mutated, oddText, randomString } from "./values.ts";

/** A request with something odd in most of its places; some have nothing wrong all the same. */
export function oddRequest(sources: Sources): FuzzedRequest {
  const { operation, key, random } = sources;
  const wrongMethod = random.chance(3);
  const [type, body] = operation.method === "GET" ? [undefined, undefined] : oddBody(sources);
  return {
    method: wrongMethod ? random.pick(["PUT", "LOCK", "QUERY"]) : operation.method,
    target: oddPath(sources) + oddQuery(operation, random),
    headers: {
      ...(type === undefined ? {} : { "content-type": type }),
      ...keyHeaders(key, random),
      ...otherHeaders(operation, random),
    },
    body,
    wrongMethod,
  };
}

function oddPath({ operation, ids, random }: Sources): string {
  const { path, tag } = operation;
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const known = name === "model" ? modelOf(tag) : ids.pick(path, random) ?? "x";
    const value = random.weighted<() => string>([
      [6, () => known],
      [1, () => randomString(random).toWellFormed() || "x"],
      [1, () => random.pick(oddNames)],
    ])();
    // Clients resolve these two themselves, whether they are encoded or not.
    return value === "." || value === ".." ? "x" : encodeURIComponent(value);
  });
}

const oddNames = ["%", "a/b", "../x", "\0", "x".repeat(3000), "ü", " ", "a:b", "-1", "__proto__"];

function oddQuery({ parameters }: FuzzedOperation, random: Random): string {
  const pairs: string[] = [];
  for (const { name, in: place, example } of parameters) {
    if (place !== "query" || random.chance(50)) continue;
    const value = random.chance(50) ? String(example ?? "sse") : randomString(random);
    pairs.push(`${name}=${encodeURIComponent(value.toWellFormed())}`);
  }
  if (random.chance(5)) {
    pairs.push(random.pick(["api_key=x", "=", "a", "%", "%zz=%ff", "alt=sse", "&&"]));
  }
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

type Body = [type: string | undefined, body: Uint8Array<ArrayBuffer> | undefined];

function oddBody(sources: Sources): Body {
  const { operation, resolve, random } = sources;
  if (Object.keys(operation.bodies).length === 0) {
    return random.chance(70) ? [undefined, undefined] : rubbish(random);
  }
  const { type, value } = rightBody(sources);
  // Made up whole now and then, which few vendors take, but which reaches into every field.
  const base = random.chance(70)
    ? value
    : withModel(valueOf(operation.bodies[type!]!.schema, resolve, random), operation.tag);
  if (type!.startsWith("multipart/")) return oddForm(base, random);
  const text = mutated(base, random);
  return random.weighted<() => Body>([
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

function rubbish(random: Random): Body {
  return [random.pick(["application/json", "text/plain"]), bytes(oddText(random))];
}

function oddForm(value: unknown, random: Random): Body {
  const fields = Object.entries(value as object).map(([name, inner]) =>
    [name, random.chance(20) ? oddText(random) : inner] as const
  );
  const { type, body } = formOf(random.chance(10) ? [...fields, ...fields] : fields);
  return [type, random.chance(90) ? body : body.slice(0, random.below(body.length))];
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

function otherHeaders({ parameters }: FuzzedOperation, random: Random): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { name, in: place } of parameters) {
    if (place === "header" && random.chance(15)) headers[name] = random.pick(oddHeaderValues);
  }
  if (random.chance(2)) headers["x-forwarded-for"] = "1.2.3.4, ::1";
  if (random.chance(2)) headers.accept = "text/html";
  if (random.chance(1)) headers["content-encoding"] = "gzip";
  return headers;
}

const oddHeaderValues = [
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
];

function withModel(value: unknown, tag: string): unknown {
  if (typeof value === "object" && value !== null && "model" in value) value.model = modelOf(tag);
  return value;
}
