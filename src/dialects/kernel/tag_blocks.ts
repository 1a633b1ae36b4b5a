import type { RequestFacts } from "./dialect.ts";

/** A request's body without its tag lines (translation.md §15); the body itself stays as it is. */
export function withoutTags(body: unknown, blocks: RequestFacts["tagBlocks"]): unknown {
  return blocks.reduce((cut, { path, units }) => cutAt(cut, path, units), body);
}

function cutAt(value: unknown, path: readonly (string | number)[], units: number): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return typeof value === "string" ? value.slice(units) : value;
  if (Array.isArray(value)) {
    return value.map((one, index) => index === step ? cutAt(one, rest, units) : one);
  }
  const record = value as Readonly<Record<string, unknown>>;
  return { ...record, [step]: cutAt(record[step], rest, units) };
}
