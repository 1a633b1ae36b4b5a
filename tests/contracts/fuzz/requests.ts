import { smallPicture } from "../../../contracts/examples/media.ts";
import { joinBytes } from "../../../src/base/bytes.ts";
import type { Random } from "../../support/random.ts";
import type { KnownIds } from "./known_ids.ts";
import type { FuzzedOperation } from "./operations.ts";
import { type Schema, valueOf } from "./schema_values.ts";

/** A request as it is sent, with everything that is odd about it. */
export interface FuzzedRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
  /** Whether the method is the operation's. */
  readonly wrongMethod: boolean;
}

/** What requests are made from. */
export interface Sources {
  readonly operation: FuzzedOperation;
  resolve(reference: string): Schema;
  readonly ids: KnownIds;
  /** The caller's API key. */
  readonly key: string;
  readonly random: Random;
}

/**
 * A request that nothing is wrong with, as far as the document tells: its examples, each in its
 * turn, then what is made from them.
 */
export function rightRequest(sources: Sources, turn: number, isFirst: boolean): FuzzedRequest {
  const { operation, key, random } = sources;
  const { type, value } = withStored(
    examplesOf(operation)[turn] ?? withNewName(rightBody(sources), sources),
    sources,
  );
  const form = type?.startsWith("multipart/") ? formOf(Object.entries(value as object)) : undefined;
  return {
    method: operation.method,
    // Nothing is narrowed at first, so that lists show what there is, and no other account is asked.
    target: rightPath(sources, turn) + (isFirst ? "" : rightQuery(sources)),
    headers: {
      ...(operation.keyed ? { authorization: `Bearer ${key}` } : {}),
      ...(type === undefined ? {} : { "content-type": form?.type ?? type }),
      ...rightHeaders(operation, random),
    },
    body: type === undefined ? undefined : form?.body ?? bytes(JSON.stringify(value)),
    wrongMethod: false,
  };
}

function rightPath({ operation, ids }: Sources, turn: number): string {
  const { method, path, parameters, tag } = operation;
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters.find((one) => one.in === "path" && one.name === name);
    if (name === "model") return encodeURIComponent(String(parameter?.example ?? modelOf(tag)));
    const id = method === "DELETE" ? ids.take(path) : ids.byTurn(path, turn);
    return encodeURIComponent(id ?? String(parameter?.example));
  });
}

function rightQuery({ operation, resolve, random }: Sources): string {
  const query = new URLSearchParams();
  // What only the service can have made is not made up.
  const parameters = operation.parameters.filter(({ name, in: place }) =>
    place === "query" && !/^(expires|signature|after|cursor)$/.test(name)
  );
  const percent = parameters.length > 3 ? 30 : 60;
  for (const { name, schema } of parameters) {
    if (!random.chance(percent)) continue;
    for (const value of [schema ? valueOf(schema, resolve, random) : ""].flat()) {
      query.append(name, String(value).toWellFormed());
    }
  }
  return query.size === 0 ? "" : `?${query}`;
}

export function examplesOf({ bodies }: FuzzedOperation): { type: string; value: unknown }[] {
  return Object.entries(bodies).flatMap(([type, { examples }]) =>
    examples.map((value) => ({ type, value: structuredClone(value) }))
  );
}

/** A body that fits its schema: an example, or what is made up of the schema; and its type. */
export function rightBody(
  { operation, resolve, ids, random }: Sources,
): { type: string | undefined; value: unknown } {
  const types = Object.keys(operation.bodies);
  if (types.length === 0) return { type: undefined, value: undefined };
  const type = random.pick(types);
  const { schema, examples } = operation.bodies[type]!;
  const value = random.chance(50)
    ? structuredClone(random.pick(examples))
    : withFields(structuredClone(random.pick(examples)), schema, { resolve, random });
  return withStored({ type, value }, { operation, ids });
}

/** What is made under a name that was taken before is refused. */
function withNewName<Body extends { value: unknown }>(
  body: Body,
  { operation, random }: Sources,
): Body {
  const { value } = body;
  const isUnique = operation.answers["409"]?.codes.includes("already_exists");
  if (isUnique && typeof value === "object" && value !== null && "name" in value) {
    value.name = `made-${random.below(1_000_000_000)}`;
  }
  return body;
}

/** An example with one or two of its schema's other fields. */
function withFields(
  example: unknown,
  schema: Schema,
  { resolve, random }: Pick<Sources, "resolve" | "random">,
): unknown {
  const whole = schema.$ref === undefined ? schema : resolve(schema.$ref);
  const fields = Object.entries(whole.properties ?? {});
  if (typeof example !== "object" || example === null || fields.length === 0) return example;
  for (let more = 1 + random.below(2); more > 0; more--) {
    const [name, field] = random.pick(fields);
    (example as Record<string, unknown>)[name] = valueOf(field, resolve, random);
  }
  return example;
}

/** What continues a response that only the document knows continues one that is stored. */
function withStored<Body extends { value: unknown }>(
  body: Body,
  { operation: { path }, ids }: Pick<Sources, "operation" | "ids">,
): Body {
  const { value } = body;
  if (typeof value === "object" && value !== null && "previous_response_id" in value) {
    value.previous_response_id = ids.oldest(`${path.replace(/\/compact$/, "")}/`);
  }
  return body;
}

/** A form of the fields; files as files. */
export function formOf(
  fields: Iterable<readonly [name: string, value: unknown]>,
): { type: string; body: Uint8Array<ArrayBuffer> } {
  const boundary = "fuzz";
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (const [name, value] of fields) {
    const isFile = /^(file|image(\[\])?|mask)$/.test(name);
    const type = isFile ? '; filename="a.png"\r\nContent-Type: image/png' : "";
    const file = name === "file" ? sound : picture;
    pieces.push(
      bytes(
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${type}\r\n\r\n`,
      ),
      isFile && isName(value) ? file : bytes(text(value)),
      bytes("\r\n"),
    );
  }
  pieces.push(bytes(`--${boundary}--\r\n`));
  return { type: `multipart/form-data; boundary=${boundary}`, body: joinBytes(pieces) };
}

function isName(value: unknown): boolean {
  return typeof value === "string" && /^\w+\.\w+$/.test(value);
}

function text(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed() : JSON.stringify(value) ?? "";
}

const sound = new Uint8Array(64).fill(0xff);
const picture = Uint8Array.from(atob(smallPicture), (letter) => letter.charCodeAt(0));

function rightHeaders({ parameters }: FuzzedOperation, random: Random): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { name, in: place } of parameters) {
    const values = rightHeaderValues[name];
    if (place === "header" && values && random.chance(20)) headers[name] = random.pick(values);
  }
  return headers;
}

/** Without `X-Request-ID`, whose second use is a replay, and `strict`, which refuses. */
const rightHeaderValues: Readonly<Record<string, readonly string[]>> = {
  Prefer: ["respond-async"],
  Range: ["bytes=0-0", "bytes=0-"],
  "X-Session-ID": ["session-17", "x".repeat(256)],
  "X-User-ID": ["user-42"],
  "X-Translation-Mode": ["lenient"],
};

/** A model that the simulated vendors have. */
export function modelOf(tag: string): string {
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

export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
