/**
 * Whatever the text, what reads it takes time in proportion to its length. A new scanner of texts
 * that callers or vendors write belongs into this table. The gate tries each with a quarter of the
 * runs, another for each; `HOSTILE=long` each with all.
 */
import { parseExactly } from "../../src/base/exact_json.ts";
import { indentJson } from "../../src/base/indent_json.ts";
import {
  changeMembers,
  cutStringPrefix,
  locate,
  splice,
  topLevelMembers,
} from "../../src/base/json_text.ts";
import { longStrings } from "../../src/base/json_strings.ts";
import { mendJson } from "../../src/base/mend_json.ts";
import { boundaryOf } from "../../src/base/multipart.ts";
import { maskSecrets, Secret } from "../../src/base/secret.ts";
import { type SseEvent, SseSplitter } from "../../src/base/sse.ts";
import { pcmFormatOf } from "../../src/base/wav.ts";
import { mediaSource, plainMime, standardBase64 } from "../../src/dialects/kernel/media_source.ts";
import { finish } from "../../src/base/steps.ts";
import { promptContent } from "../../src/dialects/kernel/prompt_text.ts";
import { aliasToolNames } from "../../src/dialects/kernel/tool_names.ts";
import { PartialArgs } from "../../src/dialects/text/generate/answer/partial_args.ts";
import { ResponseRewriter } from "../../src/dialects/kernel/response_rewriter.ts";
import { parseCredential } from "../../src/keys/credential.ts";
import { estimateTokens, inputTokenBounds } from "../../src/shared/token_estimate.ts";
import { readResultCursor, readRunCursor } from "../../src/evals/eval_cursor.ts";
import { readEmail } from "../../src/people/invitation.ts";
import { readTags } from "../../src/shared/prompt_tags.ts";
import { searchKeys, searchTerms, termKeys } from "../../src/records/search_tokens.ts";
import { externalizeMedia } from "../../src/records/externalize_media.ts";
import { lossHeader } from "../../src/relay/reply.ts";
import { inlineStoredMedia } from "../../src/records/inline_stored_media.ts";
import { vendorFault } from "../../src/relay/vendor_fault.ts";
import { readByteRange } from "../../src/http/routes/exports.ts";
import { ownAddress } from "../../src/http/own_address.ts";
import { mediaFields as fields } from "../../src/dialects/text/chat/media.ts";
import { noUndo } from "../dialects/translated.ts";
import { sample } from "../support/sample.ts";
import { assertLinear, copies, run, type Work } from "./cpu.ts";

/** Units of which long runs are made; each with something before and behind that spoils a match. */
const units = [
  ..."=\"'\\{}[]:,;/-+.%#@&<`\n\r\t a0_A\u00a0\u0301\ufdfa\u{1f600}漢é",
  "\r\n",
  '\\"',
  '"a",',
  "%3D",
  "=\n",
  "[[",
  '{"a":',
  "a://",
  "eyJ",
  "eyJ-",
  "sk-",
  "?key=",
  "Bearer ",
  "api_key:",
  "projects/",
  "/// APP x\n",
  "```\n",
  "a@a.",
  "\u0301\u0316",
  "\\u0301\\u0316",
  "data:;base64,",
  '"type":"response.',
];

const all = Deno.env.get("HOSTILE") === "long";

const surroundings = [["", ""], ["", "!"], ["A", " \u0001x"]] as const;

const texts: Readonly<Record<string, (text: string) => unknown>> = {
  standardBase64,
  plainMime,
  "mediaSource of a data: address": (text) => mediaSource(`data:image/png;base64,${text}`),
  "mediaSource without base64": (text) => mediaSource(`data:text/plain,${text}`),
  "mediaSource with a long head": (text) => mediaSource(`data:${text},AAAA`),
  promptContent: (text) => finish(promptContent(text)),
  maskSecrets,
  vendorFault: (text) =>
    vendorFault(
      {
        status: 400,
        code: text,
        type: text,
        message: text,
        param: text,
        retryAfterSeconds: undefined,
      },
      { mode: "managed", address: "http://vendor.example/v1", key: new Secret("sk-vendor-key") },
    ),
  "mendJson, cut within a string": (
    text,
  ) => [...mendJson(`{"messages":[{"role":"user","content":${JSON.stringify(text).slice(0, -1)}`)],
  "mendJson, cut behind a quote": (text) => [...mendJson(`{"messages":["${text}"`)],
  "mendJson of anything": (text) => [...mendJson(`{"a":[${text}`)],
  "parseExactly of a string and a name": (text) =>
    parseExactly(JSON.stringify({ a: text, [text]: [text] }, null, 1)),
  "parseExactly of many names": (text) =>
    parseExactly(`[${text.match(/[^]{1,8}/g)!.map((name) => `{${JSON.stringify(name)}:"\\n"}`)}]`),
  indentJson: (text) => indentJson(text, 1 << 20),
  "indentJson of a string": (text) => indentJson(JSON.stringify([text]), 1 << 20),
  longStrings: (text) => [...longStrings(text, 1)],
  topLevelMembers: (text) => topLevelMembers(`{"a":${JSON.stringify(text)},"b":1}`),
  cutStringPrefix: (text) => {
    const json = JSON.stringify(text);
    return cutStringPrefix(json, { start: 0, end: json.length }, text.length - 1);
  },
  pcmFormatOf: (text) => pcmFormatOf(`audio/L16;${text}`, { sampleRate: 1, channels: 1 }),
  parseCredential: (text) => parseCredential({ authorization: text }, { googleAllowed: true }),
  estimateTokens,
  inputTokenBounds: (text) => inputTokenBounds(JSON.stringify(text)),
  readEmail,
  readRunCursor,
  readResultCursor,
  readTags: (text) => readTags(`/// APP a\n${text}`),
  searchKeys: (text) => searchKeys(call, [JSON.stringify([text]), text]),
  searchTerms,
  "liftMedia of a string": (text) => externalizeMedia(JSON.stringify(imageOf(text)), liftOptions),
  "liftMedia of anything": (text) => externalizeMedia(`{"image_url":[${text}`, liftOptions),
  "restoreMedia of anything": (text) => void inlineStoredMedia(text, fields, gone),
  "restoreMedia of a long type": (text) =>
    void inlineStoredMedia(
      `"url":{"sha256":"${hash}","bytes":1,"mime_type":"${text}`,
      fields,
      gone,
    ),
  boundaryOf: (text) => boundaryOf(`multipart/form-data${text};${text}`),
  lossHeader: (text) => lossHeader([text]),
  readByteRange: (text) => readByteRange(`bytes=${text}`, undefined, { size: 9, etag: "" }),
  ownAddress: (text) =>
    ownAddress({ baseUrl: undefined, host: "127.0.0.1", secure: true }, () => text),
  stripFence: (text) => fenced("```json\n" + text),
  "PartialArgs, a string left open": (text) => {
    const args = new PartialArgs({});
    args.add([{ jsonPath: "$.a", stringValue: text, willContinue: true }]);
    return args.unfinished();
  },
  "PartialArgs, a path": (text) => new PartialArgs({}).add([{ jsonPath: `$.${text}` }]),
  "PartialArgs, a quoted step": (text) =>
    new PartialArgs({}).add([{ jsonPath: `$['${text}`, stringValue: "" }]),
};

const hash = "0".repeat(64);
const gone = () => Promise.resolve(undefined);
const call = { accountId: 1, createdAt: new Date(0) };
const liftOptions = { inlineBytes: 16, fields };
const imageOf = (text: string) => ({
  type: "image_url",
  image_url: { url: `data:image/png;base64,${text}` },
});

function fenced(text: string): unknown {
  const rewriter = new ResponseRewriter({ ...noUndo, stripFence: true }, () => "id");
  const at = { choice: 0, block: 0 };
  rewriter.apply({ type: "block-start", ...at, content: { kind: "text" } });
  rewriter.apply({ type: "block-delta", ...at, text });
  return rewriter.apply({ type: "block-end", ...at });
}

for (const [name, read] of Object.entries(texts)) {
  Deno.test(`${name} is linear`, () => {
    const rows = units.flatMap((unit) =>
      surroundings.map(([before, after]): [string, Work] => [
        `${name} of ${JSON.stringify(before + unit + unit + after)}`,
        (chars) => {
          const text = run(chars, unit, before, after);
          return () => read(text);
        },
      ])
    );
    assertLinear(sample(rows, { oneOf: 8, salt: name, all }), 131_072);
  });
}

/** Work on many small things, each row with its own way to be many. */
const many: Readonly<Record<string, Work>> = {
  "strings in arrays in arrays": (chars) => {
    const text = "[".repeat(chars / 2) + copies(chars / 2, 4, () => '"a"').join(",");
    return () => [...longStrings(text, 1)];
  },
  "media in objects in objects": (chars) => {
    const text = copies(chars, 70, () => `{"image_url":{"url":"data:,${"A".repeat(44)}","x":`).join(
      "",
    );
    return () => externalizeMedia(text, liftOptions);
  },
  "media in one array": (chars) => {
    const url = `data:image/png;base64,iVBORw0KGgo${"A".repeat(33)}`;
    const text = JSON.stringify({
      type: "image_url",
      image_url: { url: copies(chars, 80, () => url) },
    });
    return () => externalizeMedia(text, liftOptions);
  },
  "words without an escape": (chars) => {
    const text = JSON.stringify(copies(chars, 4, () => "a"));
    return () => searchKeys(call, [text]);
  },
  "words whose keys end in the same bits": (chars) => {
    const alike = wordsAlike(chars / 264);
    const repeated = `${alike.at(-1)} `.repeat(chars / 16);
    const texts = [`${alike.join(" ")} ${repeated}`, repeated].map((text) => JSON.stringify(text));
    const act = () => searchKeys(call, texts);
    // The engine compiles it.
    act();
    return act;
  },
  "references to media": (chars) => {
    const named = `"url":{"sha256":"${"0".repeat(64)}","bytes":1,"mime_type":"image/png",` +
      `"url":"/api/v1/media/${"0".repeat(64)}"}`;
    const text = `{${copies(chars, 220, () => named).join(",")}}`;
    return () => void inlineStoredMedia(text, fields, () => Promise.resolve(new Uint8Array(9)));
  },
  "a conversation cut deep inside": (chars) => {
    const text = '{"messages":[' + "[".repeat(150) + run(chars, '"a",');
    return () => [...mendJson(text)];
  },
  "names that need escapes": (chars) => {
    const text = `{${copies(chars, 16, (index) => `"\\"${index}":{"\\u0061":1}`).join(",")}}`;
    return () => parseExactly(text);
  },
  "names that need escapes, one in another": (chars) => {
    const text = '{"\\t":['.repeat(chars / 8) + "]}".repeat(chars / 8);
    return () => parseExactly(text);
  },
  "members of an object": (chars) => {
    const text = `{${copies(chars, 16, (index) => `"k${index}":1`).join(",")}}`;
    return () =>
      splice(text, changeMembers(text, topLevelMembers(text)!.range, { remove: ["k1"] }));
  },
  "items of an array": (chars) => {
    const text = `{"a":[${copies(chars, 4, () => "[1]").join(",")}]}`;
    return () => locate(text, ["a", Math.floor(chars / 4) - 1]);
  },
  "small pieces of one event": (chars) => {
    const bytes = new TextEncoder().encode(`data: ${"a".repeat(chars)}\n\n`);
    return () => split(bytes, 3);
  },
  "lines of one event": (chars) => {
    const bytes = new TextEncoder().encode(`${"data: a\n".repeat(chars / 8)}\n`);
    return () => split(bytes, 1000).map(({ data }) => data?.trim().length);
  },
  "line ends alone": (chars) => {
    const bytes = new TextEncoder().encode("\r\n".repeat(chars / 2));
    return () => split(bytes, 7);
  },
  "names of tools that are alike": (chars) => {
    const names = copies(chars, 8, (index) => `a${".:/ "[index % 4]}${"_".repeat(index % 60)}`);
    const distinct = [...new Set(names), ...copies(chars, 12, (index) => `t.${index}`)];
    return () => aliasToolNames(distinct, /^[a-z]{1,64}$/);
  },
  "losses by the thousand": (chars) => {
    const paths = copies(chars, 12, (index) => `messages[${index}].é`);
    return () => lossHeader(paths);
  },
  "pieces of partial arguments": (chars) => {
    const entries = copies(chars, 40, (index) => ({
      jsonPath: `$.a[${index % 100}]`,
      stringValue: "x",
      willContinue: true,
    }));
    return () => {
      const args = new PartialArgs({});
      for (const entry of entries) args.add([entry]);
      return args.unfinished();
    };
  },
};

/** Words whose keys have the same twelve last bits. */
function wordsAlike(count: number): string[] {
  const words: string[] = [];
  for (let index = 0; words.length < count; index++) {
    const word = index.toString(36);
    if ((termKeys(call.accountId, [0], word)[0]! & 4095) === 0) words.push(word);
  }
  return words;
}

function split(bytes: Uint8Array, size: number): SseEvent[] {
  const splitter = new SseSplitter({ maxEventBytes: 1 << 24 });
  const events: SseEvent[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    for (const event of splitter.push(bytes.subarray(at, at + size))) events.push(event);
  }
  return events.concat(splitter.end());
}

for (const [name, work] of Object.entries(many)) {
  Deno.test(`${name} take linear time`, () => assertLinear([[name, work]]));
}
