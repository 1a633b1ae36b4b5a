/**
 * Records have no credential that a request of the vendors' libraries may contain. A new version's
 * member that is named like one fails here until it is masked, or excepted with a reason.
 */
import assert from "@std/assert";
import type { CredentialField } from "../../src/dialects/kernel/credential_field.ts";
import { camelCase, snakeCase } from "../../src/dialects/text/generate/request/fields.ts";
import { finish } from "../../src/base/steps.ts";
import { optionCredentials } from "../../src/media/option_credentials.ts";
import { maskCredentialsSteps } from "../../src/records/mask_credentials.ts";
import type { Json } from "../support/library_types.ts";
import { checkExceptions } from "./field_changes.ts";
import { notCredentials } from "./library_exceptions.ts";
import { bodyOf, requestTypes, samplesOf } from "./library_measure.ts";
import { dialects, type Name, names } from "./translated.ts";

/** Words of names that credentials have, or what may be one, such as an address with a key. */
const credentialWord =
  /^(?:auth.*|tokens?|(?:api)?keys?|secrets?|pass.*|headers?|credentials?|bearer|cookies?|sign.*|ur[il]s?|endpoint)$/;

function isCredentialName(name: string): boolean {
  return name.split(/_|(?=[A-Z])/).some((word) => credentialWord.test(word.toLowerCase()));
}

/** The paths of recorded texts that are named like a credential, or in something that is. */
function shown(value: unknown, recorded: unknown, path = "", isNamed = false): string[] {
  if (typeof value === "string") return isNamed && value === recorded ? [path] : [];
  if (typeof value !== "object" || value === null) return [];
  const others = typeof recorded === "object" && recorded !== null ? recorded as Json : {};
  return Object.entries(value).flatMap(([name, one]) =>
    Array.isArray(value)
      ? shown(one, others[name], `${path}[]`, isNamed)
      : shown(one, others[name], `${path}.${name}`, isNamed || isCredentialName(name))
  );
}

function bodiesOf(name: Name): Json[] {
  const samples = requestTypes[name].flatMap((type) => samplesOf(name, type));
  return samples.map(({ value }) => bodyOf(name, value) as Json);
}

function shownOf(bodies: readonly unknown[], fields: readonly CredentialField[]): string[] {
  const paths = bodies.flatMap((body) => {
    const recorded = finish(maskCredentialsSteps(JSON.stringify(body), fields));
    return shown(body, JSON.parse(recorded));
  });
  return [...new Set(paths)].sort();
}

for (const name of names) {
  const { credentialFields } = dialects[name];

  Deno.test(`${name}: what its library names like a credential is masked, or excepted`, () => {
    checkExceptions(shownOf(bodiesOf(name), credentialFields), notCredentials[name]);
  });

  Deno.test(`${name}: the same in the options of a call of media`, () => {
    const within = bodiesOf(name).map((body) => ({ provider_options: { vendor: body } }));
    const prefix = ".provider_options.vendor";
    const paths = shownOf(within, optionCredentials).map((path) => path.slice(prefix.length));
    checkExceptions(paths, notCredentials[name]);
  });
}

Deno.test("responses: the same in tools that an item adds", () => {
  const bodies = bodiesOf("responses").flatMap(({ tools }) =>
    tools ? [{ input: [{ type: "additional_tools", role: "developer", tools }] }] : []
  );
  const paths = shownOf(bodies, dialects.responses.credentialFields)
    .map((path) => path.replace(".input[]", ""));
  const { tools } = Object.groupBy(
    Object.values(notCredentials.responses).flatMap((list) => list.split(" ")),
    (path) => path.startsWith(".tools") ? "tools" : "others",
  );
  checkExceptions(paths, { "in the request's tools, too": tools!.join(" ") });
});

Deno.test("generate: the same in every mixture of its two spellings", () => {
  const { credentialFields } = dialects.generate;
  const expected = shownOf(bodiesOf("generate"), credentialFields);
  for (const isSnake of [() => true, (depth: number) => depth % 2 === 0, isOdd]) {
    const bodies = bodiesOf("generate").map((body) => respelled(body, isSnake));
    const paths = shownOf(bodies, credentialFields).map(camelCase);
    assert.deepEqual([...new Set(paths)].sort(), expected);
  }
});

const isOdd = (depth: number) => depth % 2 === 1;

function respelled(value: unknown, isSnake: (depth: number) => boolean, depth = 0): unknown {
  if (Array.isArray(value)) return value.map((one) => respelled(one, isSnake, depth));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      isSnake(depth) ? snakeCase(name) : name,
      respelled(one, isSnake, depth + 1),
    ]),
  );
}
