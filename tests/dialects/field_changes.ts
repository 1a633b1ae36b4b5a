/** Every field of a value, by its path, and the value without it. */
import assert from "@std/assert";
import type { Json, Sample } from "../support/library_types.ts";

export interface FieldChange {
  /** With the `type` of objects that have one: `.output[]<message>.content`. */
  readonly path: string;
  /** Values in which only this field differs. */
  readonly changed: readonly unknown[];
}

/** The fields in which a sample differs from its type's first one, with all that stand beside. */
export function fieldChanges({ value, changed }: Sample): FieldChange[] {
  return changesIn(value, "", changed);
}

function changesIn(value: unknown, path: string, way: readonly (string | number)[]): FieldChange[] {
  const [step] = way;
  if (Array.isArray(value)) {
    return value.flatMap((one, at) =>
      changesIn(one, `${path}[]`, way.slice(1))
        .map((change) => wrapped(change, (inner) => value.with(at, inner)))
    );
  }
  if (typeof value !== "object" || value === null) return [];
  const record = value as Json;
  const tag = tagOf(record);
  const names = way.length > 1 ? [String(step)] : Object.keys(record);
  return names.flatMap((name) => {
    const at = `${path}${tag}.${name}`;
    const inside = changesIn(record[name], at, way.slice(1));
    return [
      { path: at, changed: changesOf(record, name) },
      ...inside.map((change) => wrapped(change, (inner) => ({ ...record, [name]: inner }))),
    ];
  });
}

function wrapped({ path, changed }: FieldChange, wrap: (value: unknown) => unknown): FieldChange {
  return { path, changed: changed.map(wrap) };
}

/** A count is changed in both directions: it may be part of another, or bounded by it. */
function changesOf(record: Json, name: string): Json[] {
  const { [name]: value, ...rest } = record;
  if (typeof value !== "number") return [rest];
  return [{ ...record, [name]: value * 3 + 1 }, { ...record, [name]: Math.floor(value / 10) }];
}

/** What kind of object this is: by its `type`, or by what a part of Google's has. */
function tagOf(record: Json): string {
  const kind = typeof record.type === "string"
    ? record.type
    : partKinds.find((name) => name in record && !("choices" in record));
  return kind === undefined ? "" : `<${kind}>`;
}

/** The members of which a part has one. The text comes last: a transcription has one, too. */
export const partKinds: readonly string[] = [
  ...["inlineData", "fileData", "functionCall", "functionResponse", "executableCode"],
  ...["codeExecutionResult", "toolCall", "toolResponse", "audioTranscription"],
];

/** Those paths that are in no other one. */
export function outermost(paths: Iterable<string>): string[] {
  const all = new Set(paths);
  return [...all].filter((path) => !prefixesOf(path).some((prefix) => all.has(prefix)));
}

/** The paths of the fields that a field is in. */
function prefixesOf(path: string): string[] {
  return [...path.slice(1).matchAll(/\./g)].flatMap(({ index }) => {
    const prefix = path.slice(0, index + 1);
    return [prefix, prefix.replace(/(?:\[\]|<[^<>]*>)+$/, "")];
  });
}

/** Tests whether a path is a given one or in it; `*` stands for any name or type. */
export function pathTest(pattern: string): (path: string) => boolean {
  const steps = pattern.split("*").map((one) => one.replace(/[.[\]<>]/g, "\\$&"));
  const test = new RegExp(`^${steps.join("[^.<>[\\]]*")}(?:$|[.[<])`);
  return (path) => test.test(path);
}

/** Fails on a path without a reason, and on a reason without a path: the paths stand by reasons. */
export function checkExceptions(
  paths: readonly string[],
  exceptions: Readonly<Record<string, string>>,
): void {
  const patterns = Object.values(exceptions).flatMap((list) => list.split(" "));
  const tests = patterns.map((pattern) => ({ pattern, matches: pathTest(pattern) }));
  assert.deepEqual(
    paths.filter((path) => !tests.some(({ matches }) => matches(path))),
    [],
    "without a reason",
  );
  const unneeded = tests.filter(({ matches }) => !paths.some(matches));
  assert.deepEqual(unneeded.map(({ pattern }) => pattern), [], "needs no exception");
}

/** The fields of a value that another one lacks, or has with another value. */
export function differences(value: unknown, other: unknown, path = ""): string[] {
  if (Array.isArray(value)) {
    const others = Array.isArray(other) ? other : [];
    return value.flatMap((one, at) => differences(one, others[at], `${path}[]`));
  }
  if (typeof value !== "object" || value === null) return value === other ? [] : [path];
  if (typeof other !== "object" || other === null) return [path];
  const tag = tagOf(value as Json);
  return Object.entries(value).flatMap(([name, one]) =>
    differences(one, (other as Json)[name], `${path}${tag}.${name}`)
  );
}
