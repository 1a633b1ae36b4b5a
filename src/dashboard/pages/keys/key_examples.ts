import { codeOf } from "../playground/code.ts";

/** The base of the example of a key that may call models of every vendor. */
export const unifiedBase = "/v1";

/** A first call that a key may make. */
export interface ExampleCall {
  /** Path below which a client library calls: `unifiedBase`, or a vendor's own. */
  base: string;
  model: string;
}

/** What can be called, as far as an example needs it. */
export interface ExampleModels {
  /** A model that a call below `unifiedBase` can name. */
  anyModel: () => string | undefined;
  /** A model's id with its vendor as people know it: `openai/gpt-5-mini` for `vendor-b/gpt-5-mini`. */
  shown: (id: string) => string;
  /** A vendor's own paths, where these take chat calls, with a model of it. */
  ofVendor: (label: string) => { names: readonly string[]; model: string | undefined } | undefined;
}

/** Questions that a scope allows, for keys that call no model of the chat dialect. */
const questions: readonly (readonly [scope: string, path: string])[] = [
  ["status", "/api/v1/status"],
  ["exports", "/api/v1/exports"],
  ["evals", "/api/v1/evals"],
];

/** What a key may ask without a body; undefined where all its scopes take one. */
export function exampleQuestion(
  { scopes }: { scopes: readonly string[] },
  isVendor: (scope: string) => boolean,
): string | undefined {
  const question = questions.find(([scope]) => scopes.length === 0 || scopes.includes(scope));
  if (question) return question[1];
  const vendor = scopes.find(isVendor);
  return vendor === undefined ? undefined : `/${vendor}/v1/models`;
}

/** The example that fits a key's scopes and models; undefined where none of them calls a model so. */
export function exampleCall(
  { scopes, models }: { scopes: readonly string[]; models: readonly string[] },
  callable: ExampleModels,
): ExampleCall | undefined {
  if (scopes.length === 0 || scopes.includes("chat")) {
    const model = models[0] ?? callable.anyModel();
    return model === undefined ? undefined : { base: unifiedBase, model: callable.shown(model) };
  }
  for (const scope of scopes) {
    const vendor = callable.ofVendor(scope);
    if (!vendor) continue;
    const prefixes = [scope, ...vendor.names].map((name) => `${name}/`);
    const own = models.flatMap((model) => {
      const prefix = prefixes.find((one) => model.startsWith(one));
      return prefix === undefined ? [] : [model.slice(prefix.length)];
    });
    const model = models.length === 0 ? vendor.model : own[0];
    if (model !== undefined) return { base: `/${vendor.names[0] ?? scope}/v1`, model };
  }
  return undefined;
}

/** The example in three languages; none for a key that neither calls a model nor asks so. */
export function exampleSnippets(
  baseUrl: string,
  key: string,
  { call, question }: { call: ExampleCall | undefined; question: string | undefined },
): { title: string; text: string }[] {
  if (!call) {
    if (question === undefined) return [];
    const address = baseUrl + question;
    return [
      { title: "curl", text: `curl ${address} \\\n  -H 'Authorization: Bearer ${key}'` },
      { title: "Python", text: questionPython(address, key) },
    ];
  }
  const body = { model: call.model, messages: [{ role: "user", content: "Say hello." }] };
  return codeOf(baseUrl + call.base, body, key);
}

function questionPython(address: string, key: string): string {
  return `import json, urllib.request

request = urllib.request.Request(
    "${address}",
    headers={"Authorization": "Bearer ${key}"},
)
print(json.load(urllib.request.urlopen(request)))`;
}
