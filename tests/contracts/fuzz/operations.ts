import type { Schema } from "./schema_values.ts";

/** An operation of the document, as the fuzz needs it. */
export interface FuzzedOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly parameters: readonly { name: string; in: string; schema?: Schema; example?: unknown }[];
  /** Media type of a request's body → its schema and examples. */
  readonly bodies: Readonly<Record<string, { schema: Schema; examples: readonly unknown[] }>>;
  /** Status → what its answers may be: media type → pointer of the schema, codes of errors. */
  readonly answers: Readonly<Record<string, FuzzedAnswer>>;
  readonly keyed: boolean;
}

export interface FuzzedAnswer {
  readonly media: readonly string[];
  /** JSON pointer of `content` within the document. */
  readonly pointer: string;
  readonly codes: readonly string[];
  /** Name of a header, in lower case → its schema. */
  readonly headers: Readonly<Record<string, Schema>>;
}

/** The document as JSON, as far as it is looked at. */
export interface FuzzedDocument {
  paths: Record<string, Record<string, RawOperation>>;
  components: Record<string, Record<string, RawAnswer & Schema & { name: string; in: string }>>;
}

interface RawOperation {
  operationId: string;
  tags: string[];
  security?: unknown[];
  parameters?: { $ref?: string; name: string; in: string; schema?: Schema; example?: unknown }[];
  requestBody?: { content: Record<string, RawMedia> };
  responses: Record<string, RawAnswer>;
}

interface RawAnswer {
  $ref?: string;
  headers?: Record<string, { $ref?: string; schema?: Schema }>;
  content?: Record<string, RawMedia>;
}

interface RawMedia {
  schema: Schema;
  examples?: Record<string, { value?: unknown }>;
}

export function operationsOf(document: FuzzedDocument): FuzzedOperation[] {
  const all = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, raw]): FuzzedOperation => ({
      id: raw.operationId,
      method: method.toUpperCase(),
      path,
      tag: raw.tags[0]!,
      parameters: (raw.parameters ?? []).map((each) => each.$ref ? at(document, each.$ref) : each),
      bodies: Object.fromEntries(
        Object.entries(raw.requestBody?.content ?? {}).map(([type, { schema, examples = {} }]) => [
          type,
          { schema, examples: Object.values(examples).map(({ value }) => value) },
        ]),
      ),
      answers: Object.fromEntries(
        Object.entries(raw.responses).map(([status, answer]) => {
          const own = `#/paths/${escaped(path)}/${method}/responses/${status}`;
          const target = answer.$ref ? at<RawAnswer>(document, answer.$ref) : answer;
          const { content = {}, headers = {} } = target;
          return [status, {
            headers: Object.fromEntries(
              Object.entries(headers).map(([name, header]) => [
                name.toLowerCase(),
                (header.$ref ? at<typeof header>(document, header.$ref) : header).schema ?? {},
              ]),
            ),
            media: Object.keys(content),
            pointer: `${answer.$ref ?? own}/content`,
            codes: Number(status) < 400
              ? []
              : Object.values(content).flatMap(({ examples = {} }) => Object.keys(examples)),
          }];
        }),
      ),
      keyed: (raw.security ?? []).length > 0,
    }))
  );
  // What it changes, such as vendor keys, would change how everything else is answered.
  return [...all.filter((one) => !isAdministration(one)), ...all.filter(isAdministration)];
}

/** Needs a key whose scopes name `admin`. */
export function isAdministration({ tag }: Pick<FuzzedOperation, "tag">): boolean {
  return tag === "administration";
}

/** What a reference such as `#/components/schemas/Model` leads to. */
export function at<T>(document: FuzzedDocument, reference: string): T {
  const names = reference.slice(2).split("/").map((name) =>
    decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")
  );
  let value: unknown = document;
  for (const name of names) value = (value as Record<string, unknown>)[name];
  return value as T;
}

/** A key as it stands in a JSON pointer within a URI. */
export function escaped(key: string): string {
  return encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));
}
