/**
 * Bodies that are sent to do harm, to every operation that takes one. Of n to 4n bytes: the time
 * of the processor grows with them, at most; of 30 MB: refused in words, with little time and memory.
 * Whatever comes, the answer is no failure of ours, and the process goes on. Figures are judged by
 * the processor's time, since machines that run tests are busy.
 *
 * `HOSTILE=long` asks every operation for every shape, and sends 30 MB of all; else one operation of
 * every fourth request is asked for a part of the shapes, and three of the large bodies are sent.
 */
import assert from "@std/assert";
import { examplesOf } from "../../contracts/examples/mod.ts";
import { allContracts } from "../../contracts/mod.ts";
import type { Contract } from "../../contracts/kernel/contract.ts";
import { mebibytes } from "../support/resident.ts";
import { sample } from "../support/sample.ts";
import { type HostileWorld, startHostileWorld } from "./hostile_world.ts";

const isLong = Deno.env.get("HOSTILE") === "long";
const nBytes = isLong ? 250_000 : 100_000;
/** Others wait no longer, however busy the machine is. */
const maxOthersMs = 10_000;

type Make = (bytes: number) => string;

const repeated = (begin: string, one: string, end: string): Make => (bytes) =>
  begin + one.repeat(Math.floor(bytes / one.length)).replace(/,$/, "") + end;

/** Bodies that are wrong for everybody, put into a field that nobody knows where `in` says so. */
const shapes: Readonly<Record<string, Make>> = {
  "nothing but brackets": repeated("", "[", ""),
  "pairs of brackets": repeated("[", "[],", "]"),
  "names": (bytes) =>
    `{${Array.from({ length: bytes / 16 }, (_, index) => `"n${index + 1e7}":1`).join(",")}}`,
  "escapes": repeated('{"model":"', '\\"\\\\\\n', '"}'),
  "spaces": repeated("", " ", "{}"),
  "commas": repeated("[", ",", "]"),
};

/** An operation's example with every list in it, and a field that nobody knows, made long. */
function stretched(contract: Contract, how: (element: unknown) => unknown): Make {
  const [example] = Object.values(examplesOf(contract).requests ?? {});
  return (bytes) => {
    const unit = JSON.stringify(how({})).length + 1;
    const long = (list: unknown[]) =>
      Array.from({ length: bytes / unit }, (_, index) => how(list[index % list.length] ?? {}));
    const stretch = (value: unknown): unknown => {
      if (Array.isArray(value)) return long(value);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(
        Object.entries(value).map(([name, held]) => [name, stretch(held)]),
      );
    };
    return JSON.stringify(stretch({ ...example as object, nobody_knows: [1] }));
  };
}

function operations(): Contract[] {
  const all = allContracts().filter(({ body }) => body !== undefined);
  if (isLong) return all;
  const byBody = Map.groupBy(all, ({ body }) => body);
  return sample([...byBody.values()].map((group) => group[0]!), { oneOf: 4, salt: "bodies" });
}

Deno.test("the time that a hostile body takes grows with it, at most", async (context) => {
  await using world = await startHostileWorld();
  for (const contract of operations()) {
    await context.step(contract.operationId, async () => {
      const lists: Record<string, Make> = {
        "lists of nothing": stretched(contract, () => ({})),
        "lists of what is there": stretched(contract, (element) => element),
      };
      const sampling = { salt: contract.operationId, all: isLong };
      const wrong = sample(Object.entries(shapes), { oneOf: 6, ...sampling });
      const long = sample(Object.entries(lists), { oneOf: 2, ...sampling });
      for (const [name, make] of [...wrong, ...long]) {
        await grows(world, contract, name, make);
      }
    });
  }
});

/** Tried again where it seems to grow faster: a busy machine does so once, the work does always. */
async function grows(world: HostileWorld, contract: Contract, name: string, make: Make) {
  for (let tries = 1;; tries++) {
    const cpuMs = await measured(world, contract, name, make);
    const [once, four] = [cpuMs[0] ?? 0, cpuMs.at(-1) ?? 0];
    // What a hundredth of a second or the machine's noise is must not decide.
    if (four <= 8 * Math.max(once, 60)) return;
    assert.ok(tries < 3, `${name}: ${cpuMs.join(", ")} ms of n to 4n bytes`);
  }
}

async function measured(
  world: HostileWorld,
  contract: Contract,
  name: string,
  make: Make,
): Promise<number[]> {
  const path = contract.path.replace(/\{(\w+)\}/g, "gpt-5-mini");
  const cpuMs: number[] = [];
  for (const times of isLong ? [1, 2, 4] : [1, 4]) {
    const told = await world.send(contract.method, path, make(nBytes * times));
    const what = `${name} times ${times}: ${JSON.stringify(told)}`;
    assert.ok(told.status < 500 || told.code === "overloaded", what);
    assert.notEqual(told.status, 429, what);
    assert.ok(told.othersMs < maxOthersMs, what);
    cpuMs.push(told.cpuMs);
  }
  return cpuMs;
}

const chat = "/chat/v1/chat/completions";
const asked = (rest: string) => `{"model":"vendor-b/gpt-5-mini","messages":${rest}}`;
const word = '[{"role":"user","content":"a"}]';

const large: Readonly<Record<string, [string, Make]>> = {
  "messages of nothing": [chat, repeated(asked("[").slice(0, -1), "{},", "]}")],
  "brackets that nobody knows": [chat, repeated(asked(`${word},"x":[`).slice(0, -1), "[],", "]}")],
  "depth": [chat, repeated(asked(`${word},"x":`).slice(0, -1), "[", "}")],
  "20,000 wrong messages": [
    chat,
    (bytes) => asked(`[${Array(20_000).fill(`{"x":"${"y".repeat(bytes / 20_000)}"}`).join()}]`),
  ],
  "contents of nothing": [
    "/chat/v1/models/vendor-d/gemini-2.5-flash:generateContent",
    repeated('{"contents":[', "{},", "]}"),
  ],
  "outcomes": ["/api/v1/cohort/outcome", repeated('{"conversions":[', "{},", "]}")],
  "graders": ["/api/v1/evals", repeated('{"graders":[', "{},", "]}")],
};

Deno.test("30 MB of the worst are refused in words, with little time and memory", async () => {
  await using world = await startHostileWorld();
  await world.send("post", chat, asked(word));
  const idle = await world.resident();
  const sampling = { oneOf: 3, salt: "30 MB", all: isLong };
  for (const [name, [path, make]] of sample(Object.entries(large), sampling)) {
    const told = await world.send("post", path, make(30_000_000));
    const grown = await world.resident() - idle;
    const what = `${name}: ${JSON.stringify(told)}, ${mebibytes(grown)} MiB over idle`;
    assert.ok(told.status === 400 || told.status === 413, what);
    assert.ok(told.cpuMs < 2500, what);
    assert.ok(grown < 400 * 1024 * 1024, what);
    assert.ok(told.othersMs < maxOthersMs, what);
  }
});
