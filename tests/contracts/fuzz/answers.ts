import { Ajv2020 } from "ajv/dist/2020.js";
import { securityHeaders } from "../../support/scenarios.ts";
import { at, escaped, type FuzzedDocument, type FuzzedOperation } from "./operations.ts";

export interface FuzzedReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Failures that lie with a vendor, or its connection, and are documented as such. */
const vendorFailure = /^upstream_/;

/** What is wrong with an answer, held against what the document says of its operation. */
export type CheckAnswer = (
  operation: FuzzedOperation,
  reply: FuzzedReply,
  wrongMethod: boolean,
) => string | undefined;

export function answerCheck(document: FuzzedDocument): CheckAnswer {
  const fits = schemaCheck(document);
  return (operation, { status, headers, text }, wrongMethod) => {
    for (const [name, value] of Object.entries(securityHeaders)) {
      if (headers.get(name) !== value) return `header ${name} is ${headers.get(name)}`;
    }
    if (!headers.has("x-request-id")) return "no X-Request-ID";
    if (wrongMethod) return wrongMethodProblem(status, text);
    const answer = operation.answers[status];
    if (answer === undefined) return "an undocumented status";
    const type = (headers.get("content-type") ?? "").split(";")[0]!.trim();
    if (!answer.media.includes(type)) return `an undocumented content type ${type}`;
    const schema = `${answer.pointer}/${escaped(type)}/schema`;
    if (status >= 400) {
      const code = JSON.parse(text).error?.code;
      if (!answer.codes.includes(code)) return `an undocumented code ${code}`;
      if (status >= 500 && !vendorFailure.test(code)) return `a failure of our own: ${code}`;
    }
    if (type === "application/json") return fits(schema, JSON.parse(text));
    if (type === "text/event-stream") {
      return eventsIn(text).map((e) => fits(schema, e)).find(Boolean);
    }
    return undefined;
  };
}

/** No operation has it, so it is answered as an address that isn't there. */
function wrongMethodProblem(status: number, text: string): string | undefined {
  if (status === 401) return undefined;
  const code = JSON.parse(text).error?.code;
  return status === 404 && code === "endpoint_not_found" ? undefined : `${status} ${code}`;
}

/** What the `data:` lines of a stream hold. */
function eventsIn(text: string): unknown[] {
  return text.split("\n").filter((line) => line.startsWith("data: ") && line !== "data: [DONE]")
    .map((line) => JSON.parse(line.slice("data: ".length)));
}

/** Ajv's strict mode takes no keywords that it doesn't know, so each schema stands alone. */
function schemaCheck(document: FuzzedDocument) {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false, formats });
  ajv.addVocabulary(["example", "discriminator"]);
  ajv.addSchema({ $id: "document", $defs: alone(document.components.schemas) });
  return (pointer: string, value: unknown): string | undefined => {
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
