/** decode(encode(x)) = x for the requests that a dialect can carry, without any loss. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import type { CanonicalRequest, Part, Turn } from "../../src/dialects/kernel/canonical_request.ts";
import { abilities } from "./abilities.ts";
import { dialects, type Name, names } from "./translated.ts";
import { Random } from "./random.ts";
import { sampleRequest } from "./sample_requests.ts";

const rounds = 250;

const models: Readonly<Record<Name, string>> = {
  chat: "gpt-4.1",
  responses: "gpt-4.1",
  messages: "claude-sonnet-4-6",
  generate: "gemini-3-flash",
};

for (const name of names) {
  Deno.test(`${rounds} requests survive the ${name} dialect as they are`, () => {
    for (let seed = 1; seed <= rounds; seed++) {
      const request = sampleRequest(new Random(seed), abilities[name]);
      const { body, losses } = finish(dialects[name].encodeRequest(request, {
        model: models[name],
        maxOutputTokens: undefined,
        quirks: { customTools: true },
      }));
      assert.deepEqual(losses, [], `seed ${seed}`);
      const wire: Record<string, unknown> = JSON.parse(JSON.stringify(body));
      // The path of a generate call holds these two.
      const placed = { ...wire, model: models[name], stream: request.stream };
      const again = finish(dialects[name].decodeRequest(placed));
      assert.deepEqual(plain(name, again), plain(name, request), `seed ${seed}`);
    }
  });
}

/** Without paths, and with what a dialect says in its own way brought to one form. */
function plain(name: Name, request: CanonicalRequest): unknown {
  const { paths: _, turnsPath: __, unsupported: foreign, model: ___, ...described } = request;
  const { repeatsMetadata: ____, ...rest } = described;
  const { system, turns, tools, ...settings } = rest;
  return {
    ...(name === "messages" ? spelledOut(settings) : settings),
    foreign,
    system: name === "chat"
      ? system.map(({ text }) => text).join("\n\n")
      : system.map(({ path: _, ...text }) => text),
    turns: merged(turns).map((turn) => plainTurn(name, turn)),
    tools: tools.map(({ path: _, ...tool }) => ({
      ...tool,
      // Absent means not strict.
      ...(name === "responses" && tool.type === "function" ? { strict: tool.strict ?? false } : {}),
    })),
  };
}

type Settings = Partial<CanonicalRequest>;

/** What the messages dialect always says: a limit, and a choice to hold that calls are serial. */
function spelledOut(settings: Settings): Settings {
  const { toolChoice, parallelToolCalls, ...rest } = settings;
  const isSerial = parallelToolCalls === false;
  const choice = toolChoice ?? (isSerial ? { mode: "auto" as const } : undefined);
  return {
    ...rest,
    maxOutputTokens: settings.maxOutputTokens ?? 128_000,
    ...(choice ? { toolChoice: choice } : {}),
    // Where nothing may be called, nothing is called side by side.
    ...(isSerial && choice?.mode !== "none" ? { parallelToolCalls: false } : {}),
  };
}

/** Turns of one role in a row are one. */
function merged(turns: readonly Turn[]): Turn[] {
  const out: Turn[] = [];
  for (const turn of turns) {
    const last = out.at(-1);
    if (last && last.role === turn.role && turn.role !== "system") {
      const { name } = turn.name === undefined ? last : turn;
      const parts = [...last.parts, ...turn.parts];
      out[out.length - 1] = { ...last, parts, ...(name === undefined ? {} : { name }) };
    } else {
      out.push(turn);
    }
  }
  return out;
}

function plainTurn(name: Name, turn: Turn): unknown {
  const { path: _, parts, ...rest } = turn;
  const written = name === "chat" && turn.role === "assistant" ? joined(parts) : parts;
  // A name goes with words; results of tools have none.
  const { name: speaker, ...unnamed } = rest;
  const speaks = parts.some(({ type }) => type !== "tool-result");
  return {
    ...(speaks && speaker !== undefined ? { ...unnamed, name: speaker } : unnamed),
    parts: written.map(plainPart),
  };
}

/** Texts of an assistant's message are one string in front of its calls. */
function joined(parts: readonly Part[]): Part[] {
  const text = parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("");
  const rest = parts.filter(({ type }) => type !== "text");
  return text === "" ? rest : [{ type: "text", text, path: "" }, ...rest];
}

function plainPart(part: Part): unknown {
  const { path: _, ...bare } = part;
  if (bare.type === "media") {
    const { fieldPaths: __, ...medium } = bare;
    return medium;
  }
  if (bare.type === "tool-call") {
    return { ...bare, arguments: bare.custom ? bare.arguments : JSON.parse(bare.arguments) };
  }
  if (bare.type !== "tool-result") return bare;
  // The same words as object, and the call's name, are additions.
  const { object: __, name: ___, ...result } = bare;
  return { ...result, parts: result.parts.map(plainPart) };
}
