/**
 * Whatever a request holds many of, reading it in any dialect and writing it for any vendor takes
 * time in proportion to its length.
 */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import process from "node:process";
import type { EncodedRequest } from "../../src/dialects/kernel/dialect.ts";
import { enforceTranslationMode } from "../../src/relay/plan/translation.ts";
import { lossHeader } from "../../src/relay/reply.ts";
import { Fault } from "../../src/shared/fault.ts";
import { dialects, type Name, names } from "../dialects/translated.ts";
import { sample } from "../support/sample.ts";
import { assertLinear, type Work } from "./cpu.ts";
import { ofSchema, requests, schemas, swellingTools } from "./requests.ts";

/** Models on whose abilities the way of writing depends. */
const targets: readonly (readonly [Name, string])[] = [
  ["chat", "m"],
  ["responses", "m"],
  ["messages", "claude-sonnet-4-5"],
  ["messages", "claude-3-5-haiku"],
  ["generate", "gemini-2.0-flash"],
  ["generate", "gemini-2.5-pro"],
  ["generate", "gemini-3-pro-preview"],
];

/**
 * What takes four times as long as it may shows from 32,768 characters on; `HOSTILE=long` looks
 * further, and tries every row on every way instead of a part of them on each.
 */
const all = Deno.env.get("HOSTILE") === "long";
const most = all ? 131_072 : 32_768;

for (const source of names) {
  // What matters of a request is read by then: of each dialect one model, from others than chat.
  const reached = targets.filter(([target], at) =>
    source === "chat" || targets.findLastIndex(([other]) => other === target) === at
  );
  for (const [target, model] of reached) {
    Deno.test(`requests from ${source} to ${target} (${model}) take linear time`, () => {
      const salt = `${source} ${model}`;
      const rows = sample(Object.entries(requests), { oneOf: 4, salt, all }).map(([name, make]) =>
        row(name, make, source, (body) => written(source, body, target, model))
      );
      assertLinear(rows, most);
    });

    Deno.test(`schemas from ${source} to ${target} (${model}) take linear time`, () => {
      const ways = source === "chat" ? [0, 1, 2, 3] : [1];
      const rows = Object.entries(schemas).flatMap(([name, make]) =>
        ways.map((way) =>
          row(
            `${name}, ${way}`,
            (chars) => ofSchema(make(chars))[way]!,
            source,
            (body) => written(source, body, target, model),
          )
        )
      );
      assertLinear(sample(rows, { oneOf: 3, salt: `${source} ${model}`, all }), most);
    });
  }

  Deno.test(`what the gateway looks up in a request of ${source} takes linear time`, () => {
    const rows = Object.entries(requests).map(([name, make]) =>
      row(name, make, source, (body, text) => {
        const facts = dialects[source].readRequest(body);
        finish(
          dialects[source].spliceRequest(text, facts, { model: "other", askStreamUsage: true }),
        );
      })
    );
    assertLinear(rows, most);
  });
}

/** Work on what a chat request becomes in another dialect. */
function row(
  name: string,
  make: (chars: number) => Record<string, unknown>,
  source: Name,
  act: (body: Record<string, unknown>, text: string) => unknown,
): [string, Work] {
  return [name, (chars) => {
    const body = spoken(source, make(chars));
    const text = JSON.stringify(body);
    return () => body && act(body, text);
  }];
}

Deno.test("many tools whose small schemas swell are refused before they fill the memory", () => {
  const body = swellingTools(131_072)() as Record<string, unknown>;
  for (const [target, model] of targets) {
    const before = process.threadCpuUsage();
    try {
      written("chat", body, target, model);
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
      assert.match(thrown.param ?? "", /^tools\[\d+\]/);
    }
    const { user, system } = process.threadCpuUsage(before);
    const ms = (user + system) / 1000;
    assert.ok(ms < 2_000, `${model}: ${ms} ms`);
  }
});

/** A chat request as a caller of another dialect would say it; undefined where it can't. */
function spoken(source: Name, body: Record<string, unknown>) {
  if (source === "chat") return body;
  try {
    return {
      ...written("chat", body, source, source === "generate" ? "gemini-3-pro" : "m").body,
      model: "vendor-x/m",
      ...(source === "generate" ? { stream: false } : {}),
    };
  } catch (thrown) {
    if (thrown instanceof Fault) return undefined;
    throw thrown;
  }
}

function written(
  source: Name,
  body: Record<string, unknown>,
  target: Name,
  model: string,
): EncodedRequest {
  const request = finish(dialects[source].decodeRequest(body));
  const encoded = finish(dialects[target].encodeRequest(request, { model, maxOutputTokens: 4096 }));
  lossHeader(enforceTranslationMode(encoded.losses, "lenient"));
  JSON.stringify(encoded.body);
  return encoded;
}
