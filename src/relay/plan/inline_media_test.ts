import assert from "@std/assert";
import { Buffer } from "node:buffer";
import type { CanonicalRequest, MediaPart, Part } from "../../dialects/kernel/canonical_request.ts";
import { Fault } from "../../shared/fault.ts";
import type { PublicFetch, PublicFetchOptions, PublicMedia } from "../../vendors/public_fetch.ts";
import { inlineMedia } from "./inline_media.ts";

const png = Buffer.from("\x89PNG\r\n\x1a\n rest of it", "latin1");
const account = { key: "1", signal: new AbortController().signal };

function media(url: string, path: string, more: Partial<MediaPart> = {}): MediaPart {
  const source = { type: "url" as const, url, mimeType: undefined };
  return { type: "media", kind: "image", source, path, ...more };
}

function requestOf(...parts: Part[]): CanonicalRequest {
  const turns = [{ role: "user" as const, parts, path: "messages[0]" }];
  return { model: "m", stream: false, system: [], turns, tools: [], unsupported: [], paths: {} };
}

/** Answers at once with what `answer` gives; keeps what was asked. */
function fakeFetch(answer: (url: string) => PublicMedia) {
  const asked: { url: string; options: PublicFetchOptions }[] = [];
  const fetch: PublicFetch = {
    fetch(url, options) {
      asked.push({ url, options });
      return new Promise((resolve) => resolve(answer(url)));
    },
  };
  return { fetch, asked };
}

async function faultOf(promise: Promise<unknown>): Promise<[string, string | undefined, string]> {
  const thrown = await promise.then(() => undefined, (reason: unknown) => reason);
  if (!(thrown instanceof Fault)) throw new Error(`Expected a fault, got ${thrown}`);
  return [thrown.code, thrown.param, thrown.message];
}

Deno.test("media named by address become data with the server's type, inside tool results too", async () => {
  const { fetch, asked } = fakeFetch((url) =>
    url.endsWith("pdf")
      ? { bytes: Buffer.from("%PDF-1"), mimeType: "application/pdf" }
      : { bytes: png, mimeType: "image/png" }
  );
  const text: Part = { type: "text", text: "look", path: "messages[0].content[0]" };
  const image = media("https://a.example/1", "messages[0].content[1]", { detail: "low" });
  const file = media("https://a.example/pdf", "messages[0].content[2].content[0]", {
    kind: "file",
    name: "x.pdf",
  });
  const result: Part = {
    type: "tool-result",
    callId: "c",
    parts: [file, media("https://a.example/1", "messages[0].content[2].content[1]")],
    isError: false,
    path: "messages[0].content[2]",
  };
  const request = requestOf(text, image, result);
  const before = structuredClone(request);
  const inlined = await inlineMedia(request, fetch, account);
  const data = { type: "base64", mimeType: "image/png", data: png.toString("base64") };
  assert.deepEqual(inlined.turns[0]?.parts, [
    text,
    { ...image, source: data },
    {
      ...result,
      parts: [
        {
          ...file,
          source: { type: "base64", mimeType: "application/pdf", data: "JVBERi0x" },
        },
        { ...result.parts[1], source: data },
      ],
    },
  ]);
  assert.deepEqual(request, before, "the given request is left as it was");
  assert.deepEqual(asked.map(({ url }) => url), ["https://a.example/1", "https://a.example/pdf"]);
  assert.equal(asked[0]?.options.maxBytes, 20 * 1024 * 1024);
});

Deno.test("data, vendors' files and what needs nothing stay", async () => {
  const { fetch, asked } = fakeFetch(() => ({ bytes: png, mimeType: "image/png" }));
  const request = requestOf(
    media("", "a", { source: { type: "base64", mimeType: "image/png", data: "" } }),
    media("", "b", { source: { type: "vendor-file", id: "file-1", mimeType: undefined } }),
  );
  assert.equal(await inlineMedia(request, fetch, account), request);
  const some = requestOf(media("https://a.example/1", "a"), media("https://a.example/2", "b"));
  const inlined = await inlineMedia(some, fetch, account, (part) => part.path === "b");
  assert.deepEqual(
    inlined.turns[0]?.parts.map((part) => part.type === "media" && part.source.type),
    ["url", "base64"],
  );
  assert.deepEqual(asked.map(({ url }) => url), ["https://a.example/2"]);
});

Deno.test("a failure names the part, and nothing of the address", async () => {
  const { fetch } = fakeFetch(() => {
    throw new Fault("invalid_value", { message: "the URL can't be fetched", note: "why" });
  });
  const request = requestOf(media("https://a.example/secret", "messages[3].content[1]"));
  assert.deepEqual(await faultOf(inlineMedia(request, fetch, account)), [
    "invalid_value",
    "messages[3].content[1]",
    "messages[3].content[1]: the URL can't be fetched.",
  ]);
});

Deno.test("each kind of part takes only what it can be", async () => {
  const cases: [kind: MediaPart["kind"], mimeType: string, becomes: MediaPart["kind"] | null][] = [
    ["image", "image/webp", "image"],
    ["image", "application/pdf", "file"],
    ["image", "text/plain", null],
    ["audio", "audio/mpeg", "audio"],
    ["audio", "video/mp4", null],
    ["video", "video/mp4", "video"],
    ["video", "image/png", null],
    ["file", "application/pdf", "file"],
    ["file", "text/plain", "file"],
    ["file", "audio/wav", "file"],
    ["file", "text/html", null],
    ["file", "application/json", null],
  ];
  for (const [kind, mimeType, becomes] of cases) {
    const { fetch } = fakeFetch(() => ({ bytes: Buffer.from("bytes"), mimeType }));
    const inlining = inlineMedia(
      requestOf(media("https://a.example/", "p", { kind })),
      fetch,
      account,
    );
    if (becomes === null) {
      const [code, param, message] = await faultOf(inlining);
      assert.deepEqual([code, param], ["invalid_value", "p"], `${kind} ${mimeType}`);
      assert.match(message, /^p: the URL returned '.*'; expected /);
    } else {
      const [part] = (await inlining).turns[0]!.parts as MediaPart[];
      assert.equal(part?.kind, becomes);
      assert.deepEqual(part?.source, { type: "base64", mimeType, data: "Ynl0ZXM=" });
    }
  }
});

Deno.test("where the server names no type, the caller or the first bytes do", async () => {
  const source = { type: "url" as const, url: "https://a.example/", mimeType: "video/webm" };
  const cases: [MediaPart, Uint8Array, string | null][] = [
    [media("https://a.example/", "p"), png, "image/png"],
    [media("https://a.example/", "p", { kind: "video", source }), Buffer.from("x"), "video/webm"],
    [media("https://a.example/", "p"), Buffer.from("<html>"), null],
    [media("https://a.example/", "p", { kind: "file" }), Buffer.from("%PDF-1"), "application/pdf"],
  ];
  for (const mimeType of ["application/octet-stream", "binary/octet-stream"]) {
    for (const [part, bytes, expected] of cases) {
      const { fetch, asked } = fakeFetch(() => ({ bytes, mimeType }));
      const inlining = inlineMedia(requestOf(part), fetch, account);
      if (expected === null) await faultOf(inlining);
      else {
        const [inlined] = (await inlining).turns[0]!.parts as MediaPart[];
        assert.equal(inlined?.source.mimeType, expected);
      }
      assert.ok(asked[0]?.options.accept.includes(mimeType));
    }
  }
});

Deno.test("at most four addresses are fetched at once and twenty in all", async () => {
  let underWay = 0;
  let most = 0;
  const fetch: PublicFetch = {
    async fetch() {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay--;
      return { bytes: png, mimeType: "image/png" };
    },
  };
  const many = (count: number) =>
    requestOf(
      ...Array.from({ length: count }, (_, index) =>
        media(`https://a.example/${index}`, `p[${index}]`)),
    );
  const { turns: [turn] } = await inlineMedia(many(20), fetch, account);
  assert.ok(turn?.parts.every((part) => part.type === "media" && part.source.type === "base64"));
  assert.equal(most, 4);
  most = 0;
  assert.deepEqual(await faultOf(inlineMedia(many(21), fetch, account)), [
    "invalid_value",
    "p[20]",
    "p[20]: at most 20 URLs are fetched for one request.",
  ]);
  assert.equal(most, 0, "nothing is fetched in vain");
});

Deno.test("all addresses of a request together hold at most 32 MiB", async () => {
  const bytes = new Uint8Array(17 * 1024 * 1024);
  const { fetch } = fakeFetch(() => ({ bytes, mimeType: "image/png" }));
  const request = requestOf(media("https://a.example/1", "a"), media("https://a.example/2", "b"));
  assert.deepEqual(await faultOf(inlineMedia(request, fetch, account)), [
    "invalid_value",
    "b",
    "b: the URLs of one request return more than 33554432 bytes.",
  ]);
});

Deno.test("the caller's leaving, or one failure, ends the fetches under way", async () => {
  const signals: AbortSignal[] = [];
  const fetch: PublicFetch = {
    fetch(url, options) {
      if (url.endsWith("bad")) return Promise.reject(new Fault("invalid_value"));
      signals.push(options.signal);
      return new Promise((_, reject) =>
        options.signal.addEventListener("abort", () => reject(new Error("left")))
      );
    },
  };
  const caller = new AbortController();
  const slow = media("https://a.example/slow", "a");
  const leaving = inlineMedia(requestOf(slow), fetch, { key: "1", signal: caller.signal });
  caller.abort();
  await assert.rejects(leaving, /^Error: left$/);
  await faultOf(inlineMedia(requestOf(slow, media("https://a.example/bad", "b")), fetch, account));
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, true]);
});
