/** What the document shows as a request can be sent as it stands, to the demo's vendors. */
import assert from "@std/assert";
import { smallPicture } from "../../contracts/examples/media.ts";
import { refuseUnread } from "../../src/http/refuse_unread.ts";
import { schemaValidator } from "../support/json_schema.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import {
  type FuzzedDocument,
  type FuzzedOperation,
  isAdministration,
  operationsOf,
} from "./fuzz/operations.ts";

const service = shared(async () => {
  const started = await startSimulatedService();
  return { ...started, adminKey: (await started.createKey("--scope", "admin")).key };
});
const document: FuzzedDocument = JSON.parse(
  Deno.readTextFileSync(new URL("../../openapi/openapi.json", import.meta.url)),
);

/** Ids of what the operations of administration made, by their paths. */
const made = new Map<string, unknown>();

Deno.test("every example of a request is answered with what it asks for", async () => {
  const refused: string[] = [];
  let sent = 0;
  for (const operation of operationsOf(document)) {
    for (const [type, { examples }] of Object.entries(operation.bodies)) {
      for (const example of examples as Record<string, unknown>[]) {
        const answer = await send(operation, type, await continued(operation, example));
        const text = await answer.text();
        sent++;
        if (answer.ok && isAdministration(operation)) {
          made.set(operation.path, JSON.parse(text).id);
        }
        if (answer.ok && !/^data:.*"(error":{|type":"error")/m.test(text)) continue;
        refused.push(`${operation.id} ${answer.status} ${text.slice(0, 300)}`);
      }
    }
  }
  assert.deepEqual(refused, []);
  assert.ok(sent > 60, `${sent} examples`);
});

Deno.test("a request that isn't parsed is refused in a form that the document has", () => {
  const ajv = schemaValidator({ strict: false, validateFormats: false });
  ajv.addSchema(document, "document");
  const response = "document#/components/responses/HeadersTooLarge";
  const schema = { $ref: `${response}/content/application~1json/schema` };
  for (const dialect of ["service", "chat", "responses", "messages", "generate"] as const) {
    const { status, body } = refuseUnread("too_many_headers", dialect);
    assert.equal(status, 431);
    assert.ok(ajv.validate(schema, JSON.parse(body)), `${dialect}: ${ajv.errorsText()}`);
  }
});

function send(
  { method, path, parameters, tag }: FuzzedOperation,
  type: string,
  example: Record<string, unknown>,
): Promise<Response> {
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters.find((one) => one.in === "path" && one.name === name);
    const id = name === "id" ? made.get(path.replace(/\/\{id\}$/, "")) : undefined;
    return encodeURIComponent(String(id ?? parameter?.example));
  });
  const key = isAdministration({ tag }) ? { authorization: `Bearer ${service().adminKey}` } : {};
  return type === "multipart/form-data"
    ? service().fetch(target, { method, body: formOf(example) })
    : service().fetch(target, {
      method,
      headers: { "content-type": type, ...key },
      body: JSON.stringify(example),
    });
}

/** What continues a response that only the document knows continues one that is there. */
async function continued(
  { path }: FuzzedOperation,
  example: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  if (example.previous_response_id === undefined) return example;
  const creating = path.replace(/\/compact$/, "");
  const first = await service().post(creating, { model: example.model, input: "Hello." });
  return { ...example, previous_response_id: (await first.json()).id };
}

/** Files stand in an example by their names. */
function formOf(example: Record<string, unknown>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(example)) {
    if (name !== "image" && name !== "file") form.append(name, String(value));
    else form.append(name, new File([name === "image" ? png : sound], String(value)));
  }
  return form;
}

const png = Uint8Array.from(atob(smallPicture), (letter) => letter.charCodeAt(0));
const sound = new Uint8Array(64).fill(0xff);
