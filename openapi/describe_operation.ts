import type { Contract } from "../contracts/kernel/contract.ts";
import type { OperationExamples } from "../contracts/examples/example.ts";
import { examplesOf } from "../contracts/examples/mod.ts";
import { answerHeaders, requestParameters } from "./common_parts.ts";
import { errors } from "../contracts/kernel/errors.ts";
import { errorExampleName } from "./error_examples.ts";
import {
  type Answer,
  type Example,
  type Media,
  type Operation,
  type Reference,
  reference,
} from "./shapes.ts";

/** Adds to an operation what its schemas don't say: other paths, headers, examples. */
export function describeOperation(operation: Operation, contract: Contract): void {
  const examples = examplesOf(contract);
  operation.description = descriptionOf(contract);
  operation.parameters = [...operation.parameters ?? [], ...requestParameters(contract)];
  for (const parameter of operation.parameters) {
    if ("$ref" in parameter || parameter.in !== "path") continue;
    parameter.example = examples.params?.[parameter.name] ?? parameter.example;
  }
  const request = operation.requestBody?.content["application/json"];
  if (request !== undefined) setExamples(request, examples.requests);
  const form = operation.requestBody?.content["multipart/form-data"];
  if (form !== undefined) setExamples(form, examples.forms);
  for (const [status, answer] of Object.entries(operation.responses)) {
    if (!("$ref" in answer)) describeAnswer(answer, status, contract, examples);
  }
  operation.responses["431"] = reference("responses", "HeadersTooLarge");
}

function descriptionOf(contract: Contract): string {
  const aliases = contract.aliases ?? [];
  const paragraphs = [
    contract.description ?? `${contract.summary}.`,
    aliases.length === 0 ? "" : `Also at ${aliases.map((path) => `\`${path}\``).join(", ")}.`,
    typeof contract.scope === "string" ? `Scope: \`${contract.scope}\`.` : "",
    contract.media?.["text/event-stream"] === undefined ? "" : streams[contract.dialect],
  ];
  return paragraphs.filter((text) => text !== "").join("\n\n");
}

const streams: Readonly<Record<Contract["dialect"], string>> = {
  service: "",
  chat:
    "A stream is server-sent events: each `data:` line holds one chunk as JSON, the last one `[DONE]`. A stream that fails ends with a chunk that holds `error`.",
  responses:
    "A stream is server-sent events: `event:` names the type, `data:` holds the event as JSON. A stream that fails ends with an `error` event.",
  messages:
    "A stream is server-sent events: `event:` names the type, `data:` holds the event as JSON. A stream that fails ends with an `error` event.",
  generate:
    "As server-sent events each `data:` line holds one answer as JSON. A stream that fails ends with an object that holds `error`.",
};

function describeAnswer(
  answer: Answer,
  status: string,
  contract: Contract,
  examples: OperationExamples,
): void {
  const headers = answerHeaders(contract, status);
  if (Object.keys(headers).length > 0) answer.headers = headers;
  if (Number(status) >= 400) return setErrorExamples(answer, status, contract);
  const json = isMain(status, contract) ? examples.answers : examples.others?.[status];
  for (const [type, media] of Object.entries(answer.content ?? {})) {
    if (type === "application/json") setExamples(media, json ?? examples.answers);
    else if (type === "text/event-stream") setExamples(media, examples.events);
    else if (examples.texts?.[type] !== undefined) {
      setExamples(media, { text: examples.texts[type] });
    }
  }
}

function isMain(status: string, contract: Contract): boolean {
  return status === String(contract.status ?? 200);
}

function setErrorExamples(answer: Answer, status: string, contract: Contract): void {
  const media = answer.content?.["application/json"];
  if (media === undefined) return;
  media.examples = Object.fromEntries(
    contract.codes.filter((code) => String(errors[code].status) === status).map((
      code,
    ): [string, Example | Reference] => [
      code,
      reference("examples", errorExampleName(code, contract.dialect)),
    ]),
  );
}

function setExamples(media: Media, named: Readonly<Record<string, unknown>> | undefined): void {
  if (named === undefined) return;
  media.examples = Object.fromEntries(
    Object.entries(named).map(([name, value]) => [name, { value }]),
  );
}
