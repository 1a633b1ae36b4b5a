/** The document as it is served, and the service as the document has it. */
import assert from "@std/assert";
import { shared, startTestService } from "../support/service.ts";
import { schemaValidator } from "../support/json_schema.ts";
import { get } from "node:http";

const service = shared(() => startTestService());

Deno.test("document and reference are there without a key, under the exact policy", async () => {
  for (
    const [path, type] of [
      ["/openapi.json", /^application\/json/],
      ["/openapi-3.0.json", /^application\/json/],
      ["/reference", /^text\/html/],
      ["/reference/before.js", /^text\/javascript/],
      ["/reference/start.js", /^text\/javascript/],
      ["/reference/scalar-1.72.1.js", /^text\/javascript/],
      ["/reference/page.css", /^text\/css/],
      ["/reference/icon.svg", /^image\/svg/],
    ] as const
  ) {
    const answer = await fetch(service().baseUrl + path);
    await answer.body?.cancel();
    assert.equal(answer.status, 200, path);
    assert.match(answer.headers.get("content-type") ?? "", type);
    assert.equal(answer.headers.get("content-security-policy"), "default-src 'self'");
  }
  for (const path of ["/reference/page.html", "/reference/toString", "/reference/..%2fpage.html"]) {
    const answer = await fetch(service().baseUrl + path);
    await answer.body?.cancel();
    assert.equal(answer.status, 404, path);
  }
});

Deno.test("nothing on the page is inline", async () => {
  const page = await (await fetch(`${service().baseUrl}/reference`)).text();
  assert.doesNotMatch(page, /<style|style=|\son\w+=|<script(?![^>]*\ssrc="\/)/);
});

Deno.test("the bundle is sent compressed, and uncompressed to clients without gzip", async () => {
  const sizes = await Promise.all(
    ["gzip", "identity"].map((encoding) =>
      new Promise((done, fail) => {
        const url = `${service().baseUrl}/reference/scalar-1.72.1.js`;
        get(url, { headers: { "accept-encoding": encoding } }, (answer) => {
          let bytes = 0;
          answer.on("data", (chunk) => bytes += chunk.length);
          answer.on("end", () => done([answer.headers["content-encoding"], bytes > 3_000_000]));
        }).on("error", fail);
      })
    ),
  );
  assert.deepEqual(sizes, [["gzip", false], [undefined, true]]);
});

Deno.test("the document names the address that it was asked for at, or BASE_URL", async () => {
  const own = await (await fetch(`${service().baseUrl}/openapi.json`)).json();
  assert.deepEqual(own.servers.map(({ url }: { url: string }) => url), [service().baseUrl]);
  assert.equal(own.openapi, "3.1.0");
  await using named = await startTestService({ env: { BASE_URL: "https://gateway.example" } });
  const older = await (await fetch(`${named.baseUrl}/openapi-3.0.json`)).json();
  assert.equal(older.servers[0].url, "https://gateway.example");
  assert.equal(older.openapi, "3.0.3");
});

Deno.test("every operation is served under its path, and answers as documented", async () => {
  const document = await (await service().fetch("/openapi.json")).json();
  const ajv = schemaValidator({ strict: false, validateFormats: false });
  ajv.addSchema(document, "document");
  for (const [path, item] of Object.entries<Record<string, DocumentedOperation>>(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const answer = await service().fetch(path.replace(/\{\w+\}/g, "nobody"), {
        method: method.toUpperCase(),
        ...(operation.requestBody ? { body: "{}" } : {}),
      });
      const text = await answer.text();
      const documented = operation.responses[answer.status];
      assert.ok(documented, `${operation.operationId}: ${answer.status} ${text}`);
      if (!/^application\/json/.test(answer.headers.get("content-type") ?? "")) continue;
      const body = JSON.parse(text);
      assert.notEqual(body.error?.code, "endpoint_not_found", operation.operationId);
      const at = ["paths", path, method, "responses", answer.status, "content", "application/json"];
      const pointer = at.map((key) => encodeURIComponent(String(key).replaceAll("/", "~1")));
      assert.ok(
        ajv.validate({ $ref: `document#/${pointer.join("/")}/schema` }, body),
        `${operation.operationId} ${answer.status}: ${ajv.errorsText()} ${text.slice(0, 300)}`,
      );
    }
  }
});

interface DocumentedOperation {
  operationId: string;
  requestBody?: unknown;
  responses: Record<string, unknown>;
}
