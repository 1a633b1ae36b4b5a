import { schemaValidator } from "../../support/json_schema.ts";
import type { FuzzedOperation } from "./operations.ts";
import type { FuzzedRequest } from "./requests.ts";
import type { Schema } from "./schema_values.ts";

/** What is wrong with a value of a URL or a header, where every value is text. */
export type CheckText = (schema: Schema, value: string | readonly string[]) => string | undefined;

export function textCheck(options: Parameters<typeof schemaValidator>[0]): CheckText {
  const ajv = schemaValidator({ ...options, coerceTypes: true });
  ajv.addVocabulary(["example"]);
  const validators = new Map<Schema, ReturnType<typeof ajv.compile>>();
  return (schema, value) => {
    const validate = validators.get(schema) ??
      ajv.compile({ type: "object", properties: { value: schema } });
    validators.set(schema, validate);
    return validate({ value: structuredClone(value) })
      ? undefined
      : ajv.errorsText(validate.errors, { dataVar: "" });
  };
}

/** What the document calls wrong about a request's query and headers. */
export function parameterProblem(
  { parameters }: FuzzedOperation,
  { target, headers }: Pick<FuzzedRequest, "target" | "headers">,
  check: CheckText,
): string | undefined {
  const query = new URL(target, "http://localhost").searchParams;
  for (const { name, in: place, schema } of parameters) {
    // An empty header is as good as none.
    const values = place === "query" ? query.getAll(name) : [headers[name] || []].flat();
    if (schema === undefined || place === "path" || values.length === 0) continue;
    if (schema.type !== "array" && values.length > 1) continue;
    const problem = check(schema, schema.type === "array" ? values : values[0]!);
    if (problem !== undefined) return `${name}: ${problem}`;
  }
  return undefined;
}
