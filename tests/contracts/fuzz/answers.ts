import { errors } from "../../../contracts/kernel/errors.ts";
import { securityHeaders } from "../../support/scenarios.ts";
import { at, escaped, type FuzzedDocument, type FuzzedOperation } from "./operations.ts";
import type { FuzzedRequest } from "./requests.ts";
import { schemaValidator } from "../../support/json_schema.ts";
import { isBeyondSchemas, needsReason } from "./refusals.ts";
import { type CheckText, parameterProblem, textCheck } from "./texts.ts";

export interface FuzzedReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What is wrong with an answer, held against what the document says of its operation. */
export type CheckAnswer = (
  operation: FuzzedOperation,
  request: Omit<FuzzedRequest, "method">,
  reply: FuzzedReply,
) => string | undefined;

export function answerCheck(document: FuzzedDocument): CheckAnswer {
  const schemas: Schemas = { fits: schemaCheck(document), fitsText: textCheck({ formats }) };
  return (operation, request, reply) => {
    try {
      return headProblem(reply) ??
        (request.wrongMethod
          ? wrongMethodProblem(reply)
          : answerProblem(operation, reply, schemas) ??
            headerProblem(operation, reply, schemas) ??
            judgementProblem(operation, request, reply, schemas));
    } catch (thrown) {
      return `an answer that can't be read: ${thrown}`;
    }
  };
}

interface Schemas {
  fits(pointer: string, value: unknown): string | undefined;
  readonly fitsText: CheckText;
}

/** What every answer has. */
function headProblem({ status, headers }: FuzzedReply): string | undefined {
  for (const [name, value] of Object.entries(securityHeaders)) {
    if (headers.get(name) !== value) return `header ${name} is ${headers.get(name)}`;
  }
  if (!headers.has("x-request-id")) return "no X-Request-ID";
  // The simulated vendors are well, so that no failure is theirs either.
  return status >= 500 ? "a failure" : undefined;
}

function answerProblem(
  operation: FuzzedOperation,
  { status, headers, text }: FuzzedReply,
  { fits }: Schemas,
): string | undefined {
  const answer = operation.answers[status];
  if (answer === undefined) return "an undocumented status";
  const type = (headers.get("content-type") ?? "").split(";")[0]!.trim();
  const media = [type, "*/*"].find((one) => answer.media.includes(one));
  if (media === undefined) return `an undocumented content type ${type}`;
  // Bytes of any kind, or some of a file's.
  if (media === "*/*" || status === 206) return undefined;
  const schema = `${answer.pointer}/${escaped(type)}/schema`;
  if (status >= 400) {
    const code = JSON.parse(text).error?.code;
    if (!answer.codes.includes(code)) return `an undocumented code ${code}`;
  }
  if (type === "application/json") return fits(schema, JSON.parse(text));
  if (type === "text/event-stream") {
    const problems = eventsIn(text).map((event) => failureIn(event) ?? fits(schema, event));
    return problems.find((problem) => problem !== undefined);
  }
  return undefined;
}

/** Headers that callers may look for; security headers and those of HTTP itself are left out. */
function isOurs(name: string): boolean {
  if (name in securityHeaders || name === "x-accel-buffering") return false;
  return /^x-|^(request-id|retry-after|age|server-timing)$/.test(name);
}

function headerProblem(
  { answers }: FuzzedOperation,
  { status, headers }: FuzzedReply,
  { fitsText }: Schemas,
): string | undefined {
  for (const [name, value] of headers) {
    const schema = answers[status]!.headers[name];
    if (schema === undefined && isOurs(name)) return `an undocumented header ${name}`;
    const problem = schema && fitsText(schema, value);
    if (problem !== undefined) return `header ${name}: ${problem}`;
  }
  return undefined;
}

/** What the document calls wrong is not to be taken, and what it allows not to be refused. */
function judgementProblem(
  operation: FuzzedOperation,
  request: Pick<FuzzedRequest, "target" | "headers" | "body">,
  { status, text }: FuzzedReply,
  { fits, fitsText }: Schemas,
): string | undefined {
  const isTaken = status < 400;
  if (!isTaken && status !== 400) return undefined;
  const problem = parameterProblem(operation, request, fitsText) ??
    bodyProblem(operation, request, fits);
  if (isTaken && typeof problem === "string") {
    return `taken, although the document says: ${problem}`;
  }
  if (isTaken || problem !== undefined || !needsReason(operation)) return undefined;
  const { message } = JSON.parse(text).error;
  return isBeyondSchemas(operation, message)
    ? undefined
    : "refused, although the document allows it";
}

/** Undefined if nothing is wrong with the body, null if that can't be told. */
function bodyProblem(
  { path, method, bodies }: FuzzedOperation,
  { headers, body }: Pick<FuzzedRequest, "headers" | "body">,
  fits: Schemas["fits"],
): string | null | undefined {
  const type = headers["content-type"];
  if (type === undefined && body === undefined) {
    return Object.keys(bodies).length > 0 ? null : undefined;
  }
  if (body === undefined || type !== "application/json" || bodies[type] === undefined) return null;
  const place = `#/paths/${escaped(path)}/${method.toLowerCase()}/requestBody/content`;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    return null;
  }
  return fits(`${place}/${escaped(type)}/schema`, value);
}

/** No operation has it, so it is answered as an address that isn't there. */
function wrongMethodProblem({ status, text }: FuzzedReply): string | undefined {
  if (status === 401) return undefined;
  const code = JSON.parse(text).error?.code;
  return status === 404 && code === "endpoint_not_found" ? undefined : `${status} ${code}`;
}

/** A stream that fails in the middle is a failure too, though its status was good. */
function failureIn(event: unknown): string | undefined {
  const { error = event } = event as { error?: unknown };
  const { code, reason } = (error ?? {}) as { code?: unknown; reason?: unknown };
  // In a generate stream the code is the status, and the reason the code.
  const failed = [reason, code].find((one) => failures.has(one));
  return failed === undefined ? undefined : `a failure in the stream: ${failed}`;
}

const failures: ReadonlySet<unknown> = new Set(
  Object.entries(errors).filter(([, { status }]) => status >= 500).map(([code]) => code),
);

/** What the `data:` lines of a stream hold. */
function eventsIn(text: string): unknown[] {
  return text.split("\n").filter((line) => line.startsWith("data: ") && line !== "data: [DONE]")
    .map((line) => JSON.parse(line.slice("data: ".length)));
}

/** Ajv's strict mode takes no keywords that it doesn't know, so each schema stands alone. */
function schemaCheck(document: FuzzedDocument): Schemas["fits"] {
  const ajv = schemaValidator({
    strict: true,
    allowUnionTypes: true,
    strictRequired: false,
    formats,
  });
  ajv.addVocabulary(["example", "discriminator"]);
  ajv.addSchema({ $id: "document", $defs: alone(document.components.schemas) });
  return (pointer, value) => {
    const id = pointer.replace(/\W/g, "-");
    const schema = () => ajv.compile({ $id: id, ...alone(at<object>(document, pointer)) });
    const validate = ajv.getSchema(id) ?? schema();
    return validate(value) ? undefined : ajv.errorsText(validate.errors);
  };
}

function alone<T>(schema: T): T {
  const text = JSON.stringify(schema);
  return JSON.parse(text.replaceAll('"#/components/schemas/', '"document#/$defs/'));
}

const formats = {
  "date-time": (text: string) =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) &&
    !Number.isNaN(Date.parse(text)),
  date: /^\d{4}-\d\d-\d\d$/,
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  uri: (text: string) => URL.canParse(text),
  binary: true,
} as const;
