import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { RecordedRequest } from "../support/fake_vendor.ts";
import { RowChecks } from "../support/row_checks.ts";
import { shared } from "../support/service.ts";
import { dialectNames, rawRequest } from "./raw_calls.ts";
import {
  scriptedLabel,
  scriptedModel,
  startScriptedVendors,
  vendorKeyOfX,
} from "./scripted_vendors.ts";
import { vendorWords } from "./vendor_words.ts";

const service = shared(() => startScriptedVendors());
const rows = new RowChecks();

const model = (dialect: DialectName) => `${scriptedLabel(dialect)}/${scriptedModel}`;

/** Spelled as no serialiser would: any parse on the way would show. */
const odd = '"x_new" : {"float":1.0,"big":12345678901234567890,"exp":1E+2,"esc":"\\u00e9\\/"}';

/** Messages answers name the model as it was asked (interface.md §9); nothing else is exchanged. */
function asSeen(dialect: DialectName, text: string): string {
  return dialect === "messages"
    ? text.replace(/"model":"[^"]*"/, `"model":"${model(dialect)}"`)
    : text;
}

for (const dialect of dialectNames) {
  Deno.test(`${dialect} on both sides: a whole answer keeps its bytes`, async () => {
    const whole = JSON.stringify(vendorWords[dialect].whole);
    const bytes = ` {${odd},\n\t${whole.slice(1)}\r\n`;
    const { answer } = await send(
      dialect,
      false,
      (exchange) =>
        exchange.answer(200, bytes, { "content-type": "application/json; charset=utf-8" }),
    );
    assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
    assert.equal(await answer.text(), asSeen(dialect, bytes));
    rows.expect(answer, `${dialect}, whole`, (row) => {
      assert.deepEqual([row.status, row.total_tokens], ["completed", 15]);
      assert.deepEqual(row.response, JSON.parse(asSeen(dialect, bytes)));
    });
  });

  Deno.test(`${dialect} on both sides: a stream keeps its bytes, however it was cut`, async () => {
    const { begin, end } = vendorWords[dialect];
    const unknown = `event: x.new\r\nid: 7\r\ndata: {"type":"x.new",${odd}}\r\n\r\n`;
    const text = [
      ": a comment – with an é\n\n",
      begin[0],
      unknown,
      ...begin.slice(1),
      ": keep-alive\n\n",
      ...end,
    ].join("");
    const bytes = new TextEncoder().encode(text);
    const asking = dialect === "chat" ? { stream_options: { include_usage: true } } : {};
    const request = JSON.stringify({
      ...rawRequest(dialect, body(dialect, true)).body,
      ...asking,
    });
    for (const size of [7, 1000, bytes.length]) {
      const pieces: Uint8Array[] = [];
      for (let from = 0; from < bytes.length; from += size) {
        pieces.push(bytes.subarray(from, from + size));
      }
      const { answer } = await send(dialect, true, (exchange) => exchange.stream(pieces), request);
      assert.equal(await answer.text(), asSeen(dialect, text));
      rows.expect(answer, `${dialect}, cut into ${size}`, (row) => {
        assert.deepEqual([row.status, row.total_tokens], ["completed", 15]);
      });
    }
  });

  Deno.test(`${dialect} on both sides: the request's text changes in model and tags alone`, async () => {
    const tags = "/// APP shop\\n/// COHORT c-7\\n";
    const prompt = "How \\u0061re you?  \\/";
    const written = JSON.stringify(rawRequest(dialect, body(dialect, false)).body, null, 1)
      .replace('"Hello"', `"${tags}${prompt}"`).replace(/^\{/, `{ ${odd},`);
    const { answer, request } = await send(dialect, false, answerWhole(dialect), written);
    assert.equal(answer.status, 200, await answer.text());
    // With the service's own key the vendor is asked to store nothing (interface.md §4).
    assert.equal(request.added, dialect === "responses" ? stateless : "");
    const expected = written.replace(tags, "").replace(model(dialect), scriptedModel);
    assert.equal(request.body, expected);
    rows.expect(answer, `${dialect}, with tags`, (row) => {
      assert.deepEqual([row.app, row.cohort_id], ["shop", "c-7"]);
      const { x_script: _, ...kept } = row.request as Record<string, unknown>;
      assert.deepEqual(kept, JSON.parse(written), "the record keeps the tags");
    });
  });

  Deno.test(`${dialect} on both sides: the vendor gets its key, and no header of ours`, async () => {
    const { request } = await send(
      dialect,
      true,
      (exchange) => exchange.stream([...vendorWords[dialect].begin, ...vendorWords[dialect].end]),
    );
    const { headers } = request;
    const carriers = {
      chat: ["authorization", `Bearer ${vendorKeyOfX}`],
      responses: ["authorization", `Bearer ${vendorKeyOfX}`],
      messages: ["x-api-key", vendorKeyOfX],
      generate: ["x-goog-api-key", vendorKeyOfX],
    } as const;
    const [name, value] = carriers[dialect];
    assert.equal(headers[name], value);
    assert.ok(!JSON.stringify(headers).includes(service().key), "the service key stays here");
    const known = ["accept", "accept-encoding", "connection", "content-length", "content-type"];
    const others = Object.keys(headers).filter((one) => !known.includes(one)).sort();
    const version = dialect === "messages" ? ["anthropic-version"] : [];
    assert.deepEqual(others, [...version, "host", name].sort());
    assert.ok(request.path.startsWith(`/${dialect}/v9/`), request.path);
  });
}

Deno.test("a chat stream is asked for usage; who didn't ask doesn't see the chunk of it", async () => {
  const { begin, end } = vendorWords.chat;
  const act: Act = (exchange) => exchange.stream([...begin, ...end]);
  const silent = await send("chat", true, act);
  assert.deepEqual(JSON.parse(silent.request.body).stream_options, { include_usage: true });
  const usage = end.find((event) => event.includes('"usage"'))!;
  assert.equal(await silent.answer.text(), [...begin, ...end].join("").replace(usage, ""));
  const asking = JSON.stringify({
    ...rawRequest("chat", body("chat", true)).body,
    stream_options: { include_usage: true },
  });
  const asked = await send("chat", true, act, asking);
  assert.equal(await asked.answer.text(), [...begin, ...end].join(""));
});

Deno.test("version and beta headers of a messages caller go to a messages vendor as they are", async () => {
  const headers = { "anthropic-version": "2099-01-01", "anthropic-beta": "one-1,two-2" };
  const same = await send("messages", false, answerWhole("messages"), undefined, headers);
  assert.equal(same.request.headers["anthropic-version"], "2099-01-01");
  assert.equal(same.request.headers["anthropic-beta"], "one-1,two-2");
  // A translated call is written for one version, which it names.
  const script = service().script(answerWhole("messages"));
  const { path, body } = rawRequest("chat", {
    model: model("messages"),
    prompt: script,
    stream: false,
  });
  const answer = await service().post(path, body, headers);
  assert.equal(answer.status, 200, await answer.text());
  const translated = service().vendor.requests.at(-1)!;
  assert.equal(translated.headers["anthropic-version"], "2023-06-01");
  assert.equal(translated.headers["anthropic-beta"], undefined);
});

const stateless = `,"store":false,"include":["reasoning.encrypted_content"]`;

type Act = Parameters<ReturnType<typeof service>["script"]>[0];

function answerWhole(dialect: DialectName): Act {
  return (exchange) => exchange.answer(200, vendorWords[dialect].whole);
}

rows.register(service);

function body(dialect: DialectName, stream: boolean) {
  return { model: model(dialect), prompt: "Hello", stream };
}

/** Sends a text, into which the script's name is put, and gives what the vendor received of it. */
async function send(
  dialect: DialectName,
  stream: boolean,
  act: Act,
  text?: string,
  headers: Record<string, string> = {},
): Promise<{ answer: Response; request: RecordedRequest & { added: string } }> {
  const script = service().script(act);
  const request = rawRequest(dialect, body(dialect, stream));
  const written = text ?? JSON.stringify(request.body);
  const marked = written.replace(/\}\s*$/, `,"x_script":"${script}"}`);
  const answer = await service().post(request.path, marked, headers);
  const received = service().vendor.requests.at(-1)!;
  const added = received.body.includes(`${stateless}}`) ? stateless : "";
  const unmarked = received.body.replace(`,"x_script":"${script}"${added}}`, "}");
  return { answer, request: { ...received, body: unmarked, added } };
}
