import assert from "@std/assert";
import { callControl } from "../../src/admin/control.ts";
import { type HeldVendor, startHeldVendor } from "../support/held_vendor.ts";
import { startTestService, type TestService } from "../support/service.ts";

const model = "vendor-b/gpt-4.1";

Deno.test("background: a vendor that does not stream a model is asked for a whole answer", () =>
  withVendor(async (service, vendor) => {
    const { id, transactionId } = await take(service, { model, input: "[whole] Hello." });
    const ended = await untilEnded(service, id);
    assert.deepEqual([ended.status, ended.id, ended.background], ["completed", id, true]);
    const asked = vendor.requests.filter(({ body }) => body.includes("[whole]"));
    assert.deepEqual(asked.map(({ body }) => JSON.parse(body).stream), [true, undefined]);
    const row = await service.row(transactionId);
    assert.deepEqual([row.status, row.billing_basis], ["completed", "reported"]);
  }));

Deno.test("background: a request that holds much reaches the vendor as it was sent", () =>
  withVendor(async (service, vendor) => {
    const content = Array.from({ length: 9_000 }, (_, at) => ({
      ...{ type: "input_text", text: `part ${at} \u0000 ü` },
    }));
    const input = [{ role: "user", content }];
    const text = `{"model": "${model}", "seed": 12345678901234567890, "background" : true,
      "metadata": {"much": "yes"}, "input": ${JSON.stringify(input)}}`;
    const answer = await service.post("/chat/v1/responses", text);
    const queued = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(queued));
    assert.deepEqual([queued.status, queued.metadata], ["queued", { much: "yes" }]);
    const ended = await untilEnded(service, queued.id);
    assert.equal(ended.status, "completed", JSON.stringify(ended.error));
    const { body } = vendor.requests.find((one) => one.method === "POST")!;
    assert.match(body, /"seed": 12345678901234567890/, "numbers stay as they were written");
    const sent = JSON.parse(body);
    assert.equal(sent.input[0].content.length, 9_000);
    assert.deepEqual([sent.background, sent.stream], [undefined, true]);
    const next = await take(service, { model, input: "And?", previous_response_id: queued.id });
    await untilEnded(service, next.id);
    assert.equal(JSON.parse(vendor.requests.at(-1)!.body).input.length, 3, "it is continued");
  }));

Deno.test("background: headers for the vendor go on, and no others", () =>
  withVendor(async (service, vendor) => {
    const headers = { "openai-beta": "responses=v9", "cookie": "secret=1" };
    const { id } = await take(service, { model, input: "Hello." }, headers);
    await untilEnded(service, id);
    const request = vendor.requests.find((one) => one.method === "POST")!;
    assert.equal(request.headers["openai-beta"], "responses=v9");
    assert.equal(request.headers.cookie, undefined);
  }));

Deno.test("background: a discounted window, which is not what is paid, is refused; one that changes nothing goes no further", () =>
  withVendor(async (service, vendor) => {
    const ask = { model, input: "Hello.", background: true };
    for (const form of [{}, { stream: true }, { background: false }]) {
      const refused = await service.post("/chat/v1/responses", {
        ...{ ...ask, ...form, background_options: { completion_window: "8h" } },
      });
      const { error } = await refused.json();
      assert.deepEqual([refused.status, error.param], [
        400,
        "background_options.completion_window",
      ]);
    }
    assert.equal(vendor.requests.length, 0);
    const background_options = { completion_window: "soonest", continuation_id: "nightly" };
    const { id } = await take(service, { model, input: "Hello.", background_options });
    assert.equal((await untilEnded(service, id)).status, "completed");
    await (await service.post("/chat/v1/responses", { ...ask, stream: true, background_options }))
      .text();
    const sent = vendor.requests.map(({ body }) => JSON.parse(body));
    assert.deepEqual(sent.map((body) => [body.background, body.background_options]), [
      [undefined, undefined],
      [undefined, undefined],
    ]);
  }));

Deno.test("background: a call whose account removes its vendor key meanwhile costs credit only within the caps", () =>
  withVendor(async (service, vendor) => {
    const ownKey = ["vendor-key", "set", "--vendor", "vendor-b"];
    assert.equal((await callControl(service.dataDir, ownKey, "sk-of-the-account"))!.exitCode, 0);
    const { key } = await service.createKey("--cap-day-usd", "0.01");
    const capped = { authorization: `Bearer ${key}` };
    const atWork = 32;
    const taken = [];
    for (let index = 0; index <= atWork; index++) {
      taken.push(await take(service, { model, input: "[hold] Hello." }, capped));
    }
    await vendor.reached("[hold]", atWork);
    await service.admin("vendor-key", "remove", "--vendor", "vendor-b");
    vendor.release();
    const last = taken.at(-1)!;
    const { status, error } = await untilEnded(service, last.id);
    assert.deepEqual([status, error?.code], ["failed", "spend_cap_exceeded"]);
    assert.equal(vendor.count("[hold]"), atWork);
    const row = await service.row(last.transactionId);
    assert.deepEqual([row.error_code, row.charged_usd], ["spend_cap_exceeded", "0.000000000"]);
    for (const { id } of taken.slice(0, -1)) {
      assert.equal((await untilEnded(service, id)).status, "completed", "begun with the own key");
    }
  }));

Deno.test("background: two fields of one name, and background that is none, are refused at once", () =>
  withVendor(async (service, vendor) => {
    const twice = await service.post(
      "/chat/v1/responses",
      `{"model": "${model}", "input": "x", "background": true, "input": "y"}`,
    );
    assert.deepEqual([twice.status, (await twice.json()).error.param], [400, "input"]);
    const odd = await service.post("/chat/v1/responses", { model, input: "x", background: "yes" });
    assert.deepEqual([odd.status, (await odd.json()).error.param], [400, "background"]);
    const off = await service.post("/chat/v1/responses", { model, input: "x", background: null });
    assert.equal((await off.json()).status, "completed");
    assert.equal(vendor.requests.filter(({ method }) => method === "POST").length, 1);
  }));

async function withVendor(
  test: (service: TestService, vendor: HeldVendor) => Promise<void>,
): Promise<void> {
  await using vendor = await startHeldVendor();
  await using service = await startTestService({
    env: { VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789" },
  });
  await test(service, vendor);
}

async function take(
  service: TestService,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
) {
  const answer = await service.post("/chat/v1/responses", { ...body, background: true }, headers);
  const response = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(response));
  assert.equal(response.status, "queued");
  return { id: String(response.id), transactionId: answer.headers.get("x-transaction-id") };
}

async function untilEnded(service: TestService, id: string) {
  for (let look = 0; look < 3_000; look++) {
    const response = await (await service.fetch(`/chat/v1/responses/${id}`)).json();
    if (!["queued", "in_progress"].includes(response.status)) return response;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${id} does not end`);
}
