/** Requests of the operations beside the chat dialects that no honest client sends. */
import assert from "@std/assert";
import { picture } from "../../demo/simulator/samples/mod.ts";
import { joinBytes } from "../../src/base/bytes.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { postRaw } from "../support/service_raw.ts";

const maxBodyBytes = 2 * 1024 * 1024;
const service = shared(() => startSimulatedService({ MAX_BODY_BYTES: String(maxBodyBytes) }));

const edits = "/vendor-b/v1/images/edits";
const transcriptions = "/vendor-b/v1/audio/transcriptions";
const multipart = "multipart/form-data; boundary=b";

const png = picture({ format: "png", width: 8, height: 8, subject: "hostile" });

/** A part with its headers unchanged. */
function part(
  head: string,
  content: string | Uint8Array<ArrayBuffer> = "1",
): Uint8Array<ArrayBuffer> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return joined([`--b\r\n${head}\r\n\r\n`, bytes, "\r\n"]);
}

const field = (name: string, content: string) =>
  part(`Content-Disposition: form-data; name="${name}"`, content);

const file = (name: string, content = png) =>
  part(
    `Content-Disposition: form-data; name="${name}"; filename="x.png"\r\nContent-Type: image/png`,
    content,
  );

function joined(pieces: readonly (string | Uint8Array<ArrayBuffer>)[]): Uint8Array<ArrayBuffer> {
  return joinBytes(
    pieces.map((one) => typeof one === "string" ? new TextEncoder().encode(one) : one),
  );
}

const form = (...parts: readonly Uint8Array<ArrayBuffer>[]) => joined([...parts, "--b--\r\n"]);
const good = [field("model", "gpt-image-2"), field("prompt", "Paint it."), file("image")];

interface Hostile {
  name: string;
  path?: string;
  type?: string;
  body: Uint8Array<ArrayBuffer> | string;
  /** 400 when absent. */
  status?: number;
  /** The error's `param`. */
  param?: string | null;
  says?: RegExp;
}

const hostile: readonly Hostile[] = [
  {
    name: "no boundary in the header",
    type: "multipart/form-data",
    body: form(...good),
    param: "Content-Type",
    says: /without a boundary/,
  },
  { name: "another boundary", type: "multipart/form-data; boundary=c", body: form(...good) },
  { name: "an empty body", body: "", says: /multipart/ },
  { name: "no parts at all", body: "--b--\r\n", param: "model" },
  {
    name: "cut in the middle of a file",
    body: form(...good).subarray(0, -40),
    says: /closing boundary/,
  },
  { name: "cut in a part's headers", body: form(...good).subarray(0, 30) },
  { name: "no closing boundary", body: joined(good), says: /closing boundary/ },
  {
    name: "a name of 20,000 letters",
    body: form(...good, field("x".repeat(20_000), "1")),
    says: /headers/,
  },
  {
    name: "a name of a megabyte",
    body: form(...good, field("x".repeat(1024 * 1024), "1")),
    says: /headers/,
  },
  {
    name: "more parts than a form has",
    body: form(...good, ...Array.from({ length: 20_000 }, () => field("x", "1"))),
    says: /more than 256 parts/,
  },
  {
    name: "more text than fields have",
    body: form(
      ...[good[0]!, field("note", "n".repeat(500_000)), field("prompt", "p".repeat(600_000))],
      file("image"),
    ),
    param: "prompt",
    says: /^prompt: more than 1,048,576 bytes of text in the form's fields\.$/,
  },
  { name: "the model twice", body: form(...good, field("model", "dall-e-2")), param: "model" },
  { name: "the prompt twice", body: form(...good, field("prompt", "no")), param: "prompt" },
  { name: "n twice", body: form(...good, field("n", "1"), field("n", "10")), param: "n" },
  {
    name: "one part with two names",
    body: form(
      ...good,
      part('Content-Disposition: form-data; name="x"; name="model"', "dall-e-2"),
    ),
    says: /no name/,
  },
  {
    name: "one part with two dispositions",
    body: form(
      ...good,
      part(
        'Content-Disposition: form-data; name="x"\r\nContent-Disposition: form-data; name="model"',
        "dall-e-2",
      ),
    ),
    says: /header twice/,
  },
  { name: "the model as a file", body: form(file("model"), ...good.slice(1)), param: "model" },
  { name: "no model", body: form(...good.slice(1)), param: "model" },
  { name: "an empty model", body: form(field("model", ""), ...good.slice(1)), param: "model" },
  {
    name: "a model with a NUL",
    body: form(field("model", "gpt-image-2\0"), ...good.slice(1)),
    status: 404,
    param: "model",
  },
  {
    name: "a model that is not a string",
    body: form(field("model", "\xff"), ...good.slice(1)),
    status: 404,
    param: "model",
  },
  {
    name: "no picture",
    body: form(...good.slice(0, 2)),
    param: "image",
    says: /^image: required, expected a file\.$/,
  },
  {
    name: "a picture that is text",
    body: form(...good.slice(0, 2), field("image", "x")),
    param: "image",
    says: /^image: expected a file or an array, received a string\.$/,
  },
  {
    name: "an SVG, which another model writes",
    body: form(...good, field("output_format", "svg")),
    param: "output_format",
    says: /can't be determined/,
  },
  {
    name: "the model that writes an SVG",
    body: form(...good, field("svg[model]", "gpt-5.4-pro")),
    param: "svg[model]",
    says: /can't be determined/,
  },
  {
    name: "a format twice",
    body: form(...good, field("output_format", "png"), field("output_format", "svg")),
    param: "output_format",
    says: /duplicate/,
  },
  ...["frame_count", "partial_images"].map((name): Hostile => ({
    name: `${name} twice`,
    body: form(...good, field(name, "1"), field(name, "3")),
    param: name,
    says: /duplicate/,
  })),
  ...["output_format", "frame_count"].map((name): Hostile => ({
    name: `${name} as a file`,
    body: form(
      ...good,
      part(`Content-Disposition: form-data; name="${name}"\r\nContent-Type: application/json`),
    ),
    param: name,
    says: /text, not a file/,
  })),
  { name: "n that is not a number", body: form(...good, field("n", "many")), param: "n" },
  { name: "n beyond all bounds", body: form(...good, field("n", "9".repeat(40))), param: "n" },
  {
    name: "a name of the language's own",
    body: form(...good, field("__proto__", "1"), field("n", "0")),
    param: "n",
  },
  {
    name: "more than the service takes",
    body: form(...good.slice(0, 2), file("image", new Uint8Array(maxBodyBytes))),
    status: 413,
  },
  { name: "a form that says it is JSON", type: "application/json", body: form(...good) },
  { name: "JSON that says it is a form", body: '{"model":"gpt-image-2","prompt":"x"}' },
  {
    name: "JSON where only a form goes",
    path: transcriptions,
    type: "application/json",
    body: '{"model":"whisper-1"}',
    param: "Content-Type",
  },
  {
    name: "no content type where only a form goes",
    path: transcriptions,
    type: "",
    body: form(...good),
    param: "Content-Type",
  },
  {
    name: "a form where only JSON goes",
    path: "/vendor-b/v1/audio/speech",
    body: form(field("model", "tts-1"), field("input", "x"), field("voice", "alloy")),
  },
  {
    name: "no sound",
    path: transcriptions,
    body: form(field("model", "whisper-1")),
    param: "file",
    says: /^file: required, expected a file\.$/,
  },
];

for (const { name, path = edits, type = multipart, body, status = 400, param, says } of hostile) {
  Deno.test(`${path}: ${name} is a ${status} that says what is wrong`, async () => {
    const before = service().simulators.requests("vendor-b").length;
    const answer = await service().fetch(path, {
      method: "POST",
      // Without a type the runtime would make one up of a text.
      headers: type === "" ? {} : { "content-type": type },
      body: typeof body === "string" ? new TextEncoder().encode(body) : body,
    });
    const text = await answer.text();
    assert.equal(answer.status, status, text);
    const { error } = JSON.parse(text);
    if (param !== undefined) assert.equal(error.param, param, text);
    if (says) assert.match(error.message, says);
    assert.ok(error.message.length < 1000, "nothing of the body is quoted at length");
    assert.equal(service().simulators.requests("vendor-b").length, before, "nobody was asked");
  });
}

Deno.test("a recording of a known speaker is no text that is too long", async () => {
  const body = form(
    field("model", "gpt-4o-transcribe-diarize"),
    ...[field("known_speaker_names[]", "Ann"), file("file")],
    field("known_speaker_references[]", `data:audio/wav;base64,${"A".repeat(1_200_000)}`),
  );
  const headers = { "content-type": multipart };
  const answer = await service().fetch(transcriptions, { method: "POST", headers, body });
  await answer.body?.cancel();
  const sent = service().simulators.requests("vendor-b").at(-1)!;
  assert.deepEqual(new Uint8Array(sent.body as Uint8Array), body);
});

Deno.test("odd names and contents that a form may have go on to the vendor as they are", async () => {
  const body = form(
    part("content-disposition:form-data;name=model", "gpt-image-2"),
    part('Content-Disposition: form-data; name="prompt"', "Paint\0it\r\n--a"),
    part(
      'Content-Disposition: form-data; name="image"; filename="../../x\\"\0.png"; x=y\r\nX-Odd: 1\r\nContent-Type: image/png',
      png,
    ),
  );
  const answer = await service().fetch(edits, {
    method: "POST",
    headers: { "content-type": multipart },
    body,
  });
  // The simulated vendor may refuse it; it was asked, and with these bytes.
  await answer.body?.cancel();
  const sent = service().simulators.requests("vendor-b").at(-1)!;
  assert.deepEqual(new Uint8Array(sent.body as Uint8Array), body);
  const row = await service().row(answer.headers.get("x-transaction-id"));
  assert.equal(row.dialect, "images");
});

Deno.test("a length that is not the body's is an error of the connection, and of no other", async () => {
  const authorization = `Bearer ${service().key}`;
  const text = new TextDecoder("latin1").decode(form(field("model", "gpt-image-2")));
  const headers = { authorization, "content-type": multipart };
  const tooShort = await postRaw(
    service().baseUrl,
    edits,
    { ...headers, "content-length": "30" },
    text,
  );
  // The rest of the body is no request: the connection ends, before the answer or after it.
  const { status } = await tooShort.answer();
  assert.ok(status === 400 || Number.isNaN(status), `answered ${status}`);
  const tooLong = await postRaw(
    service().baseUrl,
    edits,
    { ...headers, "content-length": String(text.length + 1000) },
    text,
  );
  tooLong.leave();
  const none = await postRaw(
    service().baseUrl,
    edits,
    { ...headers, "content-length": "-1" },
    text,
  );
  assert.equal((await none.answer()).status, 400);
  const whole = await service().fetch("/api/v1/status");
  assert.equal(whole.status, 200);
  await whole.body?.cancel();
});
