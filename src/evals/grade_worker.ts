/**
 * The thread in which callers' schemas and patterns run. Both can be written to run forever or to
 * use all memory, so each question has a time limit, and the thread has a heap limit and no
 * permissions (`grade_guard.ts`). It holds no data of the service.
 */
import { createContext, Script } from "node:vm";
import { parentPort } from "node:worker_threads";
import { Ajv, type ErrorObject, type FuncKeywordDefinition, str, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parseExactly } from "../base/exact_json.ts";
import { type GradeQuestion, gradeReady, type GradeResult } from "./grade_protocol.ts";

type Rule = GradeQuestion["rule"];
type Check = (text: string) => string | null;

const options = {
  strict: false,
  logger: false,
  validateFormats: false,
  // Inlining copies the target of every `$ref`, and there may be many.
  inlineRefs: false,
  // All objects inherit `constructor` and a few more names: without this they count as properties.
  ownProperties: true,
} as const;

/** In place of Ajv's, which divides: 19.99 / 0.01 is 1998.9999999999998. */
const multipleOf = {
  keyword: "multipleOf",
  type: "number",
  schemaType: "number",
  compile: (step: number) => (value: number) => isMultiple(value, step),
  error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
} satisfies FuncKeywordDefinition;

/** Compares the numbers as decimals, which they were written as. */
function isMultiple(value: number, step: number): boolean {
  if (!Number.isFinite(value)) return false;
  const [one, other] = [decimalOf(value), decimalOf(step)];
  const scale = Math.max(one.scale, other.scale);
  const scaled = (decimal: Decimal) => decimal.digits * 10n ** BigInt(scale - decimal.scale);
  return scaled(one) % scaled(other) === 0n;
}

/** `digits` / 10^`scale`. */
interface Decimal {
  digits: bigint;
  scale: number;
}

function decimalOf(value: number): Decimal {
  const [mantissa = "", exponent = "0"] = String(value).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), scale: fraction.length - Number(exponent) };
}

/**
 * Terminating a thread doesn't interrupt running code; a script's timeout does, patterns included.
 */
const script = new Script("work()");
const maxCompiled = 16;

class Grader {
  /**
   * Validate schemas against their draft and compile none, so that the `$id`s of callers' schemas
   * can't collide.
   */
  readonly #drafts = { current: new Ajv2020(options), seventh: new Ajv(options) };
  /** Recently used rules, compiled: a run applies the same few to each of its answers. */
  readonly #compiled = new Map<string, Check>();
  readonly #room: { work?: () => void } = {};

  constructor() {
    createContext(this.#room);
    for (const draft of Object.values(this.#drafts)) draft.validateSchema({});
  }

  answer({ id, rule, text, limitMs }: GradeQuestion): GradeResult {
    try {
      const done = this.#limited(limitMs, () => {
        const check = this.#checkOf(rule);
        // Without a text, compiling the rule was all that was asked.
        return text === null ? null : check(text);
      });
      if (!done) return { id, kind: "timeout" };
      return { id, kind: "judged", passed: done.value === null, detail: done.value };
    } catch (thrown) {
      return { id, kind: "unusable", reason: thrown instanceof Error ? thrown.message : "unknown" };
    }
  }

  #limited<T>(limitMs: number, work: () => T): { value: T } | undefined {
    let done: { value: T } | undefined;
    this.#room.work = () => void (done = { value: work() });
    try {
      script.runInContext(this.#room, { timeout: limitMs });
    } catch (thrown) {
      if ((thrown as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw thrown;
      return undefined;
    }
    return done;
  }

  #checkOf(rule: Rule): Check {
    const compiled = this.#compiled;
    const key = JSON.stringify(rule);
    const check = compiled.get(key) ?? (rule.type === "regex" ? pattern(rule) : this.#schema(rule));
    // A map keeps insertion order: the first entry is the least recently used.
    compiled.delete(key);
    compiled.set(key, check);
    if (compiled.size > maxCompiled) compiled.delete(compiled.keys().next().value!);
    return check;
  }

  #schema(rule: Extract<Rule, { type: "json_schema" }>): Check {
    const validate = this.#compileSchema(rule.schema);
    return (text) => {
      let value: unknown;
      try {
        value = parseExactly(text);
      } catch {
        return "the answer isn't JSON";
      }
      return validate(value) ? null : describePath(validate.errors?.[0]);
    };
  }

  #compileSchema(value: boolean | Readonly<Record<string, unknown>>): ValidateFunction {
    const draft = typeof value === "object" ? value.$schema : undefined;
    const isCurrent = draft === undefined || /2020-12/.test(String(draft));
    const existing = isCurrent ? this.#drafts.current : this.#drafts.seventh;
    if (!existing.validateSchema(value)) {
      throw new Error(`schema is invalid: ${existing.errorsText()}`);
    }
    const ajv = new (isCurrent ? Ajv2020 : Ajv)({ ...options, validateSchema: false });
    ajv.removeKeyword(multipleOf.keyword).addKeyword(multipleOf);
    const validate = ajv.compile(value);
    // An asynchronous validator would return a promise, which is always truthy.
    if ("$async" in validate) throw new Error("asynchronous schemas are not supported");
    return validate as ValidateFunction;
  }
}

function pattern(rule: Extract<Rule, { type: "regex" }>): Check {
  const found = compile(rule.pattern, rule.flags ?? "");
  return (text) => found.test(text) ? null : "the pattern is not found";
}

/** Compiles with the `u` flag, or without it if only the older syntax accepts the pattern. */
function compile(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    return new RegExp(source, flags);
  }
}

function describePath(error: ErrorObject | undefined): string {
  const path = error?.instancePath || "the answer";
  return `${path} ${error?.message ?? "is not what the schema allows"}`.slice(0, 500);
}

const grader = new Grader();
parentPort!.on("message", (question: GradeQuestion) => {
  // Callers' rules run only once the thread can't read files any more.
  if (Deno.permissions.querySync({ name: "read" }).state === "granted") {
    throw new Error("the graders' thread may still read");
  }
  parentPort!.postMessage(grader.answer(question));
});
parentPort!.postMessage(gradeReady);
