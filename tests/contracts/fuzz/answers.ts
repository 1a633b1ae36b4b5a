import { errors } from "../../../contracts/kernel/errors.ts";
import { securityHeaders } from "../../support/scenarios.ts";
import { at, escaped, type FuzzedDocument, type FuzzedOperation } from "./operations.ts";
import type { FuzzedRequest } from "./requests.ts";
import { schemaValidator } from "../../support/json_schema.ts";

export interface FuzzedReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What is wrong with an answer, held against what the document says of its operation. */
export type CheckAnswer = (
  operation: FuzzedOperation,
  request: Pick<FuzzedRequest, "headers" | "body" | "wrongMethod">,
  reply: FuzzedReply,
) => string | undefined;

export function answerCheck(document: FuzzedDocument): CheckAnswer {
  const fits = schemaCheck(document);
  return (operation, request, reply) => {
    try {
      return headProblem(reply) ??
        (request.wrongMethod ? wrongMethodProblem(reply) : answerProblem(operation, reply, fits) ??
          takenProblem(operation, request, reply, fits));
    } catch (thrown) {
      return `an answer that can't be read: ${thrown}`;
    }
  };
}

type Fits = (pointer: string, value: unknown) => string | undefined;

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
  fits: Fits,
): string | undefined {
  const answer = operation.answers[status];
  if (answer === undefined) return "an undocumented status";
  const type = (headers.get("content-type") ?? "").split(";")[0]!.trim();
  const header = [...headers.keys()].find((name) => isOurs(name) && !answer.headers.includes(name));
  if (header !== undefined) return `an undocumented header ${header}`;
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

/** What the document calls wrong is not to be taken. */
function takenProblem(
  { path, method, bodies }: FuzzedOperation,
  { headers, body }: Pick<FuzzedRequest, "headers" | "body">,
  { status }: FuzzedReply,
  fits: Fits,
): string | undefined {
  const type = headers["content-type"] ?? "";
  if (status >= 400 || body === undefined || bodies[type] === undefined) return undefined;
  if (type !== "application/json") return undefined;
  const place = `#/paths/${escaped(path)}/${method.toLowerCase()}/requestBody/content`;
  const problem = fits(
    `${place}/${escaped(type)}/schema`,
    JSON.parse(new TextDecoder().decode(body)),
  );
  return problem === undefined ? undefined : `taken, although the document says: ${problem}`;
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
function schemaCheck(document: FuzzedDocument): Fits {
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
