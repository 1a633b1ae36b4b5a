/** What the document shows as a request can be sent as it stands, to the demo's vendors. */
import assert from "@std/assert";
import { shared, startSimulatedService } from "../support/service.ts";
import { type FuzzedDocument, operationsOf } from "./fuzz/operations.ts";

const service = shared(() => startSimulatedService());
const document: FuzzedDocument = JSON.parse(
  Deno.readTextFileSync(new URL("../../openapi/openapi.json", import.meta.url)),
);

Deno.test("every example of a call to a model is answered with 200", async () => {
  const calls = operationsOf(document).filter(({ tag, method, bodies }) =>
    /^(chat|vendor-.)$/.test(tag) && method === "POST" && bodies["application/json"]
  );
  assert.ok(calls.length > 20);
  const refused: string[] = [];
  for (const { id, path, parameters, bodies } of calls) {
    for (const example of bodies["application/json"]!.examples) {
      // It continues a response that only the document knows.
      if (typeof example === "object" && "previous_response_id" in example!) continue;
      const target = path.replace(/\{(\w+)\}/g, (_, name: string) => {
        const parameter = parameters.find((one) => one.in === "path" && one.name === name);
        return encodeURIComponent(String(parameter?.example));
      });
      const answer = await service().post(target, example);
      const text = await answer.text();
      if (answer.status !== 200) refused.push(`${id} ${answer.status} ${text.slice(0, 200)}`);
    }
  }
  assert.deepEqual(refused, []);
});
