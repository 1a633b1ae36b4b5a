/** Texts that neither database can hold, in every string field of every operation of administration. */
import assert from "@std/assert";
import type { z } from "zod";
import { contracts } from "../../contracts/mod.ts";
import { examplesOf } from "../../contracts/examples/mod.ts";
import { shared, startSimulatedService } from "../support/service.ts";

const world = shared(async () => {
  const service = await startSimulatedService();
  const { key } = await service.createKey("--scope", "admin");
  return { service, key, stop: () => service.stop() };
});

type Path = readonly (string | number)[];
type Def = z.core.$ZodTypes["_zod"]["def"];

/** Where a value of the schema may have a text; in a record its names are texts too. */
function textsIn(schema: z.core.$ZodType, path: Path = []): Path[] {
  const def = schema._zod.def as Def;
  switch (def.type) {
    case "string":
    case "enum":
      return [path];
    case "object":
      return Object.entries(def.shape).flatMap(([name, field]) => textsIn(field, [...path, name]));
    case "array":
      return textsIn(def.element, [...path, 0]);
    case "record":
      return [[...path, nameField], ...textsIn(def.valueType, [...path, "name"])];
    case "union":
      return def.options.flatMap((option) => textsIn(option, path));
    case "optional":
    case "nullable":
    case "default":
      return textsIn(def.innerType, path);
    default:
      return [];
  }
}

/** Stands in a path for the name of a record's field. */
const nameField = "*";

/** The value with `wrong` behind the text at a path; what is missing on the way is made. */
function withText(value: unknown, [first, ...rest]: Path, wrong: string): unknown {
  if (first === undefined) return `${typeof value === "string" ? value : "x"}${wrong}`;
  if (first === nameField) return { [`x${wrong}`]: "gpt-4.1" };
  const inner = withText((value as Record<string, unknown> | undefined)?.[first], rest, wrong);
  return typeof first === "number" ? [inner] : { ...value as object, [first]: inner };
}

for (const contract of Object.values(contracts.admin)) {
  const { method, path, operationId, params, query } = contract;
  const body = "body" in contract ? contract.body : undefined;
  const examples = examplesOf(contract);
  const example = Object.values(examples.requests ?? {})[0] ?? {};
  const addressOf = (wrongName?: string | number, wrong = "") =>
    path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = examples.params?.[name] ?? "1";
      return encodeURIComponent(name === wrongName ? value + wrong : value);
    });

  Deno.test(`${operationId}: a text that can't be stored is 400 and names its field`, async () => {
    const { service, key } = world();
    const others: unknown[] = [];
    const send = async (field: string | number, address: string, sent?: unknown) => {
      const answer = await service.fetch(address, {
        method: method.toUpperCase(),
        headers: { authorization: `Bearer ${key}` },
        ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
      });
      const { error } = await answer.json();
      const isRefused = answer.status === 400 && error.message.startsWith(field);
      if (!isRefused) others.push([field, answer.status, error?.message]);
    };
    const asUsual = body && example;
    for (const [name] of params ? textsIn(params) : []) {
      await send(name!, addressOf(name, "\0"), asUsual);
    }
    for (const [name] of query ? textsIn(query) : []) {
      await send(name!, `${addressOf()}?${name}=x%00`, asUsual);
    }
    for (const at of body ? textsIn(body) : []) {
      for (const wrong of ["\0", "\ud800", "\udc00"]) {
        await send(at[0]!, addressOf(), withText(example, at, wrong));
      }
    }
    assert.deepEqual(others, []);
  });
}
