import assert from "@std/assert";
import { formBody } from "./form_body.ts";

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
