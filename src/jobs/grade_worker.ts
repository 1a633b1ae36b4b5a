/**
 * The thread in which callers' schemas and patterns run: both can be made to take for ever, and
 * there they can be ended (`grade_thread.ts`). Nothing of the service is known here.
 */
import type { ErrorObject, ValidateFunction } from "ajv";
import type { GradeQuestion, GradeTold } from "./grade_protocol.ts";

interface Scope {
  onmessage: (event: MessageEvent<GradeQuestion>) => void;
  postMessage(told: GradeTold): void;
}

const scope = globalThis as unknown as Scope;

scope.onmessage = async ({ data }) => scope.postMessage(await tell(data));

async function tell({ id, rule, text }: GradeQuestion): Promise<GradeTold> {
  let check: (text: string) => string | null;
  try {
    check = rule.type === "regex" ? pattern(rule) : await schema(rule);
  } catch (thrown) {
    return { id, kind: "unusable", reason: thrown instanceof Error ? thrown.message : "unknown" };
  }
  // Without a text the question is only whether the rule can be used.
  const problem = text === null ? null : check(text);
  return { id, kind: "judged", passed: problem === null, detail: problem };
}

type Rule = GradeQuestion["rule"];

function pattern(rule: Extract<Rule, { type: "regex" }>): (text: string) => string | null {
  const found = compile(rule.pattern, rule.flags ?? "");
  return (text) => found.test(text) ? null : "the pattern is not found";
}

/** With Unicode, unless the pattern is written in what only the older syntax takes. */
function compile(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    return new RegExp(source, flags);
  }
}

async function schema(
  rule: Extract<Rule, { type: "json_schema" }>,
): Promise<(text: string) => string | null> {
  const validate = await compileSchema(rule.schema);
  return (text) => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return "the answer is no JSON";
    }
    return validate(value) ? null : sayWhere(validate.errors?.[0]);
  };
}

async function compileSchema(
  value: boolean | Readonly<Record<string, unknown>>,
): Promise<ValidateFunction> {
  const draft = typeof value === "object" ? value.$schema : undefined;
  const { Ajv, Ajv2020 } = await import("./schema_validators.ts");
  const isCurrent = draft === undefined || /2020-12/.test(String(draft));
  const ajv = new (isCurrent ? Ajv2020 : Ajv)({
    strict: false,
    logger: false,
    validateFormats: false,
  });
  const validate = ajv.compile(value);
  // An asynchronous one would answer with a promise, which is always true.
  if ("$async" in validate) throw new Error("asynchronous schemas are not supported");
  return validate as ValidateFunction;
}

function sayWhere(error: ErrorObject | undefined): string {
  const place = error?.instancePath || "the answer";
  return `${place} ${error?.message ?? "is not what the schema allows"}`.slice(0, 500);
}
