import assert from "@std/assert";
import { finish } from "./steps.ts";
import { boundaryOf, formBody, MultipartError, parseMultipart } from "./multipart.ts";

const parsed = (body: Uint8Array, boundary: string) => finish(parseMultipart(body, boundary));
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

async function encoded(form: FormData): Promise<{ body: Uint8Array; boundary: string }> {
  const request = new Request("http://x/", { method: "POST", body: form });
  const boundary = boundaryOf(request.headers.get("content-type") ?? "")!;
  return { body: new Uint8Array(await request.arrayBuffer()), boundary };
}

Deno.test("the parts of a form as the runtime writes it, files as views of the body", async () => {
  const form = new FormData();
  form.append("model", "openai/whisper-1");
  form.append('odd"name', "ümlaut\r\n--not-the-boundary\r\n");
  const sound = crypto.getRandomValues(new Uint8Array(5000));
  form.append("file", new File([sound], 'a "b".mp3', { type: "audio/mpeg" }));
  form.append("empty", "");
  const { body, boundary } = await encoded(form);
  const parts = parsed(body, boundary);
  assert.deepEqual(parts.map(({ name, filename }) => [name, filename]), [
    ["model", undefined],
    ['odd"name', undefined],
    ["file", 'a "b".mp3'],
    ["empty", undefined],
  ]);
  assert.equal(decode(parts[0]!.content), "openai/whisper-1");
  assert.equal(decode(parts[1]!.content), "ümlaut\r\n--not-the-boundary\r\n");
  assert.deepEqual(parts[2]!.content, sound);
  assert.equal(parts[2]!.content.buffer, body.buffer);
  assert.equal(parts[2]!.contentType, "audio/mpeg");
  assert.equal(parts[3]!.content.length, 0);
  for (const { content, start, end } of parts) {
    assert.deepEqual(body.subarray(start, end), content);
  }
});

Deno.test("a preamble, spaces after the boundary and an epilogue are not parts", () => {
  const body = new TextEncoder().encode(
    "hello\r\n--b \r\nContent-Disposition: form-data; name=x\r\n\r\n1\r\n--b--\r\nbye",
  );
  const parts = parsed(body, "b");
  assert.deepEqual(parts.map(({ name, content }) => [name, decode(content)]), [["x", "1"]]);
});

Deno.test("a body that is not a form is an error, whatever it is", async () => {
  const form = new FormData();
  form.append("a", "1");
  const { body, boundary } = await encoded(form);
  for (let length = 0; length < body.length - 4; length++) {
    assert.throws(() => parsed(body.subarray(0, length), boundary), MultipartError);
  }
  const wrong = (text: string) => new TextEncoder().encode(text);
  for (
    const text of [
      "--b\r\n\r\nno headers\r\n--b--",
      "--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--",
      `--b\r\nContent-Disposition: form-data; name=${"x".repeat(20_000)}\r\n\r\nx\r\n--b--`,
      `${'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n'.repeat(300)}--b--`,
    ]
  ) assert.throws(() => parsed(wrong(text), "b"), MultipartError);
  assert.throws(() => parsed(body, ""), MultipartError);
  assert.throws(() => parsed(body, "other"), MultipartError);
});

Deno.test("a large form is read in steps, a quarter of a megabyte or a part at a time", () => {
  const before = '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n';
  const size = 4 * 1024 * 1024;
  const bytes = (text: string) => new TextEncoder().encode(text);
  const steps = parseMultipart(bytes(`${before}${"-".repeat(size)}\r\n--b--\r\n`), "b");
  let count = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) count++;
  assert.equal(count, 17);
  assert.equal(step.value[0]!.content.length, size);
  // Wherever a piece ends, a boundary across its end is found.
  for (let shift = 0; shift < 8; shift++) {
    const text = `${before}${"-".repeat(256 * 1024 - before.length - shift)}\r\n--b--\r\n`;
    assert.equal(parsed(bytes(text), "b").length, 1, `${shift}`);
  }
});

Deno.test("headers that don't end are not searched to the end of the body", () => {
  const head = "--b\r\nContent-Disposition: form-data; name=x; filename=";
  const fits = "f".repeat(16 * 1024 - head.length + 5);
  const withName = (name: string) =>
    parsed(new TextEncoder().encode(`${head}${name}\r\n\r\n1\r\n--b--`), "b");
  assert.equal(withName(fits)[0]!.filename, fits);
  assert.throws(() => withName(`${fits}f`), /headers don't end/);
});

Deno.test("a boundary is named by form-data alone", () => {
  assert.equal(boundaryOf('multipart/form-data; boundary="a b"'), "a b");
  assert.equal(boundaryOf("Multipart/Form-Data;charset=utf-8; Boundary=xyz"), "xyz");
  assert.equal(boundaryOf("multipart/form-data"), "");
  assert.equal(boundaryOf("application/json; boundary=x"), undefined);
  assert.equal(boundaryOf(undefined), undefined);
});

Deno.test("a part that could be read in two ways is none", () => {
  const part = (head: string) =>
    parsed(new TextEncoder().encode(`--b\r\n${head}\r\n\r\n1\r\n--b--`), "b");
  for (
    const head of [
      'Content-Disposition: form-data; name="a"; name="model"',
      "Content-Disposition: form-data; name=a; NAME=model",
      'Content-Disposition: form-data; name="a"\r\ncontent-disposition: form-data; name="model"',
      'Content-Disposition: form-data; name="a"\r\nContent-Type: a/b\r\nContent-Type: text/plain',
      'Content-Disposition: form-data; name="a" name="model"',
      'Content-Disposition: form-data; name="a',
    ]
  ) {
    assert.throws(() => part(head), MultipartError, head);
  }
  const [quoted] = part('Content-Disposition: form-data; name="a"; filename="x; name=b.png";');
  assert.deepEqual([quoted!.name, quoted!.filename], ["a", "x; name=b.png"]);
  const [named] = part("Content-Disposition: form-data; name=a; filename*=UTF-8''na%C3%AFve.png");
  assert.equal(named!.filename, "naïve.png");
});

Deno.test("a form is read back as it was written, files byte for byte", async () => {
  const content = Uint8Array.of(0, 13, 10, 45, 45, 255);
  const { contentType, pieces } = formBody([
    { name: "prompt", text: 'Zürich\r\nat "night"' },
    { name: "image[]", fileName: "image-0.png", mimeType: "image/png", content },
  ], "b0undary");
  const form = await new Response(new Blob(pieces as BlobPart[]), {
    headers: { "content-type": contentType },
  }).formData();
  assert.equal(form.get("prompt"), 'Zürich\r\nat "night"');
  const file = form.get("image[]") as File;
  assert.equal(file.name, "image-0.png");
  assert.equal(file.type, "image/png");
  assert.deepEqual(await file.bytes(), content);
});

Deno.test("each part of a form is a step, however small", () => {
  const part = (at: number) => `--b\r\ncontent-disposition: form-data; name="f${at}"\r\n\r\nx\r\n`;
  const body = Array.from({ length: 250 }, (_, at) => part(at)).join("") + "--b--\r\n";
  assert.equal([...parseMultipart(new TextEncoder().encode(body), "b")].length, 250);
});
