import assert from "@std/assert";
import type { FormPart } from "../../base/multipart.ts";
import { finish } from "../../base/steps.ts";
import { embeddings } from "../media/operations/embeddings.ts";
import {
  formFields,
  forVendor,
  readOperation,
  recordSteps,
  recordText,
  repeatText,
} from "./operation_request.ts";

function part(name: string, text: string): FormPart {
  const content = new TextEncoder().encode(text);
  return { name, filename: undefined, contentType: undefined, content, start: 0, end: 0 };
}

Deno.test("a form's texts and its data addresses each have a limit", () => {
  const data = (megabytes: number) =>
    `data:audio/wav;base64,${"A".repeat(megabytes * 1024 * 1024)}`;
  const recordings = [3, 3, 3, 3].map((size) => part("known_speaker_references[]", data(size)));
  const prompt = part("prompt", "p".repeat(1024 * 1024));
  const fields = formFields([...recordings, prompt]);
  assert.equal((fields["known_speaker_references[]"] as string[]).length, 4);
  assert.throws(
    () => formFields([...recordings, part("more", data(4))]),
    /^Fault: more: more than 16,777,216 bytes of data addresses in the form's fields/,
  );
  for (const more of [part("more", "p"), part("user", "data:")]) {
    assert.throws(
      () => formFields([prompt, more]),
      /^Fault: (more|user): more than 1,048,576 bytes of text in the form's fields/,
    );
  }
});

Deno.test("the record and the fingerprint of a form with many files are made in steps", () => {
  const file = (at: number) => ({ ...part("image[]", "x".repeat(50_000)), filename: `${at}.png` });
  const parts = [part("model", "m"), ...Array.from({ length: 250 }, (_, at) => file(at))];
  const request = { sent: { form: { bytes: new Uint8Array(), contentType: "", parts } } };
  assert.ok([...recordSteps(request)].length >= 251);
  assert.ok([...repeatText(request.sent)].length >= 251);
  const images = JSON.parse(recordText(request))["image[]"] as { filename: string }[];
  assert.deepEqual(
    images.map(({ filename }) => filename),
    parts.slice(1).map((one) => one.filename),
  );
});

Deno.test("the record of a form with a long field is written in steps", () => {
  const parts = [part("model", "m"), part("x[]", `data:${'"'.repeat(4 * 1024 * 1024)}`)];
  const request = { sent: { form: { bytes: new Uint8Array(), contentType: "", parts } } };
  assert.ok([...recordSteps(request)].length >= 16);
  assert.deepEqual(JSON.parse(recordText(request)), formFields(parts));
  assert.equal(finish(recordSteps(request)), JSON.stringify(formFields(parts)));
});

Deno.test("the model of a large request is replaced in steps", () => {
  const body = { input: Array(2_000).fill(Array(490).fill(12_345)), model: "google/m" };
  const text = JSON.stringify(body);
  const request = readOperation({ body, text }, embeddings);
  assert.ok([...forVendor(request, "m", embeddings)].length >= text.length / 1024 / 1024);
  const sent = finish(forVendor(request, "m", embeddings));
  assert.equal(sent, text.replace("google/m", "m"));
});
